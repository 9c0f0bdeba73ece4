"""Blocks of 3 × 3 and 6 × 6 matrices in exponentials, logarithms and their Jacobians."""

from __future__ import annotations

import casadi as ca
from casadi import SX


def skew(w: SX) -> SX:
    """Skew matrix [w], SX (3, 3), with [w] x = w × x for w (3,)."""
    return SX(ca.skew(w))


def quadratic(w: SX, diagonal: SX, linear: SX | float, square: SX) -> SX:
    """Matrix diagonal I + linear [ω]x + square ω ωᵀ, SX (3, 3)."""
    return diagonal * SX.eye(3) + linear * ca.skew(w) + square * ca.mtimes(w, w.T)


def dual_quadratic(v: SX, w: SX, diagonal: SX, lin_v: SX | float, lin_w: SX | float, mixed: SX, square: SX) -> SX:
    """Matrix diagonal I + lin_v [v]x + lin_w [ω]x + mixed (v ωᵀ + ω vᵀ) + square ω ωᵀ, SX (3, 3).

    It is the coefficient of ε of a `quadratic` in the dual number ω + ε v.
    """
    turn = ca.skew(lin_v * v + lin_w * w)
    return diagonal * SX.eye(3) + turn + mixed * symmetric_product(v, w) + square * ca.mtimes(w, w.T)


def symmetric_product(v: SX, w: SX) -> SX:
    """Matrix v wᵀ + w vᵀ, SX (3, 3)."""
    product = ca.mtimes(v, w.T)
    return product + product.T


def block_triangular(diagonal: SX, upper_right: SX) -> SX:
    """Matrix [[diagonal, upper_right], [0, diagonal]], SX (6, 6)."""
    return ca.blockcat([[diagonal, upper_right], [SX(3, 3), diagonal]])
