"""Actuation of a robot with a floating base: every joint has a motor, the base has none."""

from __future__ import annotations

import numpy as np

from trajopt.actuation.base import ActuationModelAbstract
from trajopt.errors import InvalidArgumentError
from trajopt.states.base import StateAbstract
from trajopt.states.state_multibody import check_robot_state


class ActuationModelFloatingBase(ActuationModelAbstract):
    """Actuation tau = (0, u): every joint has a motor except the first one, which is the base.

    Args:
        state: State of a robot whose first joint is its base (free flyer, planar, ...).

    Raises:
        InvalidArgumentError: The first joint of the robot has a single degree of freedom, so it is not a floating
            base.
    """

    def __init__(self, state: StateAbstract) -> None:
        state = check_robot_state(type(self).__name__, state)
        base = state.model.joints[1].nv if state.model.njoints > 1 else 0
        if base < 2:
            raise InvalidArgumentError(
                f"state: expected a robot with a floating base, got {state.robot.name!r} with a fixed base; use "
                "ActuationModelFull, or load the robot with load_robot(..., floating_base=True)"
            )
        super().__init__(state, np.eye(state.nv)[:, base:])
