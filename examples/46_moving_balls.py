"""An arm whose hand holds still while two balls swing past it: a controller at 200 Hz that knows their paths.

    minimise  Σ (25 |p(q_t) - p_0|² + ¼ |x_t ⊖ x_0|² + 5e-5 |τ_t|²)   subject to   distances of links and balls >= 2 cm

over 0.8 s ahead. `collisions=scene` adds rows for the balls that are nearest to each link; where they are is a run-time
parameter, and `follow` sets it at all knots. So the arm gives way before a ball comes.

Look at: the hand gives way to each ball, and comes back. Expected distance in mm: above 15.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import trajopt
from trajopt import mpc
from trajopt.analysis import clearance

RADIUS, MARGIN = 0.08, 0.02  # [m]
X0 = np.r_[0.0, -0.4, 0.0, -2.0, 0.0, 1.6, 0.8, np.zeros(7)]  # [rad], [rad/s]
PATHS = {  # centres over time [m]
    "sideways": lambda t: [0.53, 0.55 * np.cos(1.6 * t), 0.6],
    "along": lambda t: [0.7 + 0.25 * np.cos(1.2 * t), 0.1, 0.68],
}


def controller() -> mpc.MPCController:
    """A Panda with locked fingers, and 20 knots of 40 ms ahead."""
    robot = trajopt.load_robot("panda")
    robot = robot.lock_joints([name for name in robot.joint_names if "finger" in name])
    state = trajopt.StateMultibody(robot)
    motors, costs, end = trajopt.ActuationModelFull(state), trajopt.CostStack(state), trajopt.CostStack(state)
    for stack in (costs, end):
        place = robot.placement(X0[:7], "panda_hand")[:3, 3]
        stack.add("hand", trajopt.ResidualModelFrameTranslation(state, "panda_hand", place), weight=50.0)
        stack.add("posture", trajopt.ResidualModelState(state, X0), weight=0.5)
    costs.add("torque", trajopt.ResidualModelControl(state), weight=1e-4)
    scene = trajopt.Scene({name: trajopt.Sphere(RADIUS, center=at(0.0)) for name, at in PATHS.items()})
    apart: dict[str, Any] = {"collisions": scene, "margin": MARGIN, "obstacles": 2}
    limits, at_end = (trajopt.ConstraintStack.of_robot(state, each, **apart) for each in (motors, None))
    arm = trajopt.DifferentialActionModelFreeFwdDynamics(state, motors, costs, constraints=limits)
    terminal = trajopt.ActionModelTerminal(end, constraints=at_end)
    problem = trajopt.ShootingProblem(X0, [trajopt.IntegratedActionModelEuler(arm, dt=0.04)] * 20, terminal)
    control = mpc.MPCController(problem, options=mpc.MPCOptions(dt=5e-3, hessian="gauss-newton"))
    for name, at in PATHS.items():
        control.follow(f"collisions.{name}", at)
    return control


def main(plot: bool = False) -> mpc.ClosedLoop:
    """Runs 4 s and returns the closed loop; `plot` writes moving_balls.png."""
    log = mpc.simulate(controller(), None, X0, 4.0)
    print(log.explain())
    nearest = clearance(log)
    print(f"distance in mm: {1e3 * nearest.distance:.1f} at least, {nearest}")
    if plot:
        log.plot("moving_balls.png")
    return log


if __name__ == "__main__":
    main(plot=True)
