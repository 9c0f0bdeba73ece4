"""Orders of quaternions: x, y, z, w as in Pinocchio and Newton, or w, x, y, z as in MuJoCo and Drake."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trajopt.checks import as_numbers
from trajopt.errors import InvalidArgumentError
from trajopt.types import Reals


def xyzw_to_wxyz(quaternions: npt.ArrayLike) -> Reals:
    """Reorders quaternions (..., 4) from x, y, z, w to w, x, y, z."""
    return np.asarray(_checked(quaternions)[..., [3, 0, 1, 2]])


def wxyz_to_xyzw(quaternions: npt.ArrayLike) -> Reals:
    """Reorders quaternions (..., 4) from w, x, y, z to x, y, z, w."""
    return np.asarray(_checked(quaternions)[..., [1, 2, 3, 0]])


def _checked(quaternions: npt.ArrayLike) -> Reals:
    array = as_numbers("quaternions", quaternions)
    if array.ndim < 1 or array.shape[-1] != 4:
        raise InvalidArgumentError(f"quaternions: expected shape (..., 4), got {array.shape}")
    return array
