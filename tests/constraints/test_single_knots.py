"""Equations of a single knot with rows at stages, and names of a robot's rows there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import trajopt
from tests.constraints.test_stages import CLASSICAL, DT, RK, Mass
from trajopt.analysis.constraints import named_rows
from trajopt.solvers import SolverSQP


def through(knots: Any) -> trajopt.ShootingProblem:
    """A mass that passes q = 0.1 m at these knots."""
    state = trajopt.StateVector(2, names=["q", "v"], units=["m", "m/s"])
    rows = trajopt.ConstraintStack(state)
    rows.add("gate", trajopt.ResidualModelState(state, elements=["q"]), lower=-np.inf, upper=np.inf)
    costs = trajopt.CostStack(state).add("effort", trajopt.ResidualModelControl(state), weight=1.0)
    knot = RK(Mass(costs, constraints=rows), DT, tableau=CLASSICAL, rows="stages")
    problem = trajopt.ShootingProblem([0.0, 1.0], [knot] * 8, trajopt.CostStack(state))
    for bound in ("gate.lower", "gate.upper"):
        problem.set_parameter(bound, 0.1, knots=knots)
    return problem


def test_an_equation_of_one_knot_holds_there_alone() -> None:
    """Before, it held half a step later as well, which stops the mass; a bound of one knot still holds there."""
    problem = through([4])
    lower, upper = problem.row_bounds()
    assert lower[4].tolist() == [0.1, -np.inf]
    assert upper[4].tolist() == [0.1, np.inf]
    solution = SolverSQP(problem).solve()
    assert solution.converged
    assert abs(solution.xs[4, 1]) > 0.05
    problem.set_parameter("gate.lower", -np.inf, knots=[4])
    assert problem.row_bounds()[1][4].tolist() == [0.1, 0.1]


def test_an_equation_of_a_path_holds_at_the_stages_between_its_knots() -> None:
    lower, _ = through([4, 5, 6]).row_bounds()
    np.testing.assert_array_equal(np.isfinite(lower[3:8]), [[0, 0], [1, 1], [1, 1], [1, 0], [0, 0]])


@pytest.mark.slow
def test_rows_of_a_robot_have_the_names_of_its_joints_at_stages() -> None:
    robot = trajopt.load_robot("double_pendulum")
    state = trajopt.StateMultibody(robot, lower=[-1.0, -2.0, -3.0, -4.0], upper=[1.0, 2.0, 3.0, 4.0])
    motors = trajopt.ActuationModelFull(state)
    costs = trajopt.CostStack(state).add("effort", trajopt.ResidualModelControl(state), weight=1.0)
    limits = trajopt.ConstraintStack.of_robot(state, motors, torques=False)
    d = trajopt.DifferentialActionModelFreeFwdDynamics(state, motors, costs, constraints=limits)
    knot = RK(d, 0.1, tableau=CLASSICAL, rows="stages")
    solution = SolverSQP(trajopt.ShootingProblem(state.zero(), [knot] * 2, trajopt.CostStack(state))).solve()
    names = {rows.name: rows.rows for rows in named_rows(solution)}
    assert names["positions at dt/2"] == names["positions"] == tuple(state.tangent_names[:2])
    assert names["velocities at dt/2"] == names["velocities"] == tuple(state.tangent_names[2:])


def test_a_finer_grid_has_an_equation_of_one_knot_at_its_knot_alone() -> None:
    """Before, all knots within its step had it, which the motion violates there."""
    solution = SolverSQP(through([4])).solve()
    fine = trajopt.analysis.resample(solution, DT / 4)
    assert np.flatnonzero(np.isfinite(fine.problem.row_bounds()[0][:, 0])).tolist() == [16]
    assert max(rows.max() for rows in fine.violations().values()) < 1e-6
