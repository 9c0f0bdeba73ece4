"""Derivatives of solutions with rows at a bound that have next to no multiplier."""

from __future__ import annotations

import dataclasses
import logging
from typing import Any

import casadi as ca
import numpy as np
import pytest
from casadi import SX

import trajopt
from tests.support.unsolved import solution_of
from trajopt import gaits
from trajopt.errors import ModelEvaluationError
from trajopt.solution import Solution, SolverStatus
from trajopt.solvers import SolutionDerivatives, SolverSQP, SQPOptions


def test_rows_with_next_to_no_multiplier_hold_what_would_be_a_saddle() -> None:
    """A mass at x = 0 with the cost ½ cos(x)² at the end: moving is cheaper, but rows u <= 0 hold it."""
    state = trajopt.StateVector(2)

    class Mass(trajopt.DifferentialActionModelSymbolic):
        def acceleration(self, x: SX, u: SX) -> SX:
            return u

    def at_rest(**bounds: float) -> Solution:
        rows = trajopt.ConstraintStack(state).add("force", trajopt.ResidualModelControl(state), **bounds)
        costs = trajopt.CostStack(state).add("effort", trajopt.ResidualModelControl(state), weight=1e-3)
        end = trajopt.CostStack(state).add(
            "hill", trajopt.ResidualModelSymbolic(state, lambda x: ca.cos(x[0])), weight=1.0
        )
        knot = trajopt.IntegratedActionModelEuler(Mass(state, 1, costs, constraints=rows), dt=0.1)
        problem = trajopt.ShootingProblem([0.0, 0.0], [knot] * 20, end)
        return dataclasses.replace(
            solution_of(problem, np.zeros((21, 2)), np.zeros((20, 1))), status=SolverStatus.CONVERGED
        )

    with pytest.raises(ModelEvaluationError, match="not positive definite"):
        SolutionDerivatives(at_rest(upper=1.0))
    held = SolutionDerivatives(at_rest(upper=0.0))
    assert held.weakly_active == tuple(f"force at knot {t}" for t in range(20))
    moved = held.by("x0")
    np.testing.assert_allclose(moved.dus, 0.0, atol=1e-12)
    np.testing.assert_allclose(moved.dxs[-1], [[1.0, 2.0], [0.0, 1.0]], atol=1e-9)


def beside_a_barrier(distance: float) -> SolutionDerivatives:
    """Of ½ (u - 1)² + ½ 3 max(u - b, 0)², with the bound b at a distance from 1."""
    state = trajopt.StateVector(1)
    barrier = trajopt.ActivationModelQuadraticBarrier([-np.inf], [1.0 + distance])
    costs = trajopt.CostStack(state).add("effort", trajopt.ResidualModelControl(state, reference=[1.0]), weight=1.0)
    costs.add("limit", trajopt.ResidualModelControl(state), activation=barrier, weight=3.0)

    class Point(trajopt.DifferentialActionModelSymbolic):
        def xdot(self, x: SX, u: SX) -> SX:
            return u

    knot = trajopt.IntegratedActionModelEuler(Point(state, 1, costs), dt=1.0)
    problem = trajopt.ShootingProblem([0.0], [knot], trajopt.CostStack(state))
    found = SolverSQP(problem, SQPOptions(tolerance=1e-14, relative_tolerance=0.0)).solve()
    return SolutionDerivatives(dataclasses.replace(found, status=SolverStatus.CONVERGED))


@pytest.mark.parametrize(("distance", "slope"), [(1e-3, 1.0), (3e-8, 1.0), (-3e-8, 0.25), (-1e-3, 0.25)])
def test_a_kink_of_a_cost_beside_the_solution_changes_nothing(distance: float, slope: float) -> None:
    derivatives = beside_a_barrier(distance)
    np.testing.assert_allclose(derivatives.by("effort.reference").dus.ravel(), [slope], rtol=1e-6)
    np.testing.assert_allclose(derivatives.by("limit.upper").dus.ravel(), [1.0 - slope], rtol=0, atol=1e-6)
    assert derivatives.kinks == ()


def test_a_kink_of_a_cost_at_the_solution_is_named(caplog: Any) -> None:
    with caplog.at_level(logging.WARNING):
        assert beside_a_barrier(0.0).kinks == ("limit at knot 0",)
    assert "a penalty has a kink at the solution (limit at knot 0)" in caplog.text


def test_a_walk_that_ends_at_rest() -> None:
    """Forces of some feet are 1e-2 N from the kink of their cone's penalty; impulses weigh 1e3 times other knots."""
    robot, feet = trajopt.load_robot("go2").with_parameters(["base.mass"]), ["FL_foot", "FR_foot", "RL_foot", "RR_foot"]
    stance = gaits.Stance.of(robot, feet)
    schedule = gaits.quadruped_walk(stance, step_length=0.1, step_height=0.05, final_knots=20)
    rest = gaits.GaitLimits(cones=False, torques=False, velocities=False, positions=False, rest=True)
    problem = gaits.gait_problem(robot, schedule, limits=rest)
    options, name = SQPOptions(tolerance=1e-14), "robot.base.mass"
    solution = SolverSQP(problem, options).solve(*gaits.gait_guess(problem, schedule))
    mass, beside = problem.get_parameter(name), []
    for change in (1e-2, -1e-2):
        problem.set_parameter(name, mass + change)
        near = solution
        for _ in range(3):
            near = SolverSQP(problem, options).solve(near)
        beside.append(near)
    problem.set_parameter(name, mass)
    derivatives = SolutionDerivatives(solution)
    s = derivatives.by(name)
    assert derivatives.kinks == ()
    assert s.residual < 1e-9
    np.testing.assert_allclose(s.dus[..., 0], (beside[0].us - beside[1].us) / 2e-2, rtol=0, atol=1e-5)
