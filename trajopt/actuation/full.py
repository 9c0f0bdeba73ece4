"""Full actuation: a motor at every joint."""

from __future__ import annotations

import numpy as np

from trajopt.actuation.base import ActuationModelAbstract
from trajopt.errors import InvalidArgumentError
from trajopt.states.base import StateAbstract
from trajopt.states.state_multibody import check_robot_state


class ActuationModelFull(ActuationModelAbstract):
    """Actuation tau = u: one control for each degree of freedom.

    Args:
        state: State of a robot.

    Raises:
        InvalidArgumentError: The robot has a floating base and joints; no motor drives the base.
    """

    def __init__(self, state: StateAbstract) -> None:
        state = check_robot_state(type(self).__name__, state)
        if state.model.njoints > 2 and state.model.joints[1].shortname() == "JointModelFreeFlyer":
            raise InvalidArgumentError(
                f"state: expected a robot with a fixed base, got {state.robot.name!r} with a floating base; use "
                "ActuationModelFloatingBase(state), or ActuationModelMatrix(state, numpy.eye(state.nv)) to actuate "
                "the base"
            )
        super().__init__(state, np.eye(state.nv))
