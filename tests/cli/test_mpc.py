"""The command `trajopt mpc`: what it prints, what it writes, what it refuses, its exit codes."""

from types import SimpleNamespace

import numpy as np
import pytest

from tests.mpc import slider
from tests.support.command_line import CliRunner
from trajopt import cli, mpc
from trajopt.errors import unknown_name
from trajopt.problems import mpc as cases
from trajopt.problems.mpc.case import MPCCase

NAMES = ["other", "slider"]


@pytest.fixture
def received(monkeypatch):
    """One ready closed loop, "slider"; keeps the arguments of load."""
    kept = SimpleNamespace(options=None, case=None)

    def load(name, **options):
        if name != "slider":
            raise unknown_name("closed loop", name, NAMES)
        kept.options = options
        kept.case = MPCCase(
            name="slider",
            description="A mass on a rail.",
            controller=slider.controller(),
            x0=np.array([0.0, 0.2]),
            duration=1.0,
            disturbance=mpc.Push(time=0.3, value=[0.0, -0.5]),
            report=lambda log: {"distance": f"{abs(log.xs[-1, 0] - 1.0):.3f} m"},
        )
        return kept.case

    monkeypatch.setattr(cases, "load", load)
    return kept


def run(*arguments):
    return CliRunner().invoke(cli.app, ["mpc", *map(str, arguments)])


def row(output, key):
    return next(line[len(key) :].strip() for line in output.splitlines() if line.startswith(f"{key} "))


def test_it_runs_and_reports(received):
    result = run("slider")
    assert result.exit_code == 0, result.output
    log = received.case.simulate()
    assert row(result.output, "loop") == "1 s in 10 steps of 100 ms, real-time, 15 knots over 1.5 s"
    assert row(result.output, "cost") == f"{log.cost:.6g}, of the plant's motion by the controller's running costs"
    assert row(result.output, "pushes") == "Push(time=0.3, value=[0, -0.5])"
    assert row(result.output, "distance") == f"{abs(log.xs[-1, 0] - 1.0):.3f} m"
    assert "99 % of steps below" in row(result.output, "times")


def test_options_change_the_loop_and_files_are_written(received, tmp_path):
    plot, log = tmp_path / "loop.png", tmp_path / "loop.npz"
    options = ("--duration", 0.5, "--delay", 0.02, "--noise", 1e-3, "--seed", 7, "--no-pushes", "--set", "mass=2")
    result = run("slider", *options, "--plot", plot, "--save", log, "--explain", "-q")
    assert result.exit_code == 0, result.output
    assert received.options == {"mass": 2}
    found = mpc.ClosedLoop.load(log)
    mine = received.case.simulate(0.5, delay=0.02, noise=1e-3, seed=7, disturbance=None)
    assert np.array_equal(found.xs, mine.xs)
    assert plot.stat().st_size > 10_000
    assert row(result.output, "picture") == str(plot)
    assert row(result.output, "saved") == str(log)
    assert result.output.count("0.5 s in 5 steps") == 1  # --explain says what is new only
    assert "pushes" not in result.output


def test_explaining_repeats_nothing(received):
    result = run("slider", "--explain", "--delay", 0.05)
    lines = result.output.splitlines()
    assert len(lines) == len(set(lines))
    assert lines[-1].startswith(
        "-> the delay is a large part of the control period: in Python, simulate(..., compensate_delay"
    )
    assert row(run("slider", "--explain").output, "explained") == "nothing to improve"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("((4.0, 0.1), (6.0, -0.2))", ((4.0, 0.1), (6.0, -0.2))),
        ("[[4, 0.1]]", ((4, 0.1),)),
        ("(4,0.1),(6,-0.2)", ((4, 0.1), (6, -0.2))),
        ("()", ()),
        ("(5)", (5,)),
        ("0.4,0,0.6", (0.4, 0, 0.6)),
        ("(1, inf)", (1, np.inf)),
        ("((1, 'a'),)", "((1, 'a'),)"),
        ("(__import__('os'),)", "(__import__('os'),)"),
    ],
)
def test_rows_are_numbers_in_brackets(received, text, value):
    assert run("slider", "--set", f"rows={text}", "--duration", 0.1).exit_code == 0
    assert received.options == {"rows": value}


@pytest.mark.parametrize(
    ("name", "option", "message"),
    [
        ("cart-pole-balance", "pushes=1", "pushes: expected rows (time, impulse), got 1"),
        ("cart-pole-balance", "pushes=abc", "pushes: expected rows (time, impulse), got 'abc'"),
        ("cart-pole-balance", "pushes=4,0.1,6,-0.2", "pushes: expected rows (time, impulse), got (4, 0.1, 6, -0.2)"),
        ("cart-pole-balance", "period=100", "period: expected at most the window, N dt = 3 s, got 100 s"),
        ("drive-obstacles", "circles=1", "circles: expected rows (x, y, radius)"),
        ("quadrotor-gates", "gates=()", "gates: expected at least 1 row (x, y, z, heading, time), got 0"),
        ("quadrotor-gates", "gusts=1", "gusts: expected rows (time, duration, "),
    ],
)
def test_options_that_do_not_fit_are_one_line(name, option, message):
    result = run(name, "--set", option)
    assert result.exit_code == 1
    assert message in result.output
    assert len(result.output.splitlines()) == 1


def test_a_failed_step_has_an_exit_code(received, monkeypatch):
    def simulate(self, duration=None, **changes):
        log = mpc.simulate(self.controller, self.plant, self.x0, 0.3)
        log.statuses[1] = "failed"
        return log

    monkeypatch.setattr(MPCCase, "simulate", simulate)
    result = run("slider")
    assert result.exit_code == 2
    assert "1 failed" in row(result.output, "steps")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("slidr",), "closed loop 'slidr' not found; did you mean 'slider'"),
        (("slider", "--plot", "loop.txt"), "--plot: expected a file ending in .png or .pdf or .svg"),
        (("slider", "--save", "loop.csv"), "--save: expected a file ending in .npz"),
        (("slider", "--animate", "loop.png"), "--animate: expected a file ending in .gif or .mp4"),
        (("slider", "--duration", "0"), "duration: expected a number > 0"),
        (("slider", "--delay", "-1"), "delay: expected a number >= 0"),
        (("slider", "--seed", "-1"), "seed: expected an integer >= 0"),
        (("slider", "--set", "mass"), "--set: expected NAME=VALUE, got 'mass'"),
    ],
)
def test_wrong_arguments_give_a_one_line_error(received, arguments, message):
    result = run(*arguments)
    assert result.exit_code == 1
    assert result.output.startswith("error: ")
    assert message in result.output
    assert len(result.output.splitlines()) == 1


def test_without_a_name_all_are_listed():
    result = run()
    assert result.exit_code == 0
    for name in cases.names():
        assert any(line.startswith(f"{name} ") for line in result.output.splitlines())
