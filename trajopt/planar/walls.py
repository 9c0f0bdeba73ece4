"""Walls of the plane: normals and tangents."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trajopt.checks import as_numbers, check_known
from trajopt.errors import InvalidArgumentError, shown
from trajopt.types import Reals

SIDES = ("right", "left")


def wall_tangent(normal: npt.ArrayLike, hand: str = "right") -> Reals:
    """Unit tangent of a wall, T = (n2, -n1) or -T, (2,) or (n, 2): moving along it keeps the wall on one hand.

    Args:
        normal: Directions away from the wall (2,) or (n, 2), of any length > 0.
        hand: Side of the wall: "right", as in the right-hand rule of mazes, or "left".

    Raises:
        InvalidArgumentError: A normal is zero or has another shape.

    Source: robotics notebook, "Collision sensing": T = ±(n2, -n1).
    """
    rows = as_numbers("normal", normal, "a direction (2,) or directions (n, 2)")
    if rows.ndim not in (1, 2) or rows.shape[-1] != 2:
        raise InvalidArgumentError(f"normal: expected a direction (2,) or directions (n, 2), got shape {rows.shape}")
    length = np.linalg.norm(rows, axis=-1, keepdims=True)
    if not np.all(np.isfinite(length)) or not np.all(length > 0.0):
        raise InvalidArgumentError(f"normal: expected finite nonzero directions, got {shown(rows.tolist())}")
    sign = 1.0 if check_known("hand", hand, SIDES) == "right" else -1.0
    return np.asarray(sign * np.stack([rows[..., 1], -rows[..., 0]], axis=-1) / length)


@dataclass(frozen=True, kw_only=True, eq=False)
class Wall:
    """Straight piece of a wall.

    Attributes:
        point: Point of the wall nearest to the sensor (2,) [m].
        normal: Unit vector from the wall to the side of the sensor (2,) [-].
        distance: Distance between point and sensor [m].
    """

    point: Reals
    normal: Reals
    distance: float

    def tangent(self, hand: str = "right") -> Reals:
        """Unit direction along the wall that keeps it on one hand (2,); see `wall_tangent`."""
        return wall_tangent(self.normal, hand)
