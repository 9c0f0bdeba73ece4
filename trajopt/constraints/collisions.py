"""Rows that keep the bodies of a robot apart."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from trajopt.checks import check_count, check_non_negative
from trajopt.constraints.robot_limits import Limits
from trajopt.errors import InvalidArgumentError, shown
from trajopt.residuals.collisions import ResidualModelCollisions
from trajopt.robots import Box, Scene
from trajopt.states.base import StateAbstract
from trajopt.states.state_multibody import check_robot_state

_logger = logging.getLogger(__name__)
_FAR = 1.0  # margin that is rather meant in millimetres [m]


def check_collisions(collisions: Any) -> bool | Scene:
    """Returns whether links keep apart, or from which scene; raises InvalidArgumentError for anything else."""
    if isinstance(collisions, (bool, np.bool_)):
        return bool(collisions)
    if isinstance(collisions, Scene):
        return collisions
    cure = '; pass Scene({"name": body})' if isinstance(collisions, Box) else ""
    raise InvalidArgumentError(f"collisions: expected True, False or a Scene, got {shown(collisions)}{cure}")


def collision_rows(
    state: StateAbstract, *, collisions: bool | Scene, margin: float, pairs: int = 12, obstacles: int = 4
) -> Limits:
    """Residual, lower and upper bounds by name; arguments and errors as in `ConstraintStack.of_robot`."""
    least = check_non_negative("margin", margin, unit="m")
    most = {"pairs": check_count("pairs", pairs, least=1), "obstacles": check_count("obstacles", obstacles, least=1)}
    if check_collisions(collisions) is False:  # a scene without bodies counts as false
        return {}
    check_robot_state("of_robot", state)
    if least >= _FAR:
        _logger.warning("margin: %g m; it is in metres, so %g mm are %g", least, least, least / 1e3)
    scene = collisions if isinstance(collisions, Scene) else None
    residual = ResidualModelCollisions(state, scene, **most)
    return {"collisions": (residual, residual.margins(least), np.full(residual.size(0), np.inf))}
