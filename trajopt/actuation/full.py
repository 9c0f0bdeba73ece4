"""Full actuation: a motor at every joint."""

from __future__ import annotations

import numpy as np

from trajopt.actuation.base import ActuationModelAbstract
from trajopt.errors import InvalidArgumentError
from trajopt.states.base import StateAbstract
from trajopt.states.state_multibody import check_robot_state


class ActuationModelFull(ActuationModelAbstract):
    """tau = u: one control per degree of freedom.

    Args:
        state: A robot's state.

    Raises:
        InvalidArgumentError: The robot has joints and a floating base, which no motor drives.
    """

    def __init__(self, state: StateAbstract) -> None:
        state = check_robot_state(type(self).__name__, state)
        if state.model.njoints > 2 and state.model.joints[1].shortname() == "JointModelFreeFlyer":
            raise InvalidArgumentError(
                f"state: expected a fixed base, got {state.robot.name!r}, whose base floats and has no motor; use "
                "ActuationModelFloatingBase(state), or ActuationModelMatrix(state, numpy.eye(state.nv)) to push it"
            )
        super().__init__(state, np.eye(state.nv))
