"""Slots for the obstacles near a body: rows whose obstacle is a set of run-time numbers."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.dynamics.robot_expressions import RobotExpressions
from trajopt.residuals.link_slots import ROUND_OFF
from trajopt.residuals.nearest import in_place, nearest_obstacles
from trajopt.robots.box_distances import segment_box
from trajopt.robots.closest_points import closest_points, length_and_direction
from trajopt.types import Ints, Reals


@dataclass(frozen=True, kw_only=True, eq=False)
class SceneSlots:
    """Rows of each body for the nearest obstacles of one kind: those with an axis (balls, capsules), or boxes.

    The numbers of a slot are the index of its obstacle, then the ends of its axis and its radius, or the placement and
    the half sides of a box.

    Attributes:
        names: Names of the obstacles.
        points: Number of points of each obstacle: 1 of a ball, 2 of a capsule, 0 of a box.
        carriers: Joint of each body (bodies,).
        ends: Ends of the axis of each body in the frame of its joint (bodies, 2, 3) [m].
        radii: Radius of each body (bodies,) [m].
        count: Number of slots of a body [-].
    """

    names: tuple[str, ...]
    points: tuple[int, ...]
    carriers: Ints
    ends: Reals
    radii: Reals
    count: int

    @property
    def boxes(self) -> bool:
        """Whether the obstacles are boxes."""
        return self.points[0] == 0

    @property
    def width(self) -> int:
        """Number of numbers of a slot [-]."""
        return 16 if self.boxes else 8

    @property
    def size(self) -> int:
        """Number of slots of all bodies [-]."""
        return self.count * len(self.carriers)

    def numbers(self, values: Mapping[str, Reals]) -> Reals:
        """Numbers of a slot for each obstacle (n, obstacles, width), from the parameters of n knots by name."""
        columns = []
        for i, (name, points) in enumerate(zip(self.names, self.points)):
            place, size = values[name], values[f"{name}_size" if self.boxes else f"{name}_radius"]
            if points == 2:
                place = place.reshape(-1, 3, 2).transpose(0, 2, 1).reshape(-1, 6)
            parts = [place, size / 2.0] if self.boxes else [np.tile(place, 3 - points), size]
            columns.append(np.concatenate([np.full((len(place), 1), float(i)), *parts], axis=1))
        return np.stack(columns, axis=1)

    def filled(self, points: Reals, values: Mapping[str, Reals], slots: Reals | None) -> Reals:
        """Numbers of all slots (n, size · width) with the nearest obstacles of each body.

        Args:
            points: Ends of the axes of the bodies in the world (n, bodies, 2, 3) [m].
            values: Parameters of the obstacles by name, (n, size) each.
            slots: Present numbers; obstacles that remain keep their place.
        """
        numbers, n = self.numbers(values), len(points)
        nearest = nearest_obstacles(points, self.radii, numbers, self.count, boxes=self.boxes).reshape(-1, self.count)
        if slots is not None:
            old = slots.reshape(-1, self.count, self.width)[:, :, 0].astype(np.int64)
            nearest = in_place(old, nearest)
        return np.take_along_axis(numbers, nearest.reshape(n, -1, 1), axis=1).reshape(n, -1)

    def rows(self, robot: RobotExpressions, slots: SX) -> tuple[SX, SX]:
        """Distances (size,) [m] and their derivative by q (size, nv), of slots (width, size)."""
        motions, coefficients = robot.rate_motions(), robot.velocities_of_rates()
        distances, derivatives = list[SX](), list[SX]()
        columns = iter(ca.horzsplit(slots))
        for joint, ends, radius in zip(self.carriers.tolist(), self.ends, self.radii.tolist()):
            rotation, position = robot.joint_placement(joint)
            points = [rotation @ end + position for end in ends]
            moved = robot.rates_moving(joint)
            for _ in range(self.count):
                distance, wrench = _gap(self.boxes)(*points, next(columns)[1:])
                rates = SX(motions.shape[1], 1)
                rates[moved] = motions[:, moved].T @ wrench
                distances.append(distance - radius)
                derivatives.append(rates.T @ coefficients)
        return SX(ca.vertcat(*distances)), SX(ca.vertcat(*derivatives))


@functools.cache
def _gap(boxes: bool) -> ca.Function:
    """(end, end, numbers of an obstacle) -> distance from the axis, and the wrench of its derivative (6,)."""
    start, end = SX.sym("start", 3), SX.sym("end", 3)
    if boxes:
        numbers = SX.sym("box", 15)
        rotation, position = ca.reshape(numbers[:9], 3, 3), numbers[9:12]
        local = [rotation.T @ (each - position) for each in (start, end)]
        distance, normal, point = segment_box(*local, numbers[12:])
        normal, point = rotation @ normal, position + rotation @ point
    else:
        numbers = SX.sym("axis", 7)
        first, second = ca.horzcat(start, end).T, ca.reshape(numbers[:6], 3, 2).T
        weights = closest_points(first, second, degenerate=True)
        point = first.T @ weights[0]
        length, normal = length_and_direction(point - second.T @ weights[1], ROUND_OFF)
        distance = length - numbers[6]
    return ca.Function("gap", [start, end, numbers], [distance, ca.vertcat(normal, ca.cross(point, normal))])
