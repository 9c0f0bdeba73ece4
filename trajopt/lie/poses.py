"""Exponential and logarithm of poses as expressions, with their right Jacobians.

A pose is a position and a unit quaternion; twists are local, translation first. A pose is also a rotation in dual
numbers: its formulas are those of `trajopt.lie.rotations` with ω + ε v instead of ω. The upper right block of a
Jacobian is therefore the coefficient of ε, with s = ωᵀv.

Sources: Solà, Deray, Atchuthan, A micro Lie theory for state estimation in robotics, 2018, appendix D; Barfoot, State
Estimation for Robotics, section 7.1; the dual-number form is derived here.
"""

from __future__ import annotations

from functools import cached_property

import casadi as ca
from casadi import SX

from trajopt.lie.coefficients import (
    exp_coefficients,
    exp_slopes,
    half_cotangent,
    log_coefficient,
    log_second_slope,
    log_slope,
)
from trajopt.lie.matrices import block_triangular, dual_quadratic, quadratic, symmetric_product
from trajopt.lie.quaternions import quaternion_of_rotation, quaternion_to_rotation
from trajopt.lie.rotations import log_quaternion


def exp_pose(v: SX, w: SX) -> tuple[SX, SX]:
    """Position (3,) [m] and quaternion (4,) of the exponential of a twist: p = v + B ω x v + C ω x (ω x v)."""
    cosine, half_sinc, b, c = exp_coefficients(ca.sumsqr(w))
    wxv = ca.cross(w, v)
    return v + b * wxv + c * ca.cross(w, wxv), ca.vertcat(half_sinc * w, cosine)


def jexp6(twist: SX) -> SX:
    """Right Jacobian of the exponential of a twist (v, ω), SX (6, 6) = [[J, Q], [0, J]], as pin.Jexp6."""
    v, w = twist[:3], twist[3:]
    t, s = ca.sumsqr(w), ca.dot(w, v)
    _, _, b, c = exp_coefficients(t)
    slope_b, slope_c = exp_slopes(t, b, c)
    diagonal = quadratic(w, 1 - c * t, -b, c)
    return block_triangular(diagonal, dual_quadratic(v, w, (c - b) * s, -b, -slope_b * s, c, slope_c * s))


class PoseLog:
    """Logarithm of a pose with its first and second derivatives, which share subexpressions.

    Args:
        p: Position (3,).
        a: Quaternion (4,), of any nonzero norm.

    Attributes:
        twist: (v, ω), SX (6,) [m, rad], with v = p - ω x p/2 + D ω x (ω x p) and |ω| at most π.
    """

    def __init__(self, p: SX, a: SX) -> None:
        w, self._k = log_quaternion(a)
        self._t = ca.sumsqr(w)
        self._d = log_coefficient(self._t, self._k)
        wxp = ca.cross(w, p)
        self._v, self._w = p - 0.5 * wxp + self._d * ca.cross(w, wxp), w
        self.twist = ca.vertcat(self._v, w)

    @cached_property
    def jacobian(self) -> SX:
        """Right Jacobian (6, 6), the inverse of `jexp6`: log(M exp(δ)) = log(M) + jacobian δ to first order."""
        return _jlog(self._v, self._w, self._k, self._d, self._slope)

    @property
    def left_jacobian(self) -> SX:
        """Left Jacobian (6, 6), which is the right Jacobian at the negative twist."""
        return block_triangular(self.jacobian[:3, :3].T, self.jacobian[:3, 3:].T)

    def curvature(self, b: SX) -> SX:
        """Hessian of bᵀ log(M exp ξ) at ξ = 0, symmetric (6, 6), of b (6,).

        For a rotation it is ∂(J(ω)⁻ᵀ b)/∂ω J(ω)⁻¹ without its antisymmetric part; with s = ω · b and S = 2 dD/dt,

            k D (b ωᵀ + ω bᵀ) + D ((b × ω) ωᵀ + ω (b × ω)ᵀ) / 2 + s (k D - 1/4) 1 + s (2 D² + S) ω ωᵀ.

        For a pose it is the same in dual numbers: [[0, H], [H, H']], where H' is the coefficient of ε.
        """
        v, w, t, k, d, slope, first, second = self._v, self._w, self._t, self._k, self._d, self._slope, b[:3], b[3:]
        along_axis = ca.dot(w, v)
        dd, dslope = slope * along_axis, log_second_slope(t, d, slope) * along_axis
        dk = -(2 * d + slope * t) * along_axis
        mixed, outer = k * d, 2 * d * d + slope
        dmixed, douter = k * dd + dk * d, 4 * d * dd + dslope
        s, ds, s2 = ca.dot(w, first), ca.dot(v, first), ca.dot(w, second)
        bw = ca.cross(first, w)
        along = mixed * first + d / 2 * bw
        across = dmixed * first + dd / 2 * bw + d / 2 * ca.cross(first, v) + s * outer * v
        across += mixed * second + d / 2 * ca.cross(second, w) + (ds * outer + s * douter + s2 * outer) / 2 * w
        diagonal = (ds + s2) * (mixed - 0.25) + s * dmixed
        upper = symmetric_product(along + s * outer / 2 * w, w) + s * (mixed - 0.25) * SX.eye(3)
        lower = symmetric_product(across, w) + symmetric_product(along, v) + diagonal * SX.eye(3)
        return SX(ca.blockcat([[SX(3, 3), upper], [upper, lower]]))

    @cached_property
    def _slope(self) -> SX:
        return log_slope(self._t, self._k, self._d)


def jlog_twist(twist: SX) -> SX:
    """Right Jacobian (6, 6) of the logarithm at the exponential of a twist (v, ω): the inverse of `jexp6`."""
    v, w = twist[:3], twist[3:]
    t = ca.sumsqr(w)
    k = half_cotangent(t)
    d = log_coefficient(t, k)
    return _jlog(v, w, k, d, log_slope(t, k, d))


def _jlog(v: SX, w: SX, k: SX, d: SX, slope: SX) -> SX:
    """Right Jacobian (6, 6) of the logarithm at a twist, from the coefficients k, D and S."""
    s = ca.dot(w, v)
    upper_right = dual_quadratic(v, w, -(2 * d + slope * ca.sumsqr(w)) * s, 0.5, 0.0, d, slope * s)
    return block_triangular(quadratic(w, k, 0.5, d), upper_right)


def log_of_motion(rotation: SX, translation: SX) -> PoseLog:
    """Logarithm of a rigid motion: rotation matrix (3, 3) and translation (3,) [m]."""
    return PoseLog(translation, quaternion_of_rotation(rotation))


def exp6(twist: SX) -> tuple[SX, SX]:
    """Rotation matrix (3, 3) and translation (3,) [m] of a twist (v, ω), SX (6,), as pin.exp6."""
    p, a = exp_pose(twist[:3], twist[3:])
    return quaternion_to_rotation(a), p


def log6(rotation: SX, translation: SX) -> SX:
    """Twist (6,) [m, rad] of a rigid motion, SX (3, 3) and (3,), as pin.log6."""
    return log_of_motion(rotation, translation).twist


def jlog6(rotation: SX, translation: SX) -> SX:
    """Right Jacobian of log6, SX (6, 6), as pin.Jlog6."""
    return log_of_motion(rotation, translation).jacobian


def log6_and_jacobian(rotation: SX, translation: SX) -> tuple[SX, SX]:
    """Returns log6 (6,) [m, rad] and jlog6 (6, 6), which share most of their operations."""
    log = log_of_motion(rotation, translation)
    return log.twist, log.jacobian


def inverse_adjoint(p: SX, a: SX) -> SX:
    """Adjoint of the inverse of a pose, shape (6, 6): [[Rᵀ, -Rᵀ [p]x], [0, Rᵀ]]."""
    r = quaternion_to_rotation(a).T
    return block_triangular(r, -ca.mtimes(r, ca.skew(p)))
