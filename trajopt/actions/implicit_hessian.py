"""Hessian of the Lagrangian of a knot in contact, from second derivatives of a single number.

Contacts and impulses solve r(x, u, z) = 0 for motion and forces z. With Φ(x, u, z) the Lagrangian, μ = r_z⁻ᵀ Φ_z and
Z = dz/d(x, u), the Hessian of Φ(x, u, z(x, u)) is

    H_yy + H_zyᵀ Z + Zᵀ H_zy + Zᵀ H_zz Z,      H = ∇²(Φ - μᵀ r) with μ and z held constant.
r is linear in z, so H_zz comes only from the costs and rows of forces. The first call computes z, μ and the factors of
Z; the second call computes the second derivatives. The rest are matrix products, which skip inactive contacts.
"""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
from casadi import SX

from trajopt.actions.expansion import Multipliers
from trajopt.actions.lagrangian import lagrangian, symmetric, with_transpose
from trajopt.contacts.implicit_node import ImplicitNode
from trajopt.contacts.implicit_steps import moving, solution_steps
from trajopt.kernels.derivatives import jacobian
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.parts import Bindings, named_call


def add_implicit_hessian(
    program: Program,
    node: ImplicitNode,
    values: Mapping[str, SX],
    inputs: Bindings,
    multipliers: Multipliers,
) -> Array:
    """Adds the steps that compute the Hessian of the Lagrangian (n, n) of a model with implicit dynamics.

    Args:
        program: Program that gets the steps.
        node: Equations that the dynamics solve.
        values: Expressions "cost", "xnext" and, if there are any, "rows"; they may depend on the solution z.
            "curvature" is the Hessian (n, n) of a part of the costs that is not in "cost"; it may not depend on z.
        inputs: Symbols x, u and parameters, each with its array.
        multipliers: λ and y.
    """
    state, z = node.instant.state, node.symbols
    expressions = node.in_symbols(values)
    total, reached, bindings = lagrangian(state, expressions, multipliers)
    xnext = expressions["xnext"]
    by_z = ca.substitute(jacobian(total, z).T, reached, xnext)
    wanted = node.insert({"mu": node.adjoint(ca.densify(by_z)), **node.derivative_results()})
    arguments: Bindings = [*inputs, *bindings]
    r = named_call(program, "Lagrangian: adjoint", arguments, {"z": node.solution, **wanted})
    mu = SX.sym("mu", z.numel())
    blocks = _second_derivatives(node, total - ca.dot(mu, node.residual))
    blocks["yy"] += expressions["curvature"]
    blocks = {name: SX(ca.sparsify(ca.substitute(block, reached, xnext))) for name, block in blocks.items()}
    h = named_call(program, "Lagrangian: Hessian", [*arguments, (z, r["z"]), (mu, r["mu"])], blocks)
    Z, groups = solution_steps(program, node.stack, r), moving(program, node.stack, r)
    H = h["yy"]
    if blocks["zz"].nnz():
        middle = program.matmul(h["zz"], Z, rows=groups, inner=groups)
        program.accumulate(H, Z, middle, transpose_a=True, symmetric=True, inner=groups)
    mixed = program.matmul(h["zy"], Z, transpose_a=True, inner=groups)
    return with_transpose(program, H, mixed)


def _second_derivatives(node: ImplicitNode, scalar: SX) -> dict[str, SX]:
    """Blocks "yy" (n, n), "zy" (nz, n) and "zz" (nz, nz) by (x, u) in tangent coordinates and z."""
    i, state, z = node.instant, node.instant.state, node.symbols
    step, s = SX.sym("dx", state.ndx), state.ndx + i.nu
    moved = ca.substitute(scalar, i.x, state.sx_integrate(i.x, step))
    variables = ca.vertcat(step, i.u, z)
    hessian = symmetric(jacobian(jacobian(moved, variables).T, variables))
    hessian = ca.substitute(hessian, step, SX.zeros(state.ndx))
    return {"yy": ca.densify(hessian[:s, :s]), "zy": hessian[s:, :s], "zz": hessian[s:, s:]}
