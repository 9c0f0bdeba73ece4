"""Residuals of configurations that inverse kinematics brought, for the list of all models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin

import trajopt
from trajopt.residuals import ResidualModelAbstract

FRAMES = {
    "drone": ("tip", "universe"),
    "talos_arm": ("gripper_left_joint", "arm_left_2_joint"),
    "solo12": ("FR_FOOT", "HL_FOOT"),
}
"""Of each robot a frame, and one that it is seen from."""


def kinematic_residuals(state_of: Callable[[str], Any]) -> dict[str, Callable[[], ResidualModelAbstract]]:
    """The residuals by name."""
    return {f"{key}-{name}": make for name in FRAMES for key, make in _of_robot(state_of, name).items()}


def _of_robot(state_of: Callable[[str], Any], name: str) -> dict[str, Callable[[], ResidualModelAbstract]]:
    frame, base = FRAMES[name]
    reference = pin.SE3(pin.exp3(np.array([0.5, 0.4, -0.3])), np.array([0.3, -0.1, 0.2]))

    def state() -> Any:
        return state_of(name)

    return {
        "look-at": lambda: trajopt.ResidualModelLookAt(state(), frame, [0.3, -2.0, 0.5], axis=[0.2, -0.4, 1.0]),
        "relative": lambda: trajopt.ResidualModelRelativePlacement(state(), frame, base, reference),
        "relative-point": lambda: trajopt.ResidualModelRelativeTranslation(state(), frame, base, [0.3, -0.1, 0.2]),
        "manipulability": lambda: trajopt.ResidualModelManipulability(state(), frame, "all", reference=0.3),
        "manipulability-turns": lambda: trajopt.ResidualModelManipulability(state(), frame, rows="rotation"),
        "manipulability-rows": lambda: trajopt.ResidualModelManipulability(state(), frame, rows=(0, 2)),
    }
