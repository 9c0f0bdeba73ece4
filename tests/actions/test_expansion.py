"""Expansions of knots: Hessians of the Lagrangian, and models that give their gap from (x, u, x⁺)."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
import pytest
from casadi import SX

import trajopt
from tests.support.kernel_runner import kernel_at, run_kernel
from tests.support.model_list import ACTIONS, DiscreteAttitude, points
from tests.support.slow_twin import assert_close, central_differences
from trajopt.actions import ActionModelExpression, Expansion, Multipliers, Point, Values, discrete
from trajopt.errors import UnsupportedOperationError
from trajopt.instant import Instant
from trajopt.kernels import Program
from trajopt.kernels.codegen import QUICK
from trajopt.model.parts import named_call
from trajopt.shooting import programs
from trajopt.solvers import SolverFDDP

Reals = npt.NDArray[np.float64]


def lagrangian(model: ActionModelExpression) -> Program:
    """(x, u, parameters, λ) -> (gradient of the cost, Hessian)."""
    program = Program("lagrangian")
    x, u, p = program.input(model.state.nx), program.input(model.nu), program.input(model.layout.size)
    multipliers = Multipliers(dynamics=program.input(model.state.ndx))
    e = model.expansion(program, Point(x=x, u=u, parameters=p), multipliers)
    program.output(e.g, e.H)
    return program


EXACT = [
    *("discrete-attitude", "unicycle", "lqr", "euler-pendulum", "rk4-pendulum", "rk4-attitude"),
    *("euler-planar-2r", "euler-cart-pole", "euler-ball", "euler-drone", "euler-talos_arm-friction"),
    "euler-world-drone",
    *("euler-inverse-planar-3r", "euler-inverse-ball", "euler-inverse-drone"),
]


@pytest.mark.parametrize("name", EXACT)
def test_hessian_of_the_lagrangian_by_differences_of_its_gradient(name: str) -> None:
    """L(z) = l + λᵀ (f(x ⊕ dx, u + du) ⊖ f(x, u)); on a curved state its gradient turns with the tangent space."""
    model: Any = ACTIONS[name]()
    state, n, program, data = model.state, model.state.ndx, lagrangian(model), model.create_data()
    rng, p = np.random.default_rng(3), model.layout.column()
    bent = 0.0
    for x in points(state)[:4]:
        u, multipliers = rng.normal(size=model.nu), rng.normal(size=n)
        g, H = program.evaluate(x, u, p, multipliers)
        model.calc(data, x, u)
        reached = data.xnext.copy()

        def gradient(z: Reals, x: Reals = x, u: Reals = u, reached: Reals = reached, y: Reals = multipliers) -> Reals:
            moved = state.integrate(x, z[:n])
            model.calc(data, moved, u + z[n:])
            model.calc_diff(data, moved, u + z[n:])
            back = state.jdifference(reached, data.xnext, "second")
            total = np.concatenate([data.Lx, data.Lu]) + np.hstack([data.Fx, data.Fu]).T @ (back.T @ y)
            total[:n] = state.jintegrate(x, z[:n], "second").T @ total[:n]
            return total

        assert_close(H, central_differences(gradient, n + model.nu))
        model.calc_diff(data, x, u)
        model.calc(data, x, u)
        assert_close(g.ravel(), np.concatenate([data.Lx, data.Lu]), 1e-13, "the gradient is that of the cost")
        bent = max(bent, float(np.abs(H[:n, :n] - data.Lxx).max()))
    assert (bent > 0.01) == (name != "lqr")


def test_models_with_gauss_newton_hessians_refuse_multipliers() -> None:
    for name in ("rk4-contact-none", "euler-inverse-hopper"):
        model: Any = ACTIONS[name]()
        with pytest.raises(UnsupportedOperationError, match=f"{type(model).__name__} has no Hessian of the Lagrangian"):
            lagrangian(model)


def test_calc_diff_builds_no_hessian_of_the_lagrangian(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discrete, "lagrangian_hessian", None)
    DiscreteAttitude().program("calc_diff")
    with pytest.raises(TypeError):
        lagrangian(DiscreteAttitude())


# Models that give their gap

A, B, DT = np.array([[0.0, 1.0], [-4.0, -0.5]]), np.array([[0.0], [1.0]]), 0.2
AHEAD = np.linalg.inv(np.eye(2) - 0.5 * DT * A)


class Trapezoid(ActionModelExpression):
    """x⁺ - x - dt/2 (A x + A x⁺) - dt B u = 0, linearised at the state of the next knot; cost ½ |x|² + ½ u²."""

    def __init__(self) -> None:
        super().__init__(trajopt.StateVector(2), 1)

    def term_expressions(self, instant: Instant, *, terminal: bool) -> dict[str, SX]:
        return {"cost": 0.5 * ca.sumsqr(instant.x) + (0 if terminal else 0.5 * ca.sumsqr(instant.u))}

    def _residual(self, x: SX, u: SX, following: SX) -> SX:
        return following - x - 0.5 * DT * A @ (x + following) - DT * B @ u

    def values(self, program: Program, point: Point) -> Values:
        i = Instant(self.state, self.nu)
        cost = self.term_expressions(i, terminal=point.u is None)["cost"]
        if point.u is None:
            return Values.of(named_call(program, "end", [(i.x, point.x)], {"cost": cost}))
        xnext = i.x - AHEAD @ self._residual(i.x, i.u, i.x)
        return Values.of(named_call(program, "step", [(i.x, point.x), (i.u, point.u)], {"xnext": xnext, "cost": cost}))

    def expansion(
        self, program: Program, point: Point, multipliers: Multipliers | None = None, *, lift: int | None = None
    ) -> Expansion:
        i, following = Instant(self.state, self.nu), SX.sym("following", 2)
        cost = self.term_expressions(i, terminal=point.u is None)["cost"]
        z = i.x if point.u is None else ca.vertcat(i.x, i.u)
        results = {"cost": cost, "g": ca.gradient(cost, z), "H": ca.hessian(cost, z)[0]}
        if point.u is None:
            return Expansion.of(named_call(program, "end", [(i.x, point.x)], results))
        r = self._residual(i.x, i.u, following)
        inverse = ca.inv(ca.jacobian(r, following))
        results |= {"gap": -inverse @ r, "F": -inverse @ ca.jacobian(r, z)}
        assert point.following is not None
        inputs = [(i.x, point.x), (i.u, point.u), (following, point.following)]
        found = named_call(program, "step", inputs, results)
        return Expansion.of(found)


def test_a_model_that_gives_its_gap() -> None:
    """The expansion does not depend on how the step is solved: F is exact, x⁺ is where the linearisation leads to."""
    model, rng = Trapezoid(), np.random.default_rng(0)
    x, u, following = rng.normal(size=2), rng.normal(size=1), rng.normal(size=2)
    expected = AHEAD @ (x + 0.5 * DT * A @ x + DT * B @ u)
    given = [x, u, np.zeros(0), following]
    evaluated = programs.expansion(model, 1).evaluate(*given)
    compiled = run_kernel(kernel_at(programs.expansion(model, 1), 1, QUICK), [value[None] for value in given])
    for xnext, _, gap, F, *_ in (evaluated, compiled):
        assert_close(xnext.ravel(), expected, 1e-14)
        assert_close(gap.ravel(), expected - following, 1e-14)
        assert_close(F.reshape(2, 3), AHEAD @ np.hstack([np.eye(2) + 0.5 * DT * A, DT * B]), 1e-14)


def test_an_implicit_trapezoid_model_is_solved_like_its_explicit_form() -> None:
    x0, T = [1.0, -0.5], 15
    explicit = trajopt.ActionModelLQR(AHEAD @ (np.eye(2) + 0.5 * DT * A), AHEAD @ (DT * B), np.eye(2), np.eye(1))
    rng = np.random.default_rng(1)
    xs, us = rng.normal(size=(T + 1, 2)), rng.normal(size=(T, 1))
    found, expected = (
        SolverFDDP(trajopt.ShootingProblem(x0, [model] * T, model)).solve(xs, us) for model in (Trapezoid(), explicit)
    )
    assert found.converged
    assert found.iterations == expected.iterations
    assert found.cost == pytest.approx(expected.cost, rel=1e-12)
    assert_close(found.xs, expected.xs, 1e-12)
