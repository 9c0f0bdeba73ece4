"""Exponential and logarithm of poses in the plane as expressions, with their right Jacobians.

A rotation is a point (cos θ, sin θ) of the unit circle; twists (vx, vy, ω) are local. The coefficients are those of
rotations about z.

Source: Solà, Deray, Atchuthan, A micro Lie theory for state estimation in robotics, 2018, appendices A and C.
"""

from __future__ import annotations

import casadi as ca
from casadi import SX

from trajopt.lie.coefficients import exp_coefficients, half_angle, half_cotangent, log_coefficient


def turn(p: SX, cosine: SX, sine: SX | float) -> SX:
    """Rotated vector [[cosine, -sine], [sine, cosine]] p, shape (2,); also the product of two complex numbers."""
    return ca.vertcat(cosine * p[0] - sine * p[1], sine * p[0] + cosine * p[1])


def angle_between(q0: SX, q1: SX) -> SX:
    """Angle from q0 to q1 in (-π, π] [rad]; both are (cos, sin)."""
    return ca.atan2(q0[0] * q1[1] - q0[1] * q1[0], q0[0] * q1[0] + q0[1] * q1[1])


def exp_planar(v: SX) -> tuple[SX, SX, SX]:
    """Position (2,), cosine and sine of the exponential of a twist (3,)."""
    w = v[2]
    cosine, half_sinc = half_angle(w**2)
    p = turn(v[:2], 2 * half_sinc * cosine, 2 * half_sinc**2 * w)  # (sin ω)/ω and (1 - cos ω)/ω
    return p, ca.cos(w), ca.sin(w)


def log_planar(p: SX, w: SX) -> tuple[SX, SX]:
    """Velocity (2,) that moves by p (2,) while turning by ω [rad], and k = (ω/2) cot(ω/2)."""
    k = half_cotangent(w**2)
    return turn(p, k, -w / 2), k


def jexp_planar(v: SX) -> tuple[SX, SX]:
    """Adjoint of the inverse of exp(v) and the right Jacobian of exp at a twist v (3,), SX (3, 3) each."""
    w = v[2]
    cosine, half_sinc, b, c = exp_coefficients(w**2)
    ratio, slope = 2 * half_sinc * cosine, b * w  # (sin ω)/ω and (1 - cos ω)/ω
    p = turn(v[:2], ratio, slope)
    back = turn(ca.vertcat(-p[1], p[0]), ca.cos(w), -ca.sin(w))
    return _matrix(ca.cos(w), ca.sin(w), back), _matrix(ratio, slope, turn(v[:2], c * w, b))


def jlog_planar(v: SX, w: SX, k: SX) -> tuple[SX, SX]:
    """Inverse right Jacobians at the twist (v (2,), ω) and at its negative, SX (3, 3) each; k is from `log_planar`."""
    d = log_coefficient(w**2, k) * w
    return _matrix(k, -w / 2, turn(v, d, -0.5)), _matrix(k, w / 2, turn(v, d, 0.5))


def _matrix(cosine: SX, sine: SX, column: SX) -> SX:
    """Matrix [[cosine, sine, column], [-sine, cosine, .], [0, 0, 1]] with structural zeros and a constant one."""
    m = SX(3, 3)
    m[0, 0], m[0, 1], m[1, 0], m[1, 1], m[2, 2] = cosine, sine, -sine, cosine, 1.0
    m[0, 2], m[1, 2] = column[0], column[1]
    return m
