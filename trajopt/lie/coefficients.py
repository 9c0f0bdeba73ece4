"""Coefficients of exp, log and their Jacobians as functions of t = θ², the squared angle.

They are B = (1 - cos θ)/θ², C = (θ - sin θ)/θ³, k = (θ/2) cot(θ/2) and D = (1 - k)/θ². A series replaces each below a
threshold, so that values and derivatives of any order are finite everywhere. The derivatives 2 d/dt are functions of
the coefficients themselves.

Source: Solà, Deray, Atchuthan, A micro Lie theory for state estimation in robotics, 2018, appendix B; derivatives with
respect to t are derived here.
"""

from __future__ import annotations

import math

import casadi as ca
from casadi import SX

from trajopt.lie.series import near_zero, polynomial

NEAR = 4e-2
"""θ² below which series replace closed forms of C, D and of slopes [rad²]."""

B = tuple((-1) ** i / math.factorial(2 * i + 2) for i in range(7))
C = tuple((-1) ** i / math.factorial(2 * i + 3) for i in range(7))
D = (1 / 12, 1 / 720, 1 / 30240, 1 / 1209600, 1 / 47900160, 691 / 1307674368000, 1 / 74724249600)
"""Coefficients of the series in t; those of D are Bernoulli numbers, |B_2n| / (2 n)! with n = i + 1."""


def half_angle(t: SX) -> tuple[SX, SX]:
    """(cos(θ/2), sin(θ/2)/θ) from t = θ²; the quaternion of a rotation vector ω is (sin(θ/2)/θ · ω, cos(θ/2))."""
    small, safe = near_zero(t, 4e-4)
    theta = ca.sqrt(safe)
    half_sinc = ca.if_else(small, polynomial((1 / 2, -1 / 48, 1 / 3840, -1 / 645120), t), ca.sin(theta / 2) / theta)
    cosine = ca.if_else(small, polynomial((1.0, -1 / 8, 1 / 384, -1 / 46080, 1 / 10321920), t), ca.cos(theta / 2))
    return cosine, half_sinc


def half_cotangent(t: SX) -> SX:
    """Coefficient k of the logarithm from t = θ²."""
    cosine, half_sinc = half_angle(t)
    return cosine / (2 * half_sinc)


def exp_coefficients(t: SX) -> tuple[SX, SX, SX, SX]:
    """Coefficients (cos(θ/2), sin(θ/2)/θ, B, C) of the exponential map, from t = θ²."""
    cosine, half_sinc = half_angle(t)
    small, safe = near_zero(t, NEAR)
    c = ca.if_else(small, polynomial(C[:5], t), (1 - 2 * half_sinc * cosine) / safe)
    return cosine, half_sinc, 2 * half_sinc**2, c


def exp_slopes(t: SX, b: SX, c: SX) -> tuple[SX, SX]:
    """Derivatives (2 dB/dt, 2 dC/dt) of coefficients of the exponential map, from t = θ², B and C."""
    small, safe = near_zero(t, NEAR)
    slope_b = ca.if_else(small, polynomial(_slope(B), t), (1 - c * t - 2 * b) / safe)
    slope_c = ca.if_else(small, polynomial(_slope(C), t), (b - 3 * c) / safe)
    return slope_b, slope_c


def log_coefficient(t: SX, k: SX) -> SX:
    """Coefficient D of the logarithm's derivative, from t = θ² and k."""
    small, safe = near_zero(t, NEAR)
    return ca.if_else(small, polynomial(D[:6], t), (1 - k) / safe)


def log_slope(t: SX, k: SX, d: SX) -> SX:
    """Derivative S = 2 dD/dt of the coefficient D, from t = θ², k and D."""
    small, safe = near_zero(t, NEAR)
    return ca.if_else(small, polynomial(_slope(D), t), (0.25 - (2 + k) * d) / safe)


def log_second_slope(t: SX, d: SX, slope: SX) -> SX:
    """Second derivative 2 dS/dt of the coefficient D, from t = θ², D and S = 2 dD/dt."""
    small, safe = near_zero(t, NEAR)
    closed = 2 * d * slope + (2 * d * d - 5 * slope) / safe
    return ca.if_else(small, polynomial(_slope(_slope(D)), t), closed)


def _slope(coefficients: tuple[float, ...]) -> tuple[float, ...]:
    """Series of 2 df/dt."""
    return tuple(2 * i * c for i, c in enumerate(coefficients))[1:]
