"""Derivatives of solutions with rows at a bound that have next to no multiplier."""

from __future__ import annotations

import dataclasses

import casadi as ca
import numpy as np
import pytest
from casadi import SX

import trajopt
from tests.support.unsolved import solution_of
from trajopt.errors import ModelEvaluationError
from trajopt.solution import Solution, SolverStatus
from trajopt.solvers import SolutionDerivatives


def test_rows_with_next_to_no_multiplier_hold_what_would_be_a_saddle() -> None:
    """A mass at x = 0 with the cost ½ cos(x)² at the end: moving is cheaper, but rows u <= 0 hold it."""
    state = trajopt.StateVector(2)

    class Mass(trajopt.DifferentialActionModelSymbolic):
        def acceleration(self, x: SX, u: SX) -> SX:
            return u

    def at_rest(**bounds: float) -> Solution:
        rows = trajopt.ConstraintStack(state).add("force", trajopt.ResidualModelControl(state), **bounds)
        costs = trajopt.CostStack(state).add("effort", trajopt.ResidualModelControl(state), weight=1e-3)
        end = trajopt.CostStack(state).add(
            "hill", trajopt.ResidualModelSymbolic(state, lambda x: ca.cos(x[0])), weight=1.0
        )
        knot = trajopt.IntegratedActionModelEuler(Mass(state, 1, costs, constraints=rows), dt=0.1)
        problem = trajopt.ShootingProblem([0.0, 0.0], [knot] * 20, end)
        return dataclasses.replace(
            solution_of(problem, np.zeros((21, 2)), np.zeros((20, 1))), status=SolverStatus.CONVERGED
        )

    with pytest.raises(ModelEvaluationError, match="not positive definite"):
        SolutionDerivatives(at_rest(upper=1.0))
    held = SolutionDerivatives(at_rest(upper=0.0))
    assert held.weakly_active == tuple(f"force at knot {t}" for t in range(20))
    moved = held.by("x0")
    np.testing.assert_allclose(moved.dus, 0.0, atol=1e-12)
    np.testing.assert_allclose(moved.dxs[-1], [[1.0, 2.0], [0.0, 1.0]], atol=1e-9)
