"""Exact Hessians of every model, residual and activation, against differences of gradients in solvers' coordinates.

Programs and expressions run as they are written: nothing is compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
import pytest

import trajopt
from tests.support.contact_models import GAINS, contact_dynamics_of
from tests.support.contact_robots import robot_state
from tests.support.model_list import ACTIONS, ACTIVATIONS, RESIDUALS, TERMINALS, points
from tests.support.own_states import StateStretched
from trajopt.actions.expression import ActionModelExpression
from trajopt.actions.lagrangian import second_derivatives
from trajopt.errors import UnsupportedOperationError
from trajopt.instant import Instant
from trajopt.model.programs import outputs_at
from trajopt.residuals import ResidualModelAbstract
from trajopt.shooting import programs

Reals = npt.NDArray[np.float64]
STEP = np.finfo(float).eps ** (1 / 3)
SAME = (  # code of smaller models in this list, with more of it
    *("euler-solo12", "euler-world-solo12", "euler-talos_arm-friction", "euler-inverse-talos_arm", "euler-planar-3r"),
    *("euler-diff-drive-rates", "rk4-talos_arm", "rk4-cart-pole", "euler-talos_arm", "euler-drone", "rk4-planar-2r"),
    *("rk4-inverse-cart-pole", "euler-contact-hopper", "impulse-arm", "impulse-hopper"),
    *("euler-contact-constrained-forces", "euler-unicycle-speeds"),
)


@cache
def action(name: str) -> trajopt.ActionModelAbstract:
    return ACTIONS[name]()


class Knot:
    """The Lagrangian of a knot around (x, u), in the tangent space at x; of a terminal one without a control."""

    def __init__(self, model: ActionModelExpression, x: Reals, u: Reals | None, rng: np.random.Generator) -> None:
        self.model, self.x, self.u = model, x, u
        self.lam, self.y = rng.normal(size=model.state.ndx), rng.normal(size=model.nc)
        self.delta = rng.normal(size=programs.residuals_of_end(model) if u is None else 0)
        self.size = model.state.ndx + (0 if u is None else len(u))
        self.reached = None if u is None else outputs_at(model, model.program("calc"), x, u)[0].ravel()

    def hessian(self) -> Reals:
        model, p = self.model, self.model.layout.column()
        if self.u is None:
            return programs.terminal_lagrangian(model, model.nc).evaluate(self.x, p, self.y, self.delta)[0]
        size = programs.kept_size(model)
        assert self.reached is not None
        expansion = programs.expansion(model, model.nu, model.nc, kept=size)
        results = expansion.evaluate(self.x, self.u, p, self.reached)[: -1 if expansion.status else None]
        kept = results[-1:] if size else []
        of = programs.lagrangian(model, model.nu, model.nc, size)
        return of.evaluate(self.x, self.u, p, self.lam, self.y, *kept)[0]

    def gradient(self, z: Reals) -> Reals:
        model, state, n = self.model, self.model.state, self.model.state.ndx
        x = state.integrate(self.x, z[:n])
        if self.u is None or self.reached is None:
            _, g, _, *rest = outputs_at(model, model.program("terminal"), x)
            slope = g.ravel()
        else:
            f, _, F, g, _, *rest = outputs_at(model, model.program("calc_diff"), x, self.u + z[n:])
            slope = g.ravel() + F.T @ (state.jdifference(self.reached, f.ravel(), "second").T @ self.lam)
        if len(self.delta):
            slope = slope + residual_derivative(model, x).T @ self.delta
        if rest:
            slope = slope + rest[1].T @ self.y
        return np.concatenate([state.jintegrate(self.x, z[:n], "second").T @ slope[:n], slope[n:]])


def residual_derivative(model: ActionModelExpression, x: Reals) -> Reals:
    """Derivative of the bent residuals of the end's costs (nr, ndx), in tangent coordinates."""
    i, costs = Instant(model.state, 0), model.end_costs
    assert costs is not None
    R = costs.bent_residuals(i)[1]
    return np.array(ca.Function("R", [i.x, model.layout.symbols], [R])(x, model.layout.column()))


def assert_derivative(H: Reals, gradient: Callable[[Reals], Reals], rng: np.random.Generator) -> None:
    """All columns of small Hessians, two random directions of large ones."""
    size = len(H)
    np.testing.assert_allclose(H, H.T, rtol=0, atol=1e-12 * max(1.0, np.abs(H).max()))
    along = np.eye(size) if size <= 8 else rng.normal(size=(2, size)) / np.sqrt(size)
    for d in along:
        expected = (gradient(STEP * d) - gradient(-STEP * d)) / (2 * STEP)
        np.testing.assert_allclose(H @ d, expected, rtol=0, atol=1e-6 * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("name", [name for name in ACTIONS if name not in SAME])
def test_hessian_of_a_running_model_matches_differences_of_its_gradient(name: str) -> None:
    model, rng = action(name), np.random.default_rng(7)
    if not isinstance(model, ActionModelExpression):
        return
    if not model.has_lagrangian_hessian:
        with pytest.raises(UnsupportedOperationError, match="has no Hessian of the Lagrangian"):
            programs.lagrangian(model, model.nu, model.nc)
        return
    knot = Knot(model, points(model.state)[1], rng.normal(size=model.nu), rng)
    assert_derivative(knot.hessian(), knot.gradient, rng)


class Stretched(trajopt.DifferentialActionModelSymbolic):
    """A number with a ⊕ that depends on it, so that ∂κ/∂x is not zero."""

    def xdot(self, x: ca.SX, u: ca.SX) -> ca.SX:
        return ca.cos(2 * x) * (1.0 + u) + u**2


def test_hessian_on_a_state_that_is_no_group_matches_differences_of_its_gradient() -> None:
    state, rng = StateStretched(), np.random.default_rng(7)
    costs = trajopt.CostStack(state).add("state", trajopt.ResidualModelState(state, [0.4]), weight=1.0)
    model = trajopt.IntegratedActionModelRK4(Stretched(state, 1, costs), dt=0.5)
    knot = Knot(model, np.array([0.7]), rng.normal(size=1), rng)
    assert_derivative(knot.hessian(), knot.gradient, rng)


@pytest.mark.parametrize("name", [name for name in TERMINALS if "talos" not in name and "solo" not in name])
def test_hessian_of_a_terminal_model_matches_differences_of_its_gradient(name: str) -> None:
    model, rng = TERMINALS[name](), np.random.default_rng(8)
    if isinstance(model, ActionModelExpression) and model.has_lagrangian_hessian:
        knot = Knot(model, points(model.state)[1], None, rng)
        assert_derivative(knot.hessian(), knot.gradient, rng)


@pytest.mark.parametrize("name", ["euler-ball", "euler-solo12", "euler-talos_arm"])
def test_multipliers_of_residuals_add_their_second_derivatives(name: str) -> None:
    """H(δ) - H(0) = dt Σ δᵢ ∇²rᵢ at a knot of a model with one stage."""
    model, rng = action(name), np.random.default_rng(4)
    assert isinstance(model, trajopt.IntegratedActionModelEuler)
    nr, n = programs.running_residuals(model), model.state.ndx
    assert nr > 0
    knot = Knot(model, points(model.state)[0], rng.normal(size=model.nu), rng)
    delta, nothing, p = rng.normal(size=nr), np.zeros(nr), model.layout.column()
    size = programs.kept_size(model)
    assert knot.reached is not None
    results = programs.expansion(model, model.nu, model.nc, kept=size).evaluate(knot.x, knot.u, p, knot.reached)
    kept = (
        results[: -1 if programs.expansion(model, model.nu, model.nc, kept=size).status else None][-1:] if size else []
    )
    of = programs.lagrangian(model, model.nu, model.nc, size, nr)
    H = [of.evaluate(knot.x, knot.u, p, knot.lam, knot.y, *kept, each)[0] for each in (delta, nothing)]
    i, costs = Instant(model.state, model.nu), model.running_costs
    assert costs is not None
    R = ca.Function("R", [i.x, model.layout.symbols], [costs.bent_residuals(i)[1]])

    def gradient(z: Reals) -> Reals:
        slope = np.array(R(model.state.integrate(knot.x, z[:n]), p)).T @ delta
        return np.append(model.state.jintegrate(knot.x, z[:n], "second").T @ slope * model.time_step(), z[n:] * 0.0)

    assert_derivative(H[0] - H[1], gradient, rng)


@pytest.mark.slow
def test_hessian_with_a_weld_between_two_feet_matches_differences_of_the_gradient() -> None:
    state = robot_state("biped")
    weld = trajopt.ContactModelLoop(state, "foot0", "foot1", dimension=6, gains=GAINS)
    differential = contact_dynamics_of(trajopt.ContactStack(state).add("weld", weld), damping=0.1)
    model, rng = trajopt.IntegratedActionModelEuler(differential, dt=0.02), np.random.default_rng(6)
    knot = Knot(model, points(state)[0], rng.normal(size=model.nu), rng)
    assert_derivative(knot.hessian(), knot.gradient, rng)


def test_hessian_of_a_terminal_impulse_matches_differences_of_the_gradient() -> None:
    state = action("impulse-constrained").state
    costs = trajopt.CostStack(state).add("height", trajopt.ResidualModelCoMPosition(state, [0.1, 0.2, 0.3]), 2.0)
    model = trajopt.ActionModelImpulseFwdDynamics(state, trajopt.ImpulseStack(state), costs)
    knot = Knot(model, points(state)[0], None, np.random.default_rng(2))
    assert_derivative(knot.hessian(), knot.gradient, np.random.default_rng(3))


# Residuals and activations: Σ a'(r) ∇²r + Rᵀ a''(r) R


class Term:
    """a(r - c) of a residual, with c away from r so that a' does not vanish."""

    def __init__(self, residual: ResidualModelAbstract, activation: trajopt.ActivationModelAbstract | None) -> None:
        given: dict[str, Any] = (
            {"forces": {"foot": 6}, "equations": {"foot_contact": 3}} if residual.uses_solution else {}
        )
        motion = "velocity_after" if isinstance(residual, trajopt.ResidualModelImpulseCoM) else "acceleration"
        i = Instant(residual.state, 2, motion=motion if residual.uses_solution else None, **given)
        r = residual.evaluate(i)
        shifted = r - ca.DM(np.linspace(-1.0, 1.5, r.numel()))
        value = ca.sumsqr(shifted) / 2 if activation is None else activation.value(shifted)
        layouts = [trajopt.model.ParameterLayout(residual.parameters_for(2))]
        layouts += [] if activation is None else [activation.layout]
        self.parameters = np.concatenate([layout.column() for layout in layouts])
        self.state, symbols = residual.state, [i.x, i.u, i.solved, ca.vertcat(*(layout.symbols for layout in layouts))]
        self.nz = i.solved.numel()
        self._second = ca.Function("term", symbols, second_derivatives(residual.state, i, value))
        act = activation or trajopt.ActivationModelQuad()
        formula = residual.curvature(i, act.gradient(shifted), act.hessian(shifted))
        self.formula = None if formula is None else ca.Function("formula", symbols, [formula])

    def by_formula(self, x: Reals, u: Reals, z: Reals) -> Reals:
        """The Hessian by the residual's formula."""
        assert self.formula is not None
        return self.formula(x, u, z, self.parameters).full()

    def __call__(self, x: Reals, u: Reals, z: Reals) -> tuple[Reals, Reals]:
        g, H = self._second(x, u, z, self.parameters)
        return g.full().ravel(), H.full()


def assert_term(term: Term, x: Reals) -> None:
    rng, state = np.random.default_rng(4), term.state
    n, u, z = state.ndx, rng.normal(size=2), rng.normal(size=term.nz)

    def gradient(d: Reals) -> Reals:
        g, _ = term(state.integrate(x, d[:n]), u + d[n:], z)
        return np.concatenate([state.jintegrate(x, d[:n], "second").T @ g[:n], g[n:]])

    for hessian in (term(x, u, z)[1], *([] if term.formula is None else [term.by_formula(x, u, z)])):
        assert_derivative(hessian, gradient, rng)


@pytest.mark.parametrize("name", [name for name in RESIDUALS if not name.endswith(("talos_arm", "solo12"))])
def test_hessian_of_a_residual_matches_differences_of_its_gradient(name: str) -> None:
    residual = RESIDUALS[name]()
    term = Term(residual, None)
    for x in points(residual.state)[:2]:
        assert_term(term, x)


@pytest.mark.parametrize("name", ["placement-ball", "placement-drone", "translation-drone"])
def test_a_residual_has_a_formula(name: str) -> None:
    """Which `test_hessian_of_a_residual_matches_differences_of_its_gradient` then looks at."""
    assert Term(RESIDUALS[name](), None).formula is not None


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_hessian_of_an_activation_matches_differences_of_its_gradient(name: str) -> None:
    def four(x: ca.SX, u: ca.SX) -> ca.SX:
        return ca.vertcat(ca.sin(x[0]) * u[0], x[1] * x[2], ca.exp(0.3 * x[1]), u[1] * x[3] ** 2)

    residual = trajopt.ResidualModelSymbolic(action("euler-ball").state, four)
    for x in points(residual.state)[:2]:
        assert_term(Term(residual, ACTIVATIONS[name]()), x)
