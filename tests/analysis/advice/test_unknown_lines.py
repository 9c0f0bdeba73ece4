"""Lines on parameters that the solver chose, beside their bounds."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import trajopt
from tests.support.free_problems import Pendulum
from trajopt.analysis.advice.unknowns import bounds_of_failure, unknown_lines
from trajopt.solvers import SolverSQP, SQPOptions


@pytest.mark.parametrize(
    ("bounds", "value", "words"),
    [
        ((0.01, 0.05), 0.03, "within its bounds"),
        ((0.01, 0.03), 0.0301, "beyond its upper bound"),
        ((0.02, 0.05), 0.0199, "beyond its lower bound"),
        ((0.01, 0.03), 0.03, "at its upper bound"),
        ((-1e-9, 1e-9), 1e-9, "at its upper bound"),
        ((0.03, 0.03), 0.03, "fixed by its bounds"),
    ],
)
def test_a_bound_is_named_as_it_is(bounds: tuple[float, float], value: float, words: str) -> None:
    state = trajopt.StateVector(2)
    costs = trajopt.CostStack(state).add("effort", trajopt.ResidualModelControl(state, np.zeros(1)), weight=1.0)
    knot = trajopt.IntegratedActionModelEuler(Pendulum(costs), dt=0.05)
    problem = trajopt.ShootingProblem(np.zeros(2), [knot] * 3, trajopt.CostStack(state))
    solution = SolverSQP(problem, SQPOptions(max_iterations=1)).solve()
    problem.free("length", *bounds, guess=bounds[0])
    solution = dataclasses.replace(solution, problem=problem, unknowns={"length": np.array(value)})
    (line,) = unknown_lines(solution)
    assert words in line
    assert len(bounds_of_failure(solution)) == (0 if words.startswith(("within", "fixed")) else 1)
