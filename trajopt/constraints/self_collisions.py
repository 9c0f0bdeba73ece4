"""Distances between the links of a robot."""

from __future__ import annotations

import re

import numpy as np

from trajopt.checks import check_finite, check_flag
from trajopt.constraints.robot_limits import Limits
from trajopt.residuals.pair_distance import ResidualModelPairDistance
from trajopt.states.base import StateAbstract
from trajopt.states.state_multibody import check_robot_state


def self_collisions(state: StateAbstract, *, collisions: bool, margin: float) -> Limits:
    """Residual, lower and upper bounds by name; arguments and errors as in `ConstraintStack.of_robot`."""
    if not check_flag("collisions", collisions):
        return {}
    shapes, least = check_robot_state("of_robot", state).robot.collision_shapes, check_finite("margin", margin)
    names = [re.sub(r"\W", "_", name) for name in shapes.names]
    return {
        f"apart_{names[i]}_{names[j]}": (
            ResidualModelPairDistance(state, shapes.bodies[i], shapes.bodies[j]),
            np.full(1, least),
            np.full(1, np.inf),
        )
        for i, j in shapes.pairs
    }
