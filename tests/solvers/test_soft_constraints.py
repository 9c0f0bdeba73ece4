"""Soft constraints: closed forms, barriers as costs, exact penalties; solvers that know none refuse them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import trajopt
from trajopt import solvers
from trajopt.actions import ActionModelTerminal
from trajopt.errors import InvalidArgumentError
from trajopt.shooting import ShootingProblem
from trajopt.solvers import NLPOptions, SolverAbstract, SolverFatrop, SolverIpopt, SQPOptions
from trajopt.solvers.nlp.nlp import NLPSolverAbstract

SOLVERS = [each for each in vars(solvers).values() if isinstance(each, type) and issubclass(each, SolverAbstract)]
FINAL = [each for each in SOLVERS if not each.__abstractmethods__]
SOFT = [each for each in FINAL if each.honours_soft_constraints]


def made(solver: Any, problem: ShootingProblem) -> Any:
    """A solver to small tolerances; fatrop does not get to 1e-8 on an arm whose slacks have no curvature."""
    if issubclass(solver, NLPSolverAbstract):
        return solver(problem, NLPOptions(tolerance=1e-7))
    return solver(problem, SQPOptions(tolerance=1e-7, relative_tolerance=1e-13))


def solve(solver: Any, problem: ShootingProblem) -> Any:
    return made(solver, problem).solve()


def pushed(soft: Any, **bounds: Any) -> ShootingProblem:
    """x⁺ = x + u from 0, with cost ½ (u - 2)² - 2: one knot."""
    state = trajopt.StateVector(1)
    rows = trajopt.ConstraintStack(state).add("push", trajopt.ResidualModelControl(state), **bounds, soft=soft)
    node = trajopt.ActionModelLQR([[1.0]], [[1.0]], [[0.0]], [[1.0]], r=[-2.0], constraints=rows)
    return ShootingProblem([0.0], [node], trajopt.CostStack(state))


def optimum(linear: float, quadratic: float) -> float:
    """Of ½ (u - 2)² + linear · s + ½ quadratic · s² with s = max(u - 1, 0)."""
    return 1.0 if linear >= 1.0 else (2.0 - linear + quadratic) / (1.0 + quadratic)


@pytest.mark.parametrize("solver", SOFT)
@pytest.mark.parametrize("weights", [(0.5, 0.0), (0.0, 3.0), (0.25, 2.0), (1.5, 0.0), (4.0, 1.0)])
def test_a_soft_bound_on_one_control_has_the_closed_form_optimum(solver: Any, weights: tuple[float, float]) -> None:
    expected = optimum(*weights)
    solution = solve(solver, pushed(weights, upper=1.0))
    assert solution.converged
    assert solution.us[0, 0] == pytest.approx(expected, abs=1e-6)
    assert solution.cost == pytest.approx(0.5 * expected**2 - 2.0 * expected, abs=1e-5)  # without that of the slack
    assert solution.violations()["push"][0, 0] == pytest.approx(expected - 1.0, abs=1e-6)


@pytest.mark.parametrize("solver", SOFT)
def test_lower_bounds_equations_and_weights_at_run_time(solver: Any) -> None:
    """½ (u - 2)² against u >= 3, and against u = 1; weights of a later solve are those of then."""
    above = solve(solver, pushed((0.5, 1.0), lower=3.0))
    assert above.us[0, 0] == pytest.approx(2.75, abs=1e-6)  # u - 2 = 0.5 + (3 - u)
    problem = pushed((0.5, 1.0), equals=1.0)
    one = made(solver, problem)
    assert one.solve().us[0, 0] == pytest.approx(optimum(0.5, 1.0), abs=1e-6)
    problem.set_parameter("push.linear", 0.0)
    problem.set_parameter("push.quadratic", 9.0)
    assert one.solve().us[0, 0] == pytest.approx(optimum(0.0, 9.0), abs=1e-6)
    problem.set_parameter("push.lower", -np.inf)
    problem.set_parameter("push.upper", np.inf)
    assert one.solve().us[0, 0] == pytest.approx(2.0, abs=1e-6)


def arm(*, soft: tuple[float, float] | None, barrier: float | None = None, T: int = 8) -> ShootingProblem:
    """A planar arm pulled to one side, with a wall for its tool; the wall is a constraint, or a cost."""
    state = trajopt.StateMultibody(trajopt.load_robot("planar-3r"))
    actuation, dt, wall = trajopt.ActuationModelFull(state), 0.05, [np.inf, np.inf, 0.1]

    def costs(scale: float) -> trajopt.CostStack:
        stack = trajopt.CostStack(state)
        stack.add("goal", trajopt.ResidualModelFrameTranslation(state, "tool", [0.5, 0.0, 0.6]), 30.0)
        stack.add("calm", trajopt.ResidualModelState(state), 0.1)
        if barrier is not None:
            outside = trajopt.ActivationModelQuadraticBarrier([-np.inf] * 3, wall)
            stack.add("wall", trajopt.ResidualModelFrameTranslation(state, "tool"), barrier / scale, outside)
        return stack

    def rows() -> trajopt.ConstraintStack:
        stack = trajopt.ConstraintStack(state)
        if barrier is not None:
            return stack
        return stack.add("wall", trajopt.ResidualModelFrameTranslation(state, "tool"), upper=wall, soft=soft)

    running = costs(dt).add("effort", trajopt.ResidualModelControl(state), 1e-2)
    model = trajopt.DifferentialActionModelFreeFwdDynamics(state, actuation, running, constraints=rows())
    node = trajopt.IntegratedActionModelEuler(model, dt)
    return ShootingProblem(np.zeros(6), [node] * T, ActionModelTerminal(costs(1.0), constraints=rows()))


@pytest.mark.parametrize("solver", SOFT)
def test_quadratic_weights_are_those_of_a_barrier(solver: Any) -> None:
    """At every knot, not scaled by dt: as a cost that is divided by dt."""
    soft, hinge = (solve(solver, problem) for problem in (arm(soft=(0.0, 20.0)), arm(soft=None, barrier=20.0)))
    assert soft.converged
    assert soft.violations()["wall"].max() > 0.02
    np.testing.assert_allclose(soft.xs, hinge.xs, rtol=0, atol=2e-5)
    np.testing.assert_allclose(soft.us, hinge.us, rtol=0, atol=2e-4)


@pytest.mark.parametrize("solver", SOFT)
def test_a_linear_weight_above_the_multiplier_is_exact(solver: Any) -> None:
    hard = solve(solver, arm(soft=None))
    price = float(np.abs(hard.multipliers["constraints"]).max())
    assert hard.converged
    assert price > 1e-3
    dear, cheap = (solve(solver, arm(soft=(part * price, 0.0))) for part in (2.0, 0.5))
    np.testing.assert_allclose(dear.xs, hard.xs, rtol=1e-6, atol=1e-6)
    assert dear.violations()["wall"].max() < 1e-6
    assert cheap.converged
    assert cheap.violations()["wall"].max() > 1e-4


@pytest.mark.parametrize("solver", [each for each in FINAL if not each.honours_soft_constraints])
def test_solvers_that_know_no_soft_constraints_refuse_them(solver: Any) -> None:
    message = f"{solver.__name__} can't (enforce|handle soft) constraints, but the problem has some: push; use Solver"
    with pytest.raises(InvalidArgumentError, match=message):
        solver(pushed((1.0, 0.0), upper=1.0))


def test_the_independent_checks_know_them() -> None:
    assert {SolverIpopt, SolverFatrop} <= set(SOFT)
