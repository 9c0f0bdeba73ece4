"""Planned, actual and corrected paths: a robot slips on the first half of its way.

    minimise  ∫ ½ (100 |p - p_ref|² + 10 (θ - θ_ref)² + 1e-3 |φ̇|²) dt,  |φ̇| <= 25 rad/s,  last pose as planned

p_ref is a Hermite spline through (0, 1), (1, 2) and (2, 1) m, in 2 s; wheels of 10 cm radius are 40 cm apart. In the
first second they slip: the robot turns as if they were 48 cm apart. Then it measures its position.

Look at: the planned controls take the robot past the goal; after the rest of the problem is solved again from the
measured pose, it drives to the goal within the limit of its wheels. Expected cost: 0.4320097036.
"""

from __future__ import annotations

import numpy as np

import trajopt
from trajopt import planar, plotting, problems

POINTS = ((0.0, 1.0, 1.0, 0.0), (1.0, 2.0, 1.0, 0.0), (2.0, 1.0, 1.0, 0.0))  # [m, m, m/s, m/s]
LIMIT, RADIUS, HALF_TRACK, SLIPPING = 25.0, 0.1, 0.2, 0.24  # [rad/s, m, m, m]


def main(plot: bool = False) -> trajopt.Solution:
    """Plans, drives, and returns the corrected plan; `plot` writes drive_replanned.png."""
    options = {"points": POINTS, "duration": 2.0, "limit": LIMIT, "effort": 1e-3}
    case = problems.load("hermite-path", radius=RADIUS, half_track=HALF_TRACK, **options)
    plan = case.solve()
    half, dt = case.problem.T // 2, float(case.problem.get_parameter("dt", 0))  # [-, s]

    def drive(start: np.ndarray, us: np.ndarray, half_track: float = HALF_TRACK) -> np.ndarray:
        """Poses (n, 3) after controls of the wheels."""
        costs = trajopt.CostStack(planar.state_of_pose())
        robot = planar.DifferentialActionModelDiffDrive(costs, radius=RADIUS, half_track=half_track)
        return planar.rollout(robot, start, us, dt).xs

    slipped = drive(plan.xs[0], plan.us[:half], SLIPPING)
    actual = np.vstack([slipped, drive(slipped[-1], plan.us[half:])[1:]])
    corrected = planar.replan(plan, half, slipped[-1], case.solver)
    driven = drive(slipped[-1], corrected.us)
    for name, xs in (("actual", actual), ("corrected", driven)):
        off = xs[-1] - plan.xs[-1]
        print(f"{name} path ends {1e3 * np.hypot(*off[:2]):.3g} mm, {np.degrees(off[2]):.3g} deg from the goal")
    print(f"the wheels turn at {np.abs(corrected.us).max():.4g} rad/s at most, the limit is {LIMIT:g} rad/s")
    if plot:
        paths = {"planned": plan.xs, "actual": actual, "corrected": driven}
        times = plan.times
        wheels = {"planned": (times, plan.us), "corrected": (times[half:], corrected.us)}
        points = [point[:2] for point in POINTS]
        plotting.plot_drives(paths, points=points, wheels=wheels, limit=LIMIT).savefig("drive_replanned.png")
    return corrected


if __name__ == "__main__":
    main(plot=True)
