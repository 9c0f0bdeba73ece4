"""Exponential and logarithm of rotations as expressions, with their right Jacobians.

Rotations are unit quaternions, which need fewer operations than matrices; tangent vectors are local. With Ω = [ω]x the
Jacobians are

    J(ω) = I - B Ω + C Ω²        with B = (1 - cos θ)/θ², C = (θ - sin θ)/θ³
    J(ω)⁻¹ = I + Ω/2 + D Ω²      with D = (1 - k)/θ², k = (θ/2) cot(θ/2)

where Ω² = ωωᵀ - θ² I.

Sources: Solà, Deray, Atchuthan, A micro Lie theory for state estimation in robotics, 2018, equations 143 and 144;
Chirikjian, Stochastic Models, Information Theory, and Lie Groups 2, chapter 10.
"""

from __future__ import annotations

import casadi as ca
from casadi import SX

from trajopt.lie.coefficients import exp_coefficients, half_angle, log_coefficient
from trajopt.lie.matrices import quadratic
from trajopt.lie.quaternions import quaternion_of_rotation, quaternion_to_rotation
from trajopt.lie.series import near_zero, polynomial


def exp_quaternion(w: SX) -> SX:
    """Quaternion (4,) of a rotation vector (3,) [rad]."""
    cosine, half_sinc = half_angle(ca.sumsqr(w))
    return ca.vertcat(half_sinc * w, cosine)


def log_quaternion(a: SX) -> tuple[SX, SX]:
    """Rotation vector (3,) [rad] of a quaternion (4,), with norm at most π, and its coefficient k [-].

    The norm of the quaternion does not matter.
    """
    side = ca.if_else(a[3] < 0, -1.0, 1.0)
    cosine = side * a[3]
    norm2 = ca.sumsqr(a[:3])
    small, safe = near_zero(norm2, 1e-4)
    sine = ca.sqrt(safe)
    safe_cosine = ca.if_else(small, cosine, 1.0)
    z = norm2 / safe_cosine**2  # tan²(θ/2)
    series = polynomial((2.0, -2 / 3, 2 / 5, -2 / 7), z) / safe_cosine
    factor = ca.if_else(small, series, 2 * ca.atan2(sine, cosine) / sine)  # θ / sin(θ/2)
    return (side * factor) * a[:3], 0.5 * factor * cosine


def jexp3(w: SX) -> SX:
    """Right Jacobian J(ω), shape (3, 3), as pin.Jexp3: exp(ω + dω) = exp(ω) exp(J dω) to first order."""
    _, _, b, c = exp_coefficients(ca.sumsqr(w))
    return quadratic(w, 1 - c * ca.sumsqr(w), -b, c)


def jlog_rotation(w: SX, k: SX) -> tuple[SX, SX]:
    """Inverse right Jacobians J(ω)⁻¹ and J(-ω)⁻¹, shape (3, 3) each; k is from `log_quaternion`."""
    right = quadratic(w, k, 0.5, log_coefficient(ca.sumsqr(w), k))
    return right, right.T


def exp3(w: SX) -> SX:
    """Rotation matrix (3, 3) of a rotation vector (3,) [rad], as pin.exp3."""
    return quaternion_to_rotation(exp_quaternion(w))


def log3(rotation: SX) -> SX:
    """Rotation vector (3,) [rad] of a rotation matrix (3, 3), with norm at most π, as pin.log3."""
    return log_quaternion(quaternion_of_rotation(rotation))[0]


def jlog3(rotation: SX) -> SX:
    """Right Jacobian of log3, shape (3, 3), as pin.Jlog3: derivative of log3(R exp3(δ)) at δ = 0."""
    return jlog_rotation(*log_quaternion(quaternion_of_rotation(rotation)))[0]
