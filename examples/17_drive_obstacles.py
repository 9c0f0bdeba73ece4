"""A robot with two driven wheels follows a figure of eight among obstacles, one of which crosses its way.

    minimise   ∫ ½ (10 |p - p_ref(t)|² + |(v_l, v_r) - v_ref(t)|² + 0.05 |(a_l, a_r)|²) dt over 4 s ahead,

|a| <= 2 m/s² hard, wheels at 1.2 m/s at most and 5 cm between body and obstacles, whose positions are parameters of
the knots and shift with time. The plant's wheels are 2 cm farther apart than the controller's.

Look at: how the robot avoids the circles on its path. Expected distance in mm: above 40.
"""

from __future__ import annotations

from trajopt import mpc, problems
from trajopt.problems.mpc.drive import clearance


def main(plot: bool = False) -> mpc.ClosedLoop:
    """Runs 16 s and returns the closed loop; `plot` writes drive_obstacles.png."""
    case = problems.mpc.load("drive-obstacles", margin=0.05, track=0.42)  # [m]
    log = case.simulate()
    for name, words in case.report(log).items():
        print(f"{name}: {words}")
    print(f"distance in mm: {1e3 * clearance(case.follows, log).min():.1f} from the obstacles at least")
    if plot:
        log.plot("drive_obstacles.png", obstacles=case.obstacles, lines=case.lines)
    return log


if __name__ == "__main__":
    main(plot=True)
