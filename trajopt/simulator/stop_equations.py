"""Equations of joint stops, which act as further contacts of maximal dissipation near a limit.

If a state is far from all stops, the contacts are solved alone. Near a stop, an iteration of one pass replaces the
quantities that differ. The velocities of the joints with stops are S v; with Z and N of
`trajopt.simulator.dissipation_node`,

    Λ = (Λ_c, J H⁻¹ Sᵀ; S H⁻¹ Jᵀ, S H⁻¹ Sᵀ),     A = (A_c, Z_c Sᵀ F_s; ·, 1 + F_s S H⁻¹ Sᵀ F_s),     Z_s = F_s S H⁻¹,

and N_s depends on the coordinate of each stop alone. A block of lanes far from all stops computes none of this.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
from casadi import SX

from trajopt.kernels.derivatives import jacobian
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.parts import call_formula, named_call, symbol_of
from trajopt.simulator.contact import weight_of
from trajopt.simulator.interior_point import LIMIT, Barrier, iteration, start_function
from trajopt.simulator.joint_stops import STRENGTH
from trajopt.simulator.laws import LawAbstract
from trajopt.simulator.model import SimulatorModel


@dataclass(frozen=True, kw_only=True)
class Stopped:
    """Effect of the joint stops on a step.

    Attributes:
        near: 0 if all stops are off (1,).
        free: v_free + H⁻¹ Sᵀ p_s (nv,).
        point: (w, s, z, y) of the stops.
        law: Scaled values of their laws.
        slopes: √μ times the derivatives of these divided by √μ, with gaps as velocities, each by its own coordinate and
            by the unknowns (., 1 + k).
        push_by_q: ∂(√μ C) w (ns, 1 + k), each by its own coordinate and by the unknowns.
    """

    near: Array
    free: Array
    point: tuple[Array, ...]
    law: Array
    slopes: Array
    push_by_q: Array


class StopEquations:
    """Equations of a simulator's joint stops.

    Args:
        model: The simulator's model, which has stops.
        q: Symbol of q (nq,).
        contacts: Law of each contact.
        duration: Duration of a step [s].
        weight: Weight μ of the barrier.
    """

    def __init__(self, model: SimulatorModel, q: SX, contacts: Sequence[LawAbstract], duration: SX, weight: SX) -> None:
        self._nv, self._contacts, self._laws = model.nv, list(contacts), [stop.law for stop in model.stops]
        self._rows = [stop.row for stop in model.stops]
        strength = STRENGTH * weight_of(model.state.robot)
        self._near = SX(sum(stop.nearness(q, duration) for stop in model.stops))
        self._root = ca.sqrt(weight)
        values = [stop.values(q, duration, strength) for stop in model.stops]
        scale = duration / self._root
        self._unknown_count, whole = model.unknowns.numel(), ca.vertcat(*values)
        self._pushes = jacobian(whole * duration, model.unknowns)
        own = [ca.jacobian(v, q[stop.place]) * scale for stop, v in zip(model.stops, values)]
        slopes = ca.horzcat(ca.vertcat(*own), self._root * jacobian(whole * scale / self._root, model.unknowns))
        scaled = [law.scaled(v, scale, self._root) for law, v in zip(self._laws, values)]
        self._law, self._slopes = SX(ca.vertcat(*scaled)), SX(ca.densify(slopes))
        self._size = sum(law.rank for law in self._contacts)

    # Values

    def solve(
        self, program: Program, bindings: Sequence[tuple[SX, Array]], c: Mapping[str, Array]
    ) -> tuple[tuple[Array, ...], Stopped]:
        """Adds the steps that compute (w, s, z, y) of the contacts, and the effect of the stops.

        Args:
            program: Program that gets the steps.
            bindings: Pairs of a symbol and its array, as for `named_call`.
            c: Quantities of a step without stops by name: "mass_inverse" H⁻¹ (nv, nv), "free" v_free (nv,), "spread"
                J H⁻¹ (D, nv), "inertia" Λ_c (D, D), "approach" J v_free divided by √μ (D,), "law" the scaled values of
                the laws, and "tolerance" the relative step at which the iteration ends (1,).
        """
        results = {"near": self._near, "law": self._law, "slopes": self._slopes, "unit": self._root}
        results |= {"pushes": self._pushes} if self._unknown_count else {}
        r = named_call(program, "stops", bindings, results)
        (far,) = call_formula(program, "far", lambda near: [ca.if_else(near == 0, 1, 0)], r["near"])
        problem = [c[name] for name in ("inertia", "approach", "law")]
        point = program.call(start_function(self._contacts), *problem)
        if self._contacts:
            constants = [*problem, c["tolerance"]]
            program.iterate(iteration(self._contacts), point, constants, limit=LIMIT, where=far)
        own = [SX.ones(symbol.numel()) for symbol in Barrier(self._laws).point]
        *stops, moved = call_formula(program, "start", lambda free: [*own, free], c["free"])
        constants = [c["mass_inverse"], c["free"], c["spread"], *problem, r["law"], c["tolerance"], r["unit"]]
        program.iterate(self._whole(constants), [*point, *stops, moved], constants, limit=1, where=r["near"])

        def pushed(w: SX, slopes: SX, unit: SX, *pushes: SX) -> list[SX]:
            own = unit * self._turned(slopes[:, 0], w)
            return [ca.horzcat(own, *(self._turned(column, w) for each in pushes for column in ca.horzsplit(each)))]

        arrays = [stops[0], r["slopes"], r["unit"], *([r["pushes"]] if self._unknown_count else [])]
        (push,) = call_formula(program, "push", pushed, *arrays)
        stopped = Stopped(
            near=r["near"], free=moved, point=tuple(stops), law=r["law"], slopes=r["slopes"], push_by_q=push
        )
        return point, stopped

    def _whole(self, inputs: Sequence[Array]) -> Program:
        """Contacts and stops together: (their points, v_free, constant inputs) -> the first two, and 0."""
        laws = [*self._contacts, *self._laws]
        parts = [Barrier(each).point for each in (self._contacts, self._laws)]
        body = Program("contacts and stops")
        for symbol in (*parts[0], *parts[1]):
            body.input(symbol.numel())
        body.input(self._nv)
        arrays = [body.input(*array.shape) for array in inputs]
        symbols = [symbol_of(body, array) for array in arrays]
        inverse, free, spread, inertia, approach, law, own, _, unit = symbols
        across = spread[:, self._rows]
        whole = ca.vertcat(ca.horzcat(inertia, across), ca.horzcat(across.T, inverse[self._rows, self._rows]))
        velocity = ca.vertcat(approach, free[self._rows] / unit)
        function = ca.Function("whole", symbols, [whole, velocity, ca.vertcat(law, own)])
        problem = body.call(function, *arrays)
        point = body.call(start_function(laws), *problem)
        body.iterate(iteration(laws), point, [*problem, arrays[7]], limit=LIMIT)
        both = [symbol_of(body, array) for array in point]
        ends = [symbol.numel() for symbol in parts[0]]
        first, stops = zip(*(ca.vertsplit(p, [0, end, p.numel()]) for p, end in zip(both, ends)))
        moved = free + ca.mtimes(inverse[:, self._rows], unit * self._turned(own, stops[0]))
        function = ca.Function("split", [*both, inverse, free, own, unit], [*first, *stops, moved, SX(0)])
        body.output(*body.call(function, *point, arrays[0], arrays[1], arrays[6], arrays[8]))
        return body

    def _turned(self, law: SX, w: SX) -> SX:
        """C w of each stop (ns,)."""
        b = Barrier(self._laws)
        return SX(ca.vertcat(*[each.columns(v) @ x for each, v, x in zip(self._laws, b.of_laws(law), b.of_rays(w))]))

    # Derivatives

    def push(self, program: Program, by_q: Array, d: Stopped) -> Array:
        """Adds the call that adds the stops' Sᵀ ∂(√μ C) w to a derivative (nv, nv + k) with respect to (q, θ)."""

        def pushed(whole: SX, push: SX) -> list[SX]:
            return [whole + self._spread(push, self._rows, self._nv)]

        return call_formula(program, "pushed", pushed, by_q, d.push_by_q)[0]

    def couple(self, program: Program, d: Stopped, inputs: Sequence[Array], state: Sequence[Array]) -> Array:
        """Adds the steps that replace K and X of contacts by those of contacts and stops; returns -X_sᵀ N_s.

        Args:
            program: Program that gets the steps.
            d: Effect of the stops.
            inputs: H⁻¹, A_c, Z_c, N_c and v̂.
            state: K and X of the contacts.
        """
        (more,) = call_formula(program, "none", lambda: [ca.densify(SX(self._nv, self._nv + self._unknown_count))])
        body, arrays, (A, Z, _, n) = self._coupled(inputs, [*state, more], d)
        X = body.solve(body.factor(A), Z)
        K = body.matmul(X, Z, transpose_a=True, subtract=True, initial=arrays[0])

        def split(x: SX, by_own: SX) -> list[SX]:
            own = self._spread(by_own, range(len(self._rows)), len(self._rows))
            return [x[: self._size, :], ca.densify(-x[self._size :, :].T @ own), SX(0)]

        body.output(K, *call_formula(body, "split", split, X, n))
        program.iterate(body, [*state, more], [*inputs, *d.point, d.law, d.slopes], limit=1, where=d.near)
        return more

    def follow(self, program: Program, d: Stopped, inputs: Sequence[Array], followed: Array) -> None:
        """Adds the steps that replace A_c⁻¹ N_c by the contacts' rows of A⁻¹ N with stops; see `couple`."""
        body, _, (A, _, N, _) = self._coupled(inputs, [followed], d)
        Y = body.solve(body.factor(A), N)
        body.output(*call_formula(body, "split", lambda y: [y[: self._size, :], SX(0)], Y))
        program.iterate(body, [followed], [*inputs, *d.point, d.law, d.slopes], limit=1, where=d.near)

    def _coupled(
        self, inputs: Sequence[Array], state: Sequence[Array], d: Stopped
    ) -> tuple[Program, list[Array], tuple[Array, ...]]:
        """Program of (state, inputs, the stops), its input arrays, and A, Z, N, and N_s by coordinate."""
        body = Program("derivatives with stops")
        for array in state:
            body.input(*array.shape)
        arrays = [body.input(*array.shape) for array in (*inputs, *d.point, d.law, d.slopes)]
        symbols = [symbol_of(body, array) for array in arrays]
        inverse, A, Z, N, velocity, *point, law, slopes = symbols
        b = Barrier(self._laws)
        followed, by_own = [], []
        columns = zip(*(b.of_laws(column) for column in ca.horzsplit(slopes)))
        parts = zip(self._laws, b.followers(b.weights), columns, self._rows)
        for each, follower, changes, row in parts:
            followed.append(follower.F)
            pulled = [follower.pull(each.columns(c).T * velocity[row] + each.gap(c)) for c in changes]
            by_own.append(ca.horzcat(*pulled))
        F, n = (
            SX(x) for x in ca.substitute([ca.vertcat(*followed), ca.vertcat(*by_own)], [*b.point, b.law], [*point, law])
        )
        across = (Z[:, self._rows] @ ca.diag(F)).T
        corner = SX.eye(len(self._rows)) + ca.diag(F) @ inverse[self._rows, self._rows] @ ca.diag(F)
        own = self._spread(n, range(len(self._rows)), len(self._rows))
        above = SX(self._size, len(self._rows))
        results = [
            ca.vertcat(ca.horzcat(A, above), ca.horzcat(across, ca.tril(corner))),
            ca.vertcat(Z, ca.diag(F) @ inverse[self._rows, :]),
            ca.vertcat(N, own),
            n,
        ]
        arrays_out = body.call(ca.Function("coupled", symbols, [ca.densify(e) for e in results]), *arrays)
        return body, arrays, arrays_out

    def _spread(self, by: SX, rows: Sequence[int], size: int) -> SX:
        """Derivatives (size, nv + k) by (q, θ), from those of each stop (ns, 1 + k) by its own coordinate and by θ."""
        whole = SX(size, self._nv + self._unknown_count)
        for i, (place, row) in enumerate(zip(rows, self._rows)):
            whole[place, row], whole[place, self._nv :] = by[i, 0], by[i, 1:]
        return whole
