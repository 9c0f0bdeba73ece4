"""Options on the command line: `--set` of the problem, `--option` of the solver, and `trajopt list NAME`."""

import re

import numpy as np
import pytest

from tests.support.command_line import CliRunner
from trajopt import cli, problems
from trajopt.solvers import DDPOptions, SolverDDP, SolverFDDP

LOAD = problems.load


@pytest.fixture
def received(monkeypatch):
    """Options that reach the problem and the solver; an LQ problem is loaded whatever they are."""
    found = {}

    def load(name, robot=None, **options):
        found.update(problem=options)
        return LOAD("lqr")

    monkeypatch.setattr(problems, "load", load)
    for solver in (SolverDDP, SolverFDDP):
        monkeypatch.setattr(solver, "solve", recording(solver.solve, found))
    return found


def recording(solve, found):
    def wrapper(self, xs=None, us=None):
        found.update(solver=type(self), options=self.options)
        return solve(self, xs, us)

    return wrapper


def run(*arguments):
    return CliRunner().invoke(cli.app, [str(argument) for argument in arguments])


def error_of(*arguments):
    """The message of a refusal: one line on stderr, exit code 1, no traceback."""
    result = run(*arguments)
    assert result.exit_code == 1, result.output
    assert isinstance(result.exception, SystemExit)
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    return line.removeprefix("error: ")


def test_limits_are_an_option_of_the_problem(received):
    run("solve", "quadruped-trot", "--limits", "--set", "T=3", "-q")
    assert received["problem"] == {"T": 3, "limits": True}
    received.clear()
    run("solve", "lqr", "-q")
    assert received["problem"] == {}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("T=30", 30),
        ("dt=1e-2", 0.01),
        ("target=0.4,0,-.6", (0.4, 0, -0.6)),
        ("target=(0.4, 0, 1)", (0.4, 0, 1)),
        ("steps=[1]", (1,)),
        ("inner=false", False),
        ("inner=True", True),
        ("damping=none", None),
        ("profile=smooth", "smooth"),
        ("limit=inf", np.inf),
        ("frame=a=b", "a=b"),
    ],
)
def test_options_of_the_problem(received, text, value):
    assert run("solve", "lqr", "-q", "--set", text, "--set", "n=1").exit_code == 0
    name = text.partition("=")[0]
    assert received["problem"] == {name: value, "n": 1}
    assert type(received["problem"][name]) is type(value)


def test_options_of_the_solver(received):
    result = run("solve", "lqr", "--option", "tolerance=1e-3", "--option", "step_lengths=1,0.5", "--solver", "ddp")
    assert result.exit_code == 0
    assert received["solver"] is SolverDDP
    assert received["options"] == DDPOptions(tolerance=1e-3, step_lengths=(1, 0.5))


def test_a_gait_with_options_of_its_own():
    words = run("solve", "quadruped-trot", "--robot", "small-quadruped", "-q", "--set", "step_length=0.15").stdout
    assert float(re.search(r"^moved +(\S+) m forward", words, re.M)[1]) > 0.08  # by default it is 0.06
    assert re.search(r"^limits +(kept; at most torque \d+ %|exceeded: torque of )", words, re.M)
    assert not re.search(r"^reference", words, re.M)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("arm-reach --robot UR5", "robot 'UR5' not found; did you mean 'ur5'"),
        ("arm-reach --robot franka", "robot 'franka' not found; did you mean 'panda'?"),
        ("arm-reach --robot Franka-Emika", "robot 'Franka-Emika' not found; did you mean 'panda'?"),
        ("quadruped-trot --robot unitree_go2", "quadruped-trot: robot 'unitree_go2' not found; did you mean 'go2'"),
        ("lqr --robot ur5", "robot: expected None for lqr"),
        ("quadruped-trot --set step_lenght=1", "quadruped-trot: option 'step_lenght' not found; did you mean 'step_l"),
        ("quadruped-trot --set step_length=far", "step_length: expected a number, got 'far'"),
        ("quadruped-trot --set step_length=1,2", "step_length: expected a number, got (1, 2)"),
        ("quadruped-trot --set inner=3", "quadruped-trot: option 'inner' not found"),
        ("quadruped-trot --set profile=3", "profile: expected a name, got 3"),
        ("quadruped-trot --set name=3", "quadruped-trot: option 'name' not found"),
        ("lqr --set robot=ur5", "--set: expected no robot, which has its own option; use --robot ur5"),
        ("lqr --set =3", "--set: expected NAME=VALUE, got '=3'"),
        ("lqr --set T=", "--set: expected NAME=VALUE, got 'T='"),
        ("lqr --set T=1 --set T=2", "--set: expected each name once, got 'T' twice"),
        ("lqr --option tolerance", "--option: expected NAME=VALUE, got 'tolerance'"),
        ("lqr --option max_iterations=many", "max_iterations: expected an integer >= 1, got 'many'"),
        ("lqr --option max_iteration=9", "SolverFDDP: option 'max_iteration' not found; did you mean 'max_iterations'"),
        ("lqr --solver ddp --option negative_acceptance=2", "SolverDDP: option 'negative_acceptance' not found"),
    ],
)
def test_misspelled_robots_and_options_are_one_line(arguments, message):
    assert error_of("solve", *arguments.split()).startswith(message)


def test_list_of_a_problem_names_robots_and_options():
    result = run("list", "arm-reach")
    assert result.exit_code == 0
    lines = [re.split(r" {2,}", line.strip()) for line in result.stdout.splitlines()]
    assert lines[0] == ["problem", "arm-reach"]
    assert lines[2][1].startswith("ur5, ")
    assert lines[2][1].endswith("or any arm, by name or file")
    assert ["--set", "default", "meaning"] in lines
    assert ["T", "100", "Number of knots [-]."] in lines
    assert ["robots", "a model of its own"] in [re.split(r" {2,}", x) for x in run("list", "lqr").stdout.splitlines()]
    assert error_of("list", "arm-reech").startswith("problem 'arm-reech' not found; did you mean 'arm-reach'")


def test_list_of_a_gait_has_the_default_robots_values():
    lines = [re.split(r" {2,}", line.strip()) for line in run("list", "quadruped-trot").stdout.splitlines()]
    defaults = {line[0]: line[1] for line in lines[4:]}
    assert defaults["step_length"] == "0.15 (anymal)"
    assert defaults["profile"] == "smooth (anymal)"
    assert defaults["mu"] == "0.7"
    frame = next(line for line in run("list", "arm-reach").stdout.splitlines() if line.startswith("frame"))
    assert re.split(r" {2,}", frame)[1] == "none"


@pytest.mark.parametrize("name", problems.names())
def test_every_option_is_listed_with_its_default(name):
    for line in run("list", name).stdout.splitlines()[4:]:
        assert len(re.split(r" {2,}", line.strip())) == 3, line


def test_an_animation_without_a_body_is_refused_before_the_solve(tmp_path, monkeypatch):
    from trajopt.solvers import SolverFDDP

    monkeypatch.setattr(SolverFDDP, "solve", lambda *arguments, **named: pytest.fail("it was solved"))
    message = error_of("solve", "lqr", "--animate", str(tmp_path / "lqr.gif"))
    assert message.startswith("--animate: lqr has no body to draw")
    assert "leave it out" in message


@pytest.mark.parametrize("name", problems.names())
def test_every_option_of_every_problem_is_explained(name):
    about = problems.describe(name)
    assert set(about.meanings) == set(about.options)
    assert not [text for text in about.meanings.values() if not text.endswith(".")]
