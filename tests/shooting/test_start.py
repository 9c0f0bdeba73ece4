"""Where a problem starts: at x0, anywhere, or within bounds."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import trajopt
from tests.shooting.test_problem import X0, ball, pendulum, random_trajectory, stack
from tests.support.model_list import costs_of, state_of
from trajopt.errors import InvalidArgumentError
from trajopt.solvers import SolverDDP, SolverFDDP

LOWER, UPPER = [-1.0, -np.inf], [0.5, np.inf]


def problem_with(start: Any, x0: Any = X0) -> trajopt.ShootingProblem:
    return trajopt.ShootingProblem(x0, [pendulum()] * 3, stack(control=False), start=start)


@pytest.mark.parametrize("start", ["free", (LOWER, UPPER)], ids=["free", "bounded"])
def test_only_a_fixed_start_has_a_gap_before_the_first_knot(start: Any) -> None:
    fixed, other = problem_with("fixed"), problem_with(start)
    xs, us = random_trajectory(fixed)
    assert fixed.start == "fixed"
    np.testing.assert_array_equal(fixed.calc(xs, us).gaps[0], -xs[0])
    for call in (other.calc, other.calc_diff):
        found, expected = call(xs, us), fixed.calc(xs, us)
        np.testing.assert_array_equal(found.gaps[0], 0.0)
        np.testing.assert_array_equal(found.gaps[1:], expected.gaps[1:])
        assert found.cost == expected.cost
    other.x0 = [0.2, 0.1]  # a guess of the start: where rollouts begin
    np.testing.assert_array_equal(other.rollout(np.zeros((3, 1)))[0], [0.2, 0.1])
    np.testing.assert_array_equal(other.calc(xs, us).gaps[0], 0.0)


def test_a_trajectory_from_x0_has_no_gap_at_all() -> None:
    """Also where zeros differ in sign, and on rotations."""
    problem = problem_with("fixed", x0=[0.0, 0.3])
    assert not problem.calc([[-0.0, 0.3]] * 4, np.zeros((3, 1))).gaps[0].any()
    state = state_of("ball")
    turning = trajopt.ShootingProblem(state.zero(), [ball()], costs_of("ball", controlled=False))
    for x0 in (state.rand(seed) for seed in range(20)):
        turning.x0 = x0
        assert not turning.calc([x0, state.zero()], np.zeros((1, 3))).gaps[0].any()
    assert turning.calc([state.rand(99), state.zero()], np.zeros((1, 3))).gaps[0].any()


def test_bounds_are_kept_as_given_and_cannot_be_written() -> None:
    lower = np.array(LOWER)
    lower_kept, upper_kept = problem_with((lower, UPPER)).start
    np.testing.assert_array_equal(lower_kept, LOWER)
    np.testing.assert_array_equal(upper_kept, UPPER)
    lower[0] = 9.0
    np.testing.assert_array_equal(lower_kept, LOWER)
    with pytest.raises(ValueError, match="read-only"):
        lower_kept[0] = 1.0  # type: ignore[index]


def test_bounds_are_counted_in_the_tangent_space_as_those_of_the_state() -> None:
    state = state_of("ball")  # nx = 7, ndx = 6
    problem = trajopt.ShootingProblem(
        state.zero(), [ball()], costs_of("ball", controlled=False), start=(state.lower, state.upper)
    )
    assert problem.start[0].shape == (6,)  # type: ignore[union-attr]
    with pytest.raises(InvalidArgumentError, match=r"start\[0\]: expected 6 bounds, .* got shape \(7,\)"):
        trajopt.ShootingProblem(state.zero(), [ball()], problem.terminal, start=(np.zeros(7), np.zeros(7)))


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ("loose", r"start: expected 'fixed', 'free' or bounds \(lower, upper\), got 'loose'"),
        (None, "start: expected 'fixed', .* got None"),
        ((LOWER,), "start: expected 'fixed', .*, got"),
        (np.zeros((2, 2)), "start: expected 'fixed', .*, got"),
        (([0.0], [1.0, 1.0]), r"start\[0\]: expected 2 bounds, with ±inf for no bound, got shape \(1,\)"),
        (([0.0, 0.0], [1.0, np.nan]), r"start\[1\]: expected 2 bounds, .* got \[ 1. nan\]"),
        (([0.0, 2.0], [1.0, 1.0]), r"start: expected lower <= upper .*, got 2.0 and 1.0 for 'x1' \(index 1\)"),
        (
            ([np.inf, 0.0], [np.inf, 1.0]),
            r"start: expected lower <= upper with a finite number between, got inf and inf",
        ),
        (([0.0, -np.inf], [1.0, -np.inf]), r"start: .* got -inf and -inf for 'x1'"),
    ],
)
def test_starts_that_are_refused(start: Any, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        problem_with(start)


@pytest.mark.parametrize("start", ["fixed", "free", (LOWER, UPPER), ([0.0, 1.0], [0.0, 1.0])])
def test_a_start_survives_pickling_and_a_new_knot(start: Any) -> None:
    problem = problem_with(start)
    again = pickle.loads(pickle.dumps(problem))
    problem.circular_append(pendulum())
    for other in (problem, again):
        for ours, expected in zip(other.start, start):
            np.testing.assert_array_equal(ours, expected)  # type: ignore[arg-type]
    assert problem.T == 3


def test_repr_shows_a_start_that_is_not_fixed() -> None:
    assert "start" not in repr(problem_with("fixed"))
    assert repr(problem_with("free")).endswith(", start: free)")
    assert repr(problem_with((LOWER, UPPER))).endswith(", start: within bounds)")


@pytest.mark.parametrize("solver", [SolverDDP, SolverFDDP])
@pytest.mark.parametrize("start", ["free", (LOWER, UPPER)], ids=["free", "bounded"])
def test_solvers_by_rollouts_refuse_all_but_a_fixed_start(solver: Any, start: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=f'problem: {solver.__name__} rolls .* start="fixed"'):
        solver(problem_with(start))
