"""SolverSQP where the Hessian of a model says little of the cost: bends, and curvature that it does not have."""

from __future__ import annotations

from typing import Any

import casadi
import numpy as np
import pytest

from trajopt import problems
from trajopt.actions import ActionData, ActionModelAbstract, ActionModelDiscrete, ActionModelTerminal
from trajopt.actions.differential import DifferentialActionModelSymbolic
from trajopt.actions.integrated import IntegratedActionModelEuler
from trajopt.constraints import ConstraintStack
from trajopt.costs import CostStack
from trajopt.residuals import ResidualModelControl, ResidualModelState, ResidualModelSymbolic
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution
from trajopt.solvers import SolverSQP, SQPOptions
from trajopt.states import StateVector
from trajopt.types import Reals

LARGE = 1e4  # what it costs anyway, beside which the rest is small


class Bent(ActionModelAbstract):
    """Cost LARGE + ½ (u - 1)² + ½ b max(u - 0.99, 0)², b = 1e5; the minimum is 1e-7 beyond the bend."""

    slope, bend = 1e5, 0.99
    optimum = (1.0 + slope * bend) / (1.0 + slope)

    def calc(self, data: ActionData, x: Reals, u: Reals | None = None) -> None:
        data.cost = 0.0
        if u is not None:
            data.xnext = x
            data.cost = float(LARGE + 0.5 * (u[0] - 1.0) ** 2 + 0.5 * self.slope * max(u[0] - self.bend, 0.0) ** 2)

    def calc_diff(self, data: ActionData, x: Reals, u: Reals | None = None) -> None:
        data.Lx, data.Lxx = np.zeros(1), np.zeros((1, 1))
        if u is not None:
            beyond = u[0] > self.bend
            data.Fx, data.Fu, data.Lxu = np.eye(1), np.zeros((1, 1)), np.zeros((1, 1))
            data.Lu = np.array([u[0] - 1.0 + beyond * self.slope * (u[0] - self.bend)])
            data.Luu = np.array([[1.0 + beyond * self.slope]])


class Steeper(ActionModelAbstract):
    """Cost LARGE + ½ Σ c u², c = (5, 1), with a Hessian of ones, as Gauss-Newton's where residuals are bent."""

    curvature = np.array([5.0, 1.0])

    def calc(self, data: ActionData, x: Reals, u: Reals | None = None) -> None:
        data.cost = 0.0
        if u is not None:
            data.xnext, data.cost = x, LARGE + 0.5 * float(self.curvature @ u**2)

    def calc_diff(self, data: ActionData, x: Reals, u: Reals | None = None) -> None:
        data.Lx, data.Lxx = np.zeros(1), np.zeros((1, 1))
        if u is not None:
            data.Fx, data.Fu, data.Lxu = np.eye(1), np.zeros((1, 2)), np.zeros((1, 2))
            data.Lu, data.Luu = self.curvature * u, np.eye(2)


def solve(model: ActionModelAbstract, u: list[float]) -> Solution:
    """From controls that are near the optimum, as their multipliers say."""
    problem = ShootingProblem(np.zeros(1), [model], Bent(StateVector(1), 1))
    multipliers = {"dynamics": np.zeros((2, 1)), "constraints": np.zeros((2, 0))}
    options = SQPOptions(tolerance=1e-12, max_iterations=40)
    return SolverSQP(problem, options).solve(np.zeros((2, 1)), np.array([u]), multipliers=multipliers)


def test_past_a_bend_by_a_full_step() -> None:
    """No part of the step lowers the cost, as the bend begins 1e-9 away; where it leads the Hessian has it."""
    solution = solve(Bent(StateVector(1), 1), [Bent.bend - 1e-9])
    assert solution.converged
    assert solution.iterations <= 3
    assert solution.us[0, 0] == pytest.approx(Bent.optimum, abs=1e-12)


def test_no_end_on_a_promise_that_was_too_much() -> None:
    """Quarters of steps tell that the promise is no measure of what is left; a whole one at last, that nothing is."""
    solution = solve(Steeper(StateVector(1), 2), [1.4e-4 * 4**3, 0.0])
    assert solution.converged
    *_, before, last = solution.history
    assert before.step_length < 1.0
    assert before.expected_decrease < SQPOptions().relative_tolerance * LARGE
    assert last.step_length == 1.0


class Hollow(ActionModelDiscrete):
    """x⁺ = u + 2.45 u² + x, and at the end -2.5 x² + x: at 0 the Hessian of the cost is -5, of the Lagrangian -0.1."""

    def next_state(self, x: Any, u: Any) -> Any:
        return x + u + 2.45 * u**2

    def running_cost(self, x: Any, u: Any) -> Any:
        return casadi.SX(0.0)

    def terminal_cost(self, x: Any) -> Any:
        return x[0] - 2.5 * x[0] ** 2


def test_where_the_cost_is_not_convex_the_lagrangian_is_made_convex() -> None:
    """It is nearer to convex: on the Hessian of the cost δ would have to be 5, and steps much shorter."""
    model = Hollow(StateVector(1), 1)
    multipliers = {"dynamics": np.ones((2, 1)), "constraints": np.zeros((2, 0))}
    options = SQPOptions(max_iterations=1)
    first = SolverSQP(ShootingProblem(np.zeros(1), [model], model), options).solve(
        np.zeros((2, 1)), np.zeros((1, 1)), multipliers=multipliers
    )
    assert first.history[0].blend == 1.0
    assert 0.1 < first.history[0].regularization < 1.0


def test_no_end_on_a_small_promise_while_the_gradient_falls() -> None:
    """With a part of the exact Hessian alone gradients fall step by step, when costs have long stopped to."""
    case = problems.load("parking-circles")
    solution = SolverSQP(case.problem).solve(case.xs, case.us)
    *_, before, last = solution.history
    assert solution.converged
    assert last.blend > 0.0
    assert before.expected_decrease < SQPOptions().relative_tolerance
    assert last.stop < SQPOptions().tolerance < before.stop


@pytest.mark.parametrize("steps", ["policy", "linear"])
def test_a_step_ends_where_derivatives_are_finite(steps: Any) -> None:
    """½ √x² is x / 2 to a compiler, and falls on beyond 0, where the root's derivative is not a number."""
    state = StateVector(1)

    class Moved(DifferentialActionModelSymbolic):
        def xdot(self, x: casadi.SX, u: casadi.SX) -> casadi.SX:
            return u

    costs = CostStack(state).add("effort", ResidualModelControl(state), weight=0.1)
    root = CostStack(state).add("root", ResidualModelSymbolic(state, lambda x: casadi.sqrt(x)), weight=1.0)
    row = ConstraintStack(state).add("x", ResidualModelState(state), lower=0.001, upper=np.inf)
    end = ActionModelTerminal(root, constraints=row)
    problem = ShootingProblem([1.0], [IntegratedActionModelEuler(Moved(state, nu=1, costs=costs), dt=1.0)], end)
    solution = SolverSQP(problem, SQPOptions(steps=steps)).solve()
    assert solution.converged
    np.testing.assert_allclose(solution.xs[-1], 0.001, atol=1e-9)
    assert all(np.isfinite(record.stop) and record.attempt == 1 for record in solution.history)
