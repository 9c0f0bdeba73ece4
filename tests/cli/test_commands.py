"""The command line: what it prints, what it writes, what it refuses, its exit codes.

Longer than other files, because one command has all that.
"""

import dataclasses
import re
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from tests.support.command_line import CliRunner
from trajopt import cli, problems
from trajopt.actions.lqr import ActionModelLQR
from trajopt.cache import disk as cache
from trajopt.errors import unknown_name
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution, SolverStatus
from trajopt.solvers import DDPOptions, FDDPOptions, SolverDDP, SolverFDDP

COST = 8.383565828  # of the LQ problem below, by the Riccati recursion in test_reference_cost


def lq_problem():
    model = ActionModelLQR([[1.0, 0.1], [0.0, 1.0]], [[0.0], [1.0]], np.eye(2), np.eye(1))
    return ShootingProblem([-1.0, -1.0], [model] * 20, model)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Case:
    name: str = "lq"
    description: str = "linear dynamics, quadratic cost"
    problem: ShootingProblem = dataclasses.field(default_factory=lq_problem)
    xs: object = None
    us: object = None
    solver: type = SolverFDDP
    options: object = dataclasses.field(default_factory=FDDPOptions)
    reference_cost: float | None = COST
    reference_source: str = "Riccati"
    obstacles: object = dataclasses.field(default_factory=lambda: np.zeros((0, 4)))

    def report(self, solution):
        return {"distance": f"{np.linalg.norm(solution.xs[-1]):.3f} m"}


@pytest.fixture
def case(monkeypatch):
    """Ready problems "lq" and "other", of which only the first can be loaded; keeps what was asked for."""
    asked = SimpleNamespace(case=Case(), name="", robot="never", options=None, solved=[])

    def load(name, robot=None, **options):
        asked.name, asked.robot, asked.options = name, robot, options
        if robot not in (None, "planar-2r"):
            raise unknown_name("robot", robot, ["planar-2r"])
        return asked.case

    def describe(name):
        return SimpleNamespace(
            name=name,
            description=f"about {name}",
            robots=["planar-2r", "cart-pole"],
            any_robot=name == "other",
            options={"T": 20, "mu": None},
            meanings={"T": "Number of knots [-]."},
            reference_cost=COST if name == "lq" else None,
        )

    monkeypatch.setattr(problems, "names", lambda: ["lq", "other"], raising=False)
    monkeypatch.setattr(problems, "load", load, raising=False)
    monkeypatch.setattr(problems, "describe", describe, raising=False)
    for solver in (SolverDDP, SolverFDDP):
        monkeypatch.setattr(solver, "solve", recording(solver.solve, asked.solved))
    return asked


def recording(solve, solved):
    def wrapper(self, xs=None, us=None, **options):
        solved.append((type(self), self.options, xs, us))
        return solve(self, xs, us, **options)

    return wrapper


def run(*arguments):
    return CliRunner().invoke(cli.app, [str(argument) for argument in arguments])


def one_error_line(result):
    """The message of a refusal: one line on stderr, exit code 1, no traceback."""
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit)
    assert "Traceback" not in result.output
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: ")
    return line


def rows(output):
    """The result block: value by key."""
    found = {}
    for line in output.splitlines():
        match = re.fullmatch(r"(status|cost|reference|iterations|time|distance|picture|saved) +(.*)", line)
        if match:
            found[match[1]] = match[2]
    return found


# --- solve -----------------------------------------------------------------------------------------------------------


def test_reference_cost():
    a, b, value = np.array([[1.0, 0.1], [0.0, 1.0]]), np.array([[0.0], [1.0]]), np.eye(2)
    for _ in range(20):
        gain = np.linalg.solve(np.eye(1) + b.T @ value @ b, b.T @ value @ a)
        value = np.eye(2) + a.T @ value @ (a - b @ gain)
    x0 = np.array([-1.0, -1.0])
    assert 0.5 * x0 @ value @ x0 == pytest.approx(COST, rel=1e-9)


@pytest.mark.usefixtures("case")
def test_solve_prints_the_table_and_the_result():
    result = run("solve", "lq")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    lines = result.stdout.splitlines()
    assert lines[0] == "SolverFDDP: T = 20 knots, nx = 2, nu = 1"
    assert lines[1].split()[:4] == ["iter", "cost", "stop", "step"]
    assert lines[2].split()[:2] == ["1", "8.38357e+00"]
    block = rows(result.stdout)
    assert block["status"] == "converged"
    assert float(block["cost"]) == pytest.approx(COST, rel=1e-6)
    assert re.fullmatch(r"8\.3835658 \(difference [+-]\d\.\de[+-]\d\d\); Riccati", block["reference"])
    assert block["iterations"] == "2"
    assert re.fullmatch(
        r"\d+\.\d\d s to build the problem, \d+\.\d\d s to load or compile code, \d+\.\d{3} s to solve", block["time"]
    )
    assert block["distance"] == "0.343 m"
    assert result.stdout.count("converged") == 1
    assert re.fullmatch(r"[\x20-\x7e\n]*", result.stdout)


def test_solve_uses_the_guess_and_the_solver_of_the_case(case):
    xs, us = np.full((21, 2), 0.5), np.full((20, 1), 0.25)
    case.case = Case(xs=xs, us=us, solver=SolverDDP, options=DDPOptions(tolerance=1e-3))
    assert run("solve", "lq").exit_code == 0
    ((solver, options, given_xs, given_us),) = case.solved
    assert solver is SolverDDP
    assert options == DDPOptions(tolerance=1e-3)
    assert given_xs is xs
    assert given_us is us
    assert (case.name, case.robot) == ("lq", None)


@pytest.mark.usefixtures("case")
def test_quiet_leaves_out_the_table_only():
    result = run("solve", "lq", "--quiet")
    assert result.exit_code == 0
    assert "iter " not in result.stdout
    assert "SolverFDDP" not in result.stdout
    assert set(rows(result.stdout)) == {"status", "cost", "reference", "iterations", "time", "distance"}


def test_a_solver_can_be_chosen_and_takes_over_the_options_that_it_has(case):
    case.case = Case(options=FDDPOptions(tolerance=1e-4, negative_acceptance=3.0))
    assert run("solve", "lq", "--solver", "ddp").exit_code == 0
    assert case.solved[-1][:2] == (SolverDDP, DDPOptions(tolerance=1e-4))
    case.case = Case(solver=SolverDDP, options=DDPOptions(tolerance=1e-4))
    assert run("solve", "lq", "--solver", "fddp").exit_code == 0
    assert case.solved[-1][:2] == (SolverFDDP, FDDPOptions(tolerance=1e-4))
    assert run("solve", "lq", "--solver", "ddp").exit_code == 0
    assert case.solved[-1][:2] == (SolverDDP, DDPOptions(tolerance=1e-4))


def test_max_iterations_reach_the_solver_and_not_converging_is_exit_code_2(case):
    result = run("solve", "lq", "--option", "max_iterations=1")
    assert result.exit_code == 2
    assert case.solved[0][1] == FDDPOptions(max_iterations=1)
    assert rows(result.stdout)["status"] == SolverStatus.MAX_ITERATIONS.value
    assert rows(result.stdout)["iterations"] == "1"
    assert result.stderr == ""


@pytest.mark.usefixtures("case")
def test_explain_prints_the_explanation_of_the_solution():
    plain, explained = run("solve", "lq", "-q"), run("solve", "lq", "-q", "--explain")
    assert explained.exit_code == 0
    assert len(explained.stdout.splitlines()) > len(plain.stdout.splitlines())
    assert "SolverFDDP: converged." in explained.stdout
    assert "SolverFDDP: converged." not in plain.stdout


def test_a_case_without_a_reference_says_nothing_about_it(case):
    case.case = Case(reference_cost=None)
    assert "reference" not in rows(run("solve", "lq").stdout)


def test_the_robot_reaches_the_problem(case):
    assert run("solve", "lq", "--robot", "planar-2r").exit_code == 0
    assert case.robot == "planar-2r"


@pytest.mark.usefixtures("case")
def test_plot_and_save_write_files(tmp_path):
    picture, archive = tmp_path / "lq.png", tmp_path / "lq.npz"
    result = run("solve", "lq", "--plot", picture, "--save", archive)
    assert result.exit_code == 0, result.output
    assert rows(result.stdout)["picture"] == str(picture)
    assert not (tmp_path / "lq-solver.png").exists()
    assert rows(result.stdout)["saved"] == str(archive)
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    loaded = Solution.load(archive)
    assert loaded.cost == pytest.approx(COST, rel=1e-9)
    assert loaded.xs.shape == (21, 2)


@pytest.mark.usefixtures("case")
def test_further_pages_are_files_of_their_own(tmp_path):
    picture, further = tmp_path / "lq.png", tmp_path / "lq-solver.png"
    result = run("solve", "lq", "--plot", picture, "--pages")
    assert result.exit_code == 0, result.output
    assert rows(result.stdout)["picture"] == f"{picture}, {further}"
    assert further.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert "--pages: expected with --plot only" in one_error_line(run("solve", "lq", "--pages"))


@pytest.mark.usefixtures("case")
def test_files_are_written_for_a_solve_that_did_not_converge(tmp_path):
    result = run(
        "solve", "lq", "--option", "max_iterations=1", "--plot", tmp_path / "lq.svg", "--save", tmp_path / "lq.npz"
    )
    assert result.exit_code == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lq.npz", "lq.svg"]


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["lqr"], "problem 'lqr' not found; did you mean 'lq'? Known: lq, other."),
        (
            ["lq", "--solver", "newton"],
            "solver 'newton' not found. Known: box-ddp, box-fddp, ddp, fatrop, fddp, ipopt, sqp.",
        ),
        (["lq", "--robot", "planar-3r"], "robot 'planar-3r' not found; did you mean 'planar-2r'? Known: planar-2r."),
        (["lq", "--option", "max_iterations=0"], "max_iterations: expected"),
        (["lq", "--plot", "lq.gif"], "--plot: expected a file ending in .png or .pdf or .svg, got 'lq.gif'"),
        (["lq", "--plot", "lq"], "--plot: expected a file ending in .png or .pdf or .svg, got 'lq'"),
        (["lq", "--plot", "missing/lq.png"], "--plot: expected an existing folder, got 'missing'; create it first"),
        (["lq", "--save", "lq.csv"], "--save: expected a file ending in .npz, got 'lq.csv'"),
        (["lq", "--save", "missing/lq.npz"], "--save: expected an existing folder, got 'missing'; create it first"),
    ],
)
def test_wrong_input_is_one_line_and_solves_nothing(case, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    result = run("solve", *arguments)
    assert one_error_line(result).startswith(f"error: {message}")
    assert result.stdout == ""
    assert not case.solved
    assert not list(tmp_path.iterdir())


def test_the_limits_option_of_other_problems_names_the_problem_with_limits():
    line = one_error_line(run("solve", "pendulum", "--limits"))
    assert line == (
        "error: --limits: expected a gait or arm-reach, got pendulum, which has no such option; use pendulum-limits, "
        "the problem with limits"
    )
    assert one_error_line(run("solve", "lqr", "--limits")).endswith("no such option; leave it out")


def test_the_summary_reports_a_goal_out_of_reach():
    result = run(
        *("solve", "arm-reach", "--robot", "planar-2r", "--set", "target=5,0,0", "-q"),
        *("--explain", "--option", "max_iterations=5"),
    )
    assert result.exit_code == 2
    summary = result.stdout.split("SolverFDDP: ")[0]
    assert "goal        residual of 'goal'" in summary
    assert "it is out of reach, 5 m from the first joint with an arm of at most" in summary
    assert "raise max_iterations" not in result.stdout


def test_the_last_line_says_that_a_goal_is_out_of_reach(tmp_path):
    result = run(
        *("solve", "arm-reach", "--robot", "planar-2r", "--set", "target=5,0,0"),
        *("--save", str(tmp_path / "reach.npz"), "--option", "max_iterations=5"),
    )
    assert "status      stopped at max_iterations, the target is out of reach" in result.stdout
    last = result.stdout.splitlines()[-1]
    assert last.startswith("goal        residual of 'goal'")
    assert "it is out of reach, 5 m from the first joint" in last


@pytest.mark.parametrize(
    ("target", "status"), [("0.3,0,0.2", "converged"), ("5,0,0", "converged, the target is out of reach")]
)
def test_the_status_says_that_a_target_is_out_of_reach(target, status):
    result = run("solve", "arm-reach", "--robot", "planar-2r", "--set", f"target={target}", "-q")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0] == f"status      {status}"


def test_check_takes_ready_problems():
    result = run("check", "pendulum")
    assert result.exit_code == 0
    assert "DifferentialActionModelPendulum" in result.stdout
    assert result.stdout.splitlines()[-1] == "all right"
    assert "or a problem of `trajopt list`, got 'pendulu'" in one_error_line(run("check", "pendulu"))


def test_a_folder_is_no_picture(case, tmp_path):
    (tmp_path / "lq.png").mkdir()
    assert "expected a file, got the folder" in one_error_line(run("solve", "lq", "--plot", tmp_path / "lq.png"))
    assert not case.solved


@pytest.mark.parametrize("arguments", [["solve"], ["solve", "lq", "--colour"], ["solve", "lq", "--no-such"], ["draw"]])
def test_wrong_usage_is_exit_code_2_without_a_traceback(case, arguments):
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Usage" in result.stderr
    assert "Traceback" not in result.output
    assert not case.solved


@pytest.mark.usefixtures("case")
def test_a_defect_is_not_hidden(monkeypatch):
    monkeypatch.setattr(problems, "load", lambda name, robot=None, **options: 1 / 0)
    assert isinstance(run("solve", "lq").exception, ZeroDivisionError)


# --- Ctrl-C ----------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("case")
def test_interrupting_a_solve_reports_the_best_iterate(monkeypatch, tmp_path):
    from trajopt.callbacks import CallbackVerbose

    draw = CallbackVerbose.__call__

    def interrupt(self, record):
        draw(self, record)
        raise KeyboardInterrupt

    monkeypatch.setattr(CallbackVerbose, "__call__", interrupt)
    result = run("solve", "lq", "--save", tmp_path / "lq.npz")
    assert result.exit_code == 2
    block = rows(result.stdout)
    assert block["status"] == SolverStatus.INTERRUPTED.value
    assert float(block["cost"]) == pytest.approx(COST, rel=1e-6)
    assert (tmp_path / "lq.npz").exists()


def test_interrupting_before_a_solve_ends_quietly(case, monkeypatch):
    def interrupt(name, robot=None, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(problems, "load", interrupt)
    result = run("solve", "lq")
    assert result.exit_code == 130
    assert result.stderr == "interrupted\n"
    assert not case.solved


# --- the other commands ----------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("case")
def test_list_has_a_line_for_each_problem():
    result = run("list")
    assert result.exit_code == 0
    header, first, second, title, *loops, last = (
        re.split(r" {2,}", line.strip()) for line in result.stdout.splitlines()
    )
    assert header == ["others"]
    assert first == ["lq", "about lq"]
    assert second == ["other", "about other"]
    assert title == ["closed loops, run by trajopt mpc NAME"]
    assert [row[0] for row in loops] == problems.mpc.names()
    assert last == ["trajopt list NAME tells robots and options of one."]


def test_version():
    from importlib.metadata import version

    result = run("--version")
    assert (result.exit_code, result.stdout) == (0, f"trajopt {version('trajopt')}\n")


def test_without_a_command_the_help_is_shown():
    result = run()
    assert "Usage" in result.output
    assert all(command in result.output for command in ("solve", "list", "cache"))


def test_cache_info_and_clear(monkeypatch, tmp_path):
    folder = tmp_path / "kernels"
    monkeypatch.setenv("TRAJOPT_CACHE_DIR", str(folder))
    monkeypatch.setenv("TRAJOPT_CACHE_SIZE", "7")
    cache.store("one", b"x" * 2**20)
    cache.store("two", b"y" * 2**20)
    lines = run("cache", "info").stdout.splitlines()
    assert lines[:4] == [f"folder   {folder}", "entries  2", "size     2.0 MiB of at most 7 MiB", ""]
    assert [line.split() for line in lines[4:]] == [
        ["robot", "kind", "other"],
        ["shared", "others", "2,", "2048", "KiB"],
    ]
    assert run("cache", "clear").stdout == "removed 2 entries\n"
    assert cache.load("one") is None
    assert run("cache", "info").stdout.splitlines()[1] == "entries  0"
    cache.store("one", b"x")
    assert run("cache", "clear").stdout == "removed 1 entry\n"


def test_cache_info_lists_robots_and_kinds(monkeypatch, tmp_path):
    monkeypatch.setenv("TRAJOPT_CACHE_DIR", str(tmp_path / "kernels"))
    cache.store("one", b"x" * 2048, "quick code: derivatives of dynamics of go2 with 4 contacts")
    cache.store("two", b"x" * 4096, "quick code: dynamics of go2 with 4 contacts")
    cache.store("three", b"x", "expression: costs of the end of go2")
    lines = run("cache", "info").stdout.splitlines()[4:]
    assert [line.split() for line in lines] == [
        ["robot", "kind", "expression", "quick", "code"],
        ["go2", "dynamics", "2,", "6", "KiB"],
        ["costs", "1,", "0", "KiB"],
    ]


def test_cache_that_is_off(monkeypatch):
    monkeypatch.setenv("TRAJOPT_CACHE_DIR", "off")
    assert run("cache", "info").stdout == "off: every start compiles (set TRAJOPT_CACHE_DIR to a folder)\n"
    assert run("cache", "clear").stdout == "removed 0 entries\n"


# --- as a process ----------------------------------------------------------------------------------------------------


def test_python_dash_m_is_the_command():
    found = subprocess.run([sys.executable, "-m", "trajopt", "--version"], capture_output=True, text=True, check=True)
    assert found.stdout.startswith("trajopt ")


def test_the_installed_command_is_main():
    from importlib.metadata import entry_points

    (script,) = [entry for entry in entry_points(group="console_scripts") if entry.name == "trajopt"]
    assert script.load() is cli.main


def test_solving_a_real_problem_imports_no_matplotlib():
    code = (
        "import sys; from trajopt.cli import main; sys.argv = ['trajopt', 'solve', 'lqr', '-q']\n"
        "try: main()\n"
        "except SystemExit as end: print(end.code, 'matplotlib' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.startswith("status      converged\n")
    assert found.stdout.splitlines()[-1] == "0 False"


def test_closed_loops_are_run_by_another_command():
    result = run("solve", "arm-tracking")
    assert result.exit_code == 1
    assert "arm-tracking is a closed loop: run trajopt mpc arm-tracking" in result.output
    assert "Closed loop: trajopt mpc arm-tracking." in run("list", "arm-tracking").output.replace("\n", " ")


def test_every_ready_problem_is_listed():
    assert problems.names(), "there are ready problems"
    listed = [line.split()[0] for line in run("list").stdout.splitlines() if line.startswith("  ")]
    assert sorted(listed) == sorted([*problems.names(), *problems.mpc.names()])
    assert "others" not in run("list").stdout.splitlines(), "each problem has a group"


def test_a_gait_is_listed_solved_and_drawn(tmp_path):
    row = run("list", "quadruped-trot").stdout.splitlines()[2]
    assert "hyq" in row
    assert "small-quadruped" in row
    picture = tmp_path / "trot.png"
    result = run("solve", "quadruped-trot", "--robot", "small-quadruped", "--plot", picture)
    assert result.exit_code == 0, result.output
    words = result.stdout
    assert re.search(r"^ +1 +[0-9.e+-]+", words, re.M), "iterations as they come"
    assert re.search(r"^moved +\+0\.0\d+ m forward.* in 0\.54 s$", words, re.M)
    assert re.search(r"^slip +at most [0-9.]+ mm during a stance", words, re.M)
    assert re.search(r"^force +at most \d+ N on one foot", words, re.M)
    assert re.search(r"^friction +[0-9.]+ N (in|out)side the cone", words, re.M)
    assert picture.stat().st_size > 10_000


def test_importing_trajopt_leaves_heavy_packages_unimported():
    code = "import sys, trajopt; print([m for m in sys.argv[1:] if m in sys.modules])"
    heavy = ["matplotlib", "rich", "typer", "llvmlite"]
    found = subprocess.run([sys.executable, "-c", code, *heavy], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
