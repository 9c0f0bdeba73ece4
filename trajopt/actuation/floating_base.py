"""Actuation of a robot with a floating base: a motor at every joint, none at the base."""

from __future__ import annotations

import numpy as np

from trajopt.actuation.base import ActuationModelAbstract
from trajopt.errors import InvalidArgumentError
from trajopt.states.base import StateAbstract
from trajopt.states.state_multibody import check_robot_state


class ActuationModelFloatingBase(ActuationModelAbstract):
    """tau = (0, u): every joint has a motor, except the first one, which is the base.

    Args:
        state: State of a robot whose first joint is its base (free flyer, planar, ...).

    Raises:
        InvalidArgumentError: The robot has no floating base: its first joint has a single degree of freedom.
    """

    def __init__(self, state: StateAbstract) -> None:
        state = check_robot_state(type(self).__name__, state)
        base = state.model.joints[1].nv if state.model.njoints > 1 else 0
        if base < 2:
            raise InvalidArgumentError(
                f"state: expected a robot with a floating base, got {state.robot.name!r}, which has none; use "
                "ActuationModelFull, or load_robot(..., floating_base=True)"
            )
        super().__init__(state, np.eye(state.nv)[:, base:])
