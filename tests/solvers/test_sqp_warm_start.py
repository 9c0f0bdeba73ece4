"""Warm starts of SolverSQP, its gains, and soft constraints."""

from __future__ import annotations

import dataclasses
import functools
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from casadi import SX

from tests.solvers.test_sqp import constrained_lqr, known
from tests.support import ocp_problems
from trajopt import problems
from trajopt.actions.differential import DifferentialActionModelSymbolic
from trajopt.actions.integrated import IntegratedActionModelEuler
from trajopt.constraints import ConstraintStack
from trajopt.costs import CostStack
from trajopt.errors import InvalidArgumentError
from trajopt.problems.lqr_bounds import ActionModelPointMass
from trajopt.residuals import ResidualModelControl, ResidualModelState
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution
from trajopt.solvers import SolverFDDP, SolverSQP, SQPOptions
from trajopt.states import StateVector
from trajopt.types import Reals

STEPS = ("policy", "linear")


@functools.cache
def solved(name: str) -> Solution:
    case = known(name)
    solution = SolverSQP(case.problem).solve(*case.guess)
    assert solution.converged
    return solution


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("name", list(ocp_problems.PROBLEMS))
def test_a_warm_start_from_the_solution_takes_at_most_two_iterations(name: str, steps: str) -> None:
    solution = solved(name)
    again = SolverSQP(known(name).problem, SQPOptions(steps=steps)).solve(solution)
    assert again.converged
    assert again.iterations <= 2
    assert again.cost == pytest.approx(solution.cost, rel=1e-7)


@pytest.mark.parametrize("name", list(ocp_problems.PROBLEMS))
def test_states_and_controls_of_a_solution_are_not_left(name: str) -> None:
    """Without multipliers a rollout would end at another optimum of "obstacles"."""
    solution = solved(name)
    again = SolverSQP(known(name).problem).solve(solution.xs, solution.us)
    assert again.converged
    assert again.iterations == 0
    np.testing.assert_array_equal(again.us, solution.us)
    near = SolverSQP(known(name).problem).solve(solution.xs, (1.0 + 1e-6) * solution.us)
    assert near.cost == pytest.approx(solution.cost, rel=1e-6)


def test_multipliers_and_a_solution_say_the_same() -> None:
    solution, problem = solved("pendulum"), known("pendulum").problem
    a = SolverSQP(problem).solve(solution)
    b = SolverSQP(problem).solve(solution.xs, solution.us, multipliers=solution.multipliers)
    np.testing.assert_array_equal(a.xs, b.xs)


def test_multipliers_of_a_problem_with_other_rows_are_left_out() -> None:
    """A solution without limits is a guess for the problem with them."""
    solution, problem = solved("pendulum"), known("pendulum").problem
    other = dataclasses.replace(
        solution, multipliers=solution.multipliers | {"constraints": np.zeros((problem.T + 1, 7))}
    )
    a, b = SolverSQP(problem).solve(other), SolverSQP(problem).solve(solution.xs, solution.us)
    np.testing.assert_array_equal(a.xs, b.xs)


@pytest.mark.parametrize("steps", STEPS)
def test_receding_horizon(steps: str) -> None:
    """A pendulum follows its swing-up; at each step the next state is measured, with an error."""
    case, rng = known("pendulum"), np.random.default_rng(0)
    problem, plan = ocp_problems.pendulum().problem, solved("pendulum")
    solver = SolverSQP(problem, SQPOptions(steps=steps, max_iterations=10))
    for _ in range(10):
        problem.x0 = plan.xs[1] + 1e-3 * rng.standard_normal(2)
        moved = {name: np.concatenate([y[1:], y[-1:]]) for name, y in plan.multipliers.items()}
        moved["constraints"][-2, -1] = 0.0  # the end's rows stay at the end
        xs, us = np.concatenate([plan.xs[1:], case.goal[None]]), np.concatenate([plan.us[1:], 0.0 * plan.us[:1]])
        plan = solver.solve(xs, us, multipliers=moved)
        assert plan.converged
        assert plan.iterations <= 3


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (3.0, "multipliers: expected those of a solution by SolverSQP"),
        ({"dynamics": np.zeros((51, 2))}, "pass solution.multipliers"),
        (
            {"dynamics": np.zeros((3, 2)), "constraints": np.zeros((51, 3))},
            r"multipliers\['dynamics'\]: expected shape",
        ),
    ],
)
def test_refuses_multipliers_that_do_not_fit(given: Any, said: str) -> None:
    with pytest.raises(InvalidArgumentError, match=said):
        SolverSQP(known("pendulum").problem).solve(multipliers=given)


def test_solvers_without_multipliers_refuse_them() -> None:
    problem = problems.load("pendulum").problem
    with pytest.raises(InvalidArgumentError, match="multipliers: SolverFDDP doesn't use multipliers; use SolverSQP"):
        SolverFDDP(problem).solve(multipliers={})


@pytest.mark.parametrize("qp", ["ipm", "osqp"])
@pytest.mark.parametrize("steps", STEPS)
def test_gains_where_walls_are_active(steps: str, qp: str) -> None:
    """The difference of all controls after a change of x0 is -K dx to first order, walls active at many knots."""
    problem = constrained_lqr()
    solution = SolverSQP(problem, SQPOptions(steps=steps, qp=qp)).solve()
    assert solution.K is not None
    assert np.count_nonzero(np.abs(solution.multipliers["constraints"]) > 1e-3) > 5
    for shift in 1e-4 * np.eye(4):
        other = ShootingProblem(shift, problem.running, problem.terminal)
        moved = SolverSQP(other, SQPOptions(steps="linear")).solve(solution)
        dx = moved.xs[:-1] - solution.xs[:-1]
        np.testing.assert_allclose(moved.us, solution.us - np.einsum("tij,tj->ti", solution.K, dx), atol=2e-8)


@pytest.mark.parametrize("name", ["pendulum", "kelly"])
def test_gains_of_a_curved_problem(name: str) -> None:
    """The change of u0 is second order beside -K dx0, and none where its limit is active."""
    case, solution = known(name), solved(name)
    assert solution.K is not None
    errors = []
    for size in (1e-3, 1e-4):
        dx = size * np.array([1.0, -0.5, 0.3, 0.2])[: case.problem.state.nx]
        other = ShootingProblem(case.problem.x0 + dx, case.problem.running, case.problem.terminal)
        moved = SolverSQP(other).solve(solution)
        assert moved.converged
        change = moved.us[0] - solution.us[0]
        errors.append(np.abs(change + solution.K[0] @ dx).max())
        assert np.abs(change).max() > 0.1 * size or np.abs(solution.multipliers["constraints"][0]).max() > 0.0
    assert errors[0] < 0.1 * 1e-3 * max(1.0, np.abs(solution.K[0]).max())
    assert errors[1] < 0.03 * errors[0] + 1e-8
    lower, upper = (bound[:-1, 0] for bound in case.problem.row_bounds())
    at_limit = (np.abs(solution.us[:, 0] - lower) < 1e-9) | (np.abs(solution.us[:, 0] - upper) < 1e-9)
    at_limit &= np.abs(solution.multipliers["constraints"][:-1, 0]) > 1e-3
    np.testing.assert_allclose(solution.K[at_limit], 0.0, atol=1e-5)


def soft_walls(linear: float, quadratic: float) -> ShootingProblem:
    problem = constrained_lqr()
    state = problem.state
    rows = ConstraintStack(state)
    far = [np.inf, np.inf]
    rows.add("walls", ResidualModelState(state, np.zeros(4)), upper=[0.4, 0.2, *far], soft=(linear, quadratic))
    soft = ActionModelPointMass(rows, 0.5)
    return ShootingProblem(problem.x0, [soft] * 20, soft)


@pytest.mark.parametrize("steps", STEPS)
def test_soft_walls_with_a_high_price_are_kept(steps: str) -> None:
    hard = SolverSQP(constrained_lqr()).solve()
    price = 2.0 * np.abs(hard.multipliers["constraints"]).max()
    soft = SolverSQP(soft_walls(price, 0.0), SQPOptions(steps=steps)).solve()
    assert soft.converged
    np.testing.assert_allclose(soft.us, hard.us, atol=1e-5)


@pytest.mark.parametrize("qp", ["ipm", "osqp"])
@pytest.mark.parametrize("steps", STEPS)
def test_soft_walls_give_by_their_price(steps: str, qp: str) -> None:
    """Multipliers are linear + quadratic · slack where a wall gives, and at most linear where it does not."""
    hard = SolverSQP(constrained_lqr()).solve()
    linear, quadratic = 0.3 * np.abs(hard.multipliers["constraints"]).max(), 50.0
    problem = soft_walls(linear, quadratic)
    solution = SolverSQP(problem, SQPOptions(steps=steps, qp=qp)).solve()
    assert solution.converged
    y = solution.multipliers["constraints"][1:, :2]
    slack = np.maximum(solution.xs[1:, :2] - [0.4, 0.2], 0.0)
    gives = slack > 1e-6
    assert 0 < np.count_nonzero(gives) < gives.size
    np.testing.assert_allclose(y[gives], linear + quadratic * slack[gives], rtol=1e-4)
    assert np.all(y[~gives] < linear * (1 + 1e-6))
    np.testing.assert_allclose(solution.stationarity(), 0.0, atol=1e-4)
    assert solution.cost < hard.cost


def test_options_name_what_they_take() -> None:
    for wrong, said in [
        ({"steps": "curved"}, "steps: expected 'policy' or 'linear', got 'curved'"),
        ({"qp": "simplex"}, "qp: expected one of ipm, osqp"),
        ({"qp": "admm"}, "qp: 'admm' is gone: use 'ipm', which is faster"),
        ({"qp_iterations": 0}, "qp_iterations"),
        ({"qp": "qrqp", "qp_iterations": 3}, "qp_iterations: expected None for 'qrqp', got a number"),
    ]:
        with pytest.raises(InvalidArgumentError, match=said):
            SQPOptions(**wrong)  # type: ignore[arg-type]
    assert dataclasses.replace(SQPOptions(), qp="osqp", qp_iterations=20).qp_iterations == 20


class Pendulum(DifferentialActionModelSymbolic):
    """1 kg at 0.5 m, of which the motor lifts half."""

    def acceleration(self, x: SX, u: SX) -> SX:
        return 4.0 * u - 19.62 * ca.sin(x[0])


def weak_pendulum() -> ShootingProblem:
    state = StateVector(2)
    goal, effort = ResidualModelState(state, [np.pi, 0.0]), ResidualModelControl(state)
    costs = CostStack(state).add("goal", goal, weight=1.0).add("effort", effort, weight=1e-2)
    motor = ConstraintStack(state).add("motor", effort, lower=-2.5, upper=2.5)
    node = IntegratedActionModelEuler(Pendulum(state, 1, costs, constraints=motor), dt=0.03)
    return ShootingProblem(np.zeros(2), [node] * 100, CostStack(state).add("goal", goal, weight=200.0))


def shifted(solution: Solution, x0: Reals) -> tuple[Reals, Reals]:
    """A solution that begins one knot later, at x0."""
    return np.vstack([x0, solution.xs[2:], solution.xs[-1:]]), np.vstack([solution.us[1:], solution.us[-1:]])


@pytest.mark.parametrize("steps", STEPS)
def test_a_shifted_solution_is_not_left_for_a_rollout(steps: str) -> None:
    """The pendulum is unstable at the top, and its motor too weak to catch it: a rollout ends far off."""
    problem = weak_pendulum()
    plan = SolverSQP(problem, SQPOptions(steps="linear")).solve(np.linspace([0.0, 0.0], [np.pi, 0.0], 101))
    assert plan.converged
    assert np.abs(problem.rollout(shifted(plan, problem.x0)[1])[-1] - plan.xs[-1]).max() > 1.0
    again = SolverSQP(problem, SQPOptions(steps=steps)).solve(*shifted(plan, problem.x0))
    assert again.converged
    assert again.iterations <= 8
    assert again.cost == pytest.approx(plan.cost, rel=1e-6)
    few = SolverSQP(problem, SQPOptions(steps=steps, max_iterations=1)).solve(*shifted(plan, problem.x0))
    assert np.abs(few.us).max() <= 2.5


def test_a_row_of_a_batch_that_is_the_guess_is_a_solution(tmp_path: Path) -> None:
    first = solved("pendulum")
    starts = np.array([first.x0, first.x0 + np.array([0.01, 0.0])])
    solutions = SolverSQP(known("pendulum").problem).solve_batch(starts, xs=first.xs, us=first.us, progress=False)
    assert solutions.converged.all()
    assert solutions.iterations[0] == 0 < solutions.iterations[1]
    again = solutions[0]
    np.testing.assert_array_equal(again.us, first.us)
    assert "converged" in again.explain()
    again.plot(tmp_path / "again.png")
    again.save(tmp_path / "again.npz")
    assert Solution.load(tmp_path / "again.npz", known("pendulum").problem).iterations == 0
    assert f"{solutions.iterations[1]} most" in solutions.report()["iterations"]
