"""A quadruped trots at commanded velocities and is pushed from the side; the simulator determines its contacts.

    minimise   ∫ ½ (|x ⊖ x_ref(t)|²_W + 3e4 Σ (z_foot - z_ref(t))² + 1e-3 |τ|²) dt over 0.8 s ahead,

whole-body dynamics of go2 at 40 knots, torques within the motors' limits and forces within friction cones. Which feet
stand is a parameter of each knot and shifts with time; where they step is a result. A push of 10 N s makes the robot
of 16 kg 0.6 m/s faster: its next steps go to the side.

Look at: how soon the base has its commanded velocity again. Expected velocity in m/s: below 0.1.
"""

from __future__ import annotations

import numpy as np

from trajopt import mpc, problems


def main(plot: bool = False) -> mpc.ClosedLoop:
    """Runs 3 s and returns the closed loop; `plot` writes quadruped_trot_mpc.png."""
    commands = [(0.0, 0.0, 0.0, 0.0), (0.5, 0.4, 0.0, 0.0)]  # time [s], forward and left [m/s], turn [rad/s]
    pushes = [(1.5, 0.0, 10.0)]  # time [s], along x and y [N s]
    case = problems.mpc.load("quadruped-trot-mpc", plant="simulator", commands=commands, pushes=pushes)
    log = case.simulate(3.0)
    for name, words in case.report(log).items():
        print(f"{name}: {words}")
    last = log.times > 2.5  # one period of the gait
    mean = (log.xs[:, 19:21] - case.follows.command.velocity(log.times)[:, :2])[last].mean(axis=0)
    print(f"velocity in m/s: {np.abs(mean).max():.3f} from the command in the last 0.5 s")
    if plot:
        log.plot("quadruped_trot_mpc.png")
    return log


if __name__ == "__main__":
    main(plot=True)
