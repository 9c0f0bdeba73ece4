"""The command `trajopt sweep`: ranges in texts, what it prints and writes, what it refuses, its exit codes."""

from __future__ import annotations

import csv
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.support.command_line import CliRunner
from tests.sweeps import stores
from trajopt import cli, sweeps
from trajopt.cli.ranges import parameters_of
from trajopt.problems import load
from trajopt.sweeps import Recipe, Sweep

pytest.importorskip("pyarrow", reason="needs pip install pyarrow")
REACH = ("arm-reach", "--robot", "planar-2r", "--set", "target=0.5,0,0.1", "--set", "T=10")


def run(*arguments: Any) -> Any:
    return CliRunner().invoke(cli.app, ["sweep", *map(str, arguments)])


def row(output: str, key: str) -> str:
    return next(line[len(key) :].strip() for line in output.splitlines() if line.startswith(f"{key} "))


@pytest.fixture(scope="module")
def problem() -> Any:
    return load("arm-reach", "planar-2r", target=(0.5, 0.0, 0.1), T=10).problem


def rows(texts: list[str], problem: Any, n: int | None = None, seed: int = 0) -> dict[str, Any]:
    found = parameters_of(texts, problem, n, seed)
    return found if isinstance(found, dict) else found.block(0, found.n)


def test_random_rows_lie_between_the_ends(problem: Any) -> None:
    found = rows(["goal=0.3,-0.4,0.1:0.6,0.4,0.1", "stop.weight=1:2"], problem, 50, 7)
    goal = found["goal.reference"]
    assert goal.shape == (50, 3)
    assert np.all((goal >= [0.3, -0.4, 0.1]) & (goal <= [0.6, 0.4, 0.1]))
    assert np.ptp(goal[:, 1]) > 0.6
    assert np.all((found["stop.weight"] >= 1) & (found["stop.weight"] <= 2))
    np.testing.assert_array_equal(goal, rows(["goal=0.3,-0.4,0.1:0.6,0.4,0.1", "stop.weight=1:2"], problem, 50, 7)
                                  ["goal.reference"])  # fmt: skip
    assert len(rows(["x0=-0.1:0.1"], problem)["x0"]) == 100


def test_varying_a_component_leaves_the_others_unchanged(problem: Any) -> None:
    found = rows(["goal[0]=0.3:0.6", "goal.reference[2]=-0.1:0.1", "x0[1]=0.7:0.9"], problem, 20)
    assert np.all(found["goal.reference"][:, 1] == 0.0)
    assert np.ptp(found["goal.reference"][:, 0]) > 0.1
    assert np.ptp(found["goal.reference"][:, 2]) > 0.1
    np.testing.assert_array_equal(found["x0"][:, [0, 2, 3]], np.tile(problem.x0[[0, 2, 3]], (20, 1)))


def test_a_grid_has_all_combinations(problem: Any) -> None:
    found = rows(["goal=0.3,0,0.1:0.6,0,0.4:4", "stop.weight=1:3:3"], problem)
    goal, weight = found["goal.reference"], found["stop.weight"]
    assert goal.shape == (48, 3)
    np.testing.assert_array_equal(weight[:4], [1, 2, 3, 1])
    np.testing.assert_allclose(goal[:7:3], [[0.3, 0, 0.1], [0.3, 0, 0.2], [0.3, 0, 0.3]])
    assert len(np.unique(np.c_[goal, weight], axis=0)) == 48
    one = rows(["goal[0]=0.3:0.6:4", "goal[2]=0.1:0.4:2"], problem)["goal.reference"]
    np.testing.assert_allclose(one[:3], [[0.3, 0, 0.1], [0.3, 0, 0.4], [0.4, 0, 0.1]])
    np.testing.assert_array_equal(rows(["seed=0:99:100"], problem)["seed"], np.arange(100))
    assert rows(["us=-1:1"], problem, 3)["us"].shape == (3, 10, 2)


@pytest.mark.parametrize(
    ("texts", "n", "message"),
    [
        (
            [],
            None,
            "--vary: expected NAME=LOW:HIGH, drawn at random, or NAME=LOW:HIGH:COUNT, a grid, got none; such as",
        ),
        (["goal"], None, "--vary: expected NAME=LOW:HIGH, .* got 'goal'; such as goal="),
        (["goal=1"], None, "--vary: expected NAME=LOW:HIGH, .* got 'goal=1'"),
        (["goal=a:b"], None, "--vary: expected NAME=LOW:HIGH, .* got 'goal=a:b'"),
        (["goal=1:inf"], None, "--vary: expected NAME=LOW:HIGH"),
        (["goal=1:2:3:4"], None, "--vary: expected NAME=LOW:HIGH"),
        (["goal=1:2:0"], None, "--vary: expected COUNT >= 1 in 'goal=1:2:0', got '0'"),
        (["goal.refrence=1:2"], None, "--vary: parameter 'goal.refrence' not found; did you mean 'goal.reference'"),
        (["goal=1,2:3"], None, "--vary: expected 1 or 3 numbers for each bound of goal.reference, got 2"),
        (["goal[3]=1:2"], None, r"--vary: expected a component of goal.reference, of shape \(3,\), got \[3\]"),
        (["goal[0, 0]=1:2"], None, r"--vary: expected a component of goal.reference, of shape \(3,\), got \[0, 0\]"),
        (["goal[0]=2:1"], None, "--vary: expected LOW <= HIGH for goal.reference, got"),
        (["goal=1:2:3", "x0=0:1"], None, "--vary: expected COUNT in all ranges for a grid, or in none, got both"),
        (["goal=1:2:3"], 5, "--n: expected none for a grid, got 5; leave it out"),
        (["goal=1:2:1000", "x0=0:1:9"], None, "--vary: rows of the grid: expected"),
        (["seed=0:9"], 5, "--vary: expected seed=LOW:HIGH:COUNT"),
        (["goal=1:2"], 0, "--n: expected"),
    ],
)
def test_ranges_that_do_not_fit_are_refused(problem: Any, texts: list[str], n: int | None, message: str) -> None:
    with pytest.raises((ValueError, KeyError), match=message):
        rows(texts, problem, n)


@pytest.mark.slow
def test_it_solves_and_writes(tmp_path: Path) -> None:
    store, plot, table = tmp_path / "store", tmp_path / "sweep.png", tmp_path / "sweep.csv"
    vary = ("--vary", "goal=0.5,0,0:0.6,0,0.2", "--n", 5, "--seed", 3, "--chunk", 2, "--workers", 1)
    result = run(*REACH, *vary, "--store", store, "--plot", plot, "--kind", "map", "--csv", table)
    assert result.exit_code == 0, result.output
    found = Sweep.read(store)
    assert row(result.output, "rows") == f"5 in {store}"
    assert row(result.output, "converged") == "5 of 5 (100 %)"
    assert row(result.output, "best").startswith(f"row {found.best().index}: cost {found.best().cost:.8g}, goal.ref")
    assert row(result.output, "picture") == str(plot)
    assert plot.stat().st_size > 5_000
    with table.open(newline="") as file:
        assert [float(each["cost"]) for each in csv.DictReader(file)] == found.cost.tolist()
    solution = found[4].solution()
    np.testing.assert_array_equal(solution.xs, found[4].xs)
    np.testing.assert_array_equal(solution.us, found[4].us)
    assert solution.converged
    assert solution.problem is not None


@pytest.fixture
def received(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> SimpleNamespace:
    """In place of solving, a store with failures; keeps the arguments of sweep."""
    kept = SimpleNamespace(calls=[], failed={1: "MAX_ITERATIONS", 2: "MAX_ITERATIONS"}, errors={})

    def sweep(recipe: Recipe, parameters: Any, **options: Any) -> Sweep:
        kept.calls.append((recipe, parameters, options))
        return Sweep.read(stores.write(tmp_path / "made", stores.grid(2), kept.failed, kept.errors))

    monkeypatch.setattr(sweeps, "sweep", sweep)
    monkeypatch.setattr("trajopt.sweeps.failures.Failure.explain", lambda self, row=0: f"why {self.reason}")
    return kept


def test_all_options_are_passed_to_sweep(received: SimpleNamespace, tmp_path: Path) -> None:
    options = ("--store", tmp_path / "s", "--chunk", 7, "--workers", 3, "--no-trajectories", "-q")
    how = ("--solver", "ddp", "--option", "max_iterations=50", "--vary", "stop.weight=1:2", "--n", 9, "--seed", 4)
    result = run(*REACH, *how, *options)
    assert result.exit_code == 0, result.output
    ((recipe, parameters, given),) = received.calls
    assert recipe == Recipe(
        problem="arm-reach", robot="planar-2r", options={"target": [0.5, 0, 0.1], "T": 10}, solver="SolverDDP",
        solver_options={"max_iterations": 50},
    )  # fmt: skip
    assert (parameters.rows, parameters.seed) == (9, 4)
    assert given == {"executor": None, "store": tmp_path / "s", "workers": 3, "chunk": 7, "trajectories": False,
                     "progress": False}  # fmt: skip


def test_failures_are_counted_and_explained(received: SimpleNamespace) -> None:
    result = run(*REACH, "--vary", "x0=0:0.1", "--explain")
    assert result.exit_code == 0
    assert row(result.output, "converged") == "2 of 4 (50 %)"
    assert row(result.output, "others") == "2 MAX_ITERATIONS"
    assert "such as row 1: goal.reference = (0.8, -0.4, 0.5)" in result.output
    assert result.output.rstrip().endswith("why MAX_ITERATIONS")
    assert "why" not in run(*REACH, "--vary", "x0=0:0.1").output


def test_the_exit_code_is_2_if_rows_failed(received: SimpleNamespace) -> None:
    received.failed, received.errors = {}, {2: "ValueError: no"}
    assert run(*REACH, "--vary", "x0=0:0.1").exit_code == 2
    received.failed, received.errors = dict.fromkeys(range(4), "DIVERGED"), {}
    result = run(*REACH, "--vary", "x0=0:0.1")
    assert result.exit_code == 2
    assert "best" not in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("arm-reech",), "problem 'arm-reech' not found; did you mean 'arm-reach'"),
        (
            ("cart-pole-balance",),
            "cart-pole-balance is a closed loop, which sweeps do not support: run trajopt mpc cart-pole",
        ),
        ((*REACH,), "--vary: expected NAME=LOW:HIGH"),
        ((*REACH, "--vary", "gaol=1:2"), "--vary: parameter 'gaol' not found"),
        ((*REACH, "--solver", "ddq"), "--solver: solver 'ddq' not found; did you mean 'ddp'"),
        ((*REACH, "--plot", "sweep.txt"), "--plot: expected a file ending in .png or .pdf or .svg"),
        ((*REACH, "--csv", "sweep.txt"), "--csv: expected a file ending in .csv"),
        ((*REACH, "--kind", "maps"), "--kind: kind 'maps' not found; did you mean 'map'"),
        (
            (*REACH, "--vary", "x0=0:1", "--dask", "tcp://a:1", "--workers", "2"),
            "--workers: expected none with --dask",
        ),
        ((*REACH, "--vary", "x0=0:1", "--dask", "here::there"), "--dask: expected the address of a scheduler"),
    ],
)
def test_wrong_arguments_give_a_one_line_error(arguments: tuple[str, ...], message: str) -> None:
    if "here::there" in arguments:
        pytest.importorskip("distributed", reason="needs pip install distributed")
    result = run(*arguments)
    assert result.exit_code == 1
    assert result.output.startswith("error: ")
    assert message in result.output
    assert len(result.output.splitlines()) == 1


def test_the_dask_option_without_distributed_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    result = run(*REACH, "--vary", "x0=0:1", "--dask", "tcp://127.0.0.1:8786")
    assert result.exit_code == 1
    assert "--dask needs distributed: pip install distributed" in result.output
