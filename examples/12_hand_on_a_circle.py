"""A hand on a circle: inverse kinematics along a path, step by step and for all times at once.

    step by step: least |hand - target|² by v, then the posture, with |v| <= v_max, |a| <= a_max, q within limits
    all at once:  minimise ∫ ½ τ⁴ |a|² + ½ |q - posture|² dt with the hand on the path, within the same limits

The circle takes 1.6 s. The joints' accelerations are limited to 30 % of the Panda's data sheet, which is too little
for this circle. Step by step the hand lags and catches up later; all at once it starts earlier and stays closer.

Look at: which limits are active, and the distance of the hand from its path. Expected cost: 5.75081237.
"""

from __future__ import annotations

import numpy as np

import trajopt
from trajopt import ik

ACCELERATION = 0.3 * np.array([15.0, 7.5, 10.0, 12.5, 15.0, 20.0, 20.0, 10.0, 10.0])  # fingers last [rad/s², m/s²]
POSTURE = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785, 0.02, 0.02])  # [rad, m]
DT, DURATION = 0.02, 1.6  # [s]


def main(plot: bool = False) -> trajopt.Solution:
    """Follows the circle in both ways and returns the solution of the second; `plot` writes circle_*.png."""
    robot = trajopt.load_robot("panda")
    state = trajopt.StateMultibody(robot)
    start = robot.placement(POSTURE, "panda_hand")

    def target(time: float) -> np.ndarray:
        """Placement (4, 4) of the hand at a time [s], at rest at both ends."""
        part = min(time / DURATION, 1.0)
        angle = 2 * np.pi * part**3 * (10 - 15 * part + 6 * part**2)
        pose = start.copy()
        pose[1:3, 3] += 0.12 * np.array([np.sin(angle), np.cos(angle) - 1])  # [m]
        return pose

    hand = trajopt.ResidualModelFramePlacement(state, "panda_hand")
    posture = trajopt.ResidualModelState(state, np.concatenate([POSTURE, np.zeros(state.nv)]))
    tasks = (
        trajopt.ConstraintStack(state).add("hand", hand, equals=0.0),
        trajopt.CostStack(state).add("posture", posture, weight=1.0),
    )
    options = {"duration": DURATION + 0.4, "q0": POSTURE, "acceleration": ACCELERATION}
    for method in ("differential", "optimal"):
        track = ik.track(robot, tasks, target, DT, method=method, **options)
        used = np.abs(track.accelerations / ACCELERATION).max()
        print(f"{method}: {1e3 * track.distance.mean():.1f} mm, mrad on average; acceleration {used:.3f} of its limit")
        if plot:
            track.plot(f"circle_{method}.png")
    assert track.solution is not None
    print(track)
    return track.solution


if __name__ == "__main__":
    main(plot=True)
