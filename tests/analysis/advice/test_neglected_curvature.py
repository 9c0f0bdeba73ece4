"""Curvature that Gauss-Newton leaves out, by cost term and dynamics, where each is the reason by construction."""

from __future__ import annotations

import dataclasses
from typing import Any

import casadi as ca
import numpy as np
import pytest
from casadi import SX

import trajopt
from tests.support.hard_problems import trailer
from trajopt import problems
from trajopt.actions import ActionModelNumDiff
from trajopt.actions.differential import DifferentialActionModelSymbolic
from trajopt.analysis.advice.neglected_curvature import LeftOut, adjoint, left_out
from trajopt.residuals import ResidualModelControl, ResidualModelState, ResidualModelSymbolic
from trajopt.shooting import ShootingProblem
from trajopt.shooting.evaluator import Evaluator
from trajopt.shooting.lagrangian import LagrangianHessian
from trajopt.solution import IterationRecord, Solution, SolverStatus
from trajopt.solvers import BoxDDPOptions, DDPOptions, SolverBoxDDP, SolverDDP, SolverSQP, SQPOptions
from trajopt.types import Reals

T, DT, EFFORT, WEIGHT, OFFSET = 6, 0.5, 1e-3, 3.0, 3.0
SOURCES = {"goal": "term 'goal' at the end", "path": "term 'path'", "dynamics": "the dynamics"}


class Bent(DifferentialActionModelSymbolic):
    """dx/dt = u + bend · sin(3 x)."""

    def __init__(self, state: Any, costs: Any, bend: float) -> None:
        super().__init__(state, 1, costs=costs)
        self.bend = bend

    def xdot(self, x: SX, u: SX) -> SX:
        return u + self.bend * ca.sin(3.0 * x)


def wave(state: Any) -> ResidualModelSymbolic:
    """r = 2 sin(2 x) + 3, which is never 0."""
    return ResidualModelSymbolic(state, lambda x: 2.0 * ca.sin(2.0 * x) + OFFSET)


def bent(reason: str) -> ShootingProblem:
    """A number that moves; the goal, the path or the dynamics are bent, the rest is a linear-quadratic problem."""
    state = trajopt.StateVector(1)
    costs = trajopt.CostStack(state).add("effort", ResidualModelControl(state), EFFORT)
    end = trajopt.CostStack(state)
    if reason == "path":
        costs.add("path", wave(state), WEIGHT)
    end.add("goal", wave(state) if reason == "goal" else ResidualModelState(state, [2.0]), WEIGHT)
    model = trajopt.IntegratedActionModelEuler(Bent(state, costs, 1.0 if reason == "dynamics" else 0.0), DT)
    return ShootingProblem([0.3], [model] * T, end)


def early(problem: ShootingProblem) -> Solution:
    """After two iterations of Gauss-Newton, far from the end."""
    return SolverDDP(problem, DDPOptions(hessian="gauss-newton", max_iterations=2)).solve()


def direction(solution: Solution) -> tuple[Reals, Reals, Any]:
    """dx (T + 1, ndx) and du (T, nu) of the last gains, and derivatives at the solution."""
    assert solution.problem is not None
    assert solution.k is not None
    assert solution.K is not None
    d = solution.problem.calc_diff(solution.xs, solution.us)
    dx, du = np.zeros((len(solution.xs), d.Lx.shape[1])), np.zeros_like(solution.us)
    for t in range(len(du)):
        du[t] = -solution.k[t] - solution.K[t] @ dx[t]
        dx[t + 1] = d.Fx[t] @ dx[t] + d.Fu[t] @ du[t]
    return dx, du, d


def found_in(solution: Solution) -> LeftOut:
    found = left_out(solution)
    assert found is not None
    return found


def crawling(solution: Solution, *, decrease: float = 0.5) -> str:
    """What explain() says of it after steps of 1/32."""
    record = IterationRecord(
        iteration=1, cost=1.0, seconds=0.0, step_length=1 / 32, blend=0.0, expected_decrease=2.0, decrease=decrease
    )
    return dataclasses.replace(solution, status=SolverStatus.MAX_ITERATIONS, history=(record,) * 12).explain()


@pytest.mark.parametrize("reason", list(SOURCES))
def test_each_reason_by_its_closed_form(reason: str) -> None:
    solution = early(bent(reason))
    (dx, _, d), found = direction(solution), found_in(solution)
    x, step = solution.xs[:, 0], dx[:, 0]
    bends = WEIGHT * (2.0 * np.sin(2.0 * x) + OFFSET) * -8.0 * np.sin(2.0 * x) * step**2
    _, costates = adjoint(d, np.asarray(solution.K), np.zeros(d.rows.shape))
    expected = {
        "goal": bends[-1],
        "path": DT * bends[:-1].sum(),
        "dynamics": (costates[1:, 0] * -9.0 * DT * np.sin(3.0 * x[:-1]) * step[:-1] ** 2).sum(),
    }[reason]
    scale = max(1.0, abs(expected))
    assert abs(expected) > 1e-3
    for name, value in found.sources.items():
        assert value == pytest.approx(expected if name == SOURCES[reason] else 0.0, abs=1e-5 * scale)


def test_neglected_curvature_is_the_exact_hessian_minus_gauss_newton() -> None:
    case = problems.load("double-pendulum")
    solution = early(case.problem)
    (dx, du, d), e = direction(solution), Evaluator(case.problem)
    hessian = LagrangianHessian(e)
    e.xs[:], e.us[:] = solution.xs, solution.us
    hessian.lam[:] = adjoint(d, np.asarray(solution.K), np.zeros(d.rows.shape))[1]
    hessian()
    steps = np.hstack([dx[:-1], du])
    exact = np.einsum("ti,tij,tj->", steps, hessian.H, steps) + dx[-1] @ hessian.terminal_H @ dx[-1]
    found = found_in(solution)
    assert found.promised + found.total == pytest.approx(exact, rel=1e-5, abs=1e-5 * found.promised)
    assert abs(found.total) > 1e-2 * found.promised


@pytest.mark.parametrize("reason", list(SOURCES))
def test_explain_names_the_reason_and_the_part_of_the_promise_that_came(reason: str) -> None:
    solution = early(bent(reason))
    text = crawling(solution)
    assert f"(along the last direction 100 % of them come from {SOURCES[reason]})" in text
    assert "the last 10 steps achieved 25 % of the decrease predicted for them" in text
    assert "% of the decrease predicted" not in crawling(solution, decrease=np.nan)


def test_nothing_is_named_without_a_direction_or_a_problem() -> None:
    solution = early(bent("goal"))
    for bare in (dataclasses.replace(solution, k=None), dataclasses.replace(solution, problem=None)):
        assert left_out(bare) is None
        assert "along the last direction" not in crawling(bare)


def test_a_black_box_has_the_same_curvature_of_its_dynamics() -> None:
    problem = bent("dynamics")
    solution = early(problem)
    boxed = ShootingProblem(problem.x0, [ActionModelNumDiff(problem.running[0])] * T, problem.terminal)
    same = dataclasses.replace(solution, problem=boxed, parameters=boxed.parameter_values())
    expected = found_in(solution).dynamics
    np.testing.assert_allclose(found_in(same).dynamics, expected, atol=1e-4 * np.abs(expected).max())


@pytest.mark.parametrize(("hessian", "most", "named"), [("gauss-newton", 40, True), ("auto", 20, False)])
def test_many_programs_without_curvature_name_the_exact_hessian(hessian: str, most: int, named: bool) -> None:
    problem, guess = trailer()
    solution = SolverSQP(problem, SQPOptions(hessian=hessian, max_iterations=most)).solve(*guess)
    assert not solution.converged
    assert ('SQPOptions(hessian="exact")' in solution.explain()) is named


def test_short_steps_of_a_box_solver_name_its_exact_hessian() -> None:
    options = BoxDDPOptions(hessian="gauss-newton", max_iterations=2)
    solution = SolverBoxDDP(bent("goal"), options).solve()
    short = [dataclasses.replace(record, step_length=0.1) for record in solution.history]
    assert 'BoxDDPOptions(hessian="exact")' in dataclasses.replace(solution, history=short).explain()
