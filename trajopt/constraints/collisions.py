"""Rows that keep the bodies of a robot apart."""

from __future__ import annotations

import numpy as np

from trajopt.checks import check_finite, check_flag
from trajopt.constraints.robot_limits import Limits
from trajopt.residuals.collisions import ResidualModelCollisions
from trajopt.states.base import StateAbstract
from trajopt.states.state_multibody import check_robot_state


def collision_rows(state: StateAbstract, *, collisions: bool, margin: float, pairs: int) -> Limits:
    """Residual, lower and upper bounds by name; arguments and errors as in `ConstraintStack.of_robot`."""
    least = check_finite("margin", margin)
    if not check_flag("collisions", collisions):
        return {}
    check_robot_state("of_robot", state)
    residual = ResidualModelCollisions(state, pairs=pairs)
    return {"collisions": (residual, np.full(residual.size(0), least), np.full(residual.size(0), np.inf))}
