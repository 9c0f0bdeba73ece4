"""Residual of the distance between two bodies, or between a body and an obstacle."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pinocchio as pin
from casadi import SX

from trajopt.checks import check_array
from trajopt.errors import InvalidArgumentError
from trajopt.instant import Instant
from trajopt.residuals.multibody import ResidualModelMultibody
from trajopt.robots import Shape
from trajopt.robots.closest_points import closest_points, length_and_direction
from trajopt.robots.round_bodies import Capsule, Sphere, as_round, check_ends
from trajopt.states.base import StateAbstract
from trajopt.types import Reals

ROUND_OFF = 1e-9  # keeps the derivative finite if centres coincide [m]


class ResidualModelPairDistance(ResidualModelMultibody):
    """Signed distance between two spheres or capsules, r = |p1 - p2| - (ρ1 + ρ2), shape (1,) [m].

    A negative value is the depth of an overlap. p1 and p2 are the closest points of the centres or axes, in closed
    form. The derivative is continuous except where the axes of two capsules are parallel or meet. A constraint on it
    has the bound r >= 0 by default. For one body and many balls, use `ResidualModelObstacleDistance`.

    Args:
        state: State of the robot.
        first: Sphere or Capsule on a frame or fixed in the world, or one of `Robot.shapes` of these kinds.
        second: The other shape, on another frame. Run-time parameters `first` and `second` are the centre (3,) of a
            sphere or the ends (2, 3) of a capsule, in the axes of its frame [m]; `radii` are ρ1 and ρ2 (2,) [m].

    Raises:
        InvalidArgumentError: A shape has another type, or both are on one frame or both in the world.

        Source: the derivative is that of the distance of p1 and p2 as fixed points of their bodies (Danskin's
            theorem).
    """

    def __init__(self, state: StateAbstract, first: Sphere | Capsule | Shape, second: Sphere | Capsule | Shape) -> None:
        super().__init__(state, 1, unit="m")
        shapes = {"first": as_round(first), "second": as_round(second)}
        for name, shape in shapes.items():
            if not isinstance(shape, (Sphere, Capsule)):
                raise InvalidArgumentError(
                    f'{name}: expected a Sphere or a Capsule such as Sphere(0.1, frame="tool0"), got {shape!r}'
                )
        frame = shapes["first"].frame
        if frame == shapes["second"].frame:
            where = "the world" if frame is None else f"frame {frame!r}"
            raise InvalidArgumentError(
                f"second: expected a shape on another frame than the first, got both in {where}; their "
                "distance is constant, so choose another frame"
            )
        self.frame_ids = [None if s.frame is None else self.state.robot.frame_id(s.frame) for s in shapes.values()]
        self._points = [self._declared(name, shape) for name, shape in shapes.items()]
        self.radii = self.parameter(
            "radii", [shape.radius for shape in shapes.values()], unit="m", convert=_check_radii
        )

    def _declared(self, name: str, shape: Sphere | Capsule) -> SX:
        """Symbols of the points of a shape (n, 3) [m]."""
        if isinstance(shape, Sphere):
            return self.parameter(name, shape.points[0], unit="m").T
        return self.parameter(name, shape.points, unit="m", convert=_check_points)

    @property
    def own_bounds(self) -> tuple[Reals, Reals]:
        """Bound 0 <= r: the shapes do not overlap."""
        return np.zeros(1), np.full(1, np.inf)

    def evaluate(self, instant: Instant) -> SX:
        p1, p2 = self._closest(instant)
        return SX(length_and_direction(p1 - p2, ROUND_OFF)[0] - self.radii[0] - self.radii[1])

    def derivative(self, instant: Instant) -> tuple[SX, SX]:
        p1, p2 = self._closest(instant)
        normal = length_and_direction(p1 - p2, ROUND_OFF)[1]
        moving = self._velocity(instant, 0, p1) - self._velocity(instant, 1, p2)
        return self.pad(normal.T @ moving), SX(1, instant.nu)

    def _closest(self, instant: Instant) -> tuple[SX, SX]:
        """Closest points p1 and p2 in the world, (3,) each [m]."""
        first, second = (self._in_world(instant, i) for i in (0, 1))
        weights = closest_points(first, second)
        return first.T @ weights[0], second.T @ weights[1]

    def _in_world(self, instant: Instant, i: int) -> SX:
        """Points of a shape in the world (n, 3) [m]."""
        frame = self.frame_ids[i]
        if frame is None:
            return self._points[i]
        rotation, position = instant.robot.frame_placement(frame)
        return SX((rotation @ self._points[i].T + position).T)

    def _velocity(self, instant: Instant, i: int, point: SX) -> SX:
        """Derivative of a point (3,) that moves with its frame by q (3, nv)."""
        frame = self.frame_ids[i]
        if frame is None:
            return SX(3, self.state.nv)
        jacobian = instant.robot.frame_jacobian(frame, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
        arm = point - instant.robot.frame_placement(frame)[1]
        return SX(jacobian[:3, :] - ca.skew(arm) @ jacobian[3:, :])


def _check_radii(argument: str, value: Any) -> Reals:
    radii = check_array(argument, value, (2,))
    if not np.all(radii > 0.0):
        raise InvalidArgumentError(f"{argument}: expected radii > 0 [m], got {radii}")
    return radii


def _check_points(argument: str, value: Any) -> Reals:
    return check_ends(argument, check_array(argument, value, (2, 3)))
