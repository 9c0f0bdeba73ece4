"""Postures that motors cannot hold at rest are named with the torques that they need."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

import trajopt
from tests.support.unsolved import solution_of, trot
from trajopt.analysis.advice.resting import cannot_rest
from trajopt.solution import Solution, SolverStatus

ROBOT = trajopt.load_robot("planar-2r")
FLAT, HANGING = np.zeros(2), np.array([-np.pi / 2, 0.0])


def gravity(q: Any) -> Any:
    """Torques that hold a posture [N m], by Pinocchio."""
    return pin.computeGeneralizedGravity(ROBOT.model, ROBOT.model.createData(), q)


def moved(start: Any, goal: Any, bounds: Any, *, inverse: bool = False) -> Solution:
    """The planar arm, from rest to rest; the solve has not converged."""
    state = trajopt.StateMultibody(ROBOT)
    actuation, costs = trajopt.ActuationModelFull(state), trajopt.CostStack(state)
    torques = trajopt.ResidualModelJointEffort(state, actuation) if inverse else trajopt.ResidualModelControl(state)
    rows = trajopt.ConstraintStack(state).add("torques", torques, lower=-bounds, upper=bounds)
    end = trajopt.ConstraintStack(state).add("goal", trajopt.ResidualModelState(state, state.at_rest(goal)), equals=0.0)
    kind: Any = trajopt.DifferentialActionModelFreeFwdDynamics
    if inverse:
        kind = trajopt.DifferentialActionModelFreeInvDynamics
    knot = trajopt.IntegratedActionModelEuler(kind(state, actuation, costs, constraints=rows), dt=0.02)
    problem = trajopt.ShootingProblem(
        state.at_rest(start), [knot] * 8, trajopt.ActionModelTerminal(trajopt.CostStack(state), constraints=end)
    )
    return solution_of(problem, np.tile(problem.x0, (9, 1)), np.zeros((8, problem.nu)))


@pytest.mark.parametrize("inverse", [False, True])
def test_a_start_that_the_motors_cannot_hold_is_named_with_its_torques(inverse: bool) -> None:
    needed = np.abs(gravity(FLAT))
    solution = moved(FLAT, HANGING, np.array([0.5, 2.0]) * needed, inverse=inverse)
    (sentence,) = cannot_rest(solution)
    joint = ROBOT.model.names[1]
    expected = f"{joint} needs {needed[0]:.4g} N m and has {0.5 * needed[0]:.4g} N m;"
    assert sentence.startswith(f"the motors cannot hold x0 at rest: {expected}")
    assert ROBOT.model.names[2] not in sentence
    assert f"-> {sentence}" in solution.explain().splitlines()
    assert cannot_rest(dataclasses.replace(solution, status=SolverStatus.CONVERGED)) == []


def test_a_goal_that_the_motors_cannot_hold_is_named_too() -> None:
    (sentence,) = cannot_rest(moved(HANGING, FLAT, 0.5 * np.abs(gravity(FLAT))))
    assert sentence.startswith("the motors cannot hold the goal at rest: ")
    assert all(name in sentence for name in ROBOT.model.names[1:])


def test_nothing_is_said_where_torques_suffice_or_feet_share_them() -> None:
    assert cannot_rest(moved(FLAT, FLAT, 1.001 * np.abs(gravity(FLAT)))) == []
    assert cannot_rest(trot()) == []
