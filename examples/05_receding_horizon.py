"""Receding horizon: an arm follows a moving target with a controller that replans every 10 ms.

    the target moves on a circle of radius 8 cm in 2 s; the controller plans 0.3 s ahead, with one SQP iteration a step

Look at: `follow`, which makes a parameter of the problem a function of time; nothing is compiled after the first
solve. Expected distance in mm: below 5.
"""

from __future__ import annotations

import numpy as np

import trajopt
from trajopt import mpc

DT = 1e-2  # [s]


def target(time: float) -> np.ndarray:
    """Position of the target (3,) [m] at a time [s]."""
    angle = np.pi * time
    return np.array([0.25 + 0.08 * np.cos(angle), 0.1, 0.3 + 0.08 * np.sin(angle)])


def main(plot: bool = False) -> mpc.ClosedLoop:
    """Runs 2 s and returns the closed loop; `plot` writes circle.png."""
    robot = trajopt.load_robot("talos_arm")
    state = trajopt.StateMultibody(robot)
    hand = trajopt.ResidualModelFrameTranslation(state, "gripper_left_joint", target(0.0))
    running = trajopt.CostStack(state)
    running.add("hand", hand, weight=1e2)
    running.add("x_reg", trajopt.ResidualModelState(state), weight=1e-2)
    running.add("u_reg", trajopt.ResidualModelControl(state), weight=1e-4)
    terminal = trajopt.CostStack(state).add("hand", hand, weight=1e1)
    actuation = trajopt.ActuationModelFull(state)
    limits = trajopt.ConstraintStack.of_robot(state, actuation)
    dynamics = trajopt.DifferentialActionModelFreeFwdDynamics(state, actuation, running, constraints=limits)
    knot = trajopt.IntegratedActionModelEuler(dynamics, dt=DT)
    x0 = np.r_[0.173046, 1.0, -0.52366, -1.0, 0.0, 0.1, -0.005, np.zeros(state.nv)]
    problem = trajopt.ShootingProblem(x0, [knot] * 30, terminal)

    controller = mpc.MPCController(problem)
    controller.follow("hand.reference", target)
    log = mpc.simulate(controller, None, x0, 2.0, dt_plant=1e-3)  # the plant is the same model, in steps of 1 ms
    places = [robot.placement(x[: robot.nq], "gripper_left_joint")[:3, 3] for x in log.xs]
    away = np.linalg.norm([place - target(time) for time, place in zip(log.times, places)], axis=1)
    print(log.explain())
    print(f"distance in mm: {1e3 * away[100:].mean():.2f} on average in the second half")
    if plot:
        log.plot("circle.png")
    return log


if __name__ == "__main__":
    main(plot=True)
