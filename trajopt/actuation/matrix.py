"""Actuation by a constant matrix."""

from __future__ import annotations

import numpy.typing as npt

from trajopt.actuation.base import ActuationModelAbstract
from trajopt.checks import as_numbers, check_array
from trajopt.errors import InvalidArgumentError
from trajopt.states.base import StateAbstract
from trajopt.states.state_multibody import check_robot_state


class ActuationModelMatrix(ActuationModelAbstract):
    """Actuation tau = B u with any constant matrix B.

    Args:
        state: State of a robot.
        matrix: B, shape (nv, nu) [-]. A column with a single entry 1 drives one joint and has its effort limit.

    Raises:
        InvalidArgumentError: `matrix` has another shape or an entry that is not finite.
    """

    def __init__(self, state: StateAbstract, matrix: npt.ArrayLike) -> None:
        state = check_robot_state(type(self).__name__, state)
        shape = as_numbers("matrix", matrix).shape
        if len(shape) != 2 or shape[0] != state.nv:
            raise InvalidArgumentError(
                f"matrix: expected shape ({state.nv}, nu) with one row for each joint velocity, got {shape}"
            )
        super().__init__(state, check_array("matrix", matrix, shape))
