"""Residual of the distances between one body and many circles or balls."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
import pinocchio as pin
from casadi import SX

from trajopt.checks import check_non_negative
from trajopt.errors import InvalidArgumentError, shown
from trajopt.instant import Instant
from trajopt.residuals.base import ResidualModelAbstract
from trajopt.robots import Shape
from trajopt.robots.closest_points import closest_points, length_and_direction
from trajopt.robots.round_bodies import Capsule, Sphere, as_round, check_round
from trajopt.states.base import StateAbstract
from trajopt.states.state_multibody import StateMultibody, check_robot_state
from trajopt.types import Reals

CORE = 0.1  # fraction of ρ_i + ρ around a centre within which the distance is a parabola [-]


class ResidualModelObstacleDistance(ResidualModelAbstract):
    """Signed distances of a body to n round obstacles, r_i = |p - c_i| - ρ_i - ρ, shape (n,) [m].

    A negative value is the depth of an overlap. Obstacles are balls, or circles of the plane, which are upright
    cylinders in space. Within a tenth of ρ_i + ρ around the centre c_i, a smooth parabola replaces |p - c_i|, so that
    the derivative stays finite; it falls to zero at the centre.

    Positions and radii are run-time parameters: obstacles that move or come from a sensor need no compilation. A
    constraint on it has the bound r >= 0 by default; set a margin with `lower=margin`. In a cost, combine it with
    `ActivationModelQuadraticBarrier`.

    Args:
        state: State that begins with x, y (and z); or the state of a robot, if a frame carries the body.
        obstacles: Circles (x, y, radius), shape (n, 3), or balls (x, y, z, radius), shape (n, 4), with radius > 0 [m].
            Run-time parameter `circles` or `spheres`.
        body: Radius ρ, >= 0 [m], of a body around (x, y) or (x, y, z). Or a Sphere or Capsule that a frame of a robot
            carries, such as one of `Robot.shapes`; p is then its closest point to c_i. Run-time parameter `radius`.

    Raises:
        InvalidArgumentError: There are no obstacles, or the body does not fit the state or the obstacles.

    Source: overlap test `collide(c1, r1, c2, r2)` of the notebook; derivative of a capsule by Danskin's theorem.
    """

    def __init__(
        self, state: StateAbstract, obstacles: npt.ArrayLike, body: float | Sphere | Capsule | Shape = 0.0
    ) -> None:
        rows = check_round("obstacles", obstacles)
        if not len(rows):
            raise InvalidArgumentError("obstacles: expected at least one obstacle, got none; omit the residual")
        super().__init__(state, len(rows), unit="m")
        self.dim = rows.shape[1] - 1
        shape = as_round(body) if isinstance(body, Shape) else body
        self.shape = shape if isinstance(shape, (Sphere, Capsule)) else None
        self.frame_id = self._check_body(body)
        name = "circles" if self.dim == 2 else "spheres"
        self._name = name
        self._rows = self.parameter(name, rows, unit="m", convert=self._check_rows)
        radius = body if self.shape is None else self.shape.radius
        self.radius = self.parameter("radius", check_non_negative("body", radius, unit="m"), unit="m")

    def _check_body(self, body: Any) -> int | None:
        """Id of the frame that carries the body; None if the state itself is the body's position."""
        if self.shape is None:
            if isinstance(self.state, StateMultibody) or self.state.nx < self.dim:
                raise InvalidArgumentError(
                    f"body: expected a Sphere or Capsule such as Sphere(0.1, frame='tool0'), because the state does "
                    f"not begin with {'(x, y)' if self.dim == 2 else '(x, y, z)'}, got {shown(body)}"
                )
            return None
        if self.shape.frame is None:
            raise InvalidArgumentError(f"body: expected a shape with a frame, got {body!r}; set frame='NAME'")
        if isinstance(self.shape, Capsule) and self.dim == 2:
            raise InvalidArgumentError(
                "obstacles: expected balls (x, y, z, radius) for a Capsule, got circles; use balls, or a Sphere as "
                "the body"
            )
        return check_robot_state(type(self).__name__, self.state).robot.frame_id(self.shape.frame)

    def _check_rows(self, argument: str, value: Any) -> Reals:
        rows = check_round(argument, value, dim=self.dim)
        if rows.shape != (self.nr, self.dim + 1):
            raise InvalidArgumentError(
                f"{argument}: expected {self.nr} rows as at construction, got {len(rows)}; place obstacles "
                "that are not needed far away"
            )
        return rows

    @property
    def own_bounds(self) -> tuple[Reals, Reals]:
        """Bound 0 <= r: no obstacle overlaps the body."""
        return np.zeros(int(self.nr or 0)), np.full(int(self.nr or 0), np.inf)

    def evaluate(self, instant: Instant) -> SX:
        lengths = [self._reach(instant, i)[0] for i in range(self._rows.shape[0])]
        return SX(ca.vertcat(*lengths) - self._rows[:, -1] - self.radius)

    def derivative(self, instant: Instant) -> tuple[SX, SX]:
        if self.frame_id is None:
            return super().derivative(instant)
        _, position = instant.robot.frame_placement(self.frame_id)
        jacobian = instant.robot.frame_jacobian(self.frame_id, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
        rows = []
        for i in range(self._rows.shape[0]):
            _, direction, point = self._reach(instant, i)
            velocity = jacobian[:3, :] - ca.skew(point - position) @ jacobian[3:, :]
            rows.append(direction.T @ velocity[: self.dim, :])
        along = ca.vertcat(*rows)
        return SX(ca.horzcat(along, SX(along.shape[0], self.state.ndx - along.shape[1]))), SX(
            along.shape[0], instant.nu
        )

    def _reach(self, instant: Instant, i: int) -> tuple[SX, SX, SX]:
        """Distance to centre i, its derivative by p (dim,), and p; for a robot's body p is (3,)."""
        row, n = self._rows[i, :], self.dim
        core = CORE * (row[n] + self.radius)
        if self.frame_id is None or self.shape is None:
            point = instant.x[:n]
            return *length_and_direction(point - row[:n].T, core), point
        rotation, position = instant.robot.frame_placement(self.frame_id)
        points = (rotation @ SX(self.shape.points.T) + position).T
        point = points.T @ closest_points(points, row[:n])[0]
        return *length_and_direction(point[:n] - row[:n].T, core), point
