"""Implicit node of contacts and impulses: its solution, and the chain rule for dynamics, costs and rows.

    M w + e = Jᵀ λ,   J w + c + μ λ = 0          w: accelerations, or changes of velocity; λ: forces, or impulses

is r(z; y, p) = 0 with z = (w, λ) and y = (x, u). A constraint that is not active (s = 0) has its rows of J and c
multiplied by s, and 1 - s on its diagonal of the Schur complement S = J M⁻¹ Jᵀ + μ: its multiplier is exactly zero.
With R₁ and R₂ the derivatives of the two equations by y at fixed z, and

    C = S⁻¹,  G = J M⁻¹,  B = Gᵀ C,  A = M⁻¹ - B G:      dw = -A R₁ - B R₂,   dλ = Bᵀ R₁ - C R₂.

Source: Mastalli et al., Crocoddyl (ICRA 2020), eqs. 6-9; Carpentier and Mansard, RSS 2018.
"""

from __future__ import annotations

import functools
import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any

import casadi as ca
from casadi import SX

from trajopt.contacts.base import Motions
from trajopt.contacts.kkt import ContactSystem
from trajopt.contacts.stack import TouchStackAbstract
from trajopt.dynamics.robot_expressions import RobotExpressions
from trajopt.instant import Instant
from trajopt.kernels.products import Ranges
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array, Groups


class ImplicitNode(ABC):
    """z as symbols, its value in closed form, and its derivatives, at one instant.

    Expressions may hold the symbols of z, and those of an instant that stand for it (forces, the motion); `insert` puts
    values in their place. Of an iteration that solves r = 0, z would be an input instead, and nothing else change.

    Args:
        instant: State and control as symbols.
        stack: The contacts, or impulses.
        robot: The robot at q.
        motions: How the frames of the stack move, which may depend on w.
        w: Symbol of w (nv,).
        damping: μ [1/kg].
    """

    def __init__(
        self,
        instant: Instant,
        stack: TouchStackAbstract[Any],
        robot: RobotExpressions,
        motions: Motions,
        w: SX,
        damping: SX,
    ) -> None:
        self.instant, self.stack, self.motions, self.w = instant, stack, motions, w
        self.multipliers = SX.sym("multipliers", stack.nc)
        self._system = ContactSystem(robot, stack.jacobian(motions), stack.switches(), damping)

    @property
    @abstractmethod
    def motion(self) -> SX:
        """Motion (nv,) that costs and constraints refer to, an expression of x and w."""

    @abstractmethod
    def _solve(self) -> tuple[SX, SX]:
        """w (nv,) and λ (nc,) as expressions of x, u and parameters."""

    @abstractmethod
    def _residual_derivatives(self) -> tuple[SX, SX, SX]:
        """R₁ (nv, n), R₂ (nc, n), and what the derivative of the motion has beside dw (nv, n)."""

    @abstractmethod
    def _residual(self) -> tuple[SX, SX]:
        """Left-hand sides of the two equations, (nv,) and (nc,), of x, u and z."""

    def _placed(self, expressions: list[SX]) -> list[SX]:
        """Expressions in which values stand for symbols that the frames move with."""
        return expressions

    @functools.cached_property
    def solution(self) -> SX:
        """z as an expression of x and u (nv + nc,)."""
        return SX(ca.vertcat(*self._solve()))

    @functools.cached_property
    def symbols(self) -> SX:
        """z as symbols (nv + nc,)."""
        return SX(ca.vertcat(self.w, self.multipliers))

    @functools.cached_property
    def residual(self) -> SX:
        """r (nv + nc,) of x, u and the symbols of z."""
        (r,) = self._placed([ca.vertcat(*self._residual())])
        return r

    def adjoint(self, by_z: SX) -> SX:
        """(∂r/∂z)⁻ᵀ b of b (nv + nc,)."""
        nv = self.w.numel()
        return SX(ca.vertcat(*self._system.adjoint(by_z[:nv], by_z[nv:])))

    @functools.cached_property
    def _forces(self) -> dict[str, SX]:
        """The force T λ that users see of each contact, or impulse, as an expression of x and λ."""
        turn = self.stack.force_map(self.motions)
        return self.stack.split(self.multipliers if turn is None else ca.mtimes(turn, self.multipliers))

    # Values

    def insert(self, expressions: Mapping[str, SX]) -> dict[str, SX]:
        """Named expressions of x, u, z, and of what stands for z at the instant, as expressions of x and u."""
        if not expressions:
            return {}
        found = ca.substitute(list(self.in_symbols(expressions).values()), [self.symbols], [self.solution])
        return dict(zip(expressions, map(SX, found)))

    def in_symbols(self, expressions: Mapping[str, SX]) -> dict[str, SX]:
        """Named expressions of x, u, z, and of what stands for z at the instant, as expressions of x, u and z."""
        i, values = self.instant, self._placed(list(expressions.values()))
        names, seen = [*i.forces.values()], [self._forces[name] for name in i.forces]
        if i.solved_motion.numel():
            names, seen = [i.solved_motion, *names], [self.motion, *seen]
        if names:
            values = ca.substitute(values, [ca.vertcat(*names)], [ca.vertcat(*seen)])
        return dict(zip(expressions, map(SX, values)))

    def forces(self) -> dict[str, SX]:
        """The force that users see of each contact, or impulse, as an expression of x and u."""
        return self.insert(self._forces)

    # Derivatives

    def _with_turning_pushes(self, dq: SX, wrenches: Mapping[str, SX]) -> SX:
        """∂/∂q of M w + e - Jᵀ λ (nv, nv), from that for pushes which are constant in the axes of their frames."""
        nv = self.w.numel()
        for frame, wrench in wrenches.items():
            by_q = self.instant.derivative(wrench)[0][:, :nv]
            dq = dq - ca.mtimes(self.motions[frame].jacobian.T, by_q)
        return dq

    def derivative_results(self) -> dict[str, SX]:
        """Expressions from which `derivative_steps` computes the derivative of z."""
        inverse, spread, schur_inverse = self._system.inverses()
        motion, constraint, offset = self._residual_derivatives()
        return {
            "mass_inverse": inverse,
            "spread": spread,
            "schur_inverse": schur_inverse,
            "motion": motion,
            "constraint": constraint,
            "offset": offset,
            "active": self.stack.switches(),
        }

    def chain_results(self, felt: SX) -> dict[str, SX]:
        """Further expressions for `derivative_steps` where costs or rows depend on z.

        Args:
            felt: One value for each of `instant.solved`, zero where nothing depends on it.

        Returns:
            felt, of each constraint, and solved_felt, of each of `instant.solved`, if that holds more than forces; T
            and E, the derivative of T λ by y at fixed λ, unless T = 1.
        """
        nc, i = self.stack.nc, self.instant
        results = {"felt": felt[felt.numel() - nc :]}
        if felt.numel() > nc:
            results["solved_felt"] = felt
        turn = self.stack.force_map(self.motions)
        if turn is not None:
            by_q = self.stack.force_map_derivative(self.motions, self.multipliers)
            rest = i.state.ndx + i.nu - by_q.shape[1]
            results |= {"T": turn, "E": SX(ca.horzcat(by_q, SX(nc, rest)))}
        return results

    def derivative_steps(self, program: Program, r: Mapping[str, Array]) -> Array:
        """Adds the steps that give the derivative of the motion (nv, n), and the chain rule over z.

        With s = `instant.solved` and Z = ds/dy: g + Zᵀ Lz in place of g, H + Zᵀ (Lzz Z + Lzy) + Lzyᵀ Z in place of H,
        C + Rz Z in place of C. It is left out for contacts whose forces nothing feels, as costs within friction cones.

        Args:
            program: Where they go.
            r: Arrays of `derivative_results`; where something depends on z, also those of `chain_results`, with g, H,
                Lz, Lzz, Lzy of costs, C and Rz of constraint rows.
        """
        sizes = list(self.stack.sizes.values())
        contacts = _groups(0, sizes)
        active = Groups(contacts, r["active"])
        motion, B = _motion_steps(program, r, active)
        program.add(motion, r["offset"])
        if "felt" not in r:
            return motion
        felt = Groups(contacts, r["felt"])
        Z = program.matmul(B, r["motion"], rows=felt)
        program.accumulate(Z, r["schur_inverse"], r["constraint"], subtract=True, rows=felt, inner=active)
        if "T" in r:
            Z = program.matmul(r["T"], Z, rows=felt)
            program.add(Z, r["E"], rows=felt)
        if "solved_felt" in r:
            (Z,) = program.call(_stack(motion, Z), motion, Z)
            felt = Groups(((0, motion.shape[0]), *_groups(motion.shape[0], sizes)), r["solved_felt"])
        if "Lz" in r:
            add_cost_of_solution(program, r, Z, felt)
        if "Rz" in r:
            program.accumulate(r["C"], r["Rz"], Z, inner=felt)
        return motion

    def solution_steps(self, program: Program, r: Mapping[str, Array]) -> Array:
        """Adds the steps that give the derivative of z (nv + nc, n); arguments as in `derivative_steps`."""
        active = Groups(_groups(0, list(self.stack.sizes.values())), r["active"])
        dw, B = _motion_steps(program, r, active)
        pushes = program.matmul(B, r["motion"], rows=active)
        program.accumulate(pushes, r["schur_inverse"], r["constraint"], subtract=True, rows=active, inner=active)
        return program.call(_stack(dw, pushes), dw, pushes)[0]

    def moving(self, program: Program, r: Mapping[str, Array]) -> Groups:
        """Parts of z that are not zero whatever x and u are: w, and the forces of active contacts."""
        nv, s = self.w.numel(), SX.sym("s", self.stack.nc)
        (which,) = program.call(ca.Function("moving", [s], [ca.vertcat(SX.ones(nv), s)]), r["active"])
        return Groups(((0, nv), *_groups(nv, list(self.stack.sizes.values()))), which)


def _motion_steps(program: Program, r: Mapping[str, Array], active: Groups) -> tuple[Array, Array]:
    """Adds the steps that give dw (nv, n), and Bᵀ (nc, nv)."""
    B = program.matmul(r["schur_inverse"], r["spread"], inner=active)
    A = r["mass_inverse"]
    program.accumulate(A, B, r["spread"], transpose_a=True, subtract=True, symmetric=True, inner=active)
    motion = program.matmul(A, r["motion"], subtract=True)
    program.accumulate(motion, B, r["constraint"], transpose_a=True, subtract=True, inner=active)
    return motion, B


def add_cost_of_solution(program: Program, r: Mapping[str, Array], Z: Array, felt: Groups | None) -> None:
    """Adds to g and H what a cost depends on z.

    Args:
        program: Where the steps go.
        r: Arrays g, H, Lz, Lzz and Lzy.
        Z: Derivative of z (nz, n).
        felt: Groups of z that something depends on; None for all.
    """
    middle = program.matmul(r["Lzz"], Z, rows=felt, inner=felt)
    program.accumulate(r["g"], Z, r["Lz"], transpose_a=True, inner=felt)
    if program.pattern(r["Lzy"]).any():
        program.add(middle, r["Lzy"], rows=felt)
        program.accumulate(r["H"], Z, middle, transpose_a=True, inner=felt)
        program.accumulate(r["H"], r["Lzy"], Z, transpose_a=True, inner=felt)
    else:
        program.accumulate(r["H"], Z, middle, transpose_a=True, symmetric=True, inner=felt)


def _groups(first: int, sizes: Iterable[int]) -> Ranges:
    """Neighbouring groups of these sizes."""
    return tuple(itertools.pairwise(itertools.accumulate(sizes, initial=first)))


def _stack(first: Array, second: Array) -> ca.Function:
    a, b = SX.sym("a", *first.shape), SX.sym("b", *second.shape)
    return ca.Function("stack", [a, b], [ca.vertcat(a, b)])
