"""pin-pink's differential inverse kinematics along a path; `track.py` runs it apart from ours.

    python pink_track.py FOLDER     reads model.txt and path.npz, writes found.npz

A frame task and a posture task beside it, limits of configurations, velocities and accelerations; a step is one
`solve_ik` with quadprog, and its integration. It ends where limits exclude one another.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pink
import pinocchio as pin
from pink.limits import AccelerationLimit, ConfigurationLimit, VelocityLimit


def main(folder: Path) -> None:
    """Follows the path and says how long each step took."""
    model = pin.Model()
    model.loadFromText(str(folder / "model.txt"))
    data, path = model.createData(), np.load(folder / "path.npz")
    dt = float(path["dt"])
    hand = pink.FrameTask(str(path["frame"]), position_cost=1.0, orientation_cost=1.0)
    rest = pink.PostureTask(cost=float(path["posture_cost"]), gain=dt / (dt + float(path["settling"])))
    rest.set_target(path["posture"])
    acceleration = AccelerationLimit(model, path["acceleration"])
    limits = [ConfigurationLimit(model), VelocityLimit(model), acceleration]
    configuration = pink.Configuration(model, data, path["q0"].copy())
    qs, seconds = [configuration.q.copy()], []
    for target in path["targets"][1:]:
        pose = pin.SE3(target)
        begin = time.perf_counter()
        hand.set_target(pose)
        try:
            v = pink.solve_ik(configuration, [hand, rest], dt, solver="quadprog", limits=limits, safety_break=False)
        except pink.exceptions.NoSolutionFound:  # its limits exclude one another
            break
        acceleration.set_last_integration(v, dt)
        configuration.integrate_inplace(v, dt)
        seconds.append(time.perf_counter() - begin)
        qs.append(configuration.q.copy())
    np.savez(folder / "found.npz", qs=np.array(qs), seconds=np.array(seconds))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
