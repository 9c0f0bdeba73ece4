"""Contact surfaces: signed distances with normals."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

import casadi as ca
import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.checks import check_array, check_text
from trajopt.errors import InvalidArgumentError, UnsupportedOperationError
from trajopt.kernels.derivatives import jacobian
from trajopt.model.base import Model
from trajopt.model.functions import call_user
from trajopt.types import Reals

_FRACTIONS = (0.0, 0.25, 0.5, 0.75, 1.0)  # of a segment, where its distance from a curved surface is tried [-]


class SurfaceAbstract(Model):
    """Surface with signed distance φ(p), > 0 in free space; p is in the world or in the axes of the surface's frame.

    Args:
        body: Name of the frame that carries the surface; None for the world.
    """

    def __init__(self, body: str | None) -> None:
        super().__init__()
        self.body = None if body is None else check_text("body", body, such_as="table")

    @abstractmethod
    def distance(self, p: SX) -> SX:
        """Signed distance φ (1,) of a point p (3,) [m]."""

    @abstractmethod
    def normal(self, p: SX) -> SX:
        """Unit normal n (3,) at a point p (3,), which points into free space [-]."""

    def height(self, x: SX, y: SX) -> SX:
        """Height of the surface as ground at a point of the plane (1,) [m].

        Raises:
            UnsupportedOperationError: The surface is not the ground of a plane, such as a user's formula.
        """
        raise UnsupportedOperationError(
            f"height: expected Plane, HeightField or Box, got {self!r}, whose height is not known"
        )

    def nearest(self, start: SX, end: SX) -> SX:
        """Fraction (1,) of a segment between two points (3,) at which it is nearest to the surface, 0 to 1 [-].

        By default it is the nearest of a few fractions.
        """
        best, least = SX(0), self.distance(start)
        for s in _FRACTIONS[1:]:
            value = self.distance(start + s * (end - start))
            best, least = ca.if_else(value < least, s, best), ca.fmin(value, least)
        return SX(best)

    def axes(self, p: SX, up: Reals) -> SX:
        """Contact axes (3, 3) at a point p, with columns two tangents and n: the shortest rotation from `up` to n."""
        return _turn(up, self.normal(p)) @ SX(frame_of(up))


class Plane(SurfaceAbstract):
    """Infinite plane φ(p) = (a x + b y + c z + d) / ‖(a, b, c)‖.

    Args:
        coefficients: (a, b, c, d), where (a, b, c) is not zero [-, m].
        body: Name of the frame that carries the surface; None for the world.

    Raises:
        InvalidArgumentError: There are not four finite numbers, or (a, b, c) is zero.
    """

    def __init__(self, coefficients: npt.ArrayLike, body: str | None = None) -> None:
        super().__init__(body)
        numbers = check_array("coefficients", coefficients, (4,), cure="pass (a, b, c, d) of a x + b y + c z + d >= 0")
        length = float(np.linalg.norm(numbers[:3]))
        if length == 0:
            raise InvalidArgumentError(
                "coefficients: expected a nonzero normal (a, b, c), got zeros; a floor is (0, 0, 1, 0)"
            )
        self.coefficients = numbers / length

    def distance(self, p: SX) -> SX:
        return ca.dot(SX(self.coefficients[:3]), p) + self.coefficients[3]

    def normal(self, p: SX) -> SX:
        return SX(self.coefficients[:3])

    def height(self, x: SX, y: SX) -> SX:
        a, b, c, d = self.coefficients
        if not c > 0:
            raise UnsupportedOperationError(
                f"height: expected a plane whose normal points up, c > 0, got {self.coefficients}"
            )
        return SX(-(a * x + b * y + d) / c)

    def nearest(self, start: SX, end: SX) -> SX:
        return SX(ca.if_else(ca.dot(SX(self.coefficients[:3]), end - start) < 0, 1.0, 0.0))

    def axes(self, p: SX, up: Reals) -> SX:
        normal = self.coefficients[:3]
        if np.dot(normal, up) < -1 + 1e-9:  # a ceiling: the axis of the half turn is arbitrary
            return SX(np.diag([1.0, -1.0, -1.0])) @ SX(frame_of(up)) if _vertical(up) else SX(frame_of(normal))
        return SX(ca.DM(ca.evalf(super().axes(p, up))))


class HeightField(SurfaceAbstract):
    """Smooth ground of height h: φ(p) = (z - h(x, y)) / √(1 + |∇h|²), with the slope below the point.

    φ is the distance to the tangent plane below the point, which is exact for a plane. For a C² step h must be C³.

    Args:
        height: Function (x, y) that returns the height h as an expression (casadi.SX) [m].
        body: Name of the frame that carries the surface; None for the world.

    Raises:
        InvalidArgumentError: `height` is not a function of two symbols that returns one expression.
    """

    def __init__(self, height: Callable[[SX, SX], SX], body: str | None = None) -> None:
        super().__init__(body)
        x, y = SX.sym("x"), SX.sym("y")
        value = _scalar("height", call_user("height", height, x, y))
        slope = jacobian(value, ca.vertcat(x, y))
        self._ground = _function("height", "x and y", [x, y], [value, slope.T])

    def height(self, x: SX, y: SX) -> SX:
        return SX(self._ground(x, y)[0])

    def _slope(self, p: SX) -> tuple[SX, SX]:
        height, slope = self._ground(p[0], p[1])
        return height, ca.densify(slope)

    def distance(self, p: SX) -> SX:
        height, slope = self._slope(p)
        return (p[2] - height) / ca.sqrt(1 + ca.sumsqr(slope))

    def normal(self, p: SX) -> SX:
        _, slope = self._slope(p)
        return SX(ca.vertcat(-slope, 1) / ca.sqrt(1 + ca.sumsqr(slope)))


class Surface(SurfaceAbstract):
    """Surface with a user's formula φ(p); the normal is ∇φ / ‖∇φ‖.

    Args:
        distance: Function that maps a point p (3,) to the signed distance as an expression (casadi.SX) [m]. Its
            gradient should have norm 1, and must not be zero near contacts.
        body: Name of the frame that carries the surface; None for the world.

    Raises:
        InvalidArgumentError: `distance` is not a function of a point that returns one expression.
    """

    def __init__(self, distance: Callable[[SX], SX], body: str | None = None) -> None:
        super().__init__(body)
        p = SX.sym("p", 3)
        value = _scalar("distance", call_user("distance", distance, p))
        self._field = _function("distance", "the point", [p], [value, ca.densify(jacobian(value, p).T)])

    def distance(self, p: SX) -> SX:
        return SX(self._field(p)[0])

    def normal(self, p: SX) -> SX:
        gradient = self._field(p)[1]
        return SX(gradient / ca.norm_2(gradient))


def frame_of(up: Reals) -> Reals:
    """Rotation (3, 3) whose third column is the unit vector `up`; the identity for (0, 0, 1)."""
    if _vertical(up):
        return np.eye(3)
    first = np.cross([0.0, 1.0, 0.0] if abs(up[1]) < 0.9 else [1.0, 0.0, 0.0], up)
    first /= np.linalg.norm(first)
    return np.column_stack([first, np.cross(up, first), up])


def _vertical(up: Reals) -> bool:
    return bool(np.array_equal(up, [0.0, 0.0, 1.0]))


def _turn(a: Reals, b: SX) -> SX:
    """Shortest rotation (3, 3) from unit vector a to unit vector b, which must not be opposite."""
    K = ca.skew(ca.cross(SX(a), b))
    return SX.eye(3) + K + K @ K / (1 + ca.dot(SX(a), b))


def _scalar(argument: str, value: SX) -> SX:
    if value.numel() != 1:
        raise InvalidArgumentError(f"{argument}: expected one expression, got {value.numel()}")
    return ca.densify(value)


def _function(argument: str, of: str, symbols: list[SX], results: list[SX]) -> ca.Function:
    own = {s.element_hash() for symbol in symbols for s in ca.symvar(symbol)}
    strangers = sorted({str(s) for s in ca.symvar(ca.veccat(*results)) if s.element_hash() not in own})
    if strangers:
        raise InvalidArgumentError(f"{argument}: expected an expression of {of} only, got {', '.join(strangers[:5])}")
    return ca.Function(argument, symbols, results)
