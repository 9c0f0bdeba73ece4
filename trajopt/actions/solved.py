"""What costs see of dynamics that solve a system: forces and the motion, as values and through derivatives."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
from casadi import SX

from trajopt.contacts.base import Motions, TouchModelAbstract
from trajopt.contacts.kkt import Sensitivities, force_steps, motion_steps
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


def solution_steps(program: Program, r: Mapping[str, Array], q: QuadraticCost) -> Array:
    """Adds the steps that give the derivative of the motion (nv, n), and those of a cost l(y, z(y)).

    The chain rule over z = `Instant.solved`, with Z = dz/dy: Ly + Zᵀ Lz in place of Ly, and Lyy + Zᵀ (Lzz Z + Lzy) +
    Lzyᵀ Z in place of Lyy. It is left out at knots where Lz and Lzz are zero, as within all friction cones.

    Args:
        program: Where they go.
        r: Arrays of `Sensitivities`, Ly, Lyy, and, where costs depend on z, Lz, Lzz, Lzy, and T and E of the forces.
        q: The expansion, for its structural zeros.
    """
    s = Sensitivities(**{field.name: r[field.name] for field in dataclasses.fields(Sensitivities)})
    motion, B = motion_steps(program, s)
    if not q.Lz.nnz():
        return motion
    guard = (r["Lz"], r["Lzz"])
    Z = program.matmul(r["T"], force_steps(program, s, B, unless_zero=guard), initial=r["E"], unless_zero=guard)
    if q.Lz.numel() > Z.shape[0]:
        (Z,) = program.call(_stack(program, motion, Z), motion, Z)
    middle = program.matmul(r["Lzz"], Z, initial=r["Lzy"], unless_zero=guard)
    program.accumulate(r["Ly"], Z, r["Lz"], transpose_a=True, unless_zero=guard)
    if q.Lzy.nnz():
        program.accumulate(r["Lyy"], Z, middle, transpose_a=True, unless_zero=guard)
        program.accumulate(r["Lyy"], r["Lzy"], Z, transpose_a=True, unless_zero=guard)
    else:
        program.accumulate(r["Lyy"], Z, middle, transpose_a=True, symmetric=True, unless_zero=guard)
    return motion


def _stack(program: Program, first: Array, second: Array) -> ca.Function:
    a, b = SX.sym("a", *first.shape), SX.sym("b", *second.shape)
    return ca.Function("stack", [a, b], [ca.vertcat(a, b)])


def named_call(
    program: Program, name: str, symbols: list[SX], results: dict[str, SX], inputs: list[Array]
) -> dict[str, Array]:
    """Adds the call of a function with named results; their zeros become structural."""
    sparse = [ca.sparsify(r) for r in results.values()]
    return dict(zip(results, program.call(function_of(name, symbols, sparse), *inputs)))
