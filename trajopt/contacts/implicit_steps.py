"""Chain rule through the contact equations, as matrix products that skip irrelevant contacts.

The formulas are in `trajopt.contacts.implicit_node`. Here z = (w, λ), and s is the part of it that costs and rows
read: the forces T λ, and the motion if it is used.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import casadi as ca
from casadi import SX

from trajopt.contacts.stack import TouchStackAbstract
from trajopt.kernels.products import Ranges
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array, Groups
from trajopt.model.parts import computed

Stack = TouchStackAbstract[Any]
Arrays = Mapping[str, Array]


def lead_on(program: Program, stack: Stack, r: Arrays, costs: Arrays, rows: Arrays) -> Array:
    """Adds the steps that compute the derivative of the motion (nv, n), and complete those of costs and rows.

    With S = ds/dy, g becomes g + Sᵀ Lz, H becomes H + Sᵀ (Lzz S + Lzy) + Lzyᵀ S, and C becomes C + Rz S. Contacts
    whose forces have no influence are skipped, such as those of cost terms within friction cones.

    Args:
        program: Program that gets the steps.
        stack: The contacts, or impulses.
        r: Arrays of `ImplicitNode.derivative_results`.
        costs: Results of the costs, see `trajopt.actions.terms`.
        rows: Results of the constraint rows; empty without rows.
    """
    motion, B = _motion_steps(program, r, _active(stack, r))
    program.add(motion, r["offset"])
    by_z = [part for part in (costs, rows) if "felt" in part]
    if not by_z:
        return motion
    Z = _forces(program, stack, r, B, _either(program, [part["felt"] for part in by_z]))
    whole = None
    for part in by_z:
        S, groups = Z, Groups(_contacts(stack), part["felt"])
        if "solved_felt" in part:
            nv = motion.shape[0]
            whole = S = computed(program, "stack", ca.vertcat, motion, Z) if whole is None else whole
            groups = Groups(((0, nv), *_contacts(stack, nv)), part["solved_felt"])
        if part is costs:
            add_cost_of_solution(program, part, S, groups)
        else:
            program.accumulate(part["C"], part["Rz"], S, inner=groups)
    return motion


def solution_steps(program: Program, stack: Stack, r: Arrays) -> Array:
    """Adds the steps that compute the derivative of z (nv + nc, n); arguments as in `lead_on`."""
    active = _active(stack, r)
    dw, B = _motion_steps(program, r, active)
    pushes = program.matmul(B, r["by_motion"], rows=active)
    program.accumulate(pushes, r["schur_inverse"], r["by_constraint"], subtract=True, rows=active, inner=active)
    return computed(program, "stack", ca.vertcat, dw, pushes)


def moving(program: Program, stack: Stack, r: Arrays) -> Groups:
    """Returns the groups of elements of z that may be nonzero: w, and the forces of active contacts."""
    nv = r["mass_inverse"].shape[0]
    which = computed(program, "moving", lambda s: ca.vertcat(SX.ones(nv), s), r["active"])
    return Groups(((0, nv), *_contacts(stack, nv)), which)


def add_cost_of_solution(program: Program, r: Arrays, Z: Array, felt: Groups | None) -> None:
    """Adds the terms of the cost that depend on z to the gradient g and the Hessian H.

    Args:
        program: Program that gets the steps.
        r: Arrays g, H, Lz, Lzz and Lzy.
        Z: Derivative of z (nz, n).
        felt: Groups of z that have an influence; None for all.
    """
    middle = program.matmul(r["Lzz"], Z, rows=felt, inner=felt)
    program.accumulate(r["g"], Z, r["Lz"], transpose_a=True, inner=felt)
    if program.pattern(r["Lzy"]).any():
        program.add(middle, r["Lzy"], rows=felt)
        program.accumulate(r["H"], Z, middle, transpose_a=True, inner=felt)
        program.accumulate(r["H"], r["Lzy"], Z, transpose_a=True, inner=felt)
    else:
        program.accumulate(r["H"], Z, middle, transpose_a=True, symmetric=True, inner=felt)


def _forces(program: Program, stack: Stack, r: Arrays, B: Array, which: Array) -> Array:
    """Derivative of the forces T λ (nc, n), for those that have an influence."""
    active, groups = _active(stack, r), Groups(_contacts(stack), which)
    Z = program.matmul(B, r["by_motion"], rows=groups)
    program.accumulate(Z, r["schur_inverse"], r["by_constraint"], subtract=True, rows=groups, inner=active)
    if "T" in r:
        Z = program.matmul(r["T"], Z, rows=groups)
        program.add(Z, r["E"], rows=groups)
    return Z


def _motion_steps(program: Program, r: Arrays, active: Groups) -> tuple[Array, Array]:
    """Adds the steps that compute dw (nv, n) and Bᵀ (nc, nv)."""
    B = program.matmul(r["schur_inverse"], r["spread"], inner=active)
    A = r["mass_inverse"]
    program.accumulate(A, B, r["spread"], transpose_a=True, subtract=True, symmetric=True, inner=active)
    motion = program.matmul(A, r["by_motion"], subtract=True)
    program.accumulate(motion, B, r["by_constraint"], transpose_a=True, subtract=True, inner=active)
    return motion, B


def _either(program: Program, parts: list[Array]) -> Array:
    """Forces that influence at least one of the parts."""
    return parts[0] if len(parts) == 1 else computed(program, "felt", lambda *felt: sum(felt, SX(0)), *parts)


def _active(stack: Stack, r: Arrays) -> Groups:
    return Groups(_contacts(stack), r["active"])


def _contacts(stack: Stack, first: int = 0) -> Ranges:
    """Rows of each contact, after `first` other rows."""
    return tuple(itertools.pairwise(itertools.accumulate(stack.sizes.values(), initial=first)))
