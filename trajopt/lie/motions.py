"""Rotations and rigid motions as expressions: exp, log and their right Jacobians.

Conventions are Pinocchio's: a twist is (v, w), linear first; Jacobians are right ones,
log(M exp(δ)) = log(M) + jlog(M) δ and exp(ξ + δ) = exp(ξ) exp(jexp(ξ) δ) to first order.

Values and derivatives of every order are finite everywhere. A series replaces a closed form that cancels, or has a root
or a quotient of zeros. The branch that is not taken is evaluated at a safe argument, because SX multiplies its
derivative by zero and 0 · ∞ is not 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.lie.matrices import skew
from trajopt.lie.scalars import matrix3
from trajopt.lie.series import polynomial

NEAR = 0.1  # x = θ² up to which series replace closed forms [rad²]
DELTA = (1 / 720, 1 / 30240, 1 / 1209600, 1 / 47900160, 691 / 1307674368000, 1 / 74724249600)
"""Coefficients of δ in powers of x: Bernoulli numbers, β = Σ |B_2k| x^(k-1) / (2k)!."""
DELTA_SLOPE = tuple(k * c for k, c in enumerate(DELTA))[1:]


def exp3(w: SX) -> SX:
    """Rotation SX (3, 3) = 1 + a [w] + b [w]² of a rotation vector w (3,) [rad], Rodrigues' formula."""
    s = _stumpff(w)
    return _quadratic(w, 1 - s.x * s.b, s.a, s.b)


def jexp3(w: SX) -> SX:
    """Right Jacobian of exp3, SX (3, 3) = a 1 - b [w] + c w wᵀ, as pin.Jexp3."""
    s = _stumpff(w)
    return _quadratic(w, s.a, -s.b, s.c)


def exp6(twist: SX) -> tuple[SX, SX]:
    """Rotation (3, 3) and translation (3,) = v + b w × v + c w × (w × v) of a twist (v, w), SX (6,), as pin.exp6."""
    v, w = twist[:3], twist[3:]
    s = _stumpff(w)
    wv = ca.cross(w, v)
    return _quadratic(w, 1 - s.x * s.b, s.a, s.b), v + s.b * wv + s.c * ca.cross(w, wv)


def jexp6(twist: SX) -> SX:
    """Right Jacobian of exp6, SX (6, 6) = [[J, D], [0, J]] with J = jexp3(w), as pin.Jexp6.

    D is the derivative of jexp3 at w in direction v: a rigid motion is a rotation in dual numbers w + ε v.
    """
    v, w = twist[:3], twist[3:]
    s = _stumpff(w)
    dx = 2 * ca.dot(w, v)
    j = _quadratic(w, s.a, -s.b, s.c)
    # With c4 = (1/2 - b) / x and c5 = (1/6 - c) / x: da/dx = (c - b) / 2, db/dx = c4 - c / 2, dc/dx = (3 c5 - c4) / 2.
    da, db, dc = (s.c - s.b) / 2, s.c4 - s.c / 2, (3 * s.c5 - s.c4) / 2
    d = _quadratic(w, dx * da, -dx * db, dx * dc) - s.b * skew(v) + s.c * _symmetric_product(v, w)
    return _triangular(j, d)


def log3(rotation: SX) -> SX:
    """Rotation vector (3,) [rad] of a rotation SX (3, 3), of length <= π, as pin.log3."""
    return _log_terms(rotation).w


def jlog3(rotation: SX) -> SX:
    """Right Jacobian of log3, SX (3, 3) = α 1 + [w]/2 + β w wᵀ, as pin.Jlog3."""
    return _jlog3(_log_terms(rotation))


def log6(rotation: SX, translation: SX) -> SX:
    """Twist (6,) [m, rad] of a rigid motion SX (3, 3), (3,), as pin.log6: v = p - w × p / 2 + β w × (w × p)."""
    return _log6(_log_terms(rotation), translation)


def jlog6(rotation: SX, translation: SX) -> SX:
    """Right Jacobian of log6, SX (6, 6), as pin.Jlog6."""
    return log6_and_jacobian(rotation, translation)[1]


def log6_and_jacobian(rotation: SX, translation: SX) -> tuple[SX, SX]:
    """log6 (6,) and jlog6 (6, 6), which share most of their 336 instructions; separately they take 207 and 330."""
    expansion = Log6(rotation, translation)
    return expansion.twist, expansion.jacobian


class Log6:
    """log6 of a rigid motion M with its first and second derivatives, which share what they have in common.

    A rigid motion is a rotation in dual numbers w + ε v, so that each 3 × 3 block of the twist's linear part is the
    derivative in direction v of that of a rotation.

    Args:
        rotation: Of M, SX (3, 3).
        translation: Of M, SX (3,).

    Attributes:
        twist: log6(M), (6,), as pin.log6.
        jacobian: Right Jacobian jlog6 = [[J, D], [0, J]] (6, 6) with J = jlog3 and D its derivative, as pin.Jlog6.
    """

    def __init__(self, rotation: SX, translation: SX) -> None:
        terms = self._terms = _log_terms(rotation)
        self.twist = _log6(terms, translation)
        v, w = self.twist[:3], terms.w
        dx = self._dx = 2 * ca.dot(w, v)
        # β = 1/12 + x δ and dβ/dx = (β² - 3 δ) / 2, from d(θ/2 cot θ/2)/dθ.
        slope = self._dbeta = (terms.beta * terms.beta - 3 * terms.delta) / 2 * dx
        d = _quadratic(w, -(terms.beta * dx + terms.x * slope), 0.5, slope, v) + terms.beta * _symmetric_product(v, w)
        self.jacobian = _triangular(_jlog3(terms), d)

    def curvature(self, b: SX) -> SX:
        """Hessian of bᵀ log6(M exp ξ) at ξ = 0, symmetric (6, 6), of b (6,).

        That of a rotation, ∂(jlog3ᵀ b)/∂w jlog3 without its antisymmetric part, is, with s = w · b and α = 1 - x β,

            α β (b wᵀ + w bᵀ) + β ((b × w) wᵀ + w (b × w)ᵀ) / 2 + s (α β - 1/4) 1 + 3 s (β² - δ) w wᵀ.
        """
        t, dx, dbeta, v, w = self._terms, self._dx, self._dbeta, self.twist[:3], self._terms.w
        first, second, square = b[:3], b[3:], t.beta * t.beta
        near = t.x < NEAR
        # dδ/dx = (β² - 5 δ) / 2x, from β = 1/12 + x δ.
        delta_slope = ca.if_else(
            near, polynomial(DELTA_SLOPE, t.x), (square - 5 * t.delta) / (2 * ca.if_else(near, 1, t.x))
        )
        alpha = 1 - t.x * t.beta
        mixed, outer = alpha * t.beta, 3 * (square - t.delta)
        dmixed = alpha * dbeta - (t.beta * dx + t.x * dbeta) * t.beta
        douter = 3 * (2 * t.beta * dbeta - delta_slope * dx)
        s, ds, s2 = ca.dot(w, first), ca.dot(v, first), ca.dot(w, second)
        bw = ca.cross(first, w)
        along = mixed * first + t.beta / 2 * bw
        across = dmixed * first + dbeta / 2 * bw + t.beta / 2 * ca.cross(first, v) + s * outer * v
        across += mixed * second + t.beta / 2 * ca.cross(second, w) + (ds * outer + s * douter + s2 * outer) / 2 * w
        diagonal = (ds + s2) * (mixed - 0.25) + s * dmixed
        upper = _symmetric_product(along + s * outer / 2 * w, w) + s * (mixed - 0.25) * SX.eye(3)
        lower = _symmetric_product(across, w) + _symmetric_product(along, v) + diagonal * SX.eye(3)
        return SX(ca.blockcat([[SX(3, 3), upper], [upper, lower]]))


@dataclass(frozen=True)
class _Stumpff:
    """x = θ², a = sin θ / θ, b = (1 - cos θ) / x, c = (1 - a) / x, c4 = (1/2 - b) / x, c5 = (1/6 - c) / x."""

    x: SX
    a: SX
    b: SX
    c: SX
    c4: SX
    c5: SX


def _stumpff(w: SX) -> _Stumpff:
    x = ca.dot(w, w)
    small = x < 0.25
    c4 = polynomial(tuple((-1) ** k / math.factorial(2 * k + 4) for k in range(6)), x)
    c5 = polynomial(tuple((-1) ** k / math.factorial(2 * k + 5) for k in range(6)), x)
    c3 = 1 / 6 - x * c5
    y = ca.if_else(small, 1, x)
    theta = ca.sqrt(y)
    half = ca.sin(theta / 2) / theta
    a, b = ca.sin(theta) / theta, 2 * half * half  # 1 - cos θ = 2 sin² θ/2 does not cancel
    c = (1 - a) / y
    return _Stumpff(
        x,
        ca.if_else(small, 1 - x * c3, a),
        ca.if_else(small, 0.5 - x * c4, b),
        ca.if_else(small, c3, c),
        ca.if_else(small, c4, (0.5 - b) / y),
        ca.if_else(small, c5, (1 / 6 - c) / y),
    )


@dataclass(frozen=True)
class _LogTerms:
    """w = log3(R), x = |w|², β = (1 - θ/2 cot θ/2) / x = 1/12 + x δ."""

    w: SX
    x: SX
    beta: SX
    delta: SX


def _log_terms(r: SX) -> _LogTerms:
    t = _quaternion_multiple(r)
    u, scalar = t[:3], t[3]
    square = ca.dot(u, u)
    # w = (2 ψ / |u|) u with half angle ψ = atan2(|u|, scalar); for small ψ as a series in z = tan² ψ.
    small = square < 1e-3 * scalar * scalar
    n = ca.sqrt(ca.if_else(small, 1, square))
    inverse = 1 / ca.if_else(small, scalar, 1)
    z = square * inverse * inverse
    series = inverse * polynomial(tuple((-1) ** k / (2 * k + 1) for k in range(6)), z)
    # Where the scalar is negative, the same rotation has the opposite quaternion: ψ - π in place of ψ.
    half_angle = ca.atan2(n, scalar) - ca.if_else(scalar < 0, math.pi, 0)
    factor = 2 * ca.if_else(small, series, half_angle / n)
    x = factor * factor * square
    near = x < NEAR
    y = ca.if_else(near, 1, x)
    delta_series = polynomial(DELTA, x)
    alpha = factor * scalar / 2  # ψ cot ψ
    delta = ca.if_else(near, delta_series, ((1 - alpha) / y - 1 / 12) / y)
    return _LogTerms(factor * u, x, 1 / 12 + x * delta, delta)


def _quaternion_multiple(r: SX) -> SX:
    """4 q_k (x, y, z, w) of the quaternion of R, SX (4,), for a component q_k with |q_k| >= 1/2.

    The four choices are the columns of 4 q qᵀ, whose entries are sums of those of R (Shepperd 1978). The trace selects
    w, otherwise the largest diagonal entry selects. Unlike the vector of R - Rᵀ this is accurate near π.
    """
    trace = r[0, 0] + r[1, 1] + r[2, 2]
    rest = 1 - trace
    diagonal = [rest + 2 * r[i, i] for i in range(3)]
    xy, yz, zx = r[1, 0] + r[0, 1], r[2, 1] + r[1, 2], r[0, 2] + r[2, 0]
    wx, wy, wz = r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]
    by_w = trace > 0
    by_x = ca.logic_and(r[0, 0] >= r[1, 1], r[0, 0] >= r[2, 2])
    by_y = r[1, 1] >= r[2, 2]
    cases = [(diagonal[0], xy, zx, wx), (xy, diagonal[1], yz, wy), (zx, yz, diagonal[2], wz)]
    turned = [ca.if_else(by_x, x, ca.if_else(by_y, y, z)) for x, y, z in zip(*cases, strict=True)]
    return ca.vertcat(*[ca.if_else(by_w, a, b) for a, b in zip((wx, wy, wz, 1 + trace), turned, strict=True)])


def _jlog3(terms: _LogTerms) -> SX:
    return _quadratic(terms.w, 1 - terms.x * terms.beta, 0.5, terms.beta)


def _log6(terms: _LogTerms, p: SX) -> SX:
    wp = ca.cross(terms.w, p)
    return ca.vertcat(p - wp / 2 + terms.beta * ca.cross(terms.w, wp), terms.w)


def _quadratic(w: SX, diagonal: SX, linear: SX | float, outer: SX, cross: SX | None = None) -> SX:
    """diagonal · 1 + linear [cross] + outer w wᵀ, SX (3, 3); cross is w unless given."""
    s = [linear * (w if cross is None else cross)[i] for i in range(3)]
    o = [outer * w[i] for i in range(3)]
    xy, yz, zx = o[0] * w[1], o[1] * w[2], o[2] * w[0]
    xx, yy, zz = (diagonal + o[i] * w[i] for i in range(3))
    return _matrix([[xx, xy - s[2], zx + s[1]], [xy + s[2], yy, yz - s[0]], [zx - s[1], yz + s[0], zz]])


def _symmetric_product(v: SX, w: SX) -> SX:
    """v wᵀ + w vᵀ, SX (3, 3)."""
    upper = {(i, j): v[i] * w[j] + w[i] * v[j] if i != j else 2 * v[i] * w[i] for i in range(3) for j in range(i, 3)}
    return _matrix([[upper[min(i, j), max(i, j)] for j in range(3)] for i in range(3)])


def _triangular(j: SX, d: SX) -> SX:
    return SX(ca.blockcat([[j, d], [SX(np.zeros((3, 3))), j]]))


def _matrix(rows: list[list[SX]]) -> SX:
    return matrix3([row[j] for j in range(3) for row in rows])
