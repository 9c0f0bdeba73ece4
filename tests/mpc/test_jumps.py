"""References that jump: the controls of single iterations are as calm as those of converged solves."""

from __future__ import annotations

import numpy as np
import pytest

import trajopt
from trajopt import mpc
from trajopt.types import Reals

JUMP, PERIOD, KNOTS = 0.7, 0.01, 50  # time of the jump [s], period and time between knots [s]
WRISTS = [3, 4, 5]


def torques(offset: list[float], **options: str) -> Reals:
    """Torques of a UR5 until the point that its tool follows jumps by an offset (3,) [m]."""
    robot = trajopt.load_robot("ur5")
    state, x0 = trajopt.StateMultibody(robot), np.r_[0.0, -1.2, 1.8, -0.6, 1.6, 0.0, np.zeros(6)]
    motors, start = trajopt.ActuationModelFull(state), robot.placement(x0[:6], "tool0")[:3, 3]
    hand = trajopt.ResidualModelFrameTranslation(state, "tool0", start)
    posture = trajopt.ResidualModelState(state, x0)

    def costs(weight: float) -> trajopt.CostStack:
        return trajopt.CostStack(state).add("hand", hand, weight=weight).add("posture", posture, weight=0.05)

    running = costs(100.0).add("effort", trajopt.ResidualModelControl(state), weight=1e-4)
    limits = trajopt.ConstraintStack.of_robot(state, motors)
    arm = trajopt.DifferentialActionModelFreeFwdDynamics(state, motors, running, constraints=limits)
    knots = [trajopt.IntegratedActionModelEuler(arm, dt=PERIOD)] * KNOTS
    controller = mpc.MPCController(
        trajopt.ShootingProblem(x0, knots, costs(10.0)), options=mpc.MPCOptions(dt=PERIOD, **options)
    )
    controller.follow("hand.reference", lambda t: start + (t >= JUMP) * np.array(offset))
    return mpc.simulate(controller, None, x0, JUMP).us


def reversals(us: Reals) -> Reals:
    """How often each torque turns from rising to falling or back (nu,)."""
    changes = np.diff(us, axis=0)
    return (changes[1:] * changes[:-1] < 0.0).sum(axis=0)


def test_wrists_reverse_no_more_often_than_with_converged_solves() -> None:
    single, converged = torques([0.0, 0.2, 0.1]), torques([0.0, 0.2, 0.1], mode="converged")
    assert (reversals(single)[WRISTS] <= reversals(converged)[WRISTS]).all()


@pytest.mark.parametrize("offset", [[0.0, 0.3, 0.2], [0.2, 0.2, -0.2], [0.0, -0.4, 0.1]])
def test_wrists_do_not_jerk_when_a_jump_comes_into_sight(offset: list[float]) -> None:
    """The exact Hessian alone would ask for 13.8 N m, where 1.2 N m are right."""
    seen = round((JUMP - KNOTS * PERIOD) / PERIOD)
    sight = slice(seen - 2, seen + 10)
    single, converged = (torques(offset, **options)[sight, WRISTS] for options in ({}, {"mode": "converged"}))
    assert np.abs(single - converged).max() < 2.0  # [N m]
