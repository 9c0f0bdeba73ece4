"""Coefficients of exp, log and their Jacobians as functions of t = θ², the squared angle.

They are B = (1 - cos θ)/θ², C = (θ - sin θ)/θ³, k = (θ/2) cot(θ/2) and D = (1 - k)/θ². A series replaces each below a
threshold, so that values and derivatives of any order are finite everywhere. The derivatives 2 d/dt are functions of
the coefficients themselves.

Source: Solà, Deray, Atchuthan, A micro Lie theory for state estimation in robotics, 2018, appendix B; derivatives by t
are an own derivation.
"""

from __future__ import annotations

import casadi as ca
from casadi import SX

from trajopt.lie.series import near_zero, polynomial


def half_angle(t: SX) -> tuple[SX, SX]:
    """(cos(θ/2), sin(θ/2)/θ) for t = θ²: a rotation vector ω has the quaternion (sin(θ/2)/θ · ω, cos(θ/2))."""
    small, safe = near_zero(t, 4e-4)
    theta = ca.sqrt(safe)
    half_sinc = ca.if_else(small, polynomial((1 / 2, -1 / 48, 1 / 3840, -1 / 645120), t), ca.sin(theta / 2) / theta)
    cosine = ca.if_else(small, polynomial((1.0, -1 / 8, 1 / 384, -1 / 46080, 1 / 10321920), t), ca.cos(theta / 2))
    return cosine, half_sinc


def exp_coefficients(t: SX) -> tuple[SX, SX, SX, SX]:
    """(cos(θ/2), sin(θ/2)/θ, B, C) for t = θ²."""
    cosine, half_sinc = half_angle(t)
    small, safe = near_zero(t, 4e-2)
    series = polynomial((1 / 6, -1 / 120, 1 / 5040, -1 / 362880, 1 / 39916800), t)
    c = ca.if_else(small, series, (1 - 2 * half_sinc * cosine) / safe)
    return cosine, half_sinc, 2 * half_sinc**2, c


def exp_slopes(t: SX, b: SX, c: SX) -> tuple[SX, SX]:
    """(2 dB/dt, 2 dC/dt) for t = θ², given B and C."""
    small, safe = near_zero(t, 4e-2)
    series_b = polynomial((-1 / 12, 1 / 180, -1 / 6720, 1 / 453600, -1 / 47900160, 1 / 7264857600), t)
    series_c = polynomial((-1 / 60, 1 / 1260, -1 / 60480, 1 / 4989600, -1 / 622702080, 1 / 108972864000), t)
    slope_b = ca.if_else(small, series_b, (1 - c * t - 2 * b) / safe)
    slope_c = ca.if_else(small, series_c, (b - 3 * c) / safe)
    return slope_b, slope_c


def log_coefficient(t: SX, k: SX) -> SX:
    """D for t = θ², given k."""
    small, safe = near_zero(t, 4e-2)
    series = polynomial((1 / 12, 1 / 720, 1 / 30240, 1 / 1209600, 1 / 47900160, 691 / 1307674368000), t)
    return ca.if_else(small, series, (1 - k) / safe)


def log_slope(t: SX, k: SX, d: SX) -> SX:
    """2 dD/dt for t = θ², given k and D."""
    small, safe = near_zero(t, 4e-2)
    series = polynomial((1 / 360, 1 / 7560, 1 / 201600, 1 / 5987520, 691 / 130767436800, 1 / 6227020800), t)
    return ca.if_else(small, series, (0.25 - (2 + k) * d) / safe)
