"""pin-pink's differential inverse kinematics, iterated to a tolerance; `inverse_kinematics.py` runs it apart from ours.

    python pink_ik.py FOLDER     reads model.txt and poses.npz, writes found.npz

An iteration is one `solve_ik` with limits of configurations, a time step of 1 s and a task of gain 1: a damped
Gauss-Newton step. `limit` is the largest number of them.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
import pink
import pinocchio as pin


def main(folder: Path) -> None:
    """Solves all poses and says how long it took."""
    model = pin.Model()
    model.loadFromText(str(folder / "model.txt"))
    model.velocityLimit = np.full(model.nv, np.inf)  # a step is no motion
    data, poses = model.createData(), np.load(folder / "poses.npz")
    task = pink.FrameTask(str(poses["frame"]), position_cost=1.0, orientation_cost=1.0, lm_damping=1e-2, gain=1.0)
    found, seconds, steps = poses["starts"].copy(), [], []
    for q, target in zip(found, poses["targets"], strict=True):
        begin = time.perf_counter()
        configuration = pink.Configuration(model, data, q)
        task.set_target(pin.SE3(target))
        for step in range(int(poses["limit"]) + 1):
            if np.abs(task.compute_error(configuration)).max() <= poses["tolerance"] or step == poses["limit"]:
                break
            velocity = pink.solve_ik(configuration, [task], 1.0, solver="quadprog", safety_break=False)
            configuration.integrate_inplace(velocity, 1.0)
        q[:] = configuration.q
        seconds.append(time.perf_counter() - begin)
        steps.append(step)
    np.savez(folder / "found.npz", q=found, seconds=seconds, steps=steps)
    print(json.dumps({"pink": pink.__version__, "pinocchio": pin.__version__}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
