"""Limiting forces of maximal dissipation for dt -> 0, as steps of a program.

    p = √β C w with Cᵀ J v - β/w + β/s = 0:   the linear program of the impulses for dt -> 0, for each contact.

With N = Fᵀ ∂(J v) + L ∂(Cᵀ u), dp = √β ∂C w - F N. The iteration is that of impulses, with Λ = 0.

Source: the README of DiffNE, `MDP_lim`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
from casadi import SX

from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.parts import named_call
from trajopt.simulator.contact_equations import ContactEquations
from trajopt.simulator.dissipation_node import follow_steps, impulse_steps, sparse
from trajopt.simulator.interior_point import solve_steps
from trajopt.simulator.model import SimulatorModel


@dataclass(frozen=True, kw_only=True)
class Limited:
    """Limits of the contact forces for dt -> 0 at a state, and the quantities of their derivatives.

    Attributes:
        bindings: Pairs of a symbol and its array: q, v and the run-time parameters.
        impulse: p (D,) [N].
        force: Reported force of each contact, stacked [N].
        push: Jᵀ p (nv,).
        point: (w, s, z, y).
        arrays: "velocity" J v (D,), "jacobian" J (D, nv), "inertia" zero (D, D), "law" the scaled values of the laws.
    """

    bindings: list[tuple[SX, Array]]
    impulse: Array
    force: Array
    push: Array
    point: tuple[Array, ...]
    arrays: dict[str, Array]


class LimitNode:
    """Computes limiting forces, and the derivatives of H a + C(q, v) - Jᵀ p.

    Args:
        model: The simulator's model.
    """

    def __init__(self, model: SimulatorModel) -> None:
        self._model = model
        self._q, self._v, self._a = SX.sym("q", model.nq), SX.sym("v", model.nv), SX.sym("a", model.nv)
        robot = model.robot(self._q, self._v)
        self._contacts = ContactEquations(model, robot, self._q, SX(1), model.barrier_weight)

    def solve(self, program: Program, q: Array, v: Array, parameters: Array) -> Limited:
        """Adds the steps that compute the limits of the contact forces."""
        contacts = self._contacts
        bindings = [(self._q, q), (self._v, v), (self._model.layout.symbols, parameters)]
        velocity = contacts.jacobian @ self._v
        results = {
            "jacobian": contacts.jacobian,
            "velocity": ca.densify(velocity),
            "scaled": ca.densify(contacts.scaled(velocity)),
            "law": contacts.scaled_law,
            "inertia": SX(velocity.numel(), velocity.numel()),
            "tolerance": self._model.tolerance,
        }
        r = named_call(program, "limit", bindings, results)
        point = solve_steps(program, contacts.laws, r["inertia"], r["scaled"], r["law"], r["tolerance"])
        impulse, force = impulse_steps(program, contacts, bindings, point[0], r["law"])
        push = program.matmul(r["jacobian"], impulse, transpose_a=True)
        return Limited(bindings=bindings, impulse=impulse, force=force, push=push, point=point, arrays=r)

    def balance_derivatives(self, program: Program, d: Limited, a: Array) -> Sequence[Array]:
        """Adds the steps that compute -∂/∂q and -∂/∂v of H a + C(q, v) - Jᵀ p at fixed a, (nv, nv) each."""
        contacts, jacobian, law = self._contacts, d.arrays["jacobian"], d.arrays["law"]
        dq, dv = contacts.balance_derivatives(self._a)
        laws = contacts.law_results(self._v)
        results = {"by_q": -dq + ca.mtimes(contacts.jacobian.T, laws["push_by_q"]), "by_v": -dv, **laws}
        inputs = [(self._a, a), (contacts.impulse, d.impulse), *zip(contacts.weights, (d.point[0], law))]
        r = named_call(program, "balance", [*d.bindings, *inputs], sparse(results))
        _, F, N = follow_steps(program, contacts.laws, d.point, d.arrays["inertia"], law, d.arrays["velocity"], r)
        follow = program.matmul(jacobian, F, transpose_a=True)
        program.accumulate(r["by_q"], follow, N, subtract=True)
        by_velocity = program.matmul(F, jacobian, transpose_a=True)
        program.accumulate(r["by_v"], follow, by_velocity, subtract=True)
        return r["by_q"], r["by_v"]
