"""Spheres, capsules and boxes as contact surfaces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.errors import InvalidArgumentError, shown
from trajopt.kernels.derivatives import jacobian
from trajopt.robots import Box, Capsule, Sphere
from trajopt.robots.closest_points import closest_points
from trajopt.simulator.box_surface import ROUND_OFF, BoxSurface
from trajopt.simulator.surfaces import Plane, Surface, SurfaceAbstract

Body = Sphere | Capsule | Box


class HasSurface(Protocol):
    """Anything with a surface, such as a `trajopt.gaits.Terrain`."""

    @property
    def surface(self) -> SurfaceAbstract:
        """The surface."""


class BodySurface(SurfaceAbstract):
    """Surface of a body, such as an obstacle of a Scene: φ(p) is the distance of p from it, < 0 inside.

    Of a sphere or capsule of radius ρ it is φ(p) = |p - a| - ρ with the nearest point a of its axis; of a box the
    distance outside and the depth of the nearest face inside. A body on a frame moves with it.

    Args:
        shape: The body.

    Raises:
        InvalidArgumentError: `shape` is no Sphere, Capsule or Box.
    """

    def __init__(self, shape: Sphere | Capsule | Box) -> None:
        if not isinstance(shape, Body):
            raise InvalidArgumentError(f"shape: expected a Sphere, a Capsule or a Box, got {shown(shape)}")
        super().__init__(shape.frame)
        self.shape = shape
        if isinstance(shape, Box):
            half = np.asarray(shape.size) / 2.0
            self._box = BoxSurface(-half, half)
            self._rotation, self._position = SX(shape.placement[:, :3]), SX(shape.placement[:, 3])
        else:
            self._points = SX(shape.points)
            p = SX.sym("p", 3)
            self._gradient = ca.Function("gradient", [p], [ca.densify(jacobian(self.distance(p), p).T)])

    def _local(self, p: SX) -> SX:
        """A point of the world in the axes of the box (3,)."""
        return SX(self._rotation.T @ (p - self._position))

    def distance(self, p: SX) -> SX:
        if isinstance(self.shape, Box):
            return self._box.distance(self._local(p))
        weights = closest_points(self._points, p.T)[0]
        return ca.sqrt(ca.sumsqr(p - self._points.T @ weights) + ROUND_OFF**2) - self.shape.radius

    def normal(self, p: SX) -> SX:
        if isinstance(self.shape, Box):
            return SX(self._rotation @ self._box.normal(self._local(p)))
        gradient = self._gradient(p)
        return SX(gradient / ca.norm_2(gradient))

    def nearest(self, start: SX, end: SX) -> SX:
        if isinstance(self.shape, Box):
            return self._box.nearest(self._local(start), self._local(end))
        weights = closest_points(ca.vertcat(start.T, end.T), self._points)[0]
        return SX(weights[1])


def check_surface(surface: Any) -> SurfaceAbstract:
    """Converts a body to a `BodySurface`, a function p -> φ(p) to a `Surface`, and four numbers to a `Plane`.

    Of an object with a surface, such as a `trajopt.gaits.Terrain`, it is that surface.
    """
    own = getattr(surface, "surface", surface)
    if isinstance(own, SurfaceAbstract):
        return own
    if isinstance(surface, Body):
        return BodySurface(surface)
    if callable(surface) and not isinstance(surface, type):
        return Surface(surface)
    if isinstance(surface, Sequence | np.ndarray) and not isinstance(surface, str | bytes):
        return Plane(surface)
    raise InvalidArgumentError(
        "surface: expected Plane((a, b, c, d)), HeightField(h), a Sphere, Capsule or Box, a gaits.Terrain, or a "
        f"function of a point, got {surface!r}"
    )
