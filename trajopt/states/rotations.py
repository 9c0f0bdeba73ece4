"""Exponential and logarithm of rotations and poses as expressions, with their right Jacobians.

Rotations are unit quaternions in Pinocchio's order (x, y, z, w); poses are a position and a quaternion; tangent
vectors are local (translation first). A quaternion needs fewer instructions than a rotation matrix.

Every coefficient is a function of t = θ², with a series below a threshold. The branch that is not taken is evaluated at
a safe argument, so that values and derivatives of any order are finite everywhere. With Ω = [ω]x the Jacobians are

    J(ω) = I - B Ω + C Ω²        with B = (1 - cos θ)/θ², C = (θ - sin θ)/θ³
    J(ω)⁻¹ = I + Ω/2 + D Ω²      with D = (1 - k)/θ², k = (θ/2) cot(θ/2)

and those of poses follow with the dual number ω + ε v in place of ω: their upper right block is the coefficient
of ε (with V = [v]x, s = ωᵀv and Ω² = ωωᵀ - t I). Sources: Chirikjian, Stochastic Models, Information Theory, and Lie
Groups 2, chapter 10; Barfoot, State Estimation for Robotics, section 7.1; own derivation of the dual-number form.
"""

from __future__ import annotations

import casadi as ca
from casadi import SX

from trajopt.dynamics.scalars import plus, times


def polynomial(coefficients: tuple[float, ...], t: SX) -> SX:
    """Σ c_i tⁱ by Horner's rule."""
    result = SX(coefficients[-1])
    for c in coefficients[-2::-1]:
        result = plus(SX(c), times(t, result))
    return result


def near_zero(t: SX, threshold: float) -> tuple[SX, SX]:
    """Whether t is below the threshold, and a safe argument for closed forms: t, or 1 below the threshold."""
    small = t < threshold
    return small, ca.if_else(small, 1.0, t)


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


def multiply(a: SX, b: SX) -> SX:
    """Product of two quaternions, shape (4,)."""
    av, aw, bv, bw = a[:3], a[3], b[:3], b[3]
    return ca.vertcat(aw * bv + bw * av + ca.cross(av, bv), aw * bw - ca.dot(av, bv))


def conjugate(a: SX) -> SX:
    """Inverse of a unit quaternion, shape (4,)."""
    return ca.vertcat(-a[:3], a[3])


def rotate(a: SX, v: SX) -> SX:
    """R(a) v for a unit quaternion (4,) and a vector (3,), without forming R."""
    twice = 2 * ca.cross(a[:3], v)
    return v + a[3] * twice + ca.cross(a[:3], twice)


def rotation_matrix(a: SX) -> SX:
    """R(a) of a unit quaternion, shape (3, 3)."""
    x, y, z, w = a[0], a[1], a[2], a[3]
    x2, y2, z2 = 2 * x, 2 * y, 2 * z
    xx, yy, zz, xy, xz, yz, wx, wy, wz = x2 * x, y2 * y, z2 * z, x2 * y, x2 * z, y2 * z, x2 * w, y2 * w, z2 * w
    return ca.vertcat(
        ca.horzcat(1 - (yy + zz), xy - wz, xz + wy),
        ca.horzcat(xy + wz, 1 - (xx + zz), yz - wx),
        ca.horzcat(xz - wy, yz + wx, 1 - (xx + yy)),
    )


def renormalise(a: SX) -> SX:
    """One Newton step towards norm 1, a (3 - aᵀa)/2: Pinocchio's firstOrderNormalize."""
    return a * (1.5 - 0.5 * ca.sumsqr(a))


def exp_quaternion(w: SX) -> SX:
    """Quaternion (4,) of a rotation vector (3,) [rad]."""
    cosine, half_sinc = half_angle(ca.sumsqr(w))
    return ca.vertcat(half_sinc * w, cosine)


def log_quaternion(a: SX) -> tuple[SX, SX]:
    """Rotation vector (3,) [rad] of a quaternion (4,), of length at most π, and its coefficient k [-].

    The scale of the quaternion has no effect on the rotation vector.
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


def jexp_rotation(w: SX) -> SX:
    """Right Jacobian J(ω), shape (3, 3): exp(ω + dω) = exp(ω) exp(J dω) to first order."""
    _, _, b, c = exp_coefficients(ca.sumsqr(w))
    return _quadratic(w, 1 - c * ca.sumsqr(w), -b, c)


def jlog_rotation(w: SX, k: SX) -> tuple[SX, SX]:
    """J(ω)⁻¹ and J(-ω)⁻¹, shape (3, 3) each, with k from `log_quaternion`."""
    right = _quadratic(w, k, 0.5, log_coefficient(ca.sumsqr(w), k))
    return right, right.T


def jexp_pose(v: SX, w: SX) -> SX:
    """Right Jacobian of a pose exponential, shape (6, 6), translation first: [[J, Q], [0, J]]."""
    t, s = ca.sumsqr(w), ca.dot(w, v)
    _, _, b, c = exp_coefficients(t)
    slope_b, slope_c = exp_slopes(t, b, c)
    diagonal = _quadratic(w, 1 - c * t, -b, c)
    return _block(diagonal, _dual_part(v, w, (c - b) * s, -b, -slope_b * s, c, slope_c * s))


def jlog_pose(v: SX, w: SX, k: SX) -> tuple[SX, SX]:
    """Inverse of `jexp_pose` at (v, ω) and at (-v, -ω), shape (6, 6) each, with k from `log_quaternion`."""
    t, s = ca.sumsqr(w), ca.dot(w, v)
    d = log_coefficient(t, k)
    slope_d = log_slope(t, k, d)
    diagonal = _quadratic(w, k, 0.5, d)
    upper_right = _dual_part(v, w, -(2 * d + slope_d * t) * s, 0.5, 0.0, d, slope_d * s)
    return _block(diagonal, upper_right), _block(diagonal.T, upper_right.T)


def exp_pose(v: SX, w: SX) -> tuple[SX, SX]:
    """Position (3,) [m] and quaternion (4,) of the exponential of a twist: p = v + B ω x v + C ω x (ω x v)."""
    cosine, half_sinc, b, c = exp_coefficients(ca.sumsqr(w))
    wxv = ca.cross(w, v)
    return v + b * wxv + c * ca.cross(w, wxv), ca.vertcat(half_sinc * w, cosine)


def log_pose(p: SX, a: SX) -> tuple[SX, SX, SX]:
    """Twist (v (3,) [m], ω (3,) [rad]) of a position and a quaternion, and k: v = p - ω x p/2 + D ω x (ω x p)."""
    w, k = log_quaternion(a)
    wxp = ca.cross(w, p)
    return p - 0.5 * wxp + log_coefficient(ca.sumsqr(w), k) * ca.cross(w, wxp), w, k


def inverse_adjoint(p: SX, a: SX) -> SX:
    """Adjoint of the inverse of a pose, shape (6, 6): [[Rᵀ, -Rᵀ [p]x], [0, Rᵀ]]."""
    r = rotation_matrix(a).T
    return _block(r, -ca.mtimes(r, ca.skew(p)))


def _quadratic(w: SX, diagonal: SX, linear: SX | float, square: SX) -> SX:
    """diagonal I + linear [ω]x + square ω ωᵀ."""
    return diagonal * SX.eye(3) + linear * ca.skew(w) + square * ca.mtimes(w, w.T)


def _dual_part(v: SX, w: SX, diagonal: SX, lin_v: SX | float, lin_w: SX | float, mixed: SX, square: SX) -> SX:
    """diagonal I + lin_v [v]x + lin_w [ω]x + mixed (v ωᵀ + ω vᵀ) + square ω ωᵀ."""
    vwt = ca.mtimes(v, w.T)
    turn = ca.skew(lin_v * v + lin_w * w)
    return diagonal * SX.eye(3) + turn + mixed * (vwt + vwt.T) + square * ca.mtimes(w, w.T)


def _block(diagonal: SX, upper_right: SX) -> SX:
    return ca.blockcat([[diagonal, upper_right], [SX(3, 3), diagonal]])
