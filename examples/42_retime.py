"""Retiming: a UR5 follows a path through five configurations as fast as velocities, torques and jerks allow.

    minimise  ∫ dτ / √b   over the squared speed b = (dτ/dt)² along the path q(τ), with
    dq/dt = q' √b,  d²q/dt² = q'' b + ½ q' b',  torques M d²q/dt² + ... = c b + ½ m b' + g,  jerk ≤ 500 rad/s³

The path is a cubic spline; the robot's file has limits of velocities and torques. Without a limit of the jerk the
problem is convex, and torques may jump; with it they change steadily, and the motion takes longer.

Look at: at any time, some joint is at one of its limits. Expected duration: 1.9158 s; without that limit 1.7730 s.
"""

from __future__ import annotations

import numpy as np

import trajopt

WAYPOINTS = [  # [rad]
    [0.0, -1.2, 1.5, -0.3, 0.0, 0.0],
    [0.8, -0.6, 0.9, -0.9, 0.5, 0.6],
    [1.2, -1.4, 1.8, 0.2, -0.4, 1.0],
    [0.3, -0.8, 0.6, 0.9, 0.8, -0.5],
    [-0.9, -1.3, 1.1, -0.6, 0.2, 0.3],
]
JERK = 500.0  # [rad/s³]


def main(plot: bool = False) -> trajopt.retiming.RetimedPath:
    """Retimes the path with and without a limit of the jerk; `plot` writes retimed.png."""
    robot = trajopt.load_robot("ur5")
    torque_limited = trajopt.retime(robot, WAYPOINTS)
    motion = trajopt.retime(robot, WAYPOINTS, jerk=JERK)
    for each in (torque_limited, motion):
        used = ", ".join(f"{name} {part:.3f}" for name, part in each.usage().items())
        print(f"{each}; largest parts of limits: {used}")
    times = np.linspace(0.0, motion.duration, 5)
    print("configurations at", np.round(times, 3), "s:", np.round(motion.at(times)[0], 2).tolist())
    if plot:
        motion.plot().savefig("retimed.png")
    return motion


if __name__ == "__main__":
    main(plot=True)
