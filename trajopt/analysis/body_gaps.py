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
    geometry = geometry_at(residual, values, knots)
    return BodyDistances(residual)(xs[knots], np.concatenate(list(own.values()), axis=1), geometry), own


def geometry_at(residual: ResidualModelCollisions, values: Mapping[str, Reals], knots: Ints) -> Reals:
    """Values (n, k) of the residual's `geometry` at knots (n,), from parameters at all knots by name."""
    parts = [
        without_gaps(values[name])[knots] if name in values else np.tile(p.flat(p.default), (len(knots), 1))
        for name, p in residual.geometry.items()
    ]
    return np.concatenate([np.zeros((len(knots), 0)), *parts], axis=1)


def without_gaps(rows: Reals) -> Reals:
    """Rows of knots without parameters, which are NaN, become those of the nearest knot with them."""
    present = np.flatnonzero(np.isfinite(rows).all(axis=1))
    return rows[present[np.abs(np.arange(len(rows))[:, None] - present).argmin(axis=1)]]
