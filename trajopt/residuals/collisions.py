"""Residual of the distances of those bodies that are nearest to one another."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pinocchio as pin
from casadi import SX

from trajopt.checks import check_count
from trajopt.dynamics.robot_expressions import RobotExpressions
from trajopt.errors import InvalidArgumentError
from trajopt.instant import Instant
from trajopt.kernels import Program
from trajopt.residuals.link_slots import LinkSlots, in_joints
from trajopt.residuals.multibody import ResidualModelMultibody
from trajopt.residuals.nearest import in_place, nearest_pairs
from trajopt.states.base import StateAbstract
from trajopt.states.state_multibody import check_robot_state
from trajopt.types import Ints, Reals


class ResidualModelCollisions(ResidualModelMultibody):
    """Signed distances of the pairs of links that are nearest to each other, r = |p1 - p2| - (ρ1 + ρ2) [m].

    The bodies are the spheres and capsules of `Robot.collision_shapes`. A row is a slot: which pair it measures is a
    run-time number, chosen anew for each knot before each expansion of a problem. So the cost of a row does not depend
    on the number of pairs. p1 and p2 are the closest points of the axes, in closed form; values and derivatives are
    those of `ResidualModelPairDistance`. A constraint has the bound r >= 0 by default. In a cost the pairs would stay
    those of the neutral configuration.

    Args:
        state: State of a robot with collision geometry.
        pairs: Largest number of pairs that have a row at a knot, >= 1 [-]. More than two pairs of the same two joints
            have one only if all others have.

    Attributes:
        body_pairs: Indices of the two bodies of each pair (n, 2).

    Raises:
        InvalidArgumentError: The robot has no collision geometry, or no pair of links that may touch.
    """

    def __init__(self, state: StateAbstract, *, pairs: int = 12) -> None:
        robot = check_robot_state(type(self).__name__, state).robot
        count, shapes = check_count("pairs", pairs, least=1), robot.collision_shapes
        if not shapes.pairs:
            raise InvalidArgumentError(
                f"state: expected a robot with links that may touch, got {robot.name!r}, whose collision shapes have "
                "no pairs; leave collisions out"
            )
        self._links = LinkSlots.of(robot, shapes, count)
        super().__init__(state, self._links.count, unit="m")
        self.body_pairs: Ints = np.array(shapes.pairs, dtype=np.int64)
        carriers, self._ends = in_joints(robot.model, shapes)
        self._carriers = carriers
        self._radii = np.array([body.radius for body in shapes.bodies])
        joints = carriers[self.body_pairs]
        self._joints = np.unique(joints.min(axis=1) * robot.model.njoints + joints.max(axis=1), return_inverse=True)[1]
        points = self._points_at(pin.neutral(robot.model))
        nearest, _ = nearest_pairs(points[None], self._radii, self.body_pairs, self._joints, self._links.count)
        self._slots = self.parameter("slots", self._links.table[nearest[0]].T, unit="-, m")

    @property
    def own_bounds(self) -> tuple[Reals, Reals]:
        """Bound 0 <= r: the bodies do not overlap."""
        return np.zeros(self.size(0)), np.full(self.size(0), np.inf)

    def evaluate(self, instant: Instant) -> SX:
        return self._rows(instant)[0]

    def derivative(self, instant: Instant) -> tuple[SX, SX]:
        rows = self._rows(instant)[1]
        return self.pad(rows), SX(rows.shape[0], instant.nu)

    def _rows(self, instant: Instant) -> tuple[SX, SX]:
        return instant.once(("collisions", id(self)), lambda: self._links.rows(instant.robot, self._slots))

    # Choice of the pairs

    def points_program(self) -> Program:
        """Program q (nq,) -> ends of the axes of all bodies in the world (6 n,) [m]."""
        model = self.state.robot.model
        q = SX.sym("q", model.nq)
        robot = RobotExpressions(model, q)
        ends = []
        for joint, points in zip(self._carriers.tolist(), self._ends):
            rotation, position = robot.joint_placement(joint)
            ends += [rotation @ point + position for point in points]
        return Program.of("collision shapes", ca.Function("points", [q], [ca.vertcat(*ends)]))

    def refilled(self, points: Reals, slots: Reals) -> Reals:
        """Numbers of all slots after the broad phase (n, count · width).

        Args:
            points: Results of `points_program` (n, 6 bodies) [m].
            slots: Present numbers of the slots; pairs that remain keep their place.
        """
        n, links = len(points), self._links
        nearest, _ = nearest_pairs(points.reshape(n, -1, 2, 3), self._radii, self.body_pairs, self._joints, links.count)
        old = slots.reshape(n, links.count, links.width)[:, :, 0].astype(np.int64)
        return links.table[in_place(old, nearest)].reshape(n, -1)

    def _points_at(self, q: Reals) -> Reals:
        """Ends (bodies, 2, 3) of the axes of all bodies in the world at a configuration [m]."""
        model = self.state.robot.model
        data = model.createData()
        pin.forwardKinematics(model, data, q)
        places = [data.oMi[joint] for joint in self._carriers.tolist()]
        return np.array([each @ place.rotation.T + place.translation for each, place in zip(self._ends, places)])
