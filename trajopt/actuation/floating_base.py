"""Every joint is driven, the base is not."""

from __future__ import annotations

import numpy as np

from trajopt.actuation.base import ActuationModelAbstract
from trajopt.errors import InvalidArgumentError
from trajopt.states.base import StateAbstract
from trajopt.states.state_multibody import check_robot_state


class ActuationModelFloatingBase(ActuationModelAbstract):
    """tau = (0, u): the base, which is the first joint, has no motor.

    Args:
        state: State of a robot whose first joint is its base (free flyer, planar, ...).

    Raises:
        InvalidArgumentError: The first joint has one degree of freedom only: the robot has no floating base.
    """

    def __init__(self, state: StateAbstract) -> None:
        state = check_robot_state(type(self).__name__, state)
        base = state.model.joints[1].nv if state.model.njoints > 1 else 0
        if base < 2:
            raise InvalidArgumentError(
                f"state: {state.robot.name!r} has no floating base; use ActuationModelFull, or "
                "load_robot(..., floating_base=True)"
            )
        super().__init__(state, np.eye(state.nv)[:, base:])
