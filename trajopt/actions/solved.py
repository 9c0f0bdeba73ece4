"""What costs see of dynamics that solve a system: forces and the motion, as values and through derivatives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
from casadi import SX

from trajopt.contacts.base import Motions, TouchModelAbstract
from trajopt.contacts.stack import TouchStackAbstract
from trajopt.costs.cost_stack import QuadraticCost
from trajopt.expressions import Instant, function_of
from trajopt.kernels.program import Array, Program


@dataclass(frozen=True)
class Solved:
    """Symbols of (w, λ) and the expressions that they stand for.

    Attributes:
        symbols: w (nv,) and λ (nc,) stacked.
        values: Their values as expressions of x, u and parameters.
        motion: What costs call the motion (nv,), an expression of x and the symbols.
        forces: The force that users see of each contact, or impulse.
    """

    symbols: SX
    values: SX
    motion: SX
    forces: dict[str, SX]

    def insert(self, instant: Instant, expressions: list[SX]) -> list[SX]:
        """Expressions of x, u, `instant.solved` and the symbols as such of x and u."""
        names, seen = [*instant.forces.values()], [self.forces[name] for name in instant.forces]
        if instant.solved_motion.numel():
            names, seen = [instant.solved_motion, *names], [self.motion, *seen]
        if names:
            expressions = ca.substitute(expressions, [ca.vertcat(*names)], [ca.vertcat(*seen)])
        return [SX(e) for e in ca.substitute(expressions, [self.symbols], [self.values])]


def visible_forces(stack: TouchStackAbstract[TouchModelAbstract], motions: Motions, multipliers: SX) -> dict[str, SX]:
    """The force that users see of each contact, T λ."""
    turn = stack.force_map(motions)
    return stack.split(multipliers if turn is None else ca.mtimes(turn, multipliers))


def cost_steps(
    program: Program, results: Mapping[str, Array], q: QuadraticCost, motion: Array, force: Array
) -> tuple[Array, Array]:
    """Adds the steps that give gradient and Hessian of a cost l(y, z(y)): the chain rule over z = `Instant.solved`.

    With Z = dz/dy: g = Ly + Zᵀ Lz, H = Lyy + Zᵀ (Lzz Z + Lzy) + Lzyᵀ Z.

    Args:
        program: Where they go.
        results: Arrays Ly, Lyy, and, where costs depend on z, Lz, Lzz, Lzy, and T and E of the forces.
        q: The expansion, for its structural zeros.
        motion: Derivative of the motion (nv, n).
        force: Derivative of λ (nc, n).
    """
    gradient, hessian = results["Ly"], results["Lyy"]
    if not q.Lz.nnz():
        return gradient, hessian
    Z = program.matmul(results["T"], force, initial=results["E"])
    if q.Lz.numel() > Z.shape[0]:
        (Z,) = program.call(_stack(program, motion, Z), motion, Z)
    middle = program.matmul(results["Lzz"], Z, initial=results["Lzy"])
    gradient = program.matmul(Z, results["Lz"], transpose_a=True, initial=gradient)
    hessian = program.matmul(Z, middle, transpose_a=True, initial=hessian)
    if q.Lzy.nnz():
        hessian = program.matmul(results["Lzy"], Z, transpose_a=True, initial=hessian)
    return gradient, hessian


def _stack(program: Program, first: Array, second: Array) -> ca.Function:
    a, b = SX.sym("a", *first.shape), SX.sym("b", *second.shape)
    return ca.Function("stack", [a, b], [ca.vertcat(a, b)])


def named_call(
    program: Program, name: str, symbols: list[SX], results: dict[str, SX], inputs: list[Array]
) -> dict[str, Array]:
    """Adds the call of a function with named results."""
    return dict(zip(results, program.call(function_of(name, symbols, list(results.values())), *inputs)))
