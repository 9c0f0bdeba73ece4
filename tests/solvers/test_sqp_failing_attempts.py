"""Attempts of SolverSQP that a model, a callback or a limit ends."""

from __future__ import annotations

import dataclasses

import casadi as ca
import numpy as np
import pytest
from casadi import SX

from tests.support.constraints_that_hold import Pendulum
from tests.support.hard_problems import double_integrator, load, trailer
from trajopt import ActionModelDiscrete, ActionModelTerminal, IntegratedActionModelEuler
from trajopt.callbacks import CallbackLogger
from trajopt.constraints import ConstraintStack
from trajopt.costs import CostStack
from trajopt.residuals import ResidualModelControl, ResidualModelState, ResidualModelSymbolic
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution, SolverStatus
from trajopt.solvers import SolverSQP, SQPOptions
from trajopt.solvers.sqp.attempts import Attempts, Left
from trajopt.solvers.sqp.linear_steps import LinearSteps
from trajopt.solvers.sqp.method import FAILURES
from trajopt.solvers.sqp.policy_steps import PolicySteps
from trajopt.solvers.sqp.solver import MANY
from trajopt.states import StateVector


def edge_of_the_domain() -> ShootingProblem:
    """A weak motor that cannot lift a pendulum; the gradient of its cost is infinite at the motor's limit."""
    state = StateVector(2)
    effort = ResidualModelControl(state)
    room = ResidualModelSymbolic(state, lambda x, u: ca.sqrt(1.0 - u**2))
    costs = CostStack(state).add("effort", effort, weight=1.0).add("room", room, weight=1e-2)
    motor = ConstraintStack(state).add("motor", effort, lower=-1.0, upper=1.0)
    upright = ConstraintStack(state).add("upright", ResidualModelState(state, [np.pi, 0.0]), equals=0.0)
    end = ActionModelTerminal(CostStack(state), constraints=upright)
    knot = IntegratedActionModelEuler(Pendulum(state, 1, costs, constraints=motor), dt=0.03)
    return ShootingProblem([0.0, 0.0], [knot] * 40, end)


@pytest.mark.parametrize("most", [1, 2, 3, 4, 5, 60])
def test_a_cost_that_is_singular_at_a_limit_ends_with_a_status(most: int) -> None:
    solution = SolverSQP(edge_of_the_domain(), SQPOptions(max_iterations=most)).solve()
    assert solution.iterations <= most
    assert not solution.converged
    assert np.isfinite(solution.xs).all()


def test_lines_that_are_the_last_attempt_end_after_searches_without_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not only once δ is so large that no program is convex."""
    after = Attempts.after
    monkeypatch.setattr(Attempts, "after", lambda **given: dataclasses.replace(after(**given), pending=["linear"]))
    for method in (PolicySteps, LinearSteps):
        monkeypatch.setattr(method, "_search", lambda *_, **__: None)
    problem, guess = load()
    solution = SolverSQP(problem).solve(*guess)
    assert solution.status is SolverStatus.LINE_SEARCH_FAILED
    assert [record.method for record in solution.history] == ["policy"] * FAILURES + ["linear"] * MANY


def test_a_callback_sees_each_trajectory() -> None:
    logger = CallbackLogger(trajectories=True)
    solution = SolverSQP(double_integrator(0.0, wall=0.5, end=1.0), callbacks=[logger]).solve()
    assert solution.status is SolverStatus.INFEASIBLE
    assert len(logger.trajectories) == solution.iterations


def left(solution: Solution) -> float:
    return float(max(np.abs(solution.gaps()).max(), *(v.max(initial=0.0) for v in solution.violations().values())))


def test_a_callback_that_stops_gets_the_best_of_all_attempts() -> None:
    problem = double_integrator(0.0, end=30.0)
    ended = SolverSQP(problem).solve()
    for most in (ended.iterations // 2, ended.iterations - 3, ended.iterations - 1):
        stopped = SolverSQP(problem, callbacks=[lambda record, most=most: record.iteration >= most]).solve()
        assert stopped.status is SolverStatus.STOPPED_BY_CALLBACK
        assert left(stopped) <= 1.02 * left(ended)


def test_multipliers_belong_to_the_trajectory() -> None:
    """From a solution that is not finished a warm start is no worse than from its trajectory alone."""
    problem, guess = trailer()
    for most in (10, 20, 30):
        part = SolverSQP(problem, SQPOptions(max_iterations=most)).solve(*guess)
        warm, cold = SolverSQP(problem).solve(part), SolverSQP(problem).solve(part.xs, part.us)
        assert warm.converged
        assert warm.cost < 1.001 * cold.cost


def result(cost: float, infeasibility: float) -> Left:
    none = np.zeros(0)
    return Left((none, none), cost, infeasibility, True, (none, none, none))


def test_the_best_is_the_cheapest_of_those_that_are_feasible() -> None:
    attempts = Attempts([], feasibility=1e-7)
    cheap, dear, off = result(1.0, 5e-8), result(1e6, 1e-12), result(0.0, 0.1)
    for one in (cheap, dear, off):
        for other in (cheap, dear, off):
            best = attempts._better(one, other)
            assert best is (cheap if cheap in (one, other) else dear if dear in (one, other) else off)


class Falling(ActionModelDiscrete):
    """x⁺ = x + u, at a cost that falls without bound."""

    def next_state(self, x: SX, u: SX) -> SX:
        return x + u

    def running_cost(self, x: SX, u: SX) -> SX:
        return SX(-1e18 * ca.sumsqr(x) - ca.sumsqr(u))

    def terminal_cost(self, x: SX) -> SX:
        return SX(-1e18 * ca.sumsqr(x))


@pytest.mark.parametrize("most", [1, 2, 20])
def test_programs_that_are_never_convex(most: int) -> None:
    state = StateVector(1)
    rows = ConstraintStack(state).add("x", ResidualModelState(state), upper=1e3)
    problem = ShootingProblem([1.0], [Falling(state, 1, constraints=rows)] * 5, Falling(state, 1))
    solution = SolverSQP(problem, SQPOptions(max_iterations=most)).solve()
    assert solution.iterations <= most
    assert not solution.converged
