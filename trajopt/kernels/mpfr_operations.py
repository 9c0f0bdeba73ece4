"""Every operation of an SX function on gmpy2 (MPFR) numbers: Python text, and the functions that the text calls.

They correspond to `trajopt.kernels.operations`, rounded once to the precision of gmpy2's context; MPFR rounds `exp` and
similar functions correctly. NaN, infinities and signs of zeros follow the C library, with two differences: the range of
exponents is larger, so that results that overflow in doubles are finite here, and NaN has no sign.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import casadi as ca
import gmpy2

from trajopt.kernels.instruction_list import BOOLEAN
from trajopt.kernels.operations import LIBM_BINARY, LIBM_UNARY

GUARD = 32  # additional bits with which the inverse error function is computed

TEXT: Mapping[int, str] = {
    **{op: f"{name.removeprefix('trajopt_')}({{a}})" for op, name in LIBM_UNARY.items()},
    **{op: f"{name}({{a}}, {{b}})" for op, name in LIBM_BINARY.items()},
    ca.OP_ADD: "{a} + {b}",
    ca.OP_SUB: "{a} - {b}",
    ca.OP_MUL: "{a} * {b}",
    ca.OP_DIV: "{a} / {b}",
    ca.OP_NEG: "-{a}",
    ca.OP_SQ: "{a} * {a}",
    ca.OP_TWICE: "{a} + {a}",
    ca.OP_INV: "1 / {a}",
    ca.OP_FABS: "abs({a})",
    ca.OP_FMIN: "{a} if {a} <= {b} or {b} != {b} else {b}",
    ca.OP_FMAX: "{a} if {a} >= {b} or {b} != {b} else {b}",
    ca.OP_SIGN: "one if {a} > 0 else minus_one if {a} < 0 else {a}",
    ca.OP_POW: "{a} ** {b}",
    ca.OP_CONSTPOW: "{a} ** {b}",
    ca.OP_SQRT: "sqrt({a})",
    ca.OP_FLOOR: "floor({a})",
    ca.OP_CEIL: "ceil({a})",
    ca.OP_CALL: "table({a}, {b})",
}
"""Text of operations on reals; `a` and `b` are names."""

CONDITIONS: Mapping[int, str] = {
    ca.OP_LT: "{a} < {b}",
    ca.OP_LE: "{a} <= {b}",
    ca.OP_EQ: "{a} == {b}",
    ca.OP_NE: "{a} != {b}",
}
"""Text of comparisons of reals."""

LOGIC: Mapping[int, str] = {ca.OP_NOT: "not {a}", ca.OP_AND: "{a} and {b}", ca.OP_OR: "{a} or {b}"}
"""Text of operations on truth values."""

assert CONDITIONS.keys() | LOGIC.keys() == BOOLEAN


def inverse_error_function(x: Any) -> Any:
    """Inverse error function y of an mpfr x, erf(y) = x; ±inf at ±1 and NaN beyond.

    Newton's method solves erf(y) = x for |x| <= 1/2, and log erfc(y) = log(1 - x) above, where 1 - x is exact and
    nothing cancels. CasADi's function has an error of 1e-9 for x < -0.7, where it makes no Newton step.
    """
    if x != x or abs(x) >= 1:
        return gmpy2.mpfr("nan") if x != x or abs(x) > 1 else x / 0
    with gmpy2.context(gmpy2.get_context(), precision=gmpy2.get_context().precision + GUARD):
        root = _inverse_near_zero(x) if abs(x) <= 0.5 else gmpy2.copy_sign(_inverse_of_complement(1 - abs(x)), x)
    return +root


def _inverse_near_zero(x: Any) -> Any:
    """Inverse error function for |x| <= 1/2; the initial value is at most 13 % off."""
    if x == 0:
        return x
    half_root_of_pi = gmpy2.sqrt(gmpy2.const_pi()) / 2

    def step(y: Any) -> Any:
        return half_root_of_pi * (gmpy2.erf(y) - x) * gmpy2.exp(y * y)

    return _newton(step, half_root_of_pi * x)


def _inverse_of_complement(t: Any) -> Any:
    """Solution y of erfc(y) = t for 0 < t < 1/2."""
    half_root_of_pi, target = gmpy2.sqrt(gmpy2.const_pi()) / 2, gmpy2.log(t)

    def step(y: Any) -> Any:
        complement = gmpy2.erfc(y)
        return (target - gmpy2.log(complement)) * half_root_of_pi * complement * gmpy2.exp(y * y)

    return _newton(step, gmpy2.sqrt(-target))


def _newton(step: Callable[[Any], Any], y: Any) -> Any:
    """Limit of Newton steps; the iteration stops when the next step would only change guard bits."""
    exact = gmpy2.exp2(gmpy2.mpfr(GUARD // 2 - gmpy2.get_context().precision))
    for _ in range(gmpy2.get_context().precision):
        change = step(y)
        y = y - change
        if abs(change) <= exact * abs(y):
            break
    return y


FUNCTIONS: Mapping[str, Any] = {
    **{name: getattr(gmpy2, name) for name in ("sqrt", "exp", "log", "sin", "cos", "tan", "asin", "acos", "atan")},
    **{name: getattr(gmpy2, name) for name in ("sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf")},
    **{name: getattr(gmpy2, name) for name in ("log1p", "expm1", "fmod", "remainder", "atan2", "hypot")},
    "floor": gmpy2.rint_floor,  # `floor` gives an integer, which has no infinity
    "ceil": gmpy2.rint_ceil,
    "copysign": gmpy2.copy_sign,
    "erfinv": inverse_error_function,
    "abs": abs,
    "one": gmpy2.mpfr(1),
    "minus_one": gmpy2.mpfr(-1),
    "zero": gmpy2.mpfr(0),
}
"""Names that occur in the texts."""
