"""The programs of one knot that a solver runs: linearisation, and one step of a rollout with feedback.

Arrays of all knots have the same shape. A knot with fewer controls than the problem's nu has zeros in its place: the
derivatives along controls that it does not have are 0, their Hessian is the identity.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import casadi as ca
from casadi import SX

from trajopt.actions.expression import ActionModelExpression
from trajopt.kernels.program import Program
from trajopt.model.programs import kept
from trajopt.states.base import StateAbstract


def _once(build: Callable[..., Program]) -> Callable[..., Program]:
    """Keeps a program: building expressions takes longer than loading their kernels."""

    @functools.wraps(build)
    def remembered(model: ActionModelExpression, *args: int) -> Program:
        return kept(model, (build.__name__, *args), lambda: build(model, *args))

    return remembered


@_once
def linearization(model: ActionModelExpression, nu: int) -> Program:
    """(x, u, parameters, x of the next knot) -> (x⁺, cost, gap x⁺ ⊖ x_next, F, gradient, Hessian), padded to `nu`."""
    state = model.state
    program = Program(f"{type(model).__name__}: linearization")
    x, u = program.input(state.nx), program.input(model.nu)
    p, following = program.input(model.layout.size), program.input(state.nx)
    xnext, cost, jacobian, gradient, hessian = model.calc_diff_steps(program, x, u, p)
    (gap,) = program.call(_gap(state), following, xnext)
    if model.nu < nu:
        jacobian, gradient, hessian = program.call(_pad(state.ndx, model.nu, nu), jacobian, gradient, hessian)
    program.output(xnext, cost, gap, jacobian, gradient, hessian)
    return program


def terminal_expansion(model: ActionModelExpression) -> Program:
    """(x, parameters) -> (cost, Lx, Lxx)."""
    return model.program("terminal")


@_once
def step(model: ActionModelExpression) -> Program:
    """One step of a rollout with feedback and partly closed gaps.

    (x, x_ref, u_ref, k, K, gap of the next knot, step length α, parameters) -> (x_next, u, cost, dx), with
    dx = x ⊖ x_ref, u = u_ref - α k - K dx, x_next = f(x, u) ⊕ (α - 1) gap. Source: Mastalli et al. 2020, eqs. 11-13.
    """
    state, n, m = model.state, model.state.ndx, model.nu
    program = Program(f"{type(model).__name__}: step")
    x, x_ref, u_ref = program.input(state.nx), program.input(state.nx), program.input(m)
    k, K, gap, alpha = program.input(m), program.input(m, n), program.input(n), program.input(1)
    p = program.input(model.layout.size)
    u, dx = program.call(_feedback(state, m), x, x_ref, u_ref, k, K, alpha)
    reached, cost = model.calc_steps(program, x, u, p)
    (x_next,) = program.call(_partial_gap(state), reached, gap, alpha)
    program.output(x_next, u, cost, dx)
    return program


@_once
def terminal_step(model: ActionModelExpression) -> Program:
    """(x, x_ref, parameters) -> (cost, dx = x ⊖ x_ref)."""
    program = Program(f"{type(model).__name__}: terminal step")
    x, x_ref = program.input(model.state.nx), program.input(model.state.nx)
    p = program.input(model.layout.size)
    cost = model.terminal_value_step(program, x, p)
    (dx,) = program.call(_gap(model.state), x_ref, x)
    program.output(cost, dx)
    return program


def _gap(state: StateAbstract) -> ca.Function:
    x0, x1 = SX.sym("x0", state.nx), SX.sym("x1", state.nx)
    return ca.Function("gap", [x0, x1], [ca.densify(state.sx_difference(x0, x1))])


def _partial_gap(state: StateAbstract) -> ca.Function:
    x, gap, alpha = SX.sym("x", state.nx), SX.sym("gap", state.ndx), SX.sym("alpha")
    return ca.Function("partial_gap", [x, gap, alpha], [state.sx_integrate(x, (alpha - 1) * gap)])


def _feedback(state: StateAbstract, nu: int) -> ca.Function:
    x, x_ref, u_ref = SX.sym("x", state.nx), SX.sym("x_ref", state.nx), SX.sym("u_ref", nu)
    k, K, alpha = SX.sym("k", nu), SX.sym("K", nu, state.ndx), SX.sym("alpha")
    dx = state.sx_difference(x_ref, x)
    u = u_ref - alpha * k - K @ dx
    return ca.Function("feedback", [x, x_ref, u_ref, k, K, alpha], [u, dx])


def _pad(ndx: int, nu: int, wanted: int) -> ca.Function:
    s, extra = ndx + nu, wanted - nu
    jacobian, gradient, hessian = SX.sym("F", ndx, s), SX.sym("g", s), SX.sym("H", s, s)
    results = [
        ca.horzcat(jacobian, SX(ndx, extra)),
        ca.vertcat(gradient, SX(extra, 1)),
        ca.diagcat(hessian, SX.eye(extra)),
    ]
    return ca.Function("pad", [jacobian, gradient, hessian], results)
