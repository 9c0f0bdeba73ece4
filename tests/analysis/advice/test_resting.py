"""Postures that motors cannot hold at rest are named with the torques that they need."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from casadi import SX
from scipy.optimize import linprog

import trajopt
from tests.support.unsolved import solution_of, trot
from trajopt import gaits
from trajopt.analysis.advice.resting import cannot_rest
from trajopt.solution import Solution, SolverStatus
from trajopt.solvers import SolverSQP

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


def test_feet_share_the_load_as_well_as_they_can() -> None:
    """The least torque that holds a stance is found by a program of Pinocchio's gravity and contact Jacobians alone."""
    robot, feet = trajopt.load_robot("small-quadruped"), ["lf_foot", "rf_foot", "lh_foot", "rh_foot"]
    schedule = gaits.quadruped_trot(gaits.Stance.of(robot, feet), step_length=0.1)
    problem = gaits.gait_problem(robot, schedule, limits=True)
    model, data, q = robot.model, robot.model.createData(), problem.x0[: robot.nq]
    pin.computeJointJacobians(model, data, q)
    pin.framesForwardKinematics(model, data, q)
    world = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    J = np.vstack([pin.getFrameJacobian(model, data, robot.frame_id(foot), world)[:3] for foot in feet])
    load, cone = pin.computeGeneralizedGravity(model, data, q), np.zeros((16, 12))
    for foot in range(4):  # |fx|, |fy| <= 0.7 fz / sqrt(2): within the cone
        for row, (axis, sign) in enumerate([(0, 1.0), (0, -1.0), (1, 1.0), (1, -1.0)]):
            cone[4 * foot + row, 3 * foot + axis], cone[4 * foot + row, 3 * foot + 2] = sign, -0.7 / np.sqrt(2.0)
    motors = np.vstack([-J[:, 6:].T, J[:, 6:].T])
    A = np.vstack([np.hstack([motors, -np.ones((len(motors), 1))]), np.hstack([cone, np.zeros((16, 1))])])
    b = np.concatenate([-load[6:], load[6:], np.zeros(16)])
    held = np.hstack([J[:, :6].T, np.zeros((6, 1))])
    bounds = [*[(None, None)] * 12, (0.0, None)]
    least = linprog(np.eye(13)[-1], A, b, held, load[:6], bounds=bounds).x[-1]
    for factor, named in ((0.9, True), (1.01, False)):
        problem.set_parameter("torques.lower", -factor * least)
        problem.set_parameter("torques.upper", factor * least)
        words = cannot_rest(solution_of(problem, *gaits.gait_guess(problem, schedule)))
        assert bool(words) is named
    assert np.abs(problem.quasi_static(problem.x0[None].repeat(problem.T, 0))[0]).max() > 1.01 * least


class Hoist(trajopt.DifferentialActionModelSymbolic):
    """A load of 200 kg on a rope of length l, with drag, under the tension u: dv/dt = g - u / 200 kg - c v³."""

    def acceleration(self, x: SX, u: SX) -> SX:
        return 9.81 - u / 200.0 - 0.05 * x[1] ** 3


def hoist(most: float, *, rows: str = "knot", speed: float = 0.0) -> Solution:
    """It is to lift the load by 2 m within 2 s, with a tension of at most `most` N."""
    state, tension = trajopt.StateVector(2, names=["l", "v"], units=["m", "m/s"]), "rope tension"
    motor = trajopt.ConstraintStack(state).add("motor", trajopt.ResidualModelControl(state), lower=0.0, upper=most)
    model = Hoist(state, 1, trajopt.CostStack(state), constraints=motor, control_names=[tension], control_units=["N"])
    knot = trajopt.IntegratedActionModelRK4(model, dt=0.05, rows=rows)
    goal = trajopt.ConstraintStack(state).add("goal", trajopt.ResidualModelState(state, [2.0, 0.0]), equals=0.0)
    end = trajopt.ActionModelTerminal(trajopt.CostStack(state), constraints=goal)
    return SolverSQP(trajopt.ShootingProblem([4.0, speed], [knot] * 40, end)).solve()


@pytest.mark.parametrize("rows", ["knot", "stages"])
def test_the_hoist_of_an_own_model_that_is_too_weak_comes_first(rows: str) -> None:
    """200 kg weigh 1962 N; with the bound that is needed and a little more there is a motion."""
    weak = hoist(1900.0, rows=rows)
    assert not weak.converged
    first = next(line for line in weak.explain().splitlines() if line.startswith("->"))
    assert first == (
        "-> the controls cannot hold x0 and the goal at rest: rope tension needs 1962 N and has 1900 N; raise these "
        "bounds, or check the units of masses, kg, and of lengths, m"
    )
    assert hoist(2600.0, rows=rows).converged


def test_an_own_model_that_moves_at_the_start_or_is_strong_is_not_to_be_held() -> None:
    assert not any("x0" in sentence for sentence in cannot_rest(hoist(1900.0, speed=1.0)))
    short = hoist(1970.0)  # it holds the load, and is too weak to lift it in time
    assert not short.converged
    assert cannot_rest(short) == []
