"""Joints that move a task noticeably: others may be at a limit without a part in its failure."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from trajopt.ik.tasks import TaskModel
from trajopt.types import Reals

LITTLE = 1e-2
"""Part of the largest effect of a coordinate on a row below which that of another one is negligible [-]."""
_CONFIGURATIONS, _STEP = 4, 1e-4  # number of random configurations [-]; step [rad, m]


def acting(model: TaskModel, values: Any, p: Reals) -> npt.NDArray[np.bool_]:
    """Returns whether each tangent coordinate (nv,) moves a row by at least a hundredth of what another one does.

    A head, for example, moves the centre of mass of a humanoid by millimetres per radian. Rows on collisions do not
    count. Derivatives are differences at a few random configurations.

    Args:
        model: The tasks.
        values: Its compiled `residuals`.
        p: Values of the parameters (np,).
    """
    import pinocchio as pin

    robot, rng = model.state.model, np.random.default_rng(0)
    sizes, apart = model.constraints.sizes(0), {slots.name for slots in model.collisions}
    counts = np.array([name not in apart for name, size in sizes.items() for _ in range(size)], dtype=np.bool_)
    found = np.zeros(robot.nv, dtype=np.bool_)
    for _ in range(_CONFIGURATIONS):
        q = pin.integrate(robot, pin.neutral(robot), rng.uniform(-1.0, 1.0, robot.nv))
        near = np.array([q, *(pin.integrate(robot, q, step) for step in _STEP * np.eye(robot.nv))])
        rows, _, _, *costs = (np.array(each).T for each in values(near.T, p[:, None]))
        for block in (rows[:, counts], *costs):
            effects = np.abs(block[1:] - block[0])
            found |= (effects >= LITTLE * np.maximum(effects.max(axis=0, initial=0.0), _STEP * LITTLE)).any(axis=1)
    return found
