"""What costs see of dynamics that solve a system: forces and the motion, as values and through derivatives."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
from casadi import SX

from trajopt.contacts.base import Motions
from trajopt.contacts.kkt import Sensitivities, force_steps, motion_steps
from trajopt.contacts.stack import TouchStackAbstract
from trajopt.costs.cost_stack import QuadraticCost
from trajopt.instant import Instant
from trajopt.kernels.products import Ranges
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array, Groups


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


def visible_forces(stack: TouchStackAbstract[Any], motions: Motions, multipliers: SX) -> dict[str, SX]:
    """The force that users see of each contact, T λ."""
    turn = stack.force_map(motions)
    return stack.split(multipliers if turn is None else ca.mtimes(turn, multipliers))


def force_results(stack: TouchStackAbstract[Any], motions: Motions, q: QuadraticCost, multipliers: SX) -> dict[str, SX]:
    """What the chain rule over z needs beside the derivatives of the cost.

    Args:
        stack: The contacts, or impulses.
        motions: Their frames.
        q: The expansion of the cost.
        multipliers: λ (nc,).

    Returns:
        Felt, one value for each constraint that is zero where its row of Lz and Lzz is, and solved_felt, the same for
        each of z, if that holds more than forces; T and E, the derivative of T λ by (x, u) at fixed λ, unless T = 1.
    """
    felt = ca.fabs(q.Lz) + ca.sum2(ca.fabs(q.Lzz))
    results = {"felt": felt[felt.numel() - stack.nc :]}
    if felt.numel() > stack.nc:
        results["solved_felt"] = felt
    turn = stack.force_map(motions)
    if turn is not None:
        by_q = stack.force_map_derivative(motions, multipliers)
        results |= {"T": turn, "E": ca.horzcat(by_q, SX(stack.nc, q.Ly.numel() - stack.state.nv))}
    return results


def solution_steps(program: Program, r: Mapping[str, Array], q: QuadraticCost, sizes: Iterable[int]) -> Array:
    """Adds the steps that give the derivative of the motion (nv, n), and those of a cost l(y, z(y)).

    The chain rule over z = `Instant.solved`, with Z = dz/dy: Ly + Zᵀ Lz in place of Ly, and Lyy + Zᵀ (Lzz Z + Lzy) +
    Lzyᵀ Z in place of Lyy. It is left out for contacts whose forces no cost feels, as within their friction cones.

    Args:
        program: Where they go.
        r: Arrays of `Sensitivities`, g, H, and, where costs depend on z, Lz, Lzz, Lzy and `force_results`.
        q: The expansion, for its structural zeros.
        sizes: Number of constraints of each contact.
    """
    contacts = _groups(0, sizes)
    names = ("mass_inverse", "spread", "schur_inverse", "motion", "constraint", "offset")
    s = Sensitivities(**{name: r[name] for name in names}, active=Groups(contacts, r["active"]))
    motion, B = motion_steps(program, s)
    if not q.Lz.nnz():
        return motion
    felt = Groups(contacts, r["felt"])
    Z = force_steps(program, s, B, felt)
    if "T" in r:
        Z = program.matmul(r["T"], Z, rows=felt)
        program.add(Z, r["E"], rows=felt)
    if "solved_felt" in r:
        (Z,) = program.call(_stack(program, motion, Z), motion, Z)
        felt = Groups(((0, motion.shape[0]), *_groups(motion.shape[0], sizes)), r["solved_felt"])
    middle = program.matmul(r["Lzz"], Z, rows=felt, inner=felt)
    program.accumulate(r["g"], Z, r["Lz"], transpose_a=True, inner=felt)
    if q.Lzy.nnz():
        program.add(middle, r["Lzy"], rows=felt)
        program.accumulate(r["H"], Z, middle, transpose_a=True, inner=felt)
        program.accumulate(r["H"], r["Lzy"], Z, transpose_a=True, inner=felt)
    else:
        program.accumulate(r["H"], Z, middle, transpose_a=True, symmetric=True, inner=felt)
    return motion


def _groups(first: int, sizes: Iterable[int]) -> Ranges:
    """Neighbouring groups of these sizes."""
    return tuple(itertools.pairwise(itertools.accumulate(sizes, initial=first)))


def _stack(program: Program, first: Array, second: Array) -> ca.Function:
    a, b = SX.sym("a", *first.shape), SX.sym("b", *second.shape)
    return ca.Function("stack", [a, b], [ca.vertcat(a, b)])
