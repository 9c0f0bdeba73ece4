"""Residual of the distance of a distance joint."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.checks import check_known, check_texts
from trajopt.errors import InvalidArgumentError
from trajopt.instant import Instant
from trajopt.residuals.multibody import ResidualModelMultibody
from trajopt.robots.closest_points import length_and_direction
from trajopt.states.base import StateAbstract
from trajopt.types import Reals

ROUND_OFF = 1e-9  # keeps the derivative finite where the two points coincide [m]


class ResidualModelJointDistance(ResidualModelMultibody):
    """r = |x_j|, shape (n,): distance of each joint's frame on the child from that on the parent [m].

    Its derivative is (x_j / |x_j|)ᵀ R in the linear velocity, which is in the child's axes. As a constraint it brings
    the bounds of the robot's distance joints.

    Args:
        state: State of the robot.
        joints: Names of distance joints, one or several; None for all.

    Raises:
        InvalidArgumentError: The robot has no distance joint.
        UnknownNameError: There is no such one.

    Source: Newton (newton-physics), JointType.DISTANCE.
    """

    def __init__(self, state: StateAbstract, joints: str | Sequence[str] | None = None) -> None:
        super().__init__(state, 1, unit="m")
        known = self.state.robot.distances
        if not known:
            raise InvalidArgumentError(
                f"state: expected a robot with distance joints, got {self.state.robot.name!r} without any; "
                "ArticulationBuilder.add_distance makes one"
            )
        names = (
            tuple(known) if joints is None else (joints,) if isinstance(joints, str) else check_texts("joints", joints)
        )
        for name in names:
            check_known("joints: distance joint", name, known)
        if not names:
            raise InvalidArgumentError("joints: expected at least one, got none; leave it out for all")
        self.joints, self.nr = names, len(names)
        model = self.state.model
        self._starts = tuple(int(model.joints[model.getJointId(name)].idx_q) for name in names)

    @property
    def own_bounds(self) -> tuple[Reals, Reals]:
        """The bounds of the joints."""
        lower, upper = np.array([self.state.robot.distances[name] for name in self.joints]).T
        return lower, upper

    def evaluate(self, instant: Instant) -> SX:
        points = [instant.x[start : start + 3] for start in self._starts]
        return SX(ca.vertcat(*(length_and_direction(p, ROUND_OFF)[0] for p in points)))
