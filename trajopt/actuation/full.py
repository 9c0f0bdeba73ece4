"""Full actuation: a motor at every joint."""

from __future__ import annotations

import numpy as np

from trajopt.actuation.base import ActuationModelAbstract
from trajopt.states.base import StateAbstract
from trajopt.states.state_multibody import check_robot_state


class ActuationModelFull(ActuationModelAbstract):
    """tau = u: one control per degree of freedom.

    Args:
        state: A robot's state.
    """

    def __init__(self, state: StateAbstract) -> None:
        state = check_robot_state(type(self).__name__, state)
        super().__init__(state, np.eye(state.nv))
