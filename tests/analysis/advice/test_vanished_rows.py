"""Advice on equations of the end whose gradient vanishes where they hold."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

import trajopt
from trajopt.analysis.advice.vanished_rows import vanished_rows
from trajopt.problems.pendulum import DifferentialActionModelPendulum
from trajopt.solvers import SolverSQP


class Upright(trajopt.ResidualModelAbstract):
    """cos(q) + 1, or with it sin(q): zero where a pendulum is upright."""

    def __init__(self, state: Any, *, pair: bool) -> None:
        super().__init__(state, 1 + pair)
        self.pair = pair

    def evaluate(self, instant: Any) -> ca.SX:
        q = instant.x[0]
        return ca.vertcat(ca.cos(q) + 1.0, *([ca.sin(q)] if self.pair else []))


def swing_up(*, pair: bool) -> trajopt.Solution:
    state = trajopt.StateVector(2)
    running = trajopt.CostStack(state).add("torque", trajopt.ResidualModelControl(state), weight=1e-2)
    knot = trajopt.IntegratedActionModelEuler(DifferentialActionModelPendulum(running), dt=0.03)
    up = trajopt.ConstraintStack(state).add("up", Upright(state, pair=pair), equals=0.0)
    end = trajopt.ActionModelTerminal(trajopt.CostStack(state), constraints=up)
    problem = trajopt.ShootingProblem([0.5, 0.0], [knot] * 60, end)
    return SolverSQP(problem, SolverSQP.options_type(max_iterations=120)).solve()


def test_an_equation_without_a_gradient_where_it_holds_is_named() -> None:
    solution = swing_up(pair=False)
    assert not solution.converged
    assert solution.xs[-1, 0] == pytest.approx(np.pi, abs=1e-2)
    (words,) = vanished_rows(solution)
    assert words.startswith("the gradient of 'up' vanishes at the end")
    assert words in solution.explain()


def test_a_pair_has_a_gradient() -> None:
    solution = swing_up(pair=True)
    assert solution.converged
    assert vanished_rows(solution) == []
    stopped = trajopt.SolverStatus.MAX_ITERATIONS
    solution = SolverSQP(solution.problem, SolverSQP.options_type(max_iterations=2)).solve()
    assert solution.status is stopped
    assert not [words for words in vanished_rows(solution) if "'up[0]'" not in words]
