"""Bounds and slacks of constraint rows: gathered once, and anew when a parameter has changed."""

from __future__ import annotations

import numpy as np

import trajopt
from trajopt.actions import ActionModelTerminal

STATE = trajopt.StateVector(2)


def problem() -> trajopt.ShootingProblem:
    """Three knots with bounds at the end alone."""
    reference = trajopt.ResidualModelState(STATE)
    end = trajopt.ConstraintStack(STATE).add("near", reference, upper=1.0, soft=(2.0, 0.0))
    node = trajopt.ActionModelLQR(np.eye(2), np.ones((2, 1)), np.eye(2), np.eye(1))
    return trajopt.ShootingProblem(
        [0.3, 0.0], [node] * 3, ActionModelTerminal(trajopt.CostStack(STATE), constraints=end)
    )


def test_gathered_once() -> None:
    rows = problem()._table.rows
    assert rows.now() is rows.now()


def test_gathered_anew_after_a_change() -> None:
    one = problem()
    before = one.row_bounds()[1]
    one.set_parameter("near.upper", [3.0, 4.0])
    np.testing.assert_array_equal(before[-1], [1.0, 1.0])
    np.testing.assert_array_equal(one.row_bounds()[1][-1], [3.0, 4.0])
    one.set_parameter("near.linear", [5.0, 6.0])
    np.testing.assert_array_equal(one.row_softness()[0][-1], [5.0, 6.0])


def test_answers_are_copies() -> None:
    """Whoever writes into an answer changes nothing else."""
    one = problem()
    for array in (*one.row_bounds(), *one.row_softness()):
        array[:] = 77.0
    np.testing.assert_array_equal(one.row_bounds()[1][-1], [1.0, 1.0])
    np.testing.assert_array_equal(one.row_softness()[1][:-1], 0.0)
