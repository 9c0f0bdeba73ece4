"""Constraint rows of a problem: values, derivatives, bounds of each knot, in expansions and rollouts."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

import trajopt
from tests.support.model_list import Pendulum
from trajopt.errors import InvalidArgumentError
from trajopt.shooting.evaluator import Evaluator
from trajopt.solvers import SolverDDP, SolverFDDP

T = 11
STATE = trajopt.StateVector(2)


def costs(*, control: bool = True) -> trajopt.CostStack:
    stack = trajopt.CostStack(STATE).add("x", trajopt.ResidualModelState(STATE), 1.0)
    return stack.add("u", trajopt.ResidualModelControl(STATE), 0.1) if control else stack


def problem(*, plain_from: int = T) -> trajopt.ShootingProblem:
    """A pendulum whose torque is bounded, and whose tip stays below a ceiling; at the end it rests."""
    tip = trajopt.ResidualModelSymbolic(STATE, lambda x: -ca.cos(x[0]))
    limits = trajopt.ConstraintStack(STATE).add("torque", trajopt.ResidualModelControl(STATE), lower=-1.0, upper=2.0)
    limits.add("tip", tip, upper=0.5)
    rest = trajopt.ConstraintStack(STATE).add("rest", trajopt.ResidualModelState(STATE), equals=0.0)
    node = trajopt.IntegratedActionModelEuler(Pendulum(costs(), constraints=limits), 0.05)
    plain = trajopt.IntegratedActionModelEuler(Pendulum(costs()), 0.05)
    end = trajopt.actions.ActionModelTerminal(costs(control=False), constraints=rest)
    return trajopt.ShootingProblem([0.3, 0.0], [node] * plain_from + [plain] * (T - plain_from), end)


def trajectory() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(T + 1, 2)), rng.normal(size=(T, 1))


def test_rows_at_each_knot() -> None:
    xs, us = trajectory()
    found = problem(plain_from=8).calc(xs, us)
    np.testing.assert_allclose(found.rows[:8], np.column_stack([us[:8, 0], -np.cos(xs[:8, 0])]), rtol=0, atol=1e-15)
    np.testing.assert_array_equal(found.rows[8:T], 0.0)
    np.testing.assert_allclose(found.rows[T], xs[T])


def test_bounds_are_run_time_parameters_of_each_knot() -> None:
    one = problem(plain_from=8)
    one.set_parameter("torque.upper", np.arange(8.0)[:, None], knots=range(8))
    one.set_parameter("tip.upper", np.inf, knots=3)
    found = one.calc(*trajectory())
    np.testing.assert_array_equal(found.lower[:8, 0], -1.0)
    np.testing.assert_array_equal(found.upper[:8, 0], np.arange(8.0))
    np.testing.assert_array_equal(found.upper[:8, 1], [0.5, 0.5, 0.5, np.inf, 0.5, 0.5, 0.5, 0.5])
    assert np.isneginf(found.lower[8:T]).all()
    assert np.isposinf(found.upper[8:T]).all()
    np.testing.assert_array_equal([found.lower[T], found.upper[T]], np.zeros((2, 2)))


def test_derivatives_of_rows() -> None:
    one, (xs, us) = problem(plain_from=8), trajectory()
    d, h = one.calc_diff(xs, us), 1e-6
    for i in range(2):
        step = h * np.eye(2)[i]
        slope = (one.calc(xs + step, us).rows - one.calc(xs - step, us).rows) / (2 * h)
        np.testing.assert_allclose(d.Cx[:, :, i], slope, atol=1e-8)
    slope = (one.calc(xs, us + h).rows - one.calc(xs, us - h).rows) / (2 * h)
    np.testing.assert_allclose(d.Cu[:, :, 0], slope[:T], atol=1e-8)
    assert np.abs(d.Cx[:8]).max() > 0.1
    assert np.abs(d.Cu[:8]).max() == 1.0


def test_rollouts_give_rows_in_every_lane() -> None:
    one = problem()
    e = Evaluator(one)
    e.xs[:], e.us[:], e.k[:] = 0.1, 0.2, -1.0
    for width, lengths in ((1, [0.5]), (8, [1.0, 0.5, 0.25])):
        trials = e.trials(width)
        trials.roll_out(one.x0, lengths, None)
        for lane in range(len(lengths)):
            expected = one.calc(trials.xs[lane], trials.us[lane]).rows
            np.testing.assert_allclose(trials.c[lane], expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("solver", [SolverDDP, SolverFDDP])
def test_solvers_without_constraints_refuse_them(solver: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=f"{solver.__name__} can't enforce constraints, .* use SolverSQP"):
        solver(problem())
