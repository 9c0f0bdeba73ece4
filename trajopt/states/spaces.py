"""Configuration spaces of joints as expressions: ⊕, ⊖, their Jacobians, tangent bases.

Each space has nq coordinates and nv tangent coordinates, with Pinocchio's conventions: a point on the unit circle is
(cos, sin), a quaternion is (x, y, z, w), tangent vectors are local. All functions take and return SX, and keep
structural zeros and ones.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import casadi as ca
from casadi import SX

from trajopt.states import rotations as rot


class ConfigurationSpace(ABC):
    """Configuration space of a joint.

    Attributes:
        nq: Number of coordinates.
        nv: Number of tangent coordinates.
        coordinates: Name of each coordinate within the joint, "" for a single one.
        tangents: Name of each tangent coordinate within the joint, "" for a single one.
        units: Unit of each tangent coordinate.
        rotation: Coordinates with norm 1 (a quaternion or a point on the unit circle); None if there are none.
    """

    nq: int
    nv: int
    coordinates: tuple[str, ...]
    tangents: tuple[str, ...]
    units: tuple[str, ...]
    rotation: slice | None = None

    @property
    def coordinate_units(self) -> tuple[str, ...]:
        """Unit of each coordinate; "-" for those of a rotation."""
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
        """Derivatives of q ⊕ v in q and in v, shape (nv, nv) each."""

    @abstractmethod
    def jdifference(self, q0: SX, q1: SX) -> tuple[SX, SX]:
        """Derivatives of q1 ⊖ q0 in q0 and in q1, shape (nv, nv) each."""

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

    def tangent_basis(self, q: SX) -> SX:
        return SX.eye(self.nv)

    def tangent_projection(self, q: SX) -> SX:
        return SX.eye(self.nv)


class CircleSpace(ConfigurationSpace):
    """An unbounded revolute joint: q = (cos θ, sin θ), turned by v [rad]."""

    nq, nv = 2, 1
    coordinates = ("cos", "sin")
    tangents = ("",)
    units = ("rad",)
    rotation = slice(0, 2)

    def integrate(self, q: SX, v: SX) -> SX:
        return rot.renormalise(_turn(q, ca.cos(v), ca.sin(v)))

    def difference(self, q0: SX, q1: SX) -> SX:
        return _angle_between(q0, q1)

    def jintegrate(self, q: SX, v: SX) -> tuple[SX, SX]:
        return SX.eye(1), SX.eye(1)

    def jdifference(self, q0: SX, q1: SX) -> tuple[SX, SX]:
        return -SX.eye(1), SX.eye(1)

    def tangent_basis(self, q: SX) -> SX:
        return ca.vertcat(-q[1], q[0])

    def tangent_projection(self, q: SX) -> SX:
        return ca.horzcat(-q[1], q[0])


class RotationSpace(ConfigurationSpace):
    """A spherical joint: a unit quaternion, turned by a local rotation vector v (3,) [rad]."""

    nq, nv = 4, 3
    coordinates = ("qx", "qy", "qz", "qw")
    tangents = ("rx", "ry", "rz")
    units = ("rad",) * 3
    rotation = slice(0, 4)

    def integrate(self, q: SX, v: SX) -> SX:
        return rot.renormalise(rot.multiply(q, rot.exp_quaternion(v)))

    def difference(self, q0: SX, q1: SX) -> SX:
        return rot.log_quaternion(rot.multiply(rot.conjugate(q0), q1))[0]

    def jintegrate(self, q: SX, v: SX) -> tuple[SX, SX]:
        return rot.rotation_matrix(rot.exp_quaternion(v)).T, rot.jexp_rotation(v)

    def jdifference(self, q0: SX, q1: SX) -> tuple[SX, SX]:
        right, left = rot.jlog_rotation(*rot.log_quaternion(rot.multiply(rot.conjugate(q0), q1)))
        return -left, right

    def tangent_basis(self, q: SX) -> SX:
        return 0.5 * _quaternion_columns(q)

    def tangent_projection(self, q: SX) -> SX:
        return 2 * _quaternion_columns(q).T


class PlanarPoseSpace(ConfigurationSpace):
    """A planar joint: q = (x, y, cos θ, sin θ), moved by a local twist v (3,) = (vx, vy [m], ω [rad])."""

    nq, nv = 4, 3
    coordinates = ("x", "y", "cos", "sin")
    tangents = ("x", "y", "rz")
    units = ("m", "m", "rad")
    rotation = slice(2, 4)

    def integrate(self, q: SX, v: SX) -> SX:
        w = v[2]
        cosine, half_sinc = rot.half_angle(w**2)
        turned = _turn(v[:2], 2 * half_sinc * cosine, 2 * half_sinc**2 * w)  # (sin ω)/ω and (1 - cos ω)/ω
        return ca.vertcat(q[:2] + _turn(q[2:], turned[0], turned[1]), _turn(q[2:], ca.cos(w), ca.sin(w)))

    def difference(self, q0: SX, q1: SX) -> SX:
        w, k = self._angle(q0, q1)
        p = _turn(q1[:2] - q0[:2], q0[2], -q0[3])
        return ca.vertcat(_turn(p, k, -w / 2), w)

    def jintegrate(self, q: SX, v: SX) -> tuple[SX, SX]:
        w = v[2]
        cosine, half_sinc, b, c = rot.exp_coefficients(w**2)
        ratio, slope = 2 * half_sinc * cosine, b * w  # (sin ω)/ω and (1 - cos ω)/ω
        p = _turn(v[:2], ratio, slope)
        back = _turn(ca.vertcat(-p[1], p[0]), ca.cos(w), -ca.sin(w))
        first = _planar_matrix(ca.cos(w), ca.sin(w), back)
        second = _planar_matrix(ratio, slope, _turn(v[:2], c * w, b))
        return first, second

    def jdifference(self, q0: SX, q1: SX) -> tuple[SX, SX]:
        w, k = self._angle(q0, q1)
        v = _turn(_turn(q1[:2] - q0[:2], q0[2], -q0[3]), k, -w / 2)
        d = rot.log_coefficient(w**2, k) * w
        right = _planar_matrix(k, -w / 2, _turn(v, d, -0.5))
        left = _planar_matrix(k, w / 2, _turn(v, d, 0.5))
        return -left, right

    def tangent_basis(self, q: SX) -> SX:
        basis = SX(4, 3)
        basis[0, 0], basis[1, 0], basis[0, 1], basis[1, 1] = q[2], q[3], -q[3], q[2]
        basis[2, 2], basis[3, 2] = -q[3], q[2]
        return basis

    def tangent_projection(self, q: SX) -> SX:
        return self.tangent_basis(q).T

    @staticmethod
    def _angle(q0: SX, q1: SX) -> tuple[SX, SX]:
        """Relative angle ω [rad] and (ω/2) cot(ω/2)."""
        w = _angle_between(q0[2:], q1[2:])
        cosine, half_sinc = rot.half_angle(w**2)
        return w, cosine / (2 * half_sinc)


class PoseSpace(ConfigurationSpace):
    """A free flyer: q = (position, quaternion), moved by a local twist v (6,) = (v [m], ω [rad])."""

    nq, nv = 7, 6
    coordinates = ("x", "y", "z", "qx", "qy", "qz", "qw")
    tangents = ("x", "y", "z", "rx", "ry", "rz")
    units = ("m",) * 3 + ("rad",) * 3
    rotation = slice(3, 7)

    def integrate(self, q: SX, v: SX) -> SX:
        p, a = rot.exp_pose(v[:3], v[3:])
        # For steps beyond π Pinocchio keeps the quaternion in the half space of the one before, for this joint only.
        side = ca.if_else(a[3] < 0, -1.0, 1.0)
        turned = rot.renormalise(rot.multiply(q[3:], a))
        return ca.vertcat(q[:3] + rot.rotate(q[3:], p), side * turned)

    def difference(self, q0: SX, q1: SX) -> SX:
        v, w, _ = self._twist(q0, q1)
        return ca.vertcat(v, w)

    def jintegrate(self, q: SX, v: SX) -> tuple[SX, SX]:
        return rot.inverse_adjoint(*rot.exp_pose(v[:3], v[3:])), rot.jexp_pose(v[:3], v[3:])

    def jdifference(self, q0: SX, q1: SX) -> tuple[SX, SX]:
        right, left = rot.jlog_pose(*self._twist(q0, q1))
        return -left, right

    def tangent_basis(self, q: SX) -> SX:
        return ca.diagcat(rot.rotation_matrix(q[3:]), 0.5 * _quaternion_columns(q[3:]))

    def tangent_projection(self, q: SX) -> SX:
        return ca.diagcat(rot.rotation_matrix(q[3:]).T, 2 * _quaternion_columns(q[3:]).T)

    @staticmethod
    def _twist(q0: SX, q1: SX) -> tuple[SX, SX, SX]:
        back = rot.conjugate(q0[3:])
        return rot.log_pose(rot.rotate(back, q1[:3] - q0[:3]), rot.multiply(back, q1[3:]))


def _turn(p: SX, cosine: SX, sine: SX | float) -> SX:
    """[[cosine, -sine], [sine, cosine]] p, shape (2,); also the product of two complex numbers."""
    return ca.vertcat(cosine * p[0] - sine * p[1], sine * p[0] + cosine * p[1])


def _angle_between(q0: SX, q1: SX) -> SX:
    """Angle from q0 to q1 in (-π, π] [rad], both (cos, sin)."""
    return ca.atan2(q0[0] * q1[1] - q0[1] * q1[0], q0[0] * q1[0] + q0[1] * q1[1])


def _planar_matrix(cosine: SX, sine: SX, column: SX) -> SX:
    """[[cosine, sine, column], [-sine, cosine, .], [0, 0, 1]] with structural zeros and a constant one."""
    m = SX(3, 3)
    m[0, 0], m[0, 1], m[1, 0], m[1, 1], m[2, 2] = cosine, sine, -sine, cosine, 1.0
    m[0, 2], m[1, 2] = column[0], column[1]
    return m


def _quaternion_columns(a: SX) -> SX:
    """Columns a (e_i, 0) of quaternion products, shape (4, 3): twice the derivative of a exp(v) at v = 0."""
    x, y, z, w = a[0], a[1], a[2], a[3]
    return ca.blockcat([[w, -z, y], [z, w, -x], [-y, x, w], [-x, -y, -z]])
