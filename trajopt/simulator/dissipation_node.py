"""Velocities after maximal dissipation, as steps of a program, and their derivatives.

    H (v̂ - v₀) + dt (C(q, c) - τ) = Σ Jᵀ p,     p = √μ C w the impulses of `trajopt.simulator.interior_point` at J v̂.

Over a time step, free joints move in world axes (`trajopt.states.world_axes`): v₀ is turned into the axes of q if c is
the velocity after the step, and dt C becomes dt (C - H x) with the drift x = ω × v of c.

With R the derivative of this equation at fixed v̂ and w, F and L of `trajopt.simulator.laws`, Z = H⁻¹ Jᵀ F,
A = 1 + Fᵀ Λ F, K = H⁻¹ - Z A⁻¹ Zᵀ and N = Fᵀ ∂(J v̂) + L ∂(Cᵀ u)  at fixed v̂:

    dv̂ = -K R - Z A⁻¹ N,     dp = F A⁻¹ (Zᵀ R - N) + √μ ∂C w.

Stiff contacts occur in A alone, so no large numbers are subtracted from each other.

Source: implicit function theorem on the KKT conditions of the barrier problem.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.kernels.derivatives import jacobian
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.parts import call_formula, named_call, symbol_of
from trajopt.simulator.contact_equations import ContactEquations, stacked
from trajopt.simulator.interior_point import Barrier, coupled, solve_steps
from trajopt.simulator.laws import LawAbstract
from trajopt.simulator.model import REFERENCE_TIME, SimulatorModel
from trajopt.simulator.stop_equations import StopEquations, Stopped


@dataclass(frozen=True, kw_only=True)
class DissipationInputs:
    """Arguments of the velocity after dissipation, v̂.

    Attributes:
        q: Configuration (nq,).
        before: v₀ (nv,).
        velocity: c (nv,), of the Coriolis forces; None if it is v₀, or for impulses.
        torque: τ (nv,); None for impulses.
        parameters: Run-time parameters.
    """

    q: Array
    before: Array
    velocity: Array | None
    torque: Array | None
    parameters: Array


@dataclass(frozen=True, kw_only=True)
class Dissipated:
    """Velocity after dissipation v̂, and the quantities that its derivatives need.

    Attributes:
        inputs: Arguments of the velocity.
        velocity: v̂ (nv,).
        impulse: p (D,) [N s].
        force: Reported force of each contact, stacked [N; N s for impulses].
        point: (w, s, z, y).
        stopped: Effect of the joint stops; None without stops.
        arrays: "mass_inverse" H⁻¹ (nv, nv), "jacobian" J (D, nv), "spread" J H⁻¹ (D, nv), "inertia" Λ (D, D), "law" the
            scaled values of the laws.
    """

    inputs: DissipationInputs
    velocity: Array
    impulse: Array
    force: Array
    point: tuple[Array, ...]
    stopped: Stopped | None
    arrays: dict[str, Array]


@dataclass(frozen=True, kw_only=True)
class DissipatedDerivatives:
    """Derivatives of the velocity after dissipation v̂.

    Attributes:
        dissipated: The velocity.
        follower: F (D, R).
        factors: Factors of A.
        X: A⁻¹ Z (R, nv).
        N: As above (R, nv + k).
        residual: -R by (q, θ), c and v₀, and ∂(√μ C) w.
        coupled: H⁻¹, A, Z, N and v̂, for joint stops; empty without stops.
        velocity: Derivatives of v̂, (nv, nv) each: "by_torque", "by_before" (v₀) and "by_velocity" (c), or "by_both" if
            c is v₀; and "by_q" (nv, nv + k), by the tangent of q and the unknowns. Impulses have none by c and τ.
    """

    dissipated: Dissipated
    follower: Array
    factors: Array
    X: Array
    N: Array
    residual: dict[str, Array]
    coupled: list[Array]
    velocity: dict[str, Array]


class DissipationNode:
    """Equations of a simulator's velocities after dissipation.

    Args:
        model: The simulator's model.
        impulses: Whether contacts act by instantaneous impulses; if not, by forces over one time step.
        explicit: Whether c is v₀.
    """

    def __init__(self, model: SimulatorModel, *, impulses: bool = False, explicit: bool = False) -> None:
        self._model, self._impulses, self._explicit = model, impulses, explicit
        nv = model.nv
        self._q, self._before, self._after = SX.sym("q", model.nq), SX.sym("before", nv), SX.sym("after", nv)
        self._velocity = self._before if explicit else SX.sym("velocity", nv)
        self._torque = SX.sym("torque", nv)
        self._duration = SX(1) if impulses else model.dt
        weight = model.barrier_weight * (REFERENCE_TIME if impulses else model.dt)
        c = SX(np.zeros(nv)) if impulses else self._velocity
        self._turns = model.world_axes.free and not impulses
        self._robot = model.robot(self._q, c, weightless=impulses)
        self._contacts = ContactEquations(model, self._robot, self._q, self._duration, weight)
        self._stops = None
        if model.stops:
            self._stops = StopEquations(model, self._q, self._contacts.laws, self._duration, weight)

    # Values

    def solve(self, program: Program, question: DissipationInputs) -> Dissipated:
        """Adds the steps that compute the velocity after dissipation v̂ (nv,) from arrays with q, v₀, c and τ."""
        contacts = self._contacts
        results = {
            "mass_inverse": self._robot.inverse_mass_matrix(),
            "jacobian": contacts.jacobian,
            "spread_out": contacts.jacobian.T,
            "law": contacts.scaled_law,
            "tolerance": self._model.tolerance,
        }
        if not self._impulses:
            results["momentum"] = self._duration * (self._torque - self._robot.nonlinear_effects())
        if self._turns:
            drift = self._model.world_axes.drift(self._velocity)
            results["start"] = ca.densify(self._turned_before() + self._duration * drift)
        r = self._call(program, question, "dynamics", results, [])
        free = r.get("start", question.before)
        if not self._impulses:
            free = program.matmul(r["mass_inverse"], r["momentum"], initial=free)
        spread = program.matmul(r["jacobian"], r["mass_inverse"])
        inertia = program.matmul(spread, r["spread_out"])
        approach = program.matmul(r["jacobian"], free)
        u = SX.sym("u", *approach.shape)
        approach = self._call(program, question, "approach", {"u": contacts.scaled(u)}, [(u, approach)])["u"]
        stopped, arrays = None, r | {"free": free, "spread": spread, "inertia": inertia, "approach": approach}
        if self._stops is None:
            point = solve_steps(program, contacts.laws, inertia, approach, r["law"], r["tolerance"])
        else:
            point, stopped = self._stops.solve(program, self._bindings(question), arrays)
            free = stopped.free
        impulse, force = impulse_steps(program, contacts, self._bindings(question), point[0], r["law"])
        return Dissipated(
            inputs=question,
            velocity=program.matmul(spread, impulse, transpose_a=True, initial=free),
            impulse=impulse,
            force=force,
            point=point,
            stopped=stopped,
            arrays=arrays,
        )

    def _bindings(self, question: DissipationInputs) -> list[tuple[SX, Array]]:
        bindings = [(self._q, question.q), (self._before, question.before)]
        if question.velocity is not None:
            bindings.append((self._velocity, question.velocity))
        if question.torque is not None:
            bindings.append((self._torque, question.torque))
        return [*bindings, (self._model.layout.symbols, question.parameters)]

    def _call(
        self,
        program: Program,
        question: DissipationInputs,
        name: str,
        results: dict[str, SX],
        inputs: Sequence[tuple[SX, Array]],
    ) -> dict[str, Array]:
        return named_call(program, name, [*self._bindings(question), *inputs], sparse(results))

    # Derivatives

    def derivative(self, program: Program, d: Dissipated) -> DissipatedDerivatives:
        """Adds the steps that compute the derivatives of v̂ by q, v₀, c and τ, from the arrays of `solve`."""
        contacts, question, a = self._contacts, d.inputs, d.arrays
        inputs = [(self._after, d.velocity), (contacts.impulse, d.impulse), (contacts.weights[0], d.point[0])]
        r = self._call(program, question, "residual", self._residual_derivatives(), inputs)
        u = program.matmul(a["jacobian"], d.velocity)
        A, F, N = follow_steps(program, contacts.laws, d.point, a["inertia"], a["law"], u, r)
        factors = program.factor(A)
        Z = program.matmul(F, a["spread"], transpose_a=True)
        X = program.solve(factors, Z)
        K, coupled, more = a["mass_inverse"], [], None
        if self._stops is not None and d.stopped is not None:
            coupled = [*call_formula(program, "copy", lambda inverse: [inverse], K), A, Z, N, d.velocity]
            r["by_q"] = self._stops.push(program, r["by_q"], d.stopped)
        program.accumulate(K, X, Z, transpose_a=True, subtract=True, symmetric=True)
        if self._stops is not None and d.stopped is not None:
            more = self._stops.couple(program, d.stopped, coupled, [K, X])
        by_q = program.matmul(K, r["by_q"])
        program.accumulate(by_q, X, N, transpose_a=True, subtract=True)
        if more is not None:
            program.add(by_q, more)
        time = ca.Function("by_torque", [self._model.layout.symbols], [self._duration * SX.eye(self._model.nv)])
        (r["by_torque"],) = program.call(time, question.parameters)
        names = ("by_before", "by_velocity", "by_both", "by_torque")
        return DissipatedDerivatives(
            dissipated=d,
            follower=F,
            factors=factors,
            X=X,
            N=N,
            residual=r,
            coupled=coupled,
            velocity={"by_q": by_q} | {name: program.matmul(K, r[name]) for name in names if name in r},
        )

    def force_derivatives(self, program: Program, by: DissipatedDerivatives, names: Sequence[str]) -> list[Array]:
        """Adds the steps that compute the derivatives of the reported forces, (size, nv) each.

        Args:
            program: Program that gets the steps.
            by: Derivatives of the velocity.
            names: Names of the requested derivatives: "by_q", "by_both", ...
        """
        changes, d = [], by.dissipated
        for name in names:
            follow = program.matmul(by.X, by.residual[name])
            change = by.residual["push_by_q"] if name == "by_q" else None
            if name == "by_q":
                followed = program.solve(by.factors, by.N)
                if self._stops is not None and d.stopped is not None:
                    self._stops.follow(program, d.stopped, by.coupled, followed)
                program.add(follow, followed)
            changes.append(program.matmul(by.follower, follow, subtract=True, initial=change))
        symbols = [symbol_of(program, array) for array in changes]
        turn, turning = self._contacts.force_derivatives()
        results = {
            name: turn @ change + (turning if name == "by_q" else SX(*change.shape))
            for name, change in zip(names, symbols)
        }
        inputs = [(self._contacts.impulse, d.impulse), *zip(symbols, changes)]
        return list(self._call(program, d.inputs, "force_derivatives", results, inputs).values())

    def _residual_derivatives(self) -> dict[str, SX]:
        """-R by q, c and v₀, and the quantities from which the laws' derivatives follow."""
        dt, mass, world = self._duration, self._robot.crba(), self._model.world_axes
        drift = (world.drift(self._velocity), world.drift_derivative(self._velocity)) if self._turns else None
        dq, dv = self._contacts.balance_derivatives((self._after - self._turned_before()) / dt, drift)
        laws = self._contacts.law_results(self._after)
        dq = ca.horzcat(dt * dq, self._balance_by_unknowns())
        results = {"by_q": -dq + ca.mtimes(self._contacts.jacobian.T, laws["push_by_q"]), **laws}
        if self._explicit:
            return results | {"by_both": mass - dt * dv}
        if self._impulses:
            return results | {"by_before": mass}
        by_before, by_d = world.turn_derivatives(self._before, dt * self._velocity)
        by_velocity = ca.mtimes(mass, dt * by_d) - dt * dv
        return results | {"by_before": ca.mtimes(mass, by_before), "by_velocity": by_velocity}

    def _balance_by_unknowns(self) -> SX:
        """Derivative (nv, k) of H (v̂ - v₀) + dt (C - τ) - Jᵀ p by the unknowns, at fixed v̂ and p."""
        a = (self._after - self._turned_before()) / self._duration
        if self._turns:
            a -= self._model.world_axes.drift(self._velocity)
        torque = self._robot.rnea(a) - (0 if self._impulses else self._torque)
        push = ca.mtimes(self._contacts.jacobian.T, self._contacts.impulse)
        return jacobian(self._duration * torque - push, self._model.unknowns)

    def _turned_before(self) -> SX:
        """v₀ in the axes of q (nv,)."""
        if self._explicit or not self._turns:
            return self._before
        return self._model.world_axes.turn(self._before, self._duration * self._velocity)


def impulse_steps(
    program: Program, contacts: ContactEquations, bindings: Sequence[tuple[SX, Array]], w: Array, law: Array
) -> tuple[Array, Array]:
    """Adds the step that computes the impulses p (D,) and the reported forces of all contacts; returns both arrays."""
    force = ca.substitute(contacts.forces, contacts.impulse, contacts.impulses)
    results = {"impulse": contacts.impulses, "force": SX(force)}
    r = named_call(program, "impulses", [*bindings, *zip(contacts.weights, (w, law))], results)
    return r["impulse"], r["force"]


def follow_steps(
    program: Program,
    laws: Sequence[LawAbstract],
    point: Sequence[Array],
    inertia: Array,
    law: Array,
    velocity: Array,
    r: Mapping[str, Array],
) -> tuple[Array, Array, Array]:
    """Adds the call that computes A (R, R), F (D, R) and N (R, nv).

    Args:
        program: Program that gets the call.
        laws: Law of each contact.
        point: (w, s, z, y).
        inertia: Λ (D, D).
        law: Scaled values of all laws.
        velocity: J v (D,) of all contacts.
        r: velocity_by_q and law_by_q of `ContactEquations.law_results`.
    """
    b = Barrier(laws)
    followers = b.followers(b.weights)
    F = SX(ca.diagcat(*[f.F for f in followers]))

    def follow(u: SX, by_velocity: SX, by_law: SX) -> list[SX]:
        turned = ca.mtimes(jacobian(b.gradient(u), b.law), by_law)
        rows = ca.vertsplit(turned, [0, *itertools.accumulate(each.rays for each in laws)])
        pulled = [follower.pull(part) for follower, part in zip(followers, rows)]
        N = ca.mtimes(F.T, by_velocity) + stacked(pulled, by_law.shape[1])
        return [SX(ca.sparsify(SX(value))) for value in (coupled(b.inertia, F), F, N)]

    reads = [*zip(b.point, point), (b.inertia, inertia), (b.law, law)]
    A, F_array, N = call_formula(program, "follow", follow, velocity, r["velocity_by_q"], r["law_by_q"], reads=reads)
    return A, F_array, N


def sparse(results: Mapping[str, SX]) -> dict[str, SX]:
    """Expressions without their structural zeros."""
    return {name: SX(ca.sparsify(SX(value))) for name, value in results.items()}
