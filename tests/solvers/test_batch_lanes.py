"""Problems side by side end as in a loop, and the bits of a row do not depend on the others."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import trajopt
from trajopt import SolutionBatch, problems
from trajopt.kernels import get_num_threads, lane_count, set_num_threads
from trajopt.solvers import DDPOptions, FDDPOptions, SolverDDP, SolverFDDP
from trajopt.solvers.batch.rows import BatchRows
from trajopt.solvers.batch.solve import Watch
from trajopt.solvers.ddp.lanes import solve as lanes
from trajopt.solvers.ddp.lanes.loop import LaneLoop

BOTH: list[Any] = [SolverDDP, SolverFDDP]
SMALL = [(name, T, kind) for name, T in (("pendulum", 50), ("unicycle", 20), ("cart-pole", 30)) for kind in BOTH]
SMALL += [("double-pendulum", 40, SolverDDP), ("arm-reach", 20, SolverDDP), ("arm-reach", 20, SolverFDDP)]


def starts(problem: Any, n: int, spread: float = 0.5, seed: int = 0) -> Any:
    rng, state = np.random.default_rng(seed), problem.state
    return np.array([state.integrate(problem.x0, rng.uniform(-spread, spread, state.ndx)) for _ in range(n)])


@contextlib.contextmanager
def threads(n: int) -> Iterator[None]:
    before = get_num_threads()
    set_num_threads(n)
    try:
        yield
    finally:
        set_num_threads(before)


def looped(solver: Any, X: Any, xs: Any = None, us: Any = None) -> list[Any]:
    """Solutions of single solves; guesses have a row for each."""
    problem, before, found = solver.problem, solver.problem.x0, []
    for i, x0 in enumerate(X):
        problem.x0 = x0
        found.append(solver.solve(None if xs is None else xs[i], None if us is None else us[i]))
    problem.x0 = before
    return found


def assert_as_looped(solutions: SolutionBatch, single: list[Any]) -> None:
    assert list(solutions.status) == [one.status.name for one in single]
    np.testing.assert_array_equal(solutions.iterations, [one.iterations for one in single])
    np.testing.assert_allclose(solutions.cost, [one.cost for one in single], rtol=1e-10)
    for row, one in zip(solutions, single):
        names = ("step_length", "regularization", "accepted", "feasible", "blend")
        for name in names:
            got, expected = ([getattr(record, name) for record in s.history] for s in (row, one))
            np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9, err_msg=name)


def used_lanes(solver: Any) -> bool:
    return len(solver._loops) > 0


@pytest.mark.parametrize(("name", "T", "kind"), SMALL)
def test_rows_end_as_in_a_loop(name: str, T: int, kind: Any) -> None:
    """Double pendulums by FDDP are missing: a change of x0 by 1e-15 changes the iterations of a solve by up to 10."""
    solver = kind(problems.load(name, T=T).problem)
    X = starts(solver.problem, 20)
    solutions = solver.solve_batch(X)
    assert used_lanes(solver)
    assert_as_looped(solutions, looped(solver, X))


@pytest.mark.parametrize("kind", BOTH)
def test_guesses_with_gaps_and_rollouts(kind: Any) -> None:
    """A guess that begins elsewhere than at x0, one with gaps, controls alone, and the crocoddyl options."""
    problem = problems.load("pendulum", T=40).problem
    options = {SolverDDP: DDPOptions, SolverFDDP: FDDPOptions}[kind]
    rng, X = np.random.default_rng(3), starts(problem, 9)
    xs, us = rng.normal(0.0, 0.4, (9, 41, 2)), rng.normal(0.0, 0.3, (9, 40, 1))
    for solver in (kind(problem), kind(problem, options.crocoddyl()), kind(problem, options(hessian="gauss-newton"))):
        for guess in ({"xs": xs}, {"us": us}, {"xs": xs, "us": us}):
            assert_as_looped(solver.solve_batch(X, **guess), looped(solver, X, **guess))
        assert used_lanes(solver)


@pytest.mark.parametrize("kind", BOTH)
def test_far_guesses_with_gaps_end_as_in_a_loop(kind: Any) -> None:
    """Steps that close a part of the gaps, and guesses whose rollout bounds what a first step of DDP may cost."""
    problem = problems.load("pendulum", T=30).problem
    options = (
        FDDPOptions(acceptance=0.9, negative_acceptance=0.01) if kind is SolverFDDP else DDPOptions(rollout_margin=0.0)
    )
    solver, rng, X = kind(problem, options), np.random.default_rng(5), starts(problem, 16)
    xs, us = rng.normal(0.0, 3.0, (16, 31, 2)), rng.normal(0.0, 1.0, (16, 30, 1))
    solutions, single = solver.solve_batch(X, xs=xs, us=us), looped(solver, X, xs, us)
    assert_as_looped(solutions, single)
    for row, one in zip(solutions, single):
        for got, expected in zip(row.history[:3], one.history[:3]):
            assert got.expected_decrease == pytest.approx(expected.expected_decrease, rel=1e-9, abs=1e-12)
            assert got.gap_norm == pytest.approx(expected.gap_norm, rel=1e-9, abs=1e-15)
    if kind is SolverFDDP:
        assert any(r.step_length < 1.0 and r.gap_norm > 0.0 for one in single for r in one.history)


@pytest.mark.parametrize("kind", BOTH)
def test_rows_that_do_not_converge_end_as_in_a_loop(kind: Any) -> None:
    problem = problems.load("pendulum", T=40).problem
    options = {SolverDDP: DDPOptions, SolverFDDP: FDDPOptions}[kind]
    X = starts(problem, 12, spread=2.0)
    seen = set()
    narrow = {"step_lengths": (1.0,), "initial_regularization": 1e-9, "max_regularization": 1e-8, "acceptance": 1.5}
    for own in ({"max_iterations": 7}, {"max_regularization": 3.0}, narrow):
        solver = kind(problem, options(**own))  # type: ignore[arg-type]
        solutions = solver.solve_batch(X)
        assert_as_looped(solutions, looped(solver, X))
        seen |= set(solutions.status)
    assert {"MAX_ITERATIONS", "LINE_SEARCH_FAILED"} <= seen


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize(
    "costs", [{"r": 1.0}, {"q": 1.0}, {"Q": -1.0, "R": 0.1}, {"Q": 1.0, "R": -1.0}, {"R": -1e10}, {"A": 1e20}], ids=str
)
def test_problems_without_a_minimum_end_as_in_a_loop(kind: Any, costs: dict[str, float]) -> None:
    """x⁺ = A x + B u with cost ½ (Q x² + R u²) + q x + r u: unbounded, indefinite, beyond the largest number."""
    A, Q, R, q, r = (costs.get(name, 1.0 if name == "A" else 0.0) for name in "AQRqr")
    B = 0.0 if A > 1.0 else 1.0
    model = trajopt.ActionModelLQR([[A]], [[B]], [[Q + (A > 1.0)]], [[R + (A > 1.0)]], q=[q], r=[r])
    problem = trajopt.ShootingProblem([1.0], [model] * 5, model)
    solver, X = kind(problem), np.linspace(0.5, 1.5, 9)[:, None]
    solutions, single = solver.solve_batch(X), looped(solver, X)
    assert_as_looped(solutions, single)
    assert set(solutions.status) <= {"UNBOUNDED", "INDEFINITE_QUU", "DIVERGED", "LINE_SEARCH_FAILED"}
    assert [row.failed_knot for row in solutions] == [one.failed_knot for one in single]


def test_wild_guesses_end_as_in_a_loop() -> None:
    """Rollouts of the guess that diverge, or that overflow."""
    problem = problems.load("pendulum", T=30).problem
    us = np.random.default_rng(0).normal(0.0, 1.0, (12, 30, 1)) * np.logspace(0, 1, 12)[:, None, None]
    X = starts(problem, 12)
    xs = np.repeat(X[:, None], 31, axis=1)
    for kind in BOTH:
        solver = kind(problem)
        solutions = solver.solve_batch(X, xs=xs, us=us)
        assert_as_looped(solutions, looped(solver, X, xs, us))


@pytest.mark.slow
@pytest.mark.parametrize("kind", BOTH)
def test_bits_do_not_depend_on_order_size_or_number_of_lanes(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = problems.load("double-pendulum", T=30).problem
    X = starts(problem, 40)
    solutions = kind(problem).solve_batch(X)
    order = np.random.default_rng(1).permutation(40)
    variants = [(kind(problem).solve_batch(X[order]), order)]
    variants.append((kind(problem).solve_batch(X[5:8]), np.arange(5, 8)))
    for groups in (1, 3):
        monkeypatch.setattr(lanes, "GROUPS", groups)
        variants.append((kind(problem).solve_batch(X), np.arange(40)))
    for other, rows in variants:
        for name in ("xs", "us", "K", "k", "cost", "status", "iterations"):
            np.testing.assert_array_equal(getattr(other, name), getattr(solutions[rows], name), err_msg=name)


def test_parameters_differ_between_lanes() -> None:
    problem = problems.load("pendulum", T=40).problem
    solver, masses = SolverDDP(problem), np.linspace(0.6, 1.6, 20)
    before = problem.get_parameter("mass")
    solutions = solver.solve_batch(parameters={"mass": masses})
    single = []
    for mass in masses:
        problem.set_parameter("mass", mass)
        single.append(solver.solve())
    assert_as_looped(solutions, single)
    problem.set_parameter("mass", before)
    again = solver.solve_batch(starts(problem, 3))
    assert_as_looped(again, looped(solver, starts(problem, 3)))


def test_ctrl_c_returns_the_best_iterates(monkeypatch: pytest.MonkeyPatch) -> None:
    solver, calls = SolverDDP(problems.load("pendulum", T=40).problem), []
    X = starts(solver.problem, 30)
    clean = solver.solve_batch(X)

    def interrupt(watch: Watch, done: int) -> None:
        calls.append(done)
        if len(calls) == 12:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Watch, "tell", interrupt)
    monkeypatch.setattr(lanes, "GROUPS", 2)
    solutions = SolverDDP(solver.problem).solve_batch(X)
    ended = solutions.status == "CONVERGED"
    assert 0 < np.count_nonzero(ended) < 30
    assert set(solutions.status[~ended]) == {"INTERRUPTED"}
    np.testing.assert_array_equal(solutions.xs[ended], clean.xs[ended])
    begun = np.flatnonzero(~ended & (solutions.iterations > 0))
    assert len(begun)
    assert np.isfinite(solutions.cost[begun]).all()
    assert np.abs(solutions[begun[0]].gaps()).max() < 1e-9
    assert np.isnan(solutions.xs[solutions.iterations == 0]).all()


def test_a_time_limit_stops_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    turns: list[bool] = []
    monkeypatch.setattr(Watch, "over", property(lambda watch: turns.append(True) or len(turns) > 8))
    problem = problems.load("pendulum", T=40).problem
    solutions = SolverDDP(problem).solve_batch(starts(problem, 10), time_limit=100.0)
    assert set(solutions.status) == {"TIME_LIMIT"}
    assert set(solutions.iterations) == {9}
    assert np.isfinite(solutions.xs).all()


@pytest.mark.parametrize("kind", BOTH)
def test_threads_give_the_same_bits(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = problems.load("double-pendulum", T=20).problem
    X = starts(problem, 60, spread=1.0)
    solutions = kind(problem).solve_batch(X)
    monkeypatch.setattr(lanes, "LEAST", 1)
    ran, run = dict[Any, int](), LaneLoop.run
    monkeypatch.setattr(LaneLoop, "run", lambda *own: ran.update({own[0]: threading.get_ident()}) or run(*own))
    with threads(3):
        threaded = kind(problem).solve_batch(X)
    assert len(ran) == 3
    assert len(set(ran.values())) > 1
    for name in ("xs", "us", "K", "cost", "status", "iterations"):
        np.testing.assert_array_equal(getattr(threaded, name), getattr(solutions, name))
    for row, other in zip(threaded, solutions):
        assert [r.cost for r in row.history] == [r.cost for r in other.history]


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "count"), [(8, 1), (248, 1), (256, 2), (10_000, lanes.MOST)])
def test_few_rows_take_few_threads(rows: int, count: int) -> None:
    solver = SolverDDP(problems.load("pendulum", T=4).problem)
    with threads(64):
        batch = BatchRows(solver.problem, np.zeros((rows * lane_count() // 8, 2)), None, None, None)
        assert len(lanes.loops_for(solver, batch, ())) == count


def test_ctrl_c_ends_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, calls = problems.load("pendulum", T=40).problem, []
    X = starts(problem, 60)
    clean = SolverDDP(problem).solve_batch(X)

    interrupted = threading.Event()

    def interrupt(watch: Watch, done: int) -> None:
        if threading.current_thread() is not threading.main_thread():
            interrupted.wait(60.0)  # with rows that have begun
            return
        calls.append(done)
        if len(calls) == 3:
            interrupted.set()
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Watch, "tell", interrupt)
    monkeypatch.setattr(lanes, "GROUPS", 1)
    monkeypatch.setattr(lanes, "LEAST", 1)
    with threads(3):
        solutions = SolverDDP(problem).solve_batch(X)
    ended = solutions.status == "CONVERGED"
    assert set(solutions.status[~ended]) == {"INTERRUPTED"}
    assert np.count_nonzero(ended) < 60
    np.testing.assert_array_equal(solutions.xs[ended], clean.xs[ended])


def test_an_error_in_a_thread_ends_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    note, failed = LaneLoop._note, threading.Event()

    def fails(loop: LaneLoop, groups: Any) -> None:
        if threading.current_thread() is not threading.main_thread():
            failed.set()
            raise ZeroDivisionError("a bug")
        failed.wait(60.0)
        note(loop, groups)

    monkeypatch.setattr(LaneLoop, "_note", fails)
    monkeypatch.setattr(lanes, "LEAST", 1)
    problem = problems.load("pendulum", T=40).problem
    with threads(2), pytest.raises(ZeroDivisionError, match="a bug"):
        SolverDDP(problem).solve_batch(starts(problem, 60))


def test_predicted_decreases_are_those_of_a_loop() -> None:
    """Also where the step along an exact direction is short, and no better one is found."""
    solver = SolverDDP(problems.load("double-pendulum", T=40).problem)
    X = starts(solver.problem, 20)
    blends = set[float]()
    for row, one in zip(solver.solve_batch(X), looped(solver, X)):
        got, expected = ([record.stop for record in s.history] for s in (row, one))
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-9)
        blends |= {record.blend for record in row.history if record.step_length <= 0.25}
    assert max(blends) > 0.0
