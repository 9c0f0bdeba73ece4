"""Checks of the slack weights of soft constraint rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from trajopt.constraints.bounds import as_given, rows_of
from trajopt.errors import InvalidArgumentError
from trajopt.types import Reals


def check_slack_weight(argument: str, value: Any, size: int) -> Reals:
    """Slack weights (size,) from one number for all rows, or one number for each row.

    Args:
        argument: Name of the argument, for messages.
        value: The weights.
        size: Number of rows [-].

    Raises:
        InvalidArgumentError: A value is not a finite number >= 0.
    """
    array = rows_of(argument, value, size)
    if not np.all(np.isfinite(array) & (array >= 0.0)):
        raise InvalidArgumentError(f"{argument}: expected finite weights >= 0, got {array}")
    return np.broadcast_to(array, (size,)).copy()


def first_softness(soft: Any) -> tuple[Reals, Reals] | None:
    """Initial slack weights (linear, quadratic), of shape () for all rows or (n,) for each row; None for hard rows.

    Args:
        soft: (linear, quadratic), or None.

    Raises:
        InvalidArgumentError: `soft` is not a pair of weights, or both weights of a row are 0.
    """
    if soft is None:
        return None
    if not isinstance(soft, (tuple, list)) or len(soft) != 2:
        raise InvalidArgumentError(f"soft: expected slack weights (linear, quadratic), or None, got {soft!r}")
    linear, quadratic = (as_given(f"soft[{i}]", value, check_slack_weight) for i, value in enumerate(soft))
    if linear.shape and quadratic.shape and linear.shape != quadratic.shape:
        raise InvalidArgumentError(f"soft[1]: expected {linear.size} numbers as in soft[0], got {quadratic.size}")
    if np.any((linear == 0.0) & (quadratic == 0.0)):
        raise InvalidArgumentError(
            f"soft: expected a linear or quadratic weight > 0 in each row, got {linear} and {quadratic}; to "
            "disable a row, give it infinite bounds instead"
        )
    return linear, quadratic
