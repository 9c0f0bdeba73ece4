"""Wheel rates of a robot that drives along a parabola, from the curvature of the path and from its points only.

    x = t², y = t:   v = |(ẋ, ẏ)|,   κ = (ẋ ÿ - ẏ ẍ) / v³,   φ̇ = (v / r) (1 ± κ L),   r = 1 m, L = 4 m, 2 s

Look at: where the curvature is 2 / m the right wheel, on the inner side, turns backwards. Rates from finite
differences of the points are off by dt (backward) and dt² (central; 0 on a parabola). The Euler drive ends 41 mm from
the path's end. The cost is of the wheels' rates, ∫ ½ |φ̇|² dt. Expected cost: 37.69525614.
"""

from __future__ import annotations

import numpy as np

import trajopt
from trajopt import planar, plotting

BODY = {"radius": 1.0, "half_track": 4.0}  # [m]
COUNT, DURATION = 200, 2.0  # [-, s]


def main(plot: bool = False) -> trajopt.Solution:
    """Drives along the path with Euler steps and returns the motion; `plot` writes drive_curve.png."""
    t = np.linspace(0.0, DURATION, COUNT)
    points, ones = np.column_stack([t**2, t]), np.ones(COUNT)
    velocities, accelerations = np.column_stack([2 * t, ones]), np.column_stack([2 * ones, 0 * t])
    path = planar.PlanarPath.of_derivatives(t, points, velocities, accelerations)
    rates = path.wheel_rates(**BODY)
    print(f"curvature {path.curvatures[0]:.4g} / m and rates {rates[0]} rad/s at the start")
    for differences in ("backward", "central"):
        sampled = planar.PlanarPath.of_points(points, t[1], differences=differences)
        off = np.abs(sampled.wheel_rates(**BODY) - rates[1:-1]).max()
        print(f"{differences} differences of points: rates off by {off:.2g} rad/s at most")

    state = planar.state_of_pose()
    costs = trajopt.CostStack(state).add("turning", trajopt.ResidualModelControl(state), 1.0)
    model = planar.DifferentialActionModelDiffDrive(costs, **BODY)
    dt = DURATION / COUNT  # as in the notebook, although COUNT points are COUNT - 1 steps apart
    motion = planar.rollout(model, path.poses[0], rates[:-1], dt, integrator="euler")
    print(f"end of the drive: {motion.xs[-1]} [m, m, rad], of the path: {path.poses[-1]}")
    if plot:
        wheels = {"path": (path.times, rates), "Euler drive": (motion.times, motion.us)}
        plotting.plot_drives({"path": path.poses, "Euler drive": motion.xs}, wheels=wheels).savefig("drive_curve.png")
    return motion


if __name__ == "__main__":
    main(plot=True)
