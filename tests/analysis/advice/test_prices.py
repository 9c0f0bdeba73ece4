"""Multipliers by the name of their constraint."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from casadi import SX

import trajopt
from trajopt import problems
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution
from trajopt.solvers import SolverAbstract, SolverFDDP, SolverIpopt, SolverSQP, SQPOptions


@functools.cache
def solved(name: str = "pendulum-limits") -> Solution:
    case = problems.load(name)
    solution = SolverSQP(case.problem).solve(case.xs, case.us)
    assert solution.converged
    return solution


@pytest.mark.parametrize("name", ["pendulum-limits", "cart-pole-limits"])
def test_prices_have_the_shapes_of_violations(name: str) -> None:
    solution = solved(name)
    prices, violations = solution.prices(), solution.violations()
    assert {k: v.shape for k, v in prices.items()} == {k: v.shape for k, v in violations.items()}
    assert sum(float(np.abs(v).sum()) for v in prices.values()) == pytest.approx(
        float(np.abs(solution.multipliers["constraints"]).sum())
    )


class Move(trajopt.ActionModelDiscrete):
    """x⁺ = x + u with cost ½ (u - 2)²; no cost at the end."""

    def next_state(self, x: SX, u: SX) -> SX:
        return x + u

    def running_cost(self, x: SX, u: SX) -> SX:
        return 0.5 * (u - 2.0) ** 2

    def terminal_cost(self, x: SX) -> SX:
        return 0.0 * x


@pytest.mark.parametrize("solver", [SolverSQP, SolverIpopt])
@pytest.mark.parametrize(("bounds", "price"), [((-np.inf, 1.5), 0.5), ((3.0, np.inf), -1.0), ((1.0, 4.0), 0.0)])
def test_prices_of_a_problem_in_closed_form(
    solver: type[SolverAbstract[Any]], bounds: tuple[float, float], price: float
) -> None:
    """y = 2 - u where u is at its bound; the knot 1 and the end have no such row."""
    state = trajopt.StateVector(1)
    effort = trajopt.ConstraintStack(state).add(
        "effort", trajopt.ResidualModelControl(state), lower=bounds[0], upper=bounds[1]
    )
    limited, free = Move(state, 1, constraints=effort), Move(state, 1)
    prices = solver(ShootingProblem([0.0], [limited, free, limited], free)).solve().prices()
    assert set(prices) == {"effort"}
    np.testing.assert_allclose(prices["effort"], [[price], [0.0], [price], [0.0]], rtol=0, atol=1e-5)
    np.testing.assert_array_equal(prices["effort"][[1, 3]], 0.0)


@pytest.mark.parametrize("with_problem", [False, True])
def test_a_loaded_solution_has_the_same_prices(tmp_path: Path, with_problem: bool) -> None:
    solution = solved()
    loaded = Solution.load(solution.save(tmp_path / "one.npz"), solution.problem if with_problem else None)
    np.testing.assert_equal(loaded.prices(), solution.prices())


def test_prices_of_other_solvers() -> None:
    solution, ipopt = solved(), SolverIpopt(solved().problem).solve(solved())  # type: ignore[arg-type]
    largest = max(float(np.abs(v).max()) for v in ipopt.prices().values())
    for name, y in ipopt.prices().items():
        np.testing.assert_allclose(y, solution.prices()[name], rtol=0, atol=1e-3 * largest)
    free = problems.load("pendulum")
    assert SolverFDDP(free.problem).solve(free.xs, free.us).prices() == {}


@pytest.mark.parametrize("steps", ["policy", "linear"])
def test_a_solution_of_another_solver_is_a_guess(steps: str) -> None:
    """IPOPT gives no multipliers of the dynamics; its states and controls are a guess all the same."""
    problem = solved().problem
    assert problem is not None
    ipopt = SolverIpopt(problem).solve(solved())
    assert set(ipopt.multipliers) == {"constraints"}
    by_solution = SolverSQP(problem, SQPOptions(steps=steps)).solve(ipopt)
    by_arrays = SolverSQP(problem, SQPOptions(steps=steps)).solve(ipopt.xs, ipopt.us)
    assert by_solution.converged
    np.testing.assert_array_equal(by_solution.xs, by_arrays.xs)
