"""Circles in the plane, pillars or balls in space, that a body stays outside of."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.checks import as_numbers
from trajopt.errors import InvalidArgumentError, shown
from trajopt.residuals import ResidualModelSymbolic
from trajopt.states import StateAbstract
from trajopt.types import Reals


def outside_circles(state: StateAbstract, circles: Reals) -> ResidualModelSymbolic:
    """Residual |(x, y) - centre|² - radius² of each circle [m²], positive outside.

    The square is smooth at the centre, where a guess may lie.

    Args:
        state: A state that begins with x and y.
        circles: Rows (x, y, radius), shape (n, 3) [m]. Run-time parameter.
    """
    return ResidualModelSymbolic(state, outside, parameters={"circles": circles}, unit="m²")


def outside(x: SX, circles: SX) -> SX:
    """Squared distances from the centres less squared radii (n,) [m²]."""
    return SX((x[0] - circles[:, 0]) ** 2 + (x[1] - circles[:, 1]) ** 2 - circles[:, 2] ** 2)


def check_bodies(argument: str, value: npt.ArrayLike, columns: tuple[str, ...]) -> Reals:
    """Rows of coordinates and, last, a radius > 0, such as (x, y, radius), shape (n, number of columns) [m].

    Raises:
        InvalidArgumentError: They are none.
    """
    row, size = f"({', '.join(columns)})", len(columns)
    rows = as_numbers(argument, value, f"rows {row}")
    rows = np.zeros((0, size)) if rows.size == 0 else np.atleast_2d(rows)
    if rows.ndim != 2 or rows.shape[1] != size or not np.all(np.isfinite(rows)) or not np.all(rows[:, -1] > 0):
        raise InvalidArgumentError(f"{argument}: expected rows {row} with radius > 0 [m], got {shown(rows.tolist())}")
    return rows


def check_circles(circles: npt.ArrayLike) -> Reals:
    """Rows (x, y, radius), shape (n, 3) [m]; raises InvalidArgumentError if they are none."""
    return check_bodies("circles", circles, ("x", "y", "radius"))


def clearance(xs: Reals, circles: Reals) -> float:
    """Smallest distance of a path (T + 1, 3) from the edges of circles, along straight lines between knots [m]."""
    part = np.linspace(0.0, 1.0, 21)[:, None, None]
    points = ((1 - part) * xs[:-1, :2] + part * xs[1:, :2]).reshape(-1, 1, 2)
    return float((np.linalg.norm(points - circles[:, :2], axis=2) - circles[:, 2]).min())
