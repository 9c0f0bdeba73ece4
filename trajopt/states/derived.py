"""Everything that follows from x ⊕ dx and x1 ⊖ x0 alone: derivatives, numeric functions, and a test of both formulas.

With B(x) = d(x ⊕ dx)/d dx at dx = 0 and P(x) = d(x' ⊖ x)/dx' at x' = x, in tangent coordinates

    d(x ⊕ dx)/dx = P(x ⊕ dx) · ∂(x ⊕ dx)/∂x · B(x)        d(x ⊕ dx)/d dx = P(x ⊕ dx) · ∂(x ⊕ dx)/∂dx
    d(x1 ⊖ x0)/dx0 = ∂(x1 ⊖ x0)/∂x0 · B(x0)               d(x1 ⊖ x0)/dx1 = ∂(x1 ⊖ x0)/∂x1 · B(x1)

These identities are exact, so derivatives are as accurate as the two formulas themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.checks import check_array
from trajopt.errors import InvalidArgumentError
from trajopt.kernels.derivatives import jacobian
from trajopt.model.functions import call_user
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.states.base import StateAbstract

_SMALL, _TOLERANCE = 1e-2, 1e-7  # step of the test, and tolerance of its identities [units of dx]
_GUARD = (
    "guard the formula near zero on both sides, as in casadi.if_else(t < 1e-4, series, closed_form(casadi.if_else("
    "t < 1e-4, 1, t))); casadi.sqrt, norm_2, acos and quotients are singular at zero"
)


def derivatives(state: StateAbstract) -> dict[str, ca.Function]:
    """Derivatives of a state's two formulas as functions of expressions; each result is sparse.

    "basis" (x) -> B, "projection" (x) -> P, "jintegrate" (x, dx) and "jdifference" (x0, x1) -> two matrices (ndx, ndx).
    """
    x, y, dx = SX.sym("x", state.nx), SX.sym("y", state.nx), SX.sym("dx", state.ndx)
    moved, apart, n = state.sx_integrate(x, dx), state.sx_difference(x, y), state.nx
    by_both, by_ends = jacobian(moved, ca.vertcat(x, dx)), jacobian(apart, ca.vertcat(x, y))
    basis = _function("basis", [x], [ca.substitute(by_both[:, n:], dx, SX.zeros(state.ndx))])
    projection = _function("projection", [x], [ca.substitute(by_ends[:, n:], y, x)])
    there = projection(moved)
    return {
        "basis": basis,
        "projection": projection,
        "jintegrate": _function("jintegrate", [x, dx], [there @ by_both[:, :n] @ basis(x), there @ by_both[:, n:]]),
        "jdifference": _function("jdifference", [x, y], [by_ends[:, :n] @ basis(x), by_ends[:, n:] @ basis(y)]),
    }


def numbers(state: StateAbstract) -> dict[str, ca.Function]:
    """A state's expressions as numeric functions: "integrate", "difference", "jintegrate", "jdifference"."""
    x, y, dx = SX.sym("x", state.nx), SX.sym("y", state.nx), SX.sym("dx", state.ndx)
    return {
        "integrate": ca.Function("integrate", [x, dx], [state.sx_integrate(x, dx)]),
        "difference": ca.Function("difference", [x, y], [state.sx_difference(x, y)]),
        "jintegrate": ca.Function("jintegrate", [x, dx], list(state.sx_jintegrate(x, dx))),
        "jdifference": ca.Function("jdifference", [x, y], list(state.sx_jdifference(x, y))),
    }


def curved(state: StateAbstract) -> npt.NDArray[np.bool_]:
    """Mask (ndx,) of the directions in which x ⊕ dx has a nonzero second derivative, read-only."""
    x, dx = SX.sym("x", state.nx), SX.sym("dx", state.ndx)
    reached = state.sx_integrate(x, dx)
    along = [ca.jacobian(ca.jacobian(reached, dx[i]), dx[i]) for i in range(state.ndx)]
    mask = np.array([second.nnz() > 0 for second in along], dtype=np.bool_)
    mask.flags.writeable = False
    return mask


def _function(name: str, symbols: list[SX], results: list[SX]) -> ca.Function:
    return ca.Function(name, symbols, [ca.sparsify(result) for result in results])


def check_formulas(state: StateAbstract) -> None:
    """Tests the two formulas of a user's state at zero() and near it.

    Raises:
        InvalidArgumentError: A result has a wrong size, x ⊕ 0 is not x, x ⊖ x is not 0, ⊖ does not undo ⊕, or a
            value or a derivative is not finite.
    """
    name = type(state).__name__
    _check_shapes(state, name)
    zero = check_array(f"{name}.zero()", state.zero(), (state.nx,))
    if getattr(state.zero(), "dtype", None) != np.float64:
        raise InvalidArgumentError(
            f"{name}.zero(): expected an array of floats, got {state.zero()!r}; return numpy.array([1.0]), say"
        )
    step = _SMALL * np.random.default_rng(0).uniform(-1.0, 1.0, state.ndx)
    none = np.zeros(state.ndx)
    beside = state.integrate_unchecked(zero, step)
    _check_equal(f"{name}.sx_integrate", "zero() ⊕ dx to be finite", beside, beside)
    for x, where in ((zero, "zero()"), (beside, "zero() ⊕ dx")):
        _check_equal(f"{name}.sx_integrate", f"x ⊕ 0 = x at x = {where}", state.integrate_unchecked(x, none), x)
        _check_equal(f"{name}.sx_difference", f"x ⊖ x = 0 at x = {where}", state.difference_unchecked(x, x), none)
        there = state.integrate_unchecked(x, step)
        back = state.difference_unchecked(x, there)
        _check_equal(f"{name}.sx_difference", f"(x ⊕ dx) ⊖ x = dx at x = {where}", back, step)
        slope = state._jdifference(x, x)[1]
        _check_equal(
            f"{name}.sx_difference", f"d(x' ⊖ x)/dx' = 1 at x' = x = {where}", slope, np.eye(state.ndx), _GUARD
        )
        slope = state._jintegrate(x, none)[1]
        _check_equal(f"{name}.sx_integrate", f"d(x ⊕ dx)/d dx = 1 at x = {where}", slope, np.eye(state.ndx), _GUARD)


def _check_shapes(state: StateAbstract, name: str) -> None:
    x, y, dx = SX.sym("x", state.nx), SX.sym("y", state.nx), SX.sym("dx", state.ndx)
    for method, arguments, size in (("sx_integrate", (x, dx), state.nx), ("sx_difference", (x, y), state.ndx)):
        value = call_user(f"{name}.{method}", getattr(state, method), *arguments)
        if value.shape != (size, 1):
            raise InvalidArgumentError(f"{name}.{method}: expected shape ({size}, 1), got {value.shape}")
        declared = {s.element_hash() for s in ca.symvar(ca.vertcat(*arguments))}
        strangers = [str(s) for s in ca.symvar(value) if s.element_hash() not in declared]
        if strangers:
            raise InvalidArgumentError(
                f"{name}.{method}: expected an expression of its arguments alone, got one with {strangers[0]}; replace "
                "it by a number, since states have no run-time parameters"
            )


def _check_equal(formula: str, expected: str, actual: Reals, value: Reals, cure: str = "") -> None:
    """Raises InvalidArgumentError unless two arrays are equal and finite."""
    finite = bool(np.all(np.isfinite(actual)))
    if not finite or np.abs(actual - value).max(initial=0.0) > _TOLERANCE:
        cure = cure or ("sx_integrate and sx_difference must undo each other" if finite else _GUARD)
        raise InvalidArgumentError(f"{formula}: expected {expected}, got {actual.tolist()}; {cure}")
