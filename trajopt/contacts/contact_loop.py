"""Contact that joins two frames of a robot, for closed chains."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
from casadi import SX

from trajopt.checks import check_text, is_integer
from trajopt.contacts.base import ContactModelAbstract, Motions
from trajopt.dynamics.spatial import Placement, cross_motion
from trajopt.errors import InvalidArgumentError, shown
from trajopt.lie import log6
from trajopt.states.base import StateAbstract


class ContactModelLoop(ContactModelAbstract):
    """Loop closure: joins frame B to frame A with a weld (6,), a hinge (5,), or a ball joint at their origins (3,).

    With M = M_A⁻¹ M_B, a weld keeps Ad_M V_B - V_A and its rate at zero, with error log6(M). A hinge about the z axes
    of both keeps all of these but the rotation about z; its error is the position of B's origin in A, and z_A × z_B
    along x and y of A. A ball joint keeps the position of B's origin in A, and its rates, at zero. The force acts on B,
    its opposite on A. It is in the axes of A, and about A's origin for a weld and for a hinge [N, N m].

    Args:
        state: State of a robot.
        frame_a: Name of A.
        frame_b: Name of B.
        dimension: 6 for a weld, 5 for a hinge, 3 for a ball joint.
        gains: Gains (kp, kd) of Baumgarte's stabilization [1/s², 1/s].

    Raises:
        InvalidArgumentError: The frames are the same, or `dimension` is none of 3, 5 and 6.
    """

    def __init__(
        self,
        state: StateAbstract,
        frame_a: str,
        frame_b: str,
        *,
        dimension: int = 6,
        gains: Sequence[float] = (0.0, 0.0),
    ) -> None:
        if not is_integer(dimension) or dimension not in (3, 5, 6):
            raise InvalidArgumentError(
                f"dimension: expected 6 (a weld), 5 (a hinge) or 3 (a ball joint), got {shown(dimension)}"
            )
        if check_text("frame_a", frame_a) == check_text("frame_b", frame_b):
            raise InvalidArgumentError(f"frame_b: expected another frame than frame_a, got {frame_b!r} for both")
        super().__init__(state, [frame_a, frame_b], dimension, gains=gains)
        self.classical = dimension == 3

    def _relative(self, motions: Motions) -> Placement:
        """Placement M of B in A."""
        a, b = (motions[f] for f in self.frames)
        return Placement(ca.mtimes(a.rotation.T, b.rotation), ca.mtimes(a.rotation.T, b.position - a.position))

    def projections(self, motions: Motions) -> dict[str, SX]:
        m = self._relative(motions)
        lever = ca.mtimes(ca.skew(m.translation), m.rotation)
        first, second = self.frames
        if self.nc == 3:
            return {
                first: SX(ca.horzcat(-SX.eye(3), ca.skew(m.translation))),
                second: SX(ca.horzcat(m.rotation, SX(3, 3))),
            }
        whole = SX(ca.blockcat([[m.rotation, lever], [SX(3, 3), m.rotation]]))
        return {first: -SX.eye(6)[: self.nc, :], second: whole[: self.nc, :]}

    def velocity_products(self, motions: Motions) -> SX:
        """Returns the terms of J̇ v (nc,) that are products of velocities, in the axes of A [m/s², rad/s²].

        ω_A is the angular velocity of A; p and ṗ are the position of B's origin in A and its rate. For a ball joint the
        terms are -2 ω_A × ṗ - ω_A × (ω_A × p); for a weld, with the cross product of twists, (Ad_M V_B - V_A) × V_A,
        of which a hinge has the first five.
        """
        a = motions[self.frames[0]].velocity
        if self.nc == 3:
            velocity = self.velocity(motions)
            position = self._relative(motions).translation
            return -ca.cross(a.angular, 2 * velocity + ca.cross(a.angular, position))
        b = self._relative(motions).motion_to_parent(motions[self.frames[1]].velocity)
        return cross_motion(b, a).vector()[: self.nc]

    def position_error(self, motions: Motions) -> SX:
        m = self._relative(motions)
        if self.nc == 5:
            return SX(ca.vertcat(m.translation, -m.rotation[1, 2], m.rotation[0, 2]))
        return m.translation if self.nc == 3 else log6(m.rotation, m.translation)
