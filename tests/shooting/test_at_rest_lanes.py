"""Controls that hold many states at rest are those of single states."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

import trajopt
from trajopt import problems
from trajopt.shooting.at_rest_lanes import controls_at_rest_of, iterates
from trajopt.solvers import SolverDDP


@pytest.mark.parametrize(
    ("name", "iterated"),
    [("pendulum", True), ("cart-pole", True), ("unicycle", True), ("double-pendulum", False), ("arm-reach", False)],
)
def test_controls_are_those_of_single_states(name: str, iterated: bool) -> None:
    problem = problems.load(name, T=3).problem
    model, state, rng = problem.running[0], problem.state, np.random.default_rng(0)
    states = np.array([state.integrate(problem.x0, rng.normal(0.0, 0.5, state.ndx)) for _ in range(11)])
    controls = controls_at_rest_of(model, states)
    assert controls is not None
    assert iterates(model) == iterated
    expected = np.array([model.quasi_static(x) for x in states])
    np.testing.assert_allclose(controls, expected, rtol=1e-12, atol=1e-12)
    assert np.abs(controls).max() > 0.1 or name in ("unicycle", "cart-pole")


class Held(trajopt.DifferentialActionModelSymbolic):
    """dv/dt = u - q, with a closed form of its own."""

    def acceleration(self, x: ca.SX, u: ca.SX) -> ca.SX:
        return u - x[0]

    def quasi_static(self, x: Any, parameters: Any = None) -> Any:
        if x[0] > 10.0:
            raise ValueError("too far")
        return np.array([x[0]])


def test_other_closed_forms_are_left_to_the_model() -> None:
    state = trajopt.StateVector(2)
    costs = trajopt.CostStack(state).add("torque", trajopt.ResidualModelControl(state), weight=1.0)
    model = trajopt.IntegratedActionModelEuler(Held(state, 1, costs), dt=0.1)
    assert controls_at_rest_of(model, np.ones((3, 2))) is None
    problem = trajopt.ShootingProblem([1.0, 0.0], [model] * 5, trajopt.CostStack(state))
    X = np.array([[1.0, 0.0], [2.0, 0.5], [-1.0, 0.0]])
    solutions = SolverDDP(problem).solve_batch(X)
    for x0, cost in zip(X, solutions.cost):
        problem.x0 = x0
        assert cost == pytest.approx(SolverDDP(problem).solve().cost, rel=1e-10)
    X[1, 0] = 11.0
    solutions = SolverDDP(problem).solve_batch(X)
    assert list(solutions.status) == ["CONVERGED", "ERROR", "CONVERGED"]
    assert "raised ValueError: too far" in solutions.error[1]
