"""A cubic Hermite spline from (1, -1) to (3, 4) m: the wheel rates it needs, and those within the wheels' limits.

    x = -3t³ + 4t² + t + 1, y = -11t³ + 19t² - 3t - 1:   φ̇ = (v / r) (1 ± κ L) up to 86.5 and -83.3 rad/s
    minimise  ∫ ½ (100 |p - p_ref|² + 10 (θ - θ_ref)² + 1e-4 |φ̇|²) dt   with |φ̇| <= 30 rad/s, to the path's last pose

Look at: the guess, with rates from the curvature, exceeds the limit; within the limit, in the same second, the robot
leaves the bend and returns. In the least time for which one wheel is always near its limit,
(length + L ∫ |dθ|) / (r φ̇_max), it stays on the path and arrives earlier: it slows down only where the path bends.
Expected cost: 0.0560446556.
"""

from __future__ import annotations

import numpy as np

import trajopt
from trajopt import planar, plotting, problems
from trajopt.problems.hermite_path import POINTS, spline

BODY, LIMIT = {"radius": 1.0, "half_track": 4.0}, 30.0  # [m, rad/s]


def main(plot: bool = False) -> trajopt.Solution:
    """Solves both problems and returns the second solution; `plot` writes drive_hermite.png."""
    path = planar.PlanarPath.of_curve(spline(), np.linspace(0.0, 1.0, 100))
    rates = path.wheel_rates(**BODY)
    print(f"{path}; slowest {path.speeds.min():.4g} m/s, sharpest bend {path.curvatures.max():.4g} / m")
    print(f"rates at the start {rates[0]} rad/s, up to {rates.max():.3g} and {rates.min():.3g} rad/s")
    model = planar.DifferentialActionModelDiffDrive(trajopt.CostStack(planar.state_of_pose()), **BODY)
    free = planar.rollout(model, path.poses[0], rates[:-1], 0.01, integrator="euler")
    print(f"Euler drive without limits ends at {free.xs[-1]} [m, m, rad]")

    solutions = {}
    for name, fastest in (("within the limit", False), ("in the least time", True)):
        case = problems.load("hermite-path", limit=LIMIT, fastest=fastest)
        solutions[name] = case.solve()
        print(f"{name}: {case.report(solutions[name])}")
    if plot:
        paths = {"Euler drive without limits": free.xs} | {name: s.xs for name, s in solutions.items()}
        wheels = {"Euler drive without limits": (free.times, free.us)}
        wheels |= {name: (s.times, s.us) for name, s in solutions.items()}
        figure = plotting.plot_drives(paths, points=[point[:2] for point in POINTS], wheels=wheels, limit=LIMIT)
        figure.savefig("drive_hermite.png")
    return solutions["in the least time"]


if __name__ == "__main__":
    main(plot=True)
