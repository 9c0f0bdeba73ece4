"""Distances of all bodies that a collision constraint may measure, with or without a row."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from trajopt.analysis.references import Item
from trajopt.residuals import ResidualModelCollisions
from trajopt.shooting.collision_slots import BodyDistances
from trajopt.types import Ints, Reals


def body_gaps(item: Item, values: Mapping[str, Reals], xs: Reals, knots: Ints) -> tuple[list[Reals], dict[str, Reals]]:
    """Distances at knots, in the order of the residual's `labels`, and its parameters there by name (n, size).

    Args:
        item: A constraint or cost on `ResidualModelCollisions`.
        values: Parameters at all knots by name, as `distances_of` returns them.
        xs: States (T + 1, nx).
        knots: Numbers of the knots (n,).
    """
    residual = item.residual
    assert isinstance(residual, ResidualModelCollisions)
    own = {
        key: np.array([p.flat(row) for row in values[f"{item.name}.{key}"][knots]])
        for key, p in residual.parameters().items()
    }
    return list(BodyDistances(residual)(xs[knots], np.concatenate(list(own.values()), axis=1))), own
