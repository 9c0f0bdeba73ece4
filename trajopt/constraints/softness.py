"""Weights of the slacks of soft rows, as users give them."""

from __future__ import annotations

from typing import Any

import numpy as np

from trajopt.constraints.bounds import as_given, rows_of
from trajopt.errors import InvalidArgumentError
from trajopt.types import Reals


def check_slack_weight(argument: str, value: Any, size: int) -> Reals:
    """Weights (size,) of slacks from a number or one a row.

    Args:
        argument: What they are called.
        value: The weights.
        size: Number of rows [-].

    Raises:
        InvalidArgumentError: There are others than finite numbers >= 0.
    """
    array = rows_of(argument, value, size)
    if not np.all(np.isfinite(array) & (array >= 0.0)):
        raise InvalidArgumentError(f"{argument}: expected weights >= 0 of a slack, got {array}")
    return np.broadcast_to(array, (size,)).copy()


def first_softness(soft: Any) -> tuple[Reals, Reals] | None:
    """Linear and quadratic weights as they are given: one of all rows, () each, or one a row; None of hard rows.

    Args:
        soft: (linear, quadratic), or None.

    Raises:
        InvalidArgumentError: They are no pair, or not weights, or a row has none.
    """
    if soft is None:
        return None
    if not isinstance(soft, (tuple, list)) or len(soft) != 2:
        raise InvalidArgumentError(f"soft: expected the weights of a slack, (linear, quadratic), or None, got {soft!r}")
    linear, quadratic = (as_given(f"soft[{i}]", value, check_slack_weight) for i, value in enumerate(soft))
    if linear.shape and quadratic.shape and linear.shape != quadratic.shape:
        raise InvalidArgumentError(f"soft[1]: expected as many as soft[0], {linear.size}, got {quadratic.size}")
    if np.any((linear == 0.0) & (quadratic == 0.0)):
        raise InvalidArgumentError(
            f"soft: expected a linear or a quadratic weight > 0 in each row, got {linear} and {quadratic}; a slack "
            "that costs nothing constrains nothing: infinite bounds switch a row off"
        )
    return linear, quadratic
