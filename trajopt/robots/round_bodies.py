"""Spheres and capsules around points of frames, for distances."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
import numpy.typing as npt

from trajopt.checks import as_numbers, check_array, check_positive, check_text
from trajopt.errors import InvalidArgumentError, shown
from trajopt.robots.shapes import Shape

SHORTEST = 1e-6  # of capsules [m]


@dataclass(frozen=True, eq=False)
class Sphere:
    """A ball around a point of a frame, or of the world.

    Attributes:
        radius: Its radius, > 0 [m].
        frame: Name of the frame that carries it; None if it is fixed in the world.
        center: Its centre in the frame's axes (3,) [m].
    """

    radius: float
    _: KW_ONLY
    frame: str | None = None
    center: npt.ArrayLike = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        _set_common(self)
        object.__setattr__(self, "center", check_array("center", self.center, (3,)))

    @property
    def points(self) -> npt.NDArray[np.float64]:
        """Its centre (1, 3) [m]."""
        return np.asarray(self.center)[None]


@dataclass(frozen=True, eq=False)
class Capsule:
    """All points within a distance of a segment between two points of a frame, or of the world.

    Attributes:
        radius: The distance, > 0 [m].
        start: One end of the segment in the frame's axes (3,) [m].
        end: The other one, at least 1e-6 m away (3,) [m].
        frame: Name of the frame that carries it; None if it is fixed in the world.
    """

    radius: float
    _: KW_ONLY
    start: npt.ArrayLike
    end: npt.ArrayLike
    frame: str | None = None

    def __post_init__(self) -> None:
        _set_common(self)
        start, end = check_array("start", self.start, (3,)), check_array("end", self.end, (3,))
        check_ends("end", np.array([start, end]))
        object.__setattr__(self, "start", start)
        object.__setattr__(self, "end", end)

    @property
    def points(self) -> npt.NDArray[np.float64]:
        """Its ends (2, 3) [m]."""
        return np.array([self.start, self.end])


def as_round(shape: Sphere | Capsule | Shape) -> Sphere | Capsule:
    """A ball or capsule of a robot as a Sphere or a Capsule; others as they are."""
    if isinstance(shape, Shape) and shape.kind == "sphere":
        return Sphere(float(shape.size[0]), frame=shape.link, center=shape.ends[0])
    if isinstance(shape, Shape) and shape.kind == "capsule":
        start, end = shape.ends
        return Capsule(float(shape.size[0]), start=start, end=end, frame=shape.link)
    return shape  # type: ignore[return-value]  # the caller checks


def _set_common(shape: Sphere | Capsule) -> None:
    object.__setattr__(shape, "radius", check_positive("radius", shape.radius, unit="m"))
    if shape.frame is not None:
        check_text("frame", shape.frame, such_as="tool0")


def check_ends(argument: str, points: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Returns a capsule's ends (2, 3); raises InvalidArgumentError if they are one point."""
    if np.linalg.norm(points[1] - points[0]) < SHORTEST:
        raise InvalidArgumentError(
            f"{argument}: expected the ends of a capsule to be apart, got {points[0]} and {points[1]}; a capsule "
            "without length is a Sphere"
        )
    return points


def check_round(argument: str, value: npt.ArrayLike, *, dim: int | None = None) -> npt.NDArray[np.float64]:
    """Round bodies: circles (x, y, radius), shape (n, 3), or balls (x, y, z, radius), shape (n, 4), radius > 0 [m].

    Args:
        argument: Name of the argument.
        value: The rows; an empty value is none of them.
        dim: 2 where they have to be circles, 3 where balls.

    Raises:
        InvalidArgumentError: They are none.
    """
    kinds = [row for n, row in ((2, "(x, y, radius)"), (3, "(x, y, z, radius)")) if dim in (n, None)]
    rows = as_numbers(argument, value, f"rows {' or '.join(kinds)}")
    rows = np.zeros((0, (dim or 2) + 1)) if rows.size == 0 else np.atleast_2d(rows)
    fits = rows.ndim == 2 and rows.shape[1] in ((3, 4) if dim is None else (dim + 1,))
    if not fits or not np.all(np.isfinite(rows)) or not np.all(rows[:, -1] > 0):
        raise InvalidArgumentError(
            f"{argument}: expected rows {' or '.join(kinds)} with radius > 0 [m], got {shown(rows.tolist())}"
        )
    return rows
