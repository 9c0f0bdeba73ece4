"""Power series near zero, where closed forms cancel or divide zero by zero."""

from __future__ import annotations

import casadi as ca
from casadi import SX

from trajopt.lie.scalars import plus, times


def polynomial(coefficients: tuple[float, ...], t: SX) -> SX:
    """Polynomial Σ c_i tⁱ by Horner's rule."""
    result = SX(coefficients[-1])
    for c in coefficients[-2::-1]:
        result = plus(SX(c), times(t, result))
    return result


def near_zero(t: SX, threshold: float) -> tuple[SX, SX]:
    """Whether t is below the threshold, and a safe argument for closed forms: t, or 1 below the threshold.

    SX multiplies the derivative of the branch that is not taken by zero, and 0 · ∞ is NaN.
    """
    small = t < threshold
    return small, ca.if_else(small, 1.0, t)
