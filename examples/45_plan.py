"""A Panda reaches into a shelf: a path around the boards, then the fastest motion along it.

    minimise  duration   subject to   distance of links and boards >= 1 cm,  velocities and torques of the robot's file,
    jerk <= 500 rad/s³,  hand at its goal, at rest

A straight line between the configurations goes through a board. OMPL searches paths with random samples (extra `plan`),
the best becomes a spline, and `trajopt.retime` moves along it. The goal is the placement of the hand; inverse
kinematics chooses the configuration.

`plan.optimise()` hands the motion to SolverSQP, which keeps limits and distances, and has the least squares of
accelerations in a time that is one step longer.

Look at: the hand goes around the edge of the board, and joints are at limits all the time, until it is optimised.
Expected duration: 1.2139 s.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin

import trajopt

START = np.array([0.0, -0.6, 0.0, -1.6, 0.0, 1.6, 0.8])  # hand above the upper board [rad]
GOAL = pin.SE3(pin.rpy.rpyToMatrix(0.0, np.pi / 2, 0.0), np.array([0.6, 0.1, 0.55]))  # below it, pointing forwards [m]
JERK = 500.0  # [rad/s³]


def shelf() -> trajopt.Scene:
    """Two boards between walls, and a back."""
    parts = {  # sides and centre [m]
        "board": ([0.4, 1.0, 0.03], [0.65, 0.0, 0.38]),
        "top": ([0.4, 1.0, 0.03], [0.65, 0.0, 0.75]),
        "left": ([0.4, 0.03, 0.8], [0.65, 0.5, 0.4]),
        "right": ([0.4, 0.03, 0.8], [0.65, -0.5, 0.4]),
        "back": ([0.03, 1.0, 0.8], [0.86, 0.0, 0.4]),
    }
    return trajopt.Scene(
        {name: trajopt.Box(size, placement=[*at, 0.0, 0.0, 0.0, 1.0]) for name, (size, at) in parts.items()}
    )


def main(plot: bool = False) -> trajopt.retiming.RetimedPath:
    """Plans the motion; `plot` writes plan.png and plan_limits.png."""
    panda = trajopt.load_robot("panda")
    panda = panda.lock_joints([name for name in panda.joint_names if "finger" in name])
    plan = trajopt.plan(panda, START, GOAL, shelf(), frame="panda_hand", jerk=JERK)
    print(plan)
    print("nearest:", plan.clearance())
    assert plan.motion is not None
    print("largest parts of limits:", {name: round(part, 3) for name, part in plan.motion.usage().items()})
    solution = plan.optimise()
    print(solution)
    print("nearest:", trajopt.analysis.clearance(solution))
    before = np.diff(plan.motion.at(solution.times)[1], axis=0) / solution.times[1]
    squares = [np.square(each).mean() for each in (before, solution.us)]
    print(f"mean square of accelerations: {squares[0]:.2f} -> {squares[1]:.2f} rad²/s⁴")
    if plot:
        plan.plot("plan.png", frame="panda_hand")
        plan.motion.plot("plan_limits.png")
        solution.plot("plan_optimised.png")
    return plan.motion


if __name__ == "__main__":
    main(plot=True)
