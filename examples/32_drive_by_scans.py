"""A robot with two driven wheels crosses an unknown room with its LIDAR.

    minimise   ∫ ½ (10 |p - p_ref(t)|² + |(v_l, v_r) - v_ref|² + 0.05 |(a_l, a_r)|²) dt over 4 s ahead,

p_ref moves straight through the obstacles. Every 0.1 s a scan becomes 36 circles, the nearest reading of each sector,
and the controller replans around them: soft constraints with a margin of 5 cm, whose positions are run-time
parameters, so that no scan compiles anything. Readings have 1 cm of noise.

Look at: the route between pillars and boxes. Expected distance in mm: above 50.
"""

from __future__ import annotations

from trajopt import mpc
from trajopt.plotting import plot_grid
from trajopt.problems.mpc.drive_scans import build, map_clearance


def main(plot: bool = False) -> mpc.ClosedLoop:
    """Runs 16 s and returns the closed loop; `plot` writes drive_by_scans.png."""
    case = build(margin=0.05, noise=0.01)  # [m]
    log = case.simulate()
    for name, words in case.report(log).items():
        print(f"{name}: {words}")
    away = 1e3 * map_clearance(case.plant.grid, log.xs)
    print(f"distance in mm: {away:.1f} between body and room at least")
    if plot:
        plot_grid(
            case.plant.grid,
            "drive_by_scans.png",
            scan=case.plant.scan,
            route=log.xs,
            obstacles=case.follows.obstacles(),
            title=f"{away:.1f} mm between body and room at least",
        )
    return log


if __name__ == "__main__":
    main(plot=True)
