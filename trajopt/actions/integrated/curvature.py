"""Second derivatives of a move y = x ⊕ s, and of rates at y that are mapped to the tangent space at x.

They follow from first derivatives J₁ = ∂y/∂x and J₂ = ∂y/∂s of the state in closed form, which are differentiated once.
With T(y, g) = ∂(J₂(y, d)ᵀ g)/∂d at d = 0, the second derivatives of gᵀ(y' ⊖ y) at y' = y are

    ∂(J₂ᵀ g)/∂(x, s) - J₂ᵀ T(y, g) (J₁, J₂)                  by s and (x, s),
    ∂(J₁ᵀ g)/∂x      - J₁ᵀ T(y, g) J₁ + T(x, J₁ᵀ g)          by x and x.

Logarithms of poses do not occur. For SE(3) that takes 1,924 instructions instead of 8,973.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
from casadi import SX

from trajopt.actions.lagrangian import symmetric
from trajopt.kernels.derivatives import jacobian
from trajopt.states.base import StateAbstract


def of_move(state: StateAbstract, x: SX, s: SX, g: SX) -> tuple[SX, SX]:
    """Gradient (ndx,) by s, and Hessian (2 ndx, 2 ndx) by x and s, of gᵀ(y' ⊖ y) with y' = x ⊕ s near y.

    Args:
        state: The state's manifold.
        x: Symbol of the state at the start (nx,).
        s: Symbol of the step (ndx,).
        g: Gradient at y (ndx,), constant.
    """
    held = SX.sym("g", state.ndx)
    J1, J2 = state.sx_jintegrate(x, s)
    basis = state.sx_tangent_basis(x)
    xx, sx, ss = jacobian(J1.T @ held, x) @ basis, jacobian(J2.T @ held, x) @ basis, jacobian(J2.T @ held, s)
    xx, sx, ss = ca.substitute([xx, sx, ss], [held], [g])
    bend = _bend(state, state.sx_integrate(x, s), g)
    sx, ss = sx - J2.T @ bend @ J1, ss - J2.T @ bend @ J2
    xx += _bend(state, x, J1.T @ g) - J1.T @ bend @ J1
    hessian = ca.blockcat([[ca.tril2symm(ca.tril(xx)), sx.T], [sx, ca.tril2symm(ca.tril(ss))]])
    return J2.T @ g, SX(ca.sparsify(hessian))


@dataclass(frozen=True)
class BentRate:
    """Derivatives of the rate κ = J₂⁻¹ k at y as seen from x, with k constant.

    Attributes:
        K: Derivative of κ by x and s (ndx, 2 ndx).
        hessian: Hessian (2 ndx, 2 ndx) of pᵀ κ by x and s, with p constant.
        Q: Derivative of J₂⁻ᵀ p by x and s (ndx, 2 ndx).
    """

    K: SX
    hessian: SX
    Q: SX


def of_rate(state: StateAbstract, x: SX, s: SX, p: SX, k: SX) -> BentRate:
    """Derivatives of the rate k (ndx,) at x ⊕ s, as seen from x, with multipliers p (ndx,); arguments as above."""
    n, dx, held = state.ndx, SX.sym("dx", state.ndx), SX.sym("k", state.ndx)
    inverse, variables = state.sx_jintegrate_inverse(state.sx_integrate(x, dx), s), ca.vertcat(dx, s)
    K, Q = jacobian(inverse @ held, variables), jacobian(inverse.T @ p, variables)
    hessian = symmetric(jacobian(K.T @ p, variables))
    symbols, values = ca.vertcat(dx, held), ca.vertcat(SX.zeros(n), k)
    return BentRate(*(SX(ca.sparsify(each)) for each in ca.substitute([K, hessian, Q], [symbols], [values])))


def _bend(state: StateAbstract, y: SX, g: SX) -> SX:
    """T(y, g) = ∂(J₂(y, d)ᵀ g)/∂d at d = 0, (ndx, ndx)."""
    d, held = SX.sym("d", state.ndx), SX.sym("g", state.ndx)
    T = jacobian(state.sx_jintegrate(y, d)[1].T @ held, d)
    return SX(ca.substitute(T, ca.vertcat(d, held), ca.vertcat(SX.zeros(state.ndx), g)))
