"""Inverse error function of CasADi as an expression, so that compiled code gives the same bits."""

from __future__ import annotations

import casadi as ca
from casadi import SX

from trajopt.lie.series import polynomial

# CasADi's constants (casadi/core/calculus.hpp), from the lowest power: a ratio of two polynomials in x² up to 0.7, and
# beyond it one in z = sqrt(-log((1 - |x|) / 2)).
_INSIDE = (
    (0.886226899, -1.645349621, 0.914624893, -0.140543331),
    (1.0, -2.118377725, 1.442710462, 0.012229801, -0.329097515),
)
_OUTSIDE = (-1.970840454, -1.624906493, 3.429567803, 1.641345311), (1.0, 3.543889200, 1.637067800)


def erfinv() -> ca.Function:
    """Function y(x) with erf(y) = x [-], as CasADi computes it: a ratio, then two steps of Newton's method.

    CasADi makes no steps below -0.7.
    """
    x = SX.sym("x")
    size, square = ca.fabs(x), x * x
    z = ca.sqrt(-ca.log((1 - size) / 2))
    tail = polynomial(_OUTSIDE[0], z) / polynomial(_OUTSIDE[1], z)
    y = ca.if_else(x < 0.7, x * polynomial(_INSIDE[0], square) / polynomial(_INSIDE[1], square), tail)
    for _ in range(2):
        y = y - (ca.erf(y) - x) / (2.0 / ca.pi**0.5 * ca.exp(-y * y))
    y = ca.if_else(x < -0.7, -tail, y)
    y = ca.if_else(size < 1, y, ca.if_else(size == 1, ca.inf, float("nan")))
    return ca.Function("erfinv", [x], [ca.copysign(y, x)])  # a selection is a sum, in which -0.0 would become 0.0
