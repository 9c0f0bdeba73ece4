"""A quadrotor flies through five gates while gusts of wind push it.

    minimise   ∫ ½ (20 |p - p_ref(t)|² + |turn|² + |v|² + 0.1 |ω|² + 0.1 |u - m g / 4|²) dt over 1.5 s ahead,

0 <= u <= 5 N hard. Around the time of a gate the body has to be inside its opening: a constraint whose bounds are
parameters of the knots and shift with time. A body of 0.6 m flies through openings of 1 m at up to 3 m/s.

Look at: the distance from the edges. Expected distance in mm: above 10.
"""

from __future__ import annotations

from trajopt import mpc, problems
from trajopt.problems.mpc.quadrotor import Course, passed


def main(plot: bool = False) -> mpc.ClosedLoop:
    """Runs 10 s and returns the closed loop; `plot` writes quadrotor_gates.png."""
    gusts = [(2.2, 0.5, 0.0, 2.0), (5.0, 0.5, -2.0, 0.0)]  # time [s], duration [s], force along x and y [N]
    case = problems.mpc.load("quadrotor-gates", opening=1.0, mass=1.05, gusts=gusts)
    log = case.simulate()
    for name, words in case.report(log).items():
        print(f"{name}: {words}")
    course: Course = case.follows
    for number, (time, away) in enumerate(passed(course, log), start=1):
        print(f"gate {number}: at {time:.2f} s, {1e3 * away:.0f} mm from its middle")
    least = course.free - max(away for _, away in passed(course, log))
    print(f"distance in mm: {1e3 * least:.1f} from the edges at least")
    if plot:
        log.plot("quadrotor_gates.png", lines=case.lines)
    return log


if __name__ == "__main__":
    main(plot=True)
