"""Explicit Runge-Kutta steps on the manifold of (q, v), with derivatives by the state and by τ.

Stages are at y = x ⊕ c dt κ, x⁺ = x ⊕ dt Σ b κ, with κ = ∂(y ⊖ x)/∂y k the rate of a stage, seen in the tangent space
at x: without that map the order on rotations would be 2.

Source: Hairer, Lubich, Wanner, Geometric Numerical Integration, IV.8.2 (Munthe-Kaas methods).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import casadi as ca
from casadi import SX

from trajopt.kernels.derivatives import jacobian
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.simulator.model import SimulatorModel
from trajopt.simulator.steps import Inputs


@dataclass(frozen=True)
class Tableau:
    """An explicit method, each stage of which uses the rate of the one before alone.

    Attributes:
        nodes: c of each stage [-].
        weights: b of each stage [-].
    """

    nodes: tuple[float, ...]
    weights: tuple[float, ...]


EULER = Tableau((0.0,), (1.0,))
MIDPOINT = Tableau((0.0, 0.5), (0.0, 1.0))
CLASSICAL = Tableau((0.0, 0.5, 0.5, 1.0), (1 / 6, 1 / 3, 1 / 3, 1 / 6))


class Field(Protocol):
    """A rate of the state (2 nv,), in the tangent space."""

    def rate(self, program: Program, y: Array, inputs: Inputs) -> Array:
        """Adds the steps that give the rate k at y."""

    def rate_derivatives(self, program: Program, y: Array, inputs: Inputs) -> tuple[Array, Array, Array]:
        """Adds the steps that give k, and its derivatives by y (2 nv, 2 nv) and by τ (2 nv, nv)."""


class RungeKutta:
    """The steps of one method.

    Args:
        model: The simulator's model.
        tableau: The method.
    """

    def __init__(self, model: SimulatorModel, tableau: Tableau) -> None:
        self._model, self._tableau = model, tableau
        state = model.state
        self._n, self._s = state.ndx, state.ndx + model.nv
        self._x, self._y = SX.sym("x", state.nx), SX.sym("y", state.nx)
        self._p, self._c = model.layout.symbols, SX.sym("c")
        self._k, self._D = SX.sym("k", self._n), SX.sym("D", self._n, self._s)
        self._Z = SX.sym("Z", self._n, self._s)

    def step(self, program: Program, field: Field, x: Array, inputs: Inputs) -> Array:
        """Adds the steps that give x⁺."""
        y, rates = x, list[Array]()
        for i in range(len(self._tableau.nodes)):
            if i:
                y = program.call(
                    self._advance(derivatives=False), x, rates[-1], inputs.parameters, self._node(program, i)
                )[0]
            k = field.rate(program, y, inputs)
            rates.append(program.call(self._seen(), x, y, k)[0])
        return program.call(self._finish(derivatives=False), x, inputs.parameters, *rates)[0]

    def step_derivatives(self, program: Program, field: Field, x: Array, inputs: Inputs) -> tuple[Array, Array]:
        """Adds the steps that give x⁺, and its derivative by (x, τ), (2 nv, 3 nv)."""
        start = ca.horzcat(SX.eye(self._n), SX(self._n, self._s - self._n))
        y, (Z,) = x, program.call(ca.Function("start", [], [start]))
        rates, changes = list[Array](), list[Array]()
        for i in range(len(self._tableau.nodes)):
            if i:
                given = (x, rates[-1], changes[-1], inputs.parameters, self._node(program, i))
                y, Z = program.call(self._advance(derivatives=True), *given)
            k, by_y, by_torque = field.rate_derivatives(program, y, inputs)
            D = program.matmul(by_y, Z, initial=self._padded(program, by_torque))
            k, D = program.call(self._seen_derivatives(), x, y, Z, k, D)
            rates.append(k)
            changes.append(D)
        found = program.call(self._finish(derivatives=True), x, inputs.parameters, *rates, *changes)
        return found[0], found[1]

    def _node(self, program: Program, i: int) -> Array:
        return program.call(ca.Function("node", [], [SX(self._tableau.nodes[i])]))[0]

    def _padded(self, program: Program, by_torque: Array) -> Array:
        """Derivative by τ as one by (x, τ)."""
        by = SX.sym("by", *by_torque.shape)
        return program.call(ca.Function("padded", [by], [ca.horzcat(SX(self._n, self._n), by)]), by_torque)[0]

    def _seen(self) -> ca.Function:
        """κ of k."""
        to_x = self._model.state.sx_jdifference(self._x, self._y)[1]
        return ca.Function("seen", [self._x, self._y, self._k], [to_x @ self._k])

    def _seen_derivatives(self) -> ca.Function:
        """κ and its derivative."""
        state, x, y, n = self._model.state, self._x, self._y, self._n
        to_x = state.sx_jdifference(x, y)[1]
        rate = to_x @ self._k
        by_x, by_y = jacobian(rate, x) @ state.sx_tangent_basis(x), jacobian(rate, y) @ state.sx_tangent_basis(y)
        change = to_x @ self._D + by_y @ self._Z + ca.horzcat(by_x, SX(n, self._s - n))
        return ca.Function("seen_diff", [x, y, self._Z, self._k, self._D], [rate, change])

    def _advance(self, *, derivatives: bool) -> ca.Function:
        """y, and Z, of the next stage."""
        step, change = self._c * self._model.dt * self._k, self._c * self._model.dt * self._D
        given = [self._k, self._D] if derivatives else [self._k]
        results = self._moved(step, change) if derivatives else [self._model.state.sx_integrate(self._x, step)]
        return ca.Function("advance", [self._x, *given, self._p, self._c], results)

    def _finish(self, *, derivatives: bool) -> ca.Function:
        weights, dt = self._tableau.weights, self._model.dt
        ks = [SX.sym("k", self._n) for _ in weights]
        Ds = [SX.sym("D", self._n, self._s) for _ in weights]
        step = dt * _weighted(weights, ks)
        if not derivatives:
            return ca.Function("finish", [self._x, self._p, *ks], [self._model.state.sx_integrate(self._x, step)])
        return ca.Function("finish", [self._x, self._p, *ks, *Ds], self._moved(step, dt * _weighted(weights, Ds)))

    def _moved(self, step: SX, change: SX) -> list[SX]:
        """x ⊕ step, and its derivative, with `change` that of the step."""
        state = self._model.state
        first, second = state.sx_jintegrate(self._x, step)
        by = second @ change + ca.horzcat(first, SX(self._n, self._s - self._n))
        return [state.sx_integrate(self._x, step), ca.densify(by)]


def _weighted(weights: Sequence[float], values: Sequence[SX]) -> SX:
    parts = [b * value for b, value in zip(weights, values) if b]
    return SX(sum(itertools.islice(parts, 1, None), parts[0]))
