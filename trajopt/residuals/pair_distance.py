"""Residual of the distance between two bodies, or between a body and an obstacle."""

from __future__ import annotations

import functools
from collections.abc import Sequence
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
from trajopt.robots.box import Box, as_body, check_size
from trajopt.robots.box_distances import box_box, point_box, segment_box
from trajopt.robots.closest_points import closest_points, length_and_direction
from trajopt.robots.placements import check_placement
from trajopt.robots.round_bodies import Capsule, Sphere, check_ends
from trajopt.states.base import StateAbstract
from trajopt.types import Reals

ROUND_OFF = 1e-9  # keeps the derivative finite if centres coincide [m]


class ResidualModelPairDistance(ResidualModelMultibody):
    """Signed distance between two spheres, capsules or boxes, r = |p1 - p2| - (ρ1 + ρ2), shape (1,) [m].

    A negative value is the depth of an overlap. p1 and p2 are the closest points of the centres, axes or boxes, in
    closed form; a box has the radius ρ = 0, or a larger one that rounds it. Where a centre or an axis is in a box, or
    two boxes overlap, -|p1 - p2| is the length of the shortest translation that separates them.

    The derivative is continuous except where the axes of two capsules are parallel or meet, inside boxes where the
    direction of that translation changes, and at parallel edges and faces of boxes. There, one of the closest pairs
    counts. A constraint on r has the bound r >= 0 by default. For one body and many balls, use
    `ResidualModelObstacleDistance`; a distance of two boxes takes 7,000 instructions, one of a box and a capsule 750.

    Args:
        state: State of the robot.
        first: Sphere, Capsule or Box on a frame or fixed in the world, or one of `Robot.shapes` of these kinds.
        second: The other shape, on another frame. Run-time parameters `first` and `second` are the centre (3,) of a
            sphere, the ends (2, 3) of a capsule or the placement (3, 4) of a box, in the axes of its frame [m];
            `first_size` and `second_size` are the sides of a box (3,) [m], and `radii` are ρ1 and ρ2 (2,) [m].

    Raises:
        InvalidArgumentError: A shape has another type, or both are on one frame or both in the world.

        Source: the derivative is that of the distance of p1 and p2 as fixed points of their bodies (Danskin's
            theorem).
    """

    def __init__(
        self, state: StateAbstract, first: Sphere | Capsule | Box | Shape, second: Sphere | Capsule | Box | Shape
    ) -> None:
        super().__init__(state, 1, unit="m")
        shapes = {"first": as_body(first), "second": as_body(second)}
        for name, shape in shapes.items():
            if not isinstance(shape, (Sphere, Capsule, Box)):
                raise InvalidArgumentError(
                    f'{name}: expected a Sphere, Capsule or Box such as Sphere(0.1, frame="tool0"), got {shape!r}'
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
        self._boxes = [isinstance(shape, Box) for shape in shapes.values()]
        self._halves = [
            self.parameter(f"{name}_size", shape.size, unit="m", convert=check_size) / 2
            if isinstance(shape, Box)
            else SX(0, 1)
            for name, shape in shapes.items()
        ]
        radii = [0.0 if isinstance(shape, Box) else shape.radius for shape in shapes.values()]
        check = functools.partial(_check_radii, boxes=self._boxes)
        self.radii = self.parameter("radii", radii, unit="m", convert=check)

    def _declared(self, name: str, shape: Sphere | Capsule | Box) -> SX:
        """Symbols of the points of a shape (n, 3), or of the position and the axes of a box (4, 3) [m]."""
        if isinstance(shape, Box):
            placement = self.parameter(name, shape.placement, unit="-, m", convert=check_placement)
            return SX(ca.vertcat(placement[:, 3].T, placement[:, :3].T))
        if isinstance(shape, Sphere):
            return self.parameter(name, shape.points[0], unit="m").T
        return self.parameter(name, shape.points, unit="m", convert=_check_points)

    @property
    def has_boxes(self) -> bool:
        """Whether one of the shapes is a box."""
        return any(self._boxes)

    @property
    def own_bounds(self) -> tuple[Reals, Reals]:
        """Bound 0 <= r: the shapes do not overlap."""
        return np.zeros(1), np.full(1, np.inf)

    def evaluate(self, instant: Instant) -> SX:
        if self.has_boxes:
            return self._contact(instant)[0] - self.radii[0] - self.radii[1]
        p1, p2 = self._closest(instant)
        return SX(length_and_direction(p1 - p2, ROUND_OFF)[0] - self.radii[0] - self.radii[1])

    def derivative(self, instant: Instant) -> tuple[SX, SX]:
        if self.has_boxes:
            _, normal, point = self._contact(instant)
            moving = self._velocity(instant, 0, point) - self._velocity(instant, 1, point)
            return self.pad(normal.T @ moving), SX(1, instant.nu)
        p1, p2 = self._closest(instant)
        normal = length_and_direction(p1 - p2, ROUND_OFF)[1]
        moving = self._velocity(instant, 0, p1) - self._velocity(instant, 1, p2)
        return self.pad(normal.T @ moving), SX(1, instant.nu)

    def _contact(self, instant: Instant) -> tuple[SX, SX, SX]:
        """Distance without radii, normal from the second shape to the first, and point (3,) in the world."""
        own, other = (1, 0) if self._boxes[1] else (0, 1)
        (position, rotation), shape = self._placed(instant, own), self._in_world(instant, other)
        if self._boxes[other]:
            centre, axes = self._placed(instant, other)
            turned, moved = rotation.T @ axes, rotation.T @ (centre - position)
            distance, normal, point = box_box(turned, moved, self._halves[other], self._halves[own])
        else:
            start, *ends = ca.horzsplit(rotation.T @ (shape.T - position))
            if ends:
                distance, normal, share = segment_box(start, ends[0] - start, self._halves[own])
                point = start + share * (ends[0] - start)
            else:
                distance, normal, point = point_box(start, self._halves[own])
        away = rotation @ normal
        return distance, away if own == 1 else -away, SX(position + rotation @ point)

    def _placed(self, instant: Instant, i: int) -> tuple[SX, SX]:
        """Position (3,) and rotation (3, 3) of a box in the world."""
        rows, frame = self._points[i], self.frame_ids[i]
        position, axes = rows[0, :].T, rows[1:, :].T
        if frame is None:
            return position, axes
        rotation, origin = instant.robot.frame_placement(frame)
        return SX(rotation @ position + origin), SX(rotation @ axes)

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


def _check_radii(argument: str, value: Any, boxes: Sequence[bool]) -> Reals:
    radii = check_array(argument, value, (2,))
    if not np.all((radii > 0.0) | (np.array(boxes) & (radii == 0.0))):
        raise InvalidArgumentError(f"{argument}: expected radii > 0, or >= 0 of a box [m], got {radii}")
    return radii


def _check_points(argument: str, value: Any) -> Reals:
    return check_ends(argument, check_array(argument, value, (2, 3)))
