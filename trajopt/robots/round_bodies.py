"""Spheres and capsules on frames, for distances between bodies."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from trajopt.checks import as_numbers, check_array, check_positive, check_text
from trajopt.errors import InvalidArgumentError, shown
from trajopt.robots.shapes import Shape

SHORTEST = 1e-6  # length of a capsule [m]


@dataclass(frozen=True, eq=False)
class Sphere:
    """A ball that is attached to a frame or fixed in the world.

    Attributes:
        radius: Radius, > 0 [m].
        frame: Name of the frame that carries it; None if it is fixed in the world.
        center: Centre in the axes of the frame (3,) [m].
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
        """Centre of the ball (1, 3) [m]."""
        return np.asarray(self.center)[None]


@dataclass(frozen=True, eq=False)
class Capsule:
    """All points within `radius` of a segment that is attached to a frame or fixed in the world.

    Attributes:
        radius: Radius, > 0 [m].
        start: One end of the segment in the axes of the frame (3,) [m].
        end: The other end, at least 1e-6 m away (3,) [m].
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
        """Ends of the segment (2, 3) [m]."""
        return np.array([self.start, self.end])


def as_round(shape: Sphere | Capsule | Shape) -> Sphere | Capsule:
    """Converts a ball or capsule Shape of a robot to a Sphere or a Capsule; returns other objects unchanged."""
    if isinstance(shape, Shape) and shape.kind == "sphere":
        return Sphere(float(shape.size[0]), frame=shape.link, center=shape.ends[0])
    if isinstance(shape, Shape) and shape.kind == "capsule":
        start, end = shape.ends
        return Capsule(float(shape.size[0]), start=start, end=end, frame=shape.link)
    return shape  # type: ignore[return-value]  # the caller checks


def round_solid(body: Sphere | Capsule, link: str) -> Shape:
    """A sphere or capsule as a solid on the frame `link`, for pictures."""
    placement, points = np.eye(4), body.points
    placement[:3, 3] = points.mean(axis=0)
    if len(points) == 1:
        return Shape(link=link, kind="sphere", size=np.array([body.radius]), placement=placement)
    along = points[1] - points[0]
    length = float(np.linalg.norm(along))
    placement[:3, :3] = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), along / length).toRotationMatrix()
    return Shape(link=link, kind="capsule", size=np.array([body.radius, length]), placement=placement)


def _set_common(shape: Sphere | Capsule) -> None:
    object.__setattr__(shape, "radius", check_positive("radius", shape.radius, unit="m"))
    if shape.frame is not None:
        check_text("frame", shape.frame, such_as="tool0")


def check_ends(argument: str, points: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Returns the ends of a capsule (2, 3); raises InvalidArgumentError if they coincide."""
    if np.linalg.norm(points[1] - points[0]) < SHORTEST:
        raise InvalidArgumentError(
            f"{argument}: expected the ends of a capsule to be apart, got {points[0]} and {points[1]}; use a Sphere "
            "for a capsule without length"
        )
    return points


def check_round(argument: str, value: npt.ArrayLike, *, dim: int | None = None) -> npt.NDArray[np.float64]:
    """Returns circles (x, y, radius), shape (n, 3), or balls (x, y, z, radius), shape (n, 4), with radius > 0 [m].

    Args:
        argument: Name of the argument, for the message.
        value: Rows of numbers; it may be empty.
        dim: 2 to accept circles only, 3 to accept balls only.

    Raises:
        InvalidArgumentError: A row has another form, or a radius is not positive.
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
