"""Many problems in one call: each row ends as a solve of its own, whatever happens to the others."""

from __future__ import annotations

import pickle
import re
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.constrained import pendulum_problem
from trajopt import Solution, SolutionBatch, SolverStatus, UnsupportedOperationError, problems
from trajopt.errors import InvalidArgumentError, SolverInUseError, UnknownNameError
from trajopt.solvers import DDPOptions, SolverBoxDDP, SolverBoxFDDP, SolverDDP, SolverFDDP, SolverSQP, SQPOptions

SOLVERS: dict[Any, str] = {
    SolverDDP: "pendulum",
    SolverFDDP: "pendulum",
    SolverBoxDDP: "pendulum",
    SolverBoxFDDP: "pendulum",
    SolverSQP: "pendulum-limits",
}


def starts(n: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).uniform(-0.6, 0.6, (n, 2))


def alone(solver: Any, x0: Any, **guess: Any) -> Any:
    """The solution of a single solve."""
    problem, before = solver.problem, solver.problem.x0
    problem.x0 = x0
    try:
        return solver.solve(**guess)
    finally:
        problem.x0 = before


def test_names_of_statuses_equal_the_statuses() -> None:
    names = np.array(["CONVERGED", "ERROR", "INFEASIBLE"], dtype="U32")
    np.testing.assert_array_equal(names == SolverStatus.CONVERGED, [True, False, False])
    np.testing.assert_array_equal(names == SolverStatus.INFEASIBLE, [False, False, True])
    assert names[0] == SolverStatus.CONVERGED != names[2]
    assert SolverStatus.CONVERGED != SolverStatus.INFEASIBLE
    assert SolverStatus.CONVERGED in {"CONVERGED"}
    assert pickle.loads(pickle.dumps(SolverStatus.CONVERGED)) is SolverStatus.CONVERGED


@pytest.mark.parametrize("kind", SOLVERS)
def test_rows_are_the_solves_of_a_loop(kind: Any) -> None:
    solver, X = kind(problems.load(SOLVERS[kind], T=30).problem), starts(5)
    before = solver.problem.x0.copy()
    solutions = solver.solve_batch(x0=X)
    np.testing.assert_array_equal(solver.problem.x0, before)
    assert len(solutions) == 5
    for i, x0 in enumerate(X):
        one, row = alone(solver, x0), solutions[i]
        assert row.status is one.status
        assert solutions.status[i] == one.status.name == one.status
        assert solutions.cost[i] == row.cost == pytest.approx(one.cost, rel=1e-10)
        assert solutions.iterations[i] == len(row.history)
        np.testing.assert_allclose(solutions.xs[i], one.xs, atol=1e-5)
        np.testing.assert_allclose(solutions.us[i], one.us, atol=1e-5)
        np.testing.assert_allclose(solutions.K[i], one.K, atol=1e-3 * np.abs(one.K).max())
        assert {name: y.shape for name, y in row.multipliers.items()} == {
            name: y.shape for name, y in one.multipliers.items()
        }
        np.testing.assert_array_equal(row.xs[0], x0)
        assert np.abs(row.gaps()).max() < 1e-8


@pytest.mark.parametrize("passed", [False, True], ids=["at rest", "states"])
def test_guesses_of_rows_that_are_solved_one_by_one_are_computed_together(
    passed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the controls of `quasi_static`, which takes longer than a solve."""
    problem, X = problems.load("pendulum-limits", T=30).problem, starts(4)
    X[2] = np.nan
    xs = X[:, None] + np.linspace(0.0, 1.0, 31)[:, None] * [0.5, 0.0] if passed else None
    seen, solve = list[Any](), SolverSQP._solve
    monkeypatch.setattr(SolverSQP, "_solve", lambda self, *guess: seen.append(guess) or solve(self, *guess))
    with monkeypatch.context() as patch:
        patch.setattr(type(problem), "quasi_static", lambda *_: pytest.fail("one after the other"))
        solutions = SolverSQP(problem).solve_batch(x0=X, xs=xs)
    assert solutions.status.tolist() == ["CONVERGED", "CONVERGED", "ERROR", "CONVERGED"]
    for i, (states, controls, *_) in zip((0, 1, 3), seen):
        np.testing.assert_array_equal(states, np.tile(X[i], (31, 1)) if xs is None else xs[i])
        np.testing.assert_allclose(controls, problem.quasi_static(states[:-1]), atol=1e-12)


def test_parameters_and_guesses_have_rows_and_the_problem_keeps_its_own() -> None:
    problem = problems.load("pendulum", T=30).problem
    solver = SolverDDP(problem)
    masses, us = np.linspace(0.5, 2.0, 4), np.random.default_rng(1).uniform(-1, 1, (4, 30, 1))
    before, x0 = problem.table.values.copy(), problem.x0.copy()
    solutions = solver.solve_batch(parameters={"mass": masses}, us=us)
    np.testing.assert_array_equal(problem.table.values, before)
    np.testing.assert_array_equal(problem.x0, x0)
    for i in range(4):
        problem.set_parameter("mass", masses[i])
        one = solver.solve(us=us[i])
        assert solutions.cost[i] == pytest.approx(one.cost, rel=1e-10)
        np.testing.assert_array_equal(solutions[i].parameters["mass"], one.parameters["mass"])
    assert len(set(solutions.cost)) == 4
    assert list(solutions.varied) == ["mass"]
    again = solver.solve_batch(parameters={"mass": masses}, xs=solutions)
    assert np.all(again.iterations <= 3)


def test_values_of_knots_are_chosen_by_name() -> None:
    problem = problems.load("double-pendulum", T=20).problem
    name = next(n for n, info in problem.parameters.items() if n.endswith(".weight") and 20 in info.knots)
    solver = SolverDDP(problem)
    solutions = solver.solve_batch(parameters={f"{name}@terminal": np.array([1.0, 50.0])})
    for i, weight in enumerate((1.0, 50.0)):
        problem.set_parameter(name, weight, "terminal")
        assert solutions.cost[i] == pytest.approx(solver.solve().cost, rel=1e-10)


@pytest.mark.parametrize("kind", SOLVERS)
def test_a_row_that_is_no_state_leaves_the_others_alone(kind: Any) -> None:
    solver, X = kind(problems.load(SOLVERS[kind], T=30).problem), starts(4)
    clean = solver.solve_batch(X)
    X[2, 0] = np.nan
    solutions = solver.solve_batch(X)
    assert solutions.status[2] == "ERROR"
    assert solutions.error[2].startswith("InvalidArgumentError: x0: expected finite numbers")
    assert np.isnan(solutions.cost[2])
    others = [0, 1, 3]
    np.testing.assert_array_equal(solutions.xs[others], clean.xs[others])
    np.testing.assert_array_equal(solutions.status[others], clean.status[others])
    with pytest.raises(UnsupportedOperationError, match=r"row 2 has no solution, its solve failed with: Invalid"):
        solutions[2]
    assert (solver.solve_batch(np.full_like(X, np.nan)).status == "ERROR").all()


def test_a_row_that_diverges_leaves_the_others_alone() -> None:
    solver, X = SolverDDP(problems.load("pendulum", T=30).problem, DDPOptions(max_iterations=40)), starts(4)
    us = np.zeros((4, 30, 1))
    clean = solver.solve_batch(X, us=us)
    us[1] = 1e200
    solutions = solver.solve_batch(X, us=us)
    assert solutions.status[1] != "CONVERGED"
    others = [0, 2, 3]
    np.testing.assert_array_equal(solutions.xs[others], clean.xs[others])
    assert np.all(solutions.status[others] == "CONVERGED")


@pytest.mark.parametrize("kind", [SolverDDP, SolverSQP])
def test_a_callback_that_raises_ends_its_row(kind: Any) -> None:
    calls = []

    def raises(record: Any) -> None:
        calls.append(record.iteration)
        if calls.count(1) == 2 and record.iteration == 3:
            raise RuntimeError("no")

    problem = problems.load(SOLVERS[kind], T=30).problem
    solutions = kind(problem, callbacks=[raises]).solve_batch(starts(3))
    assert list(solutions.status == "ERROR") == [False, True, False]
    assert solutions.error[1] == "RuntimeError: no"
    clean = kind(problem, callbacks=[lambda record: None]).solve_batch(starts(3))
    np.testing.assert_array_equal(solutions.xs[[0, 2]], clean.xs[[0, 2]])


def test_ctrl_c_returns_the_rows_that_have_ended() -> None:
    problem = problems.load("pendulum", T=30).problem
    begun = []

    def interrupt(record: Any) -> None:
        begun.append(record.iteration)
        if begun.count(1) == 3:
            signal.raise_signal(signal.SIGINT)

    solutions = SolverDDP(problem, callbacks=[interrupt]).solve_batch(starts(6))
    clean = SolverDDP(problem, callbacks=[lambda record: None]).solve_batch(starts(6))
    assert list(solutions.status[:3]) == ["CONVERGED", "CONVERGED", "INTERRUPTED"]
    assert set(solutions.status[3:]) == {"INTERRUPTED"}
    np.testing.assert_array_equal(solutions.xs[:2], clean.xs[:2])
    assert solutions[2].status is SolverStatus.INTERRUPTED
    with pytest.raises(UnsupportedOperationError, match=r"row 4 has no solution, its solve was not begun: INTERRUPTED"):
        solutions[4]


def test_a_time_limit_stops_rows_that_have_not_ended() -> None:
    problem = problems.load("pendulum", T=30).problem
    solutions = SolverDDP(problem).solve_batch(starts(4), time_limit=1e-9)
    assert "TIME_LIMIT" in set(solutions.status)
    assert not np.any(solutions.error != "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "x0, parameters, xs, us: expected at least one of them with a row for each solve"),
        ({"x0": np.zeros((3, 1))}, "x0: expected shape (B, 2) with a row for each solve, or (2,) for all"),
        ({"x0": np.zeros((3, 2)), "us": np.zeros((4, 30, 1))}, "x0, us: expected the same number of rows, got 3 of x0"),
        ({"x0": np.zeros((0, 2))}, "x0: expected at least one row, got none"),
        ({"parameters": {"mass": []}}, "parameters['mass']: expected at least one row, got none"),
        ({"parameters": {"mass": 1.0}}, "parameters: expected a sequence of values of 'mass', one for each solve"),
        ({"parameters": 3}, "parameters: expected a"),
        ({"x0": np.zeros((3, 2)), "time_limit": -1.0}, "time_limit: expected"),
        ({"x0": np.zeros((3, 2)), "progress": "no"}, "progress: expected True or False"),
    ],
)
def test_errors_name_the_argument(arguments: dict[str, Any], message: str) -> None:
    solver = SolverDDP(problems.load("pendulum", T=30).problem)
    with pytest.raises(InvalidArgumentError, match=re.escape(message)):
        solver.solve_batch(**arguments)


def test_an_unknown_parameter_is_named() -> None:
    with pytest.raises(UnknownNameError, match=r"parameter 'masss' not found; did you mean 'mass'"):
        SolverDDP(problems.load("pendulum", T=30).problem).solve_batch(parameters={"masss": [1.0]})


def test_a_value_that_does_not_fit_ends_its_row() -> None:
    solutions = SolverDDP(problems.load("pendulum", T=30).problem).solve_batch(parameters={"mass": [1.0, np.nan]})
    assert list(solutions.status) == ["CONVERGED", "ERROR"]
    assert "mass" in solutions.error[1]


def test_a_solver_in_use_is_refused() -> None:
    problem = problems.load("pendulum", T=30).problem
    raised: list[Exception] = []

    def nested(record: Any) -> bool:
        try:
            solver.solve_batch(starts(2))
        except SolverInUseError as error:
            raised.append(error)
        return True

    solver = SolverDDP(problem, callbacks=[nested])
    solver.solve()
    assert raised
    assert str(raised[0]).startswith("solve_batch: this SolverDDP is already solving")


def test_rows_are_selected() -> None:
    solutions = SolverDDP(problems.load("pendulum", T=30).problem).solve_batch(starts(6))
    assert solutions[-1].cost == solutions.cost[5]
    dear = solutions.cost > np.median(solutions.cost)
    for chosen, rows in ((slice(1, 4), [1, 2, 3]), ([4, 0], [4, 0]), (dear, np.flatnonzero(dear))):
        some, expected = solutions[chosen], np.array(rows)
        assert isinstance(some, SolutionBatch)
        np.testing.assert_array_equal(some.cost, solutions.cost[expected])
        for i, row in enumerate(expected):
            assert repr(some[i].history) == repr(solutions[row].history)
            np.testing.assert_array_equal(some[i].K, solutions[row].K)
    assert solutions.best().cost == solutions.cost[solutions.converged].min()
    assert [s.cost for s in solutions] == list(solutions.cost)
    for wrong in (6, [7], np.ones(5, dtype=bool), "a"):
        with pytest.raises(InvalidArgumentError, match=r"^rows?: expected"):
            solutions[wrong]


def test_a_file_has_the_same_rows(tmp_path: Path) -> None:
    problem = problems.load("pendulum-limits", T=30).problem
    solutions = SolverSQP(problem).solve_batch(starts(3), parameters={"mass": np.array([1.0, 1.1, 1.2])})
    path = solutions.save(tmp_path / "batch.npz")
    for loaded in (SolutionBatch.load(path), SolutionBatch.load(path, problem)):
        assert repr(loaded) == repr(solutions)
        for name in ("xs", "us", "cost", "status", "x0", "iterations"):
            np.testing.assert_array_equal(getattr(loaded, name), getattr(solutions, name))
        row, expected = loaded[1], solutions[1]
        assert repr(row.history) == repr(expected.history)
        np.testing.assert_array_equal(row.multipliers["constraints"], expected.multipliers["constraints"])
        assert row.coordinate_names == expected.coordinate_names
        assert row.control_units == expected.control_units
    np.testing.assert_array_equal(row.parameters["mass"], expected.parameters["mass"])
    with pytest.raises(InvalidArgumentError, match=r"problem: expected the one that was solved"):
        SolutionBatch.load(path, problems.load("pendulum", T=20).problem)
    with pytest.raises(
        InvalidArgumentError, match=r"path: expected a file that Solution.save wrote.*SolutionBatch.load"
    ):
        Solution.load(path)
    (tmp_path / "table.csv").write_text("a,b")
    with pytest.raises(InvalidArgumentError, match=r"cannot be read as a saved solution.*writes \.npz files"):
        Solution.load(tmp_path / "table.csv")
    solutions[0].save(tmp_path / "one.npz")
    with pytest.raises(InvalidArgumentError, match=r"path: expected a file that SolutionBatch.save wrote"):
        SolutionBatch.load(tmp_path / "one.npz")


@pytest.mark.slow
def test_rows_that_do_not_converge_are_solved_from_other_guesses() -> None:
    problem, x0 = pendulum_problem(), np.array([[0.0, 0.0], [0.07427746, 7.20741914], [-1.99212584, 7.40830624]])
    solver = SolverSQP(problem, SQPOptions(max_iterations=60))
    once, again = solver.solve_batch(x0), solver.solve_batch(x0, starts=6)
    assert once.converged.tolist() == [True, False, False]
    assert "2 MAX_ITERATIONS; solve_batch(..., starts=6) tries other guesses" in repr(once)
    assert "starts" not in repr(again)
    assert again.converged.all()
    np.testing.assert_array_equal(again.us[0], once.us[0])
    problem.x0 = x0[1]
    assert again.cost[1] == solver.solve(starts=6).cost
    problem.x0 = [0.0, 0.0]
    with pytest.raises(InvalidArgumentError, match=r"starts"):
        solver.solve_batch(x0, starts=0)


def test_converged_rows_that_cost_much_more_than_the_median_are_counted() -> None:
    solver = SolverSQP(problems.load("pendulum-limits", T=40).problem)
    few = solver.solve_batch(x0=np.linspace(0.0, 0.1, 5)[:, None] * [1.0, 0.0])
    assert few.converged.all()
    assert "dear" not in few.report()
    dear = replace(few, cost=np.array([1.0, 1.1, 250.0, 0.9, 101.0]))
    lines = [line for line in repr(dear).splitlines() if line.startswith("  dear")]
    assert lines == [f"  dear        {dear.report()['dear']}"]
    assert lines[0].partition("dear        ")[2] == (
        "1 converged row above 100 times the median, maybe poor optima; problem.x0 = solutions.x0[2] and "
        "solver.solve(starts=8) try other guesses of row 2"
    )
    status = few.status.copy()
    status[2] = "MAX_ITERATIONS"
    assert "dear" not in replace(dear, status=status).report()


def test_a_converged_row_that_costs_more_than_both_beside_it_is_named() -> None:
    """In the order of the number that varies; at an end, with two numbers or without convergence there is no peak."""
    solver = SolverSQP(problems.load("pendulum-limits", T=40).problem)
    angles = np.array([0.0, 0.1, 0.05, 0.15])
    few = solver.solve_batch(x0=angles[:, None] * [1.0, 0.0])
    assert few.converged.all()
    assert "peak" not in few.report()
    peaked = replace(few, cost=np.array([1.0, 1.0, 1.25, 1.1]))  # in order 1, 1.25, 1, 1.1
    assert peaked.report()["peak"] == (
        "row 2 costs 20 % more than rows 0 and 1 on both sides of its x0[0], maybe a poor optimum; "
        "solver.solve(starts=8) with its values tries other guesses"
    )
    assert f"  peak        {peaked.report()['peak']}" in repr(peaked).splitlines()
    for costs in ([1.0, 1.2, 1.1, 1.3], [1.3, 1.1, 1.2, 1.0], [1.0, 1.0, 1.01, 1.0], [1.3, 1.1, 1.0, 1.4]):
        assert "peak" not in replace(few, cost=np.array(costs)).report()
    status = few.status.copy()
    status[2] = "MAX_ITERATIONS"
    assert "peak" not in replace(peaked, status=status).report()
    two = few.x0.copy()
    two[:, 1] = [0.0, 0.1, 0.2, 0.3]
    assert "peak" not in replace(peaked, x0=two).report()
    assert "peak" not in peaked[:2].report()


def test_a_converged_row_at_an_end_that_costs_more_than_those_beside_it_suggest_is_named() -> None:
    """In the order of the number that varies, here 0, 0.1, 0.2, 0.3 and 0.4; the costs are those of a throwing arm."""
    solver = SolverSQP(problems.load("pendulum-limits", T=40).problem)
    few = solver.solve_batch(x0=np.array([0.1, 0.0, 0.2, 0.3, 0.4])[:, None] * [1.0, 0.0])
    assert few.converged.all()
    assert "end" not in few.report()
    thrown = replace(few, cost=np.array([0.00216, 0.00798, 0.00307, 0.00416, 0.00537]))
    assert thrown.report()["end"] == (
        "row 1 costs 3.7 times what the rows beside it suggest, at an end of x0[0], maybe a poor optimum; "
        "solver.solve(solutions[0]) or solver.solve(starts=8) with its values tries other guesses"
    )
    assert f"  end         {thrown.report()['end']}" in repr(thrown).splitlines()
    last = replace(few, cost=np.array([0.2, 0.1, 0.3, 0.4, 1.2]))
    assert last.report()["end"].startswith("row 4 costs 2.4 times")
    squares, powers = [1.0, 4.0, 0.01, 1.0, 4.0], [10.0, 1.0, 1e2, 1e3, 1e4]
    for costs in (squares, powers, powers[::-1], [2.0, 1.0, 3.0, 4.0, 5.0]):
        assert "end" not in replace(few, cost=np.array(costs)).report()
    status = few.status.copy()
    status[2] = "MAX_ITERATIONS"
    assert "end" not in replace(thrown, status=status).report()
    assert "end" not in thrown[:3].report()


def test_a_table_and_a_picture(tmp_path: Path) -> None:
    solutions = SolverDDP(problems.load("pendulum", T=30).problem).solve_batch(starts(5))
    table = solutions.table()
    assert {"x0[0]", "x0[1]", "status", "cost"} <= set(table)
    assert {len(column) for column in table.values()} == {5}
    solutions.plot(tmp_path / "batch.png")
    assert (tmp_path / "batch.png").stat().st_size > 10_000
