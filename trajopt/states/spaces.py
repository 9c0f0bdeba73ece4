"""Configuration spaces of joints as expressions: ⊕, ⊖, their Jacobians, tangent bases.

Each space has nq coordinates and nv tangent coordinates and follows Pinocchio's conventions: a point on the unit circle
is (cos, sin), a quaternion is (x, y, z, w), tangent vectors are local. All functions take and return SX and preserve
structural zeros and ones.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import casadi as ca
from casadi import SX

from trajopt.lie import planar_poses as planar
from trajopt.lie import poses, quaternions, rotations
from trajopt.lie.coefficients import half_cotangent


class ConfigurationSpace(ABC):
    """Configuration space of a joint.

    Attributes:
        nq: Number of coordinates.
        nv: Number of tangent coordinates.
        coordinates: Name of each coordinate within the joint; "" for a single one.
        tangents: Name of each tangent coordinate within the joint; "" for a single one.
        units: Unit of each tangent coordinate.
        rotation: Indices of the coordinates with norm 1 (a quaternion or a point on the unit circle); None without.
    """

    nq: int
    nv: int
    coordinates: tuple[str, ...]
    tangents: tuple[str, ...]
    units: tuple[str, ...]
    rotation: slice | None = None

    @property
    def coordinate_units(self) -> tuple[str, ...]:
        """Unit of each coordinate; "-" for components of a rotation."""
        if self.rotation is None:
            return self.units
        return ("m",) * self.rotation.start + ("-",) * (self.nq - self.rotation.start)

    @abstractmethod
    def integrate(self, q: SX, v: SX) -> SX:
        """q ⊕ v, shape (nq,)."""

    @abstractmethod
    def difference(self, q0: SX, q1: SX) -> SX:
        """q1 ⊖ q0, shape (nv,)."""

    @abstractmethod
    def jintegrate(self, q: SX, v: SX) -> tuple[SX, SX]:
        """Derivatives of q ⊕ v with respect to q and v, shape (nv, nv) each."""

    @abstractmethod
    def jdifference(self, q0: SX, q1: SX) -> tuple[SX, SX]:
        """Derivatives of q1 ⊖ q0 with respect to q0 and q1, shape (nv, nv) each."""

    @abstractmethod
    def jintegrate_inverse(self, q: SX, v: SX) -> SX:
        """Inverse of the derivative of q ⊕ v with respect to v, shape (nv, nv)."""

    @abstractmethod
    def tangent_basis(self, q: SX) -> SX:
        """d(q ⊕ v)/dv at v = 0, shape (nq, nv)."""

    @abstractmethod
    def tangent_projection(self, q: SX) -> SX:
        """d(q' ⊖ q)/dq' at q' = q, shape (nv, nq); the left inverse of `tangent_basis`."""


class VectorSpace(ConfigurationSpace):
    """A vector space: q ⊕ v = q + v."""

    def __init__(self, names: tuple[str, ...], units: tuple[str, ...]) -> None:
        self.nq = self.nv = len(names)
        self.coordinates = self.tangents = names
        self.units = units

    def integrate(self, q: SX, v: SX) -> SX:
        return q + v

    def difference(self, q0: SX, q1: SX) -> SX:
        return q1 - q0

    def jintegrate(self, q: SX, v: SX) -> tuple[SX, SX]:
        return SX.eye(self.nv), SX.eye(self.nv)

    def jdifference(self, q0: SX, q1: SX) -> tuple[SX, SX]:
        return -SX.eye(self.nv), SX.eye(self.nv)

    def jintegrate_inverse(self, q: SX, v: SX) -> SX:
        return SX.eye(self.nv)

    def tangent_basis(self, q: SX) -> SX:
        return SX.eye(self.nv)

    def tangent_projection(self, q: SX) -> SX:
        return SX.eye(self.nv)


class CircleSpace(ConfigurationSpace):
    """Space of an unbounded revolute joint: q = (cos θ, sin θ), turned by v [rad]."""

    nq, nv = 2, 1
    coordinates = ("cos", "sin")
    tangents = ("",)
    units = ("rad",)
    rotation = slice(0, 2)

    def integrate(self, q: SX, v: SX) -> SX:
        return quaternions.renormalise(planar.turn(q, ca.cos(v), ca.sin(v)))

    def difference(self, q0: SX, q1: SX) -> SX:
        return planar.angle_between(q0, q1)

    def jintegrate(self, q: SX, v: SX) -> tuple[SX, SX]:
        return SX.eye(1), SX.eye(1)

    def jdifference(self, q0: SX, q1: SX) -> tuple[SX, SX]:
        return -SX.eye(1), SX.eye(1)

    def jintegrate_inverse(self, q: SX, v: SX) -> SX:
        return SX.eye(1)

    def tangent_basis(self, q: SX) -> SX:
        return ca.vertcat(-q[1], q[0])

    def tangent_projection(self, q: SX) -> SX:
        return ca.horzcat(-q[1], q[0])


class RotationSpace(ConfigurationSpace):
    """Space of a spherical joint: a unit quaternion, turned by a local rotation vector v (3,) [rad]."""

    nq, nv = 4, 3
    coordinates = ("qx", "qy", "qz", "qw")
    tangents = ("rx", "ry", "rz")
    units = ("rad",) * 3
    rotation = slice(0, 4)

    def integrate(self, q: SX, v: SX) -> SX:
        return quaternions.renormalise(quaternions.multiply(q, rotations.exp_quaternion(v)))

    def difference(self, q0: SX, q1: SX) -> SX:
        return self._turn(q0, q1)[0]

    def jintegrate(self, q: SX, v: SX) -> tuple[SX, SX]:
        return quaternions.quaternion_to_rotation(rotations.exp_quaternion(v)).T, rotations.jexp3(v)

    def jdifference(self, q0: SX, q1: SX) -> tuple[SX, SX]:
        right, left = rotations.jlog_rotation(*self._turn(q0, q1))
        return -left, right

    def jintegrate_inverse(self, q: SX, v: SX) -> SX:
        return rotations.jlog_rotation(v, half_cotangent(ca.sumsqr(v)))[0]

    def tangent_basis(self, q: SX) -> SX:
        return 0.5 * quaternions.tangent_columns(q)

    def tangent_projection(self, q: SX) -> SX:
        return 2 * quaternions.tangent_columns(q).T

    @staticmethod
    def _turn(q0: SX, q1: SX) -> tuple[SX, SX]:
        """Relative rotation vector (3,) [rad] and its coefficient k."""
        return rotations.log_quaternion(quaternions.multiply(quaternions.conjugate(q0), q1))


class PlanarPoseSpace(ConfigurationSpace):
    """Space of a planar joint: q = (x, y, cos θ, sin θ), moved by a local twist v (3,) = (vx, vy [m], ω [rad])."""

    nq, nv = 4, 3
    coordinates = ("x", "y", "cos", "sin")
    tangents = ("x", "y", "rz")
    units = ("m", "m", "rad")
    rotation = slice(2, 4)

    def integrate(self, q: SX, v: SX) -> SX:
        p, cosine, sine = planar.exp_planar(v)
        return ca.vertcat(q[:2] + planar.turn(q[2:], p[0], p[1]), planar.turn(q[2:], cosine, sine))

    def difference(self, q0: SX, q1: SX) -> SX:
        v, w, _ = self._twist(q0, q1)
        return ca.vertcat(v, w)

    def jintegrate(self, q: SX, v: SX) -> tuple[SX, SX]:
        return planar.jexp_planar(v)

    def jdifference(self, q0: SX, q1: SX) -> tuple[SX, SX]:
        right, left = planar.jlog_planar(*self._twist(q0, q1))
        return -left, right

    def jintegrate_inverse(self, q: SX, v: SX) -> SX:
        return planar.jlog_planar(v[:2], v[2], half_cotangent(v[2] ** 2))[0]

    def tangent_basis(self, q: SX) -> SX:
        basis = SX(4, 3)
        basis[0, 0], basis[1, 0], basis[0, 1], basis[1, 1] = q[2], q[3], -q[3], q[2]
        basis[2, 2], basis[3, 2] = -q[3], q[2]
        return basis

    def tangent_projection(self, q: SX) -> SX:
        return self.tangent_basis(q).T

    @staticmethod
    def _twist(q0: SX, q1: SX) -> tuple[SX, SX, SX]:
        """Relative velocity (2,) [m], angle ω [rad] and (ω/2) cot(ω/2)."""
        w = planar.angle_between(q0[2:], q1[2:])
        v, k = planar.log_planar(planar.turn(q1[:2] - q0[:2], q0[2], -q0[3]), w)
        return v, w, k


class PoseSpace(ConfigurationSpace):
    """Space of a free flyer: q = (position, quaternion), moved by a local twist v (6,) = (v [m], ω [rad])."""

    nq, nv = 7, 6
    coordinates = ("x", "y", "z", "qx", "qy", "qz", "qw")
    tangents = ("x", "y", "z", "rx", "ry", "rz")
    units = ("m",) * 3 + ("rad",) * 3
    rotation = slice(3, 7)

    def integrate(self, q: SX, v: SX) -> SX:
        p, a = poses.exp_pose(v[:3], v[3:])
        # Only for this joint and steps beyond π, Pinocchio keeps the quaternion in the half space of the previous one.
        side = ca.if_else(a[3] < 0, -1.0, 1.0)
        turned = quaternions.renormalise(quaternions.multiply(q[3:], a))
        return ca.vertcat(q[:3] + quaternions.rotate(q[3:], p), side * turned)

    def difference(self, q0: SX, q1: SX) -> SX:
        return self._log(q0, q1).twist

    def jintegrate(self, q: SX, v: SX) -> tuple[SX, SX]:
        return poses.inverse_adjoint(*poses.exp_pose(v[:3], v[3:])), poses.jexp6(v)

    def jdifference(self, q0: SX, q1: SX) -> tuple[SX, SX]:
        log = self._log(q0, q1)
        return -log.left_jacobian, log.jacobian

    def jintegrate_inverse(self, q: SX, v: SX) -> SX:
        return poses.jlog_twist(v)

    def tangent_basis(self, q: SX) -> SX:
        return ca.diagcat(quaternions.quaternion_to_rotation(q[3:]), 0.5 * quaternions.tangent_columns(q[3:]))

    def tangent_projection(self, q: SX) -> SX:
        return ca.diagcat(quaternions.quaternion_to_rotation(q[3:]).T, 2 * quaternions.tangent_columns(q[3:]).T)

    @staticmethod
    def _log(q0: SX, q1: SX) -> poses.PoseLog:
        back = quaternions.conjugate(q0[3:])
        return poses.PoseLog(quaternions.rotate(back, q1[:3] - q0[:3]), quaternions.multiply(back, q1[3:]))
