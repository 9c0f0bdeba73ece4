"""A hopper finds its jump: neither take-off nor landing is prescribed.

    minimise   ∫ ½ (|posture|² + 1e-3 |u|²) dt + ½ 1e3 (z - 0.7 m)² at half-time + ½ |posture at rest|² at the end
    subject to steps of a simulator whose contacts dissipate as much power as possible,

from a guess that stands still without any torque. Then the barrier of the contacts is reduced from solve to solve,
and the last solution is replayed with ten times smaller steps and its own feedback. FDDP keeps no limits, and this
motion takes twice the torque that the motors have; without `limits=False` the problem has limits, for SolverSQP.

Look at: flight and height for each barrier, and the final height of the replay. Expected cost: 0.1124041689.
"""

from __future__ import annotations

import numpy as np

from trajopt import problems
from trajopt.analysis import replay
from trajopt.solution import Solution
from trajopt.solvers import FDDPOptions, SolverFDDP, continuation


def main(plot: bool = False) -> Solution:
    """Solves for three barriers, replays the last one, and returns its solution."""
    case = problems.load("hopper", limits=False)
    weight = 3.6 * 9.81  # of the hopper [N]
    speeds = (1.0, 0.1, 0.03)  # barrier weight divided by m g [m/s]
    solver = SolverFDDP(case.problem, FDDPOptions(max_iterations=300))
    solutions = continuation(solver, "barrier_weight", [weight * v for v in speeds], case.xs, case.us)
    for speed, solution in zip(speeds, solutions):
        words = ", ".join(f"{key} {value}" for key, value in case.report(solution).items())
        print(f"barrier of m g {speed:g} m/s: cost {solution.cost:.4f} after {solution.iterations} iterations; {words}")
    motion = replay(solutions[-1], 10)
    highest, end = motion.xs[:, 0].max(), motion.xs[-1, 0]
    apart = np.abs(motion.xs[-1, :3] - solutions[-1].xs[-1, :3]).max()
    print(
        f"steps of 1 ms: {highest:.3f} m high, lands and stands at {end:.3f} m, {apart:.3f} m or rad from the solution"
    )
    if plot:
        solutions[-1].plot("hopper.png")
    return solutions[-1]


if __name__ == "__main__":
    main(plot=True)
