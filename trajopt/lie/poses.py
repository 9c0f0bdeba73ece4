"""Exponential and logarithm of poses as expressions, with their right Jacobians.

Poses are a position and a unit quaternion; twists are local, translation first. A pose is a rotation in dual numbers:
its formulas are those of `trajopt.lie.rotations` with ω + ε v in place of ω. The upper right block of a Jacobian is
therefore the coefficient of ε, with s = ωᵀv.

Sources: Solà, Deray, Atchuthan, A micro Lie theory for state estimation in robotics, 2018, appendix D; Barfoot, State
Estimation for Robotics, section 7.1; own derivation of the dual-number form.
"""

from __future__ import annotations

import casadi as ca
from casadi import SX

from trajopt.lie.coefficients import exp_coefficients, exp_slopes, log_coefficient, log_slope
from trajopt.lie.matrices import block_triangular, dual_quadratic, quadratic
from trajopt.lie.quaternions import quaternion_to_rotation
from trajopt.lie.rotations import log_quaternion


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


def jexp_pose(v: SX, w: SX) -> SX:
    """Right Jacobian of a pose exponential, shape (6, 6), translation first: [[J, Q], [0, J]]."""
    t, s = ca.sumsqr(w), ca.dot(w, v)
    _, _, b, c = exp_coefficients(t)
    slope_b, slope_c = exp_slopes(t, b, c)
    diagonal = quadratic(w, 1 - c * t, -b, c)
    return block_triangular(diagonal, dual_quadratic(v, w, (c - b) * s, -b, -slope_b * s, c, slope_c * s))


def jlog_pose(v: SX, w: SX, k: SX) -> tuple[SX, SX]:
    """Inverse of `jexp_pose` at (v, ω) and at (-v, -ω), shape (6, 6) each, with k from `log_quaternion`."""
    t, s = ca.sumsqr(w), ca.dot(w, v)
    d = log_coefficient(t, k)
    slope_d = log_slope(t, k, d)
    diagonal = quadratic(w, k, 0.5, d)
    upper_right = dual_quadratic(v, w, -(2 * d + slope_d * t) * s, 0.5, 0.0, d, slope_d * s)
    return block_triangular(diagonal, upper_right), block_triangular(diagonal.T, upper_right.T)


def inverse_adjoint(p: SX, a: SX) -> SX:
    """Adjoint of the inverse of a pose, shape (6, 6): [[Rᵀ, -Rᵀ [p]x], [0, Rᵀ]]."""
    r = quaternion_to_rotation(a).T
    return block_triangular(r, -ca.mtimes(r, ca.skew(p)))
