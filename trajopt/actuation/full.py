"""Every joint is driven."""

from __future__ import annotations

import numpy as np

from trajopt.actuation.base import ActuationModelAbstract
from trajopt.states.base import StateAbstract


class ActuationModelFull(ActuationModelAbstract):
    """tau = u: one control a degree of freedom.

    Args:
        state: A robot's state.
    """

    def __init__(self, state: StateAbstract) -> None:
        super().__init__(state, np.eye(getattr(state, "nv", 0)))
