"""Integrated models and impulses once more, slow and readable, in numpy: values, Gauss-Newton Hessians by differences.

Accelerations and forces of robots in contact come from Pinocchio's matrices (contact_twin.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt

import trajopt
from tests.simulator.twin import Twin as SimulatorTwin
from tests.simulator.twin_mechanisms import Robot
from tests.support.contact_twin import contact_dynamics, impulse_dynamics, inverse_dynamics
from trajopt.actions.differential import DifferentialActionModelInvDynamicsAbstract
from trajopt.instant import Instant
from trajopt.model import Parameter, ParameterLayout

Reals = npt.NDArray[np.float64]
STEP = np.finfo(float).eps ** (1 / 3)
EMPTY: Reals = np.zeros(0)


def central_differences(f: Callable[[Reals], Reals], n: int, along: Reals | None = None) -> Reals:
    """df/de at e = 0, (m, n), or its product with the columns of `along`, (m, k)."""
    directions = np.eye(n) if along is None else along.T
    columns = [(np.asarray(f(STEP * e)) - np.asarray(f(-STEP * e))) / (2 * STEP) for e in directions]
    return np.array(columns).reshape(len(directions), -1).T


def directions(n: int) -> Reals:
    """Columns (n, k) along which derivatives are compared: all axes of a few, else four dense random ones.

    A wrong entry of a derivative changes its product with a random direction, so that fewer evaluations see as much.
    """
    return np.eye(n) if n <= 6 else np.random.default_rng(n).choice([-1.0, 1.0], size=(n, 4)) / np.sqrt(n)


def assert_close(actual: npt.ArrayLike, expected: npt.ArrayLike, tolerance: float = 1e-6, what: str = "") -> None:
    """Within tolerance · max(1, largest expected)."""
    largest = float(np.abs(expected).max(initial=1.0))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * largest, err_msg=what)


def first_values(parameters: dict[str, Parameter]) -> Reals:
    return ParameterLayout(parameters).column()


@dataclass(frozen=True)
class NumericTerm:
    """One cost term as numbers: its residual (nr,), w · a(r), and the diagonal of w · d²a/dr².

    z is what the dynamics solve for: accelerations, or velocities after an impulse, then all forces.
    """

    function: ca.Function
    parameters: Reals

    def __call__(self, x: Reals, u: Reals, z: Reals = EMPTY) -> tuple[Reals, float, Reals]:
        r, value, curvature = self.function(x, u, z, self.parameters)
        return r.full().ravel(), float(value), curvature.full().ravel()


def numeric_terms(
    costs: trajopt.CostStack,
    nu: int,
    *,
    forces: Mapping[str, int] | None = None,
    motion: str | None = None,
    applied: Mapping[str, int] | None = None,
) -> list[NumericTerm]:
    terms = []
    for term in costs.terms:
        instant = Instant(costs.state, nu, forces=forces, motion=motion, applied=applied)
        named = term.parameters(nu) | costs.state.parameters()
        moving = [getattr(instant, motion)] if motion else []
        z = ca.vertcat(*moving, *instant.forces.values())
        r = term.residual.evaluate(instant)
        w = term.weight.symbol
        results = [r, w * term.activation.value(r), w * term.activation.hessian(r)]
        function = ca.Function("term", [instant.x, instant.u, z, ParameterLayout(named).symbols], results)
        terms.append(NumericTerm(function, first_values(named)))
    return terms


def solution(model: Any, x: Reals, u: Reals) -> Reals:
    """z of a contact model or an impulse; nothing of others."""
    if isinstance(model, trajopt.ActionModelImpulseFwdDynamics):
        motion, forces = impulse_dynamics(model, x)
    elif isinstance(model, trajopt.DifferentialActionModelContactFwdDynamics):
        motion, forces = contact_dynamics(model, x, u)
    elif isinstance(model, DifferentialActionModelInvDynamicsAbstract):
        return u
    else:
        return EMPTY
    return np.concatenate([motion, *forces.values()])


def seen_control(model: Any, x: Reals, u: Reals) -> Reals:
    """The control that costs see: with inverse dynamics the torques of the motors."""
    return inverse_dynamics(model, x, u)[0] if isinstance(model, DifferentialActionModelInvDynamicsAbstract) else u


def terms_of(model: Any) -> list[NumericTerm]:
    """The terms of a differential model, or of an impulse, as functions of x, u and z."""
    if isinstance(model, trajopt.ActionModelImpulseFwdDynamics):
        return numeric_terms(model.costs, 0, forces=model.impulses.sizes, motion="velocity_after")
    if isinstance(
        model, trajopt.DifferentialActionModelContactFwdDynamics | DifferentialActionModelInvDynamicsAbstract
    ):
        return numeric_terms(model.costs, model.stage_nu, forces=model.contacts.sizes, motion="acceleration")
    supports = getattr(model, "supports", None)
    return numeric_terms(model.costs, model.nu, applied=None if supports is None else supports.sizes)


class ImpulseTwin:
    """An impulse in numpy."""

    def __init__(self, model: trajopt.ActionModelImpulseFwdDynamics) -> None:
        self.model, self.terms = model, terms_of(model)

    def values(self, x: Reals) -> tuple[Reals, float]:
        """Next state and cost."""
        z, state = solution(self.model, x, EMPTY), self.model.state
        cost = sum(term(x, EMPTY, z)[1] for term in self.terms)
        return np.concatenate([x[: state.nq], z[: state.nv]]), float(cost)

    def gauss_newton(self, x: Reals, along: Reals | None = None) -> Reals:
        """Σ w Rᵀ Arr R over terms, R by central differences in x (along the columns), impulses included."""

        def residuals(dx: Reals) -> Reals:
            y = self.model.state.integrate(x, dx)
            z = solution(self.model, y, EMPTY)
            return np.concatenate([term(y, EMPTY, z)[0] for term in self.terms])

        R, z = central_differences(residuals, self.model.state.ndx, along), solution(self.model, x, EMPTY)
        return R.T @ (np.concatenate([term(x, EMPTY, z)[2] for term in self.terms])[:, None] * R)


Integrated = (
    trajopt.IntegratedActionModelEuler
    | trajopt.IntegratedActionModelImplicit
    | trajopt.IntegratedActionModelRK
    | trajopt.IntegratedActionModelRK4
)


class Twin:
    """An integrated model in numpy.

    Args:
        model: The model whose steps are repeated; its dynamics come from `differential.calc`.
    """

    def __init__(self, model: Integrated) -> None:
        self.state, self.nu, self.differential = model.state, model.nu, model.differential
        self.dt = float(model.parameters()["dt"].default)
        self.tableau = getattr(model, "tableau", None)
        self.place = {"midpoint": 0.5, "euler": 1.0}.get(getattr(model, "method", ""))
        self.world = getattr(model, "base", "body") == "world"
        self.terms = terms_of(model.differential)
        self._data = self.differential.create_data()

    def rate(self, x: Reals, u: Reals) -> Reals:
        self.differential.calc(self._data, x, u)
        return np.array(self._data.xnext)

    def controls(self, w: Reals) -> list[Reals]:
        """Control at each stage: constant, or the polynomial through values at evenly spaced times of the step."""
        values = w.reshape(-1, self.differential.nu)
        if self.tableau is None or len(values) == 1:
            return [w] * (1 if self.tableau is None else len(self.tableau.b))
        fit = np.polyfit(np.linspace(0.0, 1.0, len(values)), values, len(values) - 1)
        return [fit.T @ np.vander([sum(row)], len(values))[0] for row in self.tableau.A]

    def stages(self, x: Reals, u: Reals) -> tuple[list[Reals], list[float], Reals]:
        """States of the stages, their weights, and the step in the tangent space at x."""
        if self.place is not None:
            k = self.implicit_rate(x, u, self.place * self.dt)
            return [self.state.integrate(x, self.place * self.dt * k)], [1.0], self.dt * k
        if self.tableau is None:
            rate = self.rate(x, u)
            half = self.state.ndx // 2
            if self.differential.second_order:
                rate[:half] += rate[half:] * self.dt  # the velocity is stepped first
            return [x], [1.0], rate * self.dt
        ys, kappas, weights = list[Reals](), list[Reals](), list(self.tableau.b)
        for row, control in zip(self.tableau.A, self.controls(u), strict=True):
            before = sum((a * kappa for a, kappa in zip(row, kappas, strict=True)), np.zeros(self.state.ndx))
            ys.append(self.state.integrate(x, self.dt * before))
            back = self.state.jdifference(x, ys[-1], "second")  # rates at y, seen at x
            kappas.append(back @ self.rate(ys[-1], control))
        return ys, weights, self.dt * sum(b * kappa for b, kappa in zip(weights, kappas, strict=True))

    def implicit_rate(self, x: Reals, u: Reals, step: float) -> Reals:
        """The root of k = f(x ⊕ step k, u), by Newton's method with differences."""

        def residual(k: Reals) -> Reals:
            return k - self.rate(self.state.integrate(x, step * k), u)

        k = self.rate(x, u)
        for _ in range(8):
            k = k - np.linalg.solve(central_differences(lambda d, k=k: residual(k + d), k.size), residual(k))
        return k

    def at(self, y: Reals, u: Reals) -> list[tuple[Reals, float, Reals]]:
        """All terms at an instant."""
        z, control = solution(self.differential, y, u), seen_control(self.differential, y, u)
        return [term(y, control, z) for term in self.terms]

    def values(self, x: Reals, u: Reals) -> tuple[Reals, float]:
        """Next state and cost."""
        ys, weights, step = self.stages(x, u)
        cost = sum(
            b * self.dt * value for y, v, b in zip(ys, self.controls(u), weights) for _, value, _ in self.at(y, v)
        )
        return self.world_step(x, u) if self.world else self.state.integrate(x, step), float(cost)

    def world_step(self, x: Reals, u: Reals) -> Reals:
        """State after a step of free joints in world axes."""
        robot, q, v = Robot(self.state.model), x[: self.state.nq], x[self.state.nq :]
        acceleration = self.rate(x, u)[self.state.nv :]
        return np.concatenate(SimulatorTwin(robot, []).moved(q, v + self.dt * (acceleration + robot.drift(v)), self.dt))

    def gauss_newton(self, x: Reals, u: Reals, along: Reals | None = None) -> Reals:
        """Σ w b dt Rᵀ Arr R over terms and stages, R by central differences in (x, u) (along the columns)."""
        n, m = self.state.ndx, self.nu

        def residuals(z: Reals) -> Reals:
            control = u + z[n:]
            ys, _, _ = self.stages(self.state.integrate(x, z[:n]), control)
            return np.concatenate([r for y, v in zip(ys, self.controls(control)) for r, _, _ in self.at(y, v)])

        R = central_differences(residuals, n + m, along)
        ys, weights, _ = self.stages(x, u)
        stages = zip(ys, self.controls(u), weights)
        diagonal = [b * self.dt * curvature for y, v, b in stages for _, _, curvature in self.at(y, v)]
        return R.T @ (np.concatenate(diagonal)[:, None] * R)
