"""Controls act through a constant matrix."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trajopt.actuation.base import ActuationModelAbstract
from trajopt.errors import InvalidArgumentError, check_array
from trajopt.states.base import StateAbstract


class ActuationModelMatrix(ActuationModelAbstract):
    """tau = B u.

    Args:
        state: A robot's state.
        matrix: B, shape (nv, nu) [-]; a column with a single 1 drives that joint and takes its effort limit.
    """

    def __init__(self, state: StateAbstract, matrix: npt.ArrayLike) -> None:
        array = np.array(matrix, dtype=np.float64)
        nv = getattr(state, "nv", 0)
        if array.ndim != 2 or array.shape[0] != nv:
            raise InvalidArgumentError(f"matrix: expected shape ({nv}, nu), got {array.shape}")
        super().__init__(state, check_array("matrix", array, array.shape))
