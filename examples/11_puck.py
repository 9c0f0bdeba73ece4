"""A puck slides on after a push: a contact between two bodies, and friction is the only brake.

    minimise   ∫ ½ (x² + 0.1 ẋ² + 1e-3 u²) dt + ½ (1e3 (y - 0.5 m)² + 100 ẏ²) at the end,

pusher x, puck y, force u on the pusher. The simulator only knows the distance between the two bodies; the solver finds
when the pusher has to let go. Friction then decelerates the puck by mu g, so that it slides v² / (2 mu g) further.

Look at: the distance after the release, next to that formula. Expected cost: 0.04035756259.
"""

from __future__ import annotations

import numpy as np

from trajopt import problems
from trajopt.solution import Solution


def main(plot: bool = False) -> Solution:
    """Solves the problem and returns its solution."""
    case = problems.load("puck", target=0.5, friction=0.3)  # [m], [-]
    solution = case.solve()
    pushes = np.abs(solution.contact_forces()["pusher"][:, 0]) > 0.1  # [N]
    release = int(np.flatnonzero(pushes)[-1]) + 1
    way = solution.xs[-1, 1] - solution.xs[release, 1]  # [m]
    speed = solution.xs[release, 4]  # [m/s]
    print(f"cost {solution.cost:.4f} after {solution.iterations} iterations")
    print(f"released at {0.01 * release:.2f} s with {speed:.2f} m/s, slides {way:.3f} m")
    print(f"v² / (2 mu g) = {speed**2 / (2 * 0.3 * 9.81):.3f} m")
    if plot:
        solution.plot("puck.png")
    return solution


if __name__ == "__main__":
    main(plot=True)
