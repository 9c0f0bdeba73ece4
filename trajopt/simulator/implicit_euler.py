"""Steps of the backward modes: they find the roots of their residuals by Newton's method."""

from __future__ import annotations

import itertools
from dataclasses import replace

import casadi as ca
from casadi import SX

from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.newton import Linearised, add_quotient, add_root
from trajopt.model.parts import call_formula
from trajopt.simulator.formulas import below
from trajopt.simulator.steps import (
    Inputs,
    StepAbstract,
    StepDerivatives,
    StepValues,
    SymplecticStep,
    VelocityDerivatives,
)


class ImplicitEulerStep(SymplecticStep):
    """Implicit step: the root v₊ of r(q ⊕ dt v₊, v₊, v, τ) = 0, with q₊ = q ⊕ dt v₊ and r of a backward mode.

    The linearisation at v₊, with J0 and J1 the derivatives of q ⊕ dt v₊ by q and by v₊, and M = r_v₊ + r_q₊ J1, is

        M dv₊ = -r - r_q₊ J0 dq - r_v dv - r_τ dτ.

    If the state of the next knot is an input, the linearisation is at its velocity, and the values are those after one
    step of Newton's method: a knot has the residual of (x, u, x⁺), without iteration. Otherwise, Newton's method
    starts from v. It halves steps that do not lower |r|, and stops after a step below the simulator's tolerance.

    Args:
        equation: Step of a backward mode, which computes r.
        repeated: The same without unknowns, for the iteration; by default it is `equation`.
    """

    turns = False

    def __init__(self, equation: StepAbstract, repeated: StepAbstract | None = None) -> None:
        super().__init__(equation.model)
        self._equation, self.tells_forces = equation, equation.tells_forces
        self._repeated = equation if repeated is None else repeated

    @property
    def given_size(self) -> int:
        return self._equation.given_size

    def values(self, program: Program, inputs: Inputs) -> StepValues:
        v, d, M, rest = self._linearised(program, inputs, derivatives=False)
        return self._after(program, inputs, v, d, add_quotient(program, M, rest))

    def new_velocity(self, program: Program, inputs: Inputs) -> VelocityDerivatives:
        v, d, M, rest = self._linearised(program, inputs, derivatives=True)
        change, *parts = self._columns(program, add_quotient(program, M, rest))
        values = self._after(program, inputs, v, d, change)
        return VelocityDerivatives(
            values=values,
            velocity=values.velocity,
            parts=parts,
            force_parts=lambda: self._force_parts(program, inputs, v, d, parts),
        )

    def _after(self, program: Program, inputs: Inputs, v: Array, d: StepDerivatives, change: Array) -> StepValues:
        """Adds the calls that compute the state after a step of Newton's method."""
        (after,) = call_formula(program, "after", lambda a, b: [a + b], v, change)
        result = self._moved(program, inputs, self._parts(program, inputs)[0], after)
        return StepValues(result=result, force=d.values.force, velocity=after)

    # Newton's method

    def _linearised(
        self, program: Program, inputs: Inputs, *, derivatives: bool
    ) -> tuple[Array, StepDerivatives, Array, Array]:
        """Adds the steps that compute v₊, the residual's derivatives, M, and -(r, r_q₊ J0, r_v, r_τ), or -r alone."""
        if inputs.following is None:
            v = self._root(program, inputs)
        else:
            (v,) = call_formula(program, "v", lambda x: [x[self.model.nq :]], inputs.following)
        return v, *self._residual(program, inputs, v, derivatives=derivatives)

    def _residual(
        self, program: Program, inputs: Inputs, v: Array, *, derivatives: bool
    ) -> tuple[StepDerivatives, Array, Array]:
        q, before = self._parts(program, inputs)
        x = below(program, self._moved(program, inputs, q, v), before)
        d = (self._equation if derivatives else self._repeated).derivatives(
            program, replace(inputs, qdq=x, following=None)
        )

        def linear(at: SX, velocity: SX, r: SX, D: SX, *by_torque: SX) -> list[SX]:
            J0, J1 = self.lift(at, velocity)
            by_q, by_after, by_before = self._split(D)
            rest = ca.horzcat(r, self._by_start(by_q, J0, J1, velocity), by_before, *by_torque) if derivatives else r
            return [ca.sparsify(by_after + ca.mtimes(by_q[:, : self.model.nv], J1)), ca.sparsify(-rest)]

        arrays = [q, v, d.values.result, d.Dqdq, *([d.Dtau] if derivatives else [])]
        M, rest = self._formula(program, inputs, "linear", linear, *arrays)
        return d, M, rest

    def _split(self, D: SX) -> list[SX]:
        """Derivatives by (q₊, θ), v₊ and v from those by all of them."""
        nv = self.model.nv
        return [D[:, : -2 * nv], D[:, -2 * nv : -nv], D[:, -nv:]]

    def _by_start(self, by_q: SX, J0: SX, J1: SX, velocity: SX) -> SX:
        """Derivative by (q, θ) at fixed v₊, from that by (q₊, θ); q₊ changes with dt, too."""
        nv = self.model.nv
        moved = self.model.by_time(ca.mtimes(J1, velocity) / self.model.dt)
        return ca.horzcat(ca.mtimes(by_q[:, :nv], J0), by_q[:, nv:]) + ca.mtimes(by_q[:, :nv], moved)

    def _root(self, program: Program, inputs: Inputs) -> Array:
        """Adds the iteration that computes v₊, except for the last step."""

        def linearise(body: Program, v: Array, qdq: Array, torque: Array, parameters: Array) -> Linearised:
            own = Inputs(qdq=qdq, torque=torque, parameters=parameters)
            d, M, rest = self._residual(body, own, v, derivatives=False)
            return d.values.result, M, rest

        before = self._parts(program, inputs)[1]
        (tolerance,) = self._formula(program, inputs, "tolerance", lambda: [self.model.tolerance])
        constants = [inputs.qdq, inputs.torque, inputs.parameters]
        return add_root(program, f"{self.model.mode.name}: root", linearise, before, constants, tolerance)[0]

    # Forces

    def _force_parts(
        self, program: Program, inputs: Inputs, v: Array, d: StepDerivatives, parts: list[Array]
    ) -> list[Array]:
        """Adds the call that computes the derivatives of the forces by q, v and τ."""

        def felt(at: SX, velocity: SX, by_q: SX, by_after: SX, by_before: SX, by_torque: SX, *changes: SX) -> list[SX]:
            J0, J1 = self.lift(at, velocity)
            follow = by_after + ca.mtimes(by_q[:, : self.model.nv], J1)
            direct = (self._by_start(by_q, J0, J1, velocity), by_before, by_torque)
            return [own + ca.mtimes(follow, change) for own, change in zip(direct, changes)]

        q, _ = self._parts(program, inputs)
        return list(self._formula(program, inputs, "felt", felt, q, v, *d.force_parts(), *parts))

    def _columns(self, program: Program, a: Array) -> tuple[Array, ...]:
        """Adds the call that splits off the first column, and then those of (q, θ), v and τ."""
        nv, size = self.model.nv, a.shape[1]
        ends = [0, 1, size - 2 * nv, size - nv, size]
        return call_formula(program, "columns", lambda x: [x[:, i:j] for i, j in itertools.pairwise(ends)], a)
