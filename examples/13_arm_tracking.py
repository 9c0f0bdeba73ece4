"""An arm follows a moving target within the limits of its joints and motors and replans 200 times a second.

    minimise   ∫ ½ (1e3 |hand - target(t)|² + 0.1 |q - q₀|² + 0.05 |v|² + 1e-4 |τ - g(q)|²) dt over 0.6 s ahead,

with hard limits of torques and soft ones of positions and velocities. After 1.5 s the target moves away faster than
the joints can turn: the arm starts early, at its velocity limit. The plant's hand carries 0.2 kg that the controller
does not know about, so that it stays slightly below its target.

Look at: the velocities, which stay just within their limits. Expected distance in mm: below 3.
"""

from __future__ import annotations

import numpy as np

from trajopt import mpc, problems
from trajopt.problems.mpc.arm import FRAME


def main(plot: bool = False) -> mpc.ClosedLoop:
    """Runs 3 s and returns the closed loop; `plot` writes arm_tracking.png."""
    case = problems.mpc.load("arm-tracking", period=5e-3, payload=0.2, jump=1.5)  # [s], [kg], [s]
    log = case.simulate(3.0)
    for name, words in case.report(log).items():
        print(f"{name}: {words}")
    robot = case.controller.problem.state.robot
    hand = np.array([robot.placement(x[:7], FRAME)[:3, 3] for x in log.xs])
    away = np.linalg.norm(hand - case.follows(log.times), axis=1)  # [m]
    print(f"distance in mm: {1e3 * away[log.times > 2.5].mean():.2f} on average from 2.5 s on")
    if plot:
        log.plot("arm_tracking.png")
    return log


if __name__ == "__main__":
    main(plot=True)
