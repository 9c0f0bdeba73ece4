"""SolverSQP on problems with known optima, and what it says of those that have none."""

from __future__ import annotations

import functools

import casadi as ca
import numpy as np
import pytest
from casadi import SX

from tests.support import ocp_problems
from tests.support.ocp_problems import OptimalControlProblem
from trajopt import problems
from trajopt.actions import ActionModelDiscrete, ActionModelTerminal
from trajopt.actions.differential import DifferentialActionModelSymbolic
from trajopt.actions.integrated import IntegratedActionModelRK4
from trajopt.activations import ActivationModelSymbolic
from trajopt.constraints import ConstraintStack
from trajopt.costs import CostStack
from trajopt.residuals import ResidualModelControl, ResidualModelState, ResidualModelSymbolic
from trajopt.shooting import ShootingProblem
from trajopt.solution import SolverStatus
from trajopt.solvers import SolverSQP, SQPOptions
from trajopt.states import StateVector

KNOWN = list(ocp_problems.PROBLEMS)


@functools.cache
def known(name: str) -> OptimalControlProblem:
    return ocp_problems.PROBLEMS[name]()


@pytest.mark.parametrize("name", KNOWN)
def test_known_optimum_from_the_stated_guess(name: str) -> None:
    case = known(name)
    solution = SolverSQP(case.problem).solve(*case.guess)
    assert solution.converged
    assert solution.iterations <= case.iterations
    assert solution.cost == pytest.approx(case.cost, rel=1e-6)
    np.testing.assert_allclose(case.problem.calc(solution.xs, solution.us).gaps, 0.0, atol=1e-10)
    np.testing.assert_allclose(solution.xs[-1], case.goal, rtol=0, atol=1e-7)


@pytest.mark.parametrize("name", [name for name in KNOWN if name != "breakwell"])
def test_random_guesses(name: str) -> None:
    case = known(name)
    solver = SolverSQP(case.problem)
    for seed in range(3):
        assert solver.solve(*case.random_guess(seed)).converged


def constrained_lqr() -> ShootingProblem:
    return problems.load("lqr-bounds").problem


def test_constrained_lqr() -> None:
    """Measured with mim-solvers 0.3.0."""
    solution = SolverSQP(constrained_lqr()).solve()
    assert solution.converged
    assert solution.cost == pytest.approx(516.3142133, rel=1e-9)
    np.testing.assert_allclose(solution.us[0], [0.4901, 9.80968], atol=1e-4)
    np.testing.assert_allclose(solution.xs[-1], [0.4, -0.0404, 0.0, -0.4808], atol=1e-4)
    assert np.all(solution.xs[1:, :2] <= np.array([0.4, 0.2]) + 1e-7)
    assert set(solution.violations()) == {"walls"}
    assert solution.violations()["walls"].max() < 1e-7
    assert np.abs(solution.stationarity()).max() < 1e-5
    assert "all constraints hold" in solution.explain()


def test_gains_are_those_of_the_perturbed_problem() -> None:
    """Zero along what active constraints hold."""
    problem = constrained_lqr()
    solution = SolverSQP(problem).solve()
    assert solution.K is not None
    shift = np.array([1e-4, -2e-4, 1e-4, 3e-4])
    other = ShootingProblem(shift, problem.running, problem.terminal)
    moved = SolverSQP(other).solve(solution.xs, solution.us)
    assert moved.converged
    dx = moved.xs[:-1] - solution.xs[:-1]
    np.testing.assert_allclose(moved.us, solution.us - np.einsum("tij,tj->ti", solution.K, dx), atol=1e-6)


class Drive(DifferentialActionModelSymbolic):
    """dx/dt = (v cos θ, v sin θ, ω)."""

    def xdot(self, x: SX, u: SX) -> SX:
        return ca.vertcat(u[0] * ca.cos(x[2]), u[0] * ca.sin(x[2]), u[1])


def test_a_goal_that_is_reached_at_no_cost_converges() -> None:
    """Products of multipliers and distances are at rounding; no fraction of a cost of 0 bounds them."""
    state = StateVector(3)
    limits = ConstraintStack(state).add("speeds", ResidualModelControl(state), lower=-2.0, upper=2.0)
    circle = ResidualModelSymbolic(state, lambda x: (x[0] + 0.5) ** 2 + (x[1] + 0.45) ** 2)
    limits.add("circle", circle, lower=0.3**2)
    knot = IntegratedActionModelRK4(Drive(state, 2, CostStack(state), constraints=limits), dt=0.1)
    end = CostStack(state).add("goal", ResidualModelState(state), weight=1.0)
    solution = SolverSQP(ShootingProblem([-1.0, -1.0, 0.7], [knot] * 30, end)).solve()
    assert solution.converged
    assert solution.iterations <= 15
    np.testing.assert_allclose(solution.xs[-1], 0.0, atol=1e-9)
    assert min(np.hypot(solution.xs[:, 0] + 0.5, solution.xs[:, 1] + 0.45)) >= 0.3 - 1e-9
    assert np.abs(solution.us).max() <= 2.0


def test_unreachable_end_is_infeasible() -> None:
    """The goal is farther than the strongest control gets."""
    state = StateVector(2)

    class Mass(ActionModelDiscrete):
        def next_state(self, x: SX, u: SX) -> SX:
            return SX(ca.vertcat(x[0] + 0.1 * x[1], x[1] + 0.1 * u))

        def running_cost(self, x: SX, u: SX) -> SX:
            return SX(0.5 * ca.sumsqr(u))

        def terminal_cost(self, x: SX) -> SX:
            return SX(0)

    limits = ConstraintStack(state).add("motor", ResidualModelControl(state), lower=-1.0, upper=1.0)
    end = ConstraintStack(state).add("goal", ResidualModelState(state, [5.0, 0.0]), equals=0.0)
    problem = ShootingProblem(np.zeros(2), [Mass(state, 1, constraints=limits)] * 10, Mass(state, 1, constraints=end))
    solution = SolverSQP(problem, SQPOptions(max_iterations=200)).solve()
    assert solution.status is SolverStatus.INFEASIBLE
    assert np.all(np.abs(solution.us) <= 1.0)
    assert "constraint 'goal', row 0, is violated most" in solution.explain()
    assert "at knot 10" in solution.explain()


class Sledge(DifferentialActionModelSymbolic):
    """x = (q, v), dv/dt = u."""

    def acceleration(self, x: SX, u: SX) -> SX:
        return u


def paid_to_leave(**limits: float) -> ShootingProblem:
    """A sledge whose speed is limited, and that gets more than it pays for the distance at the end."""
    state = StateVector(2, names=["q", "v"])
    effort, speed = ResidualModelControl(state), ResidualModelSymbolic(state, lambda x: x[1])
    rows = ConstraintStack(state).add("force", effort, **limits).add("speed", speed, lower=-1.0)
    costs = CostStack(state).add("effort", effort, weight=1e-3)
    away = ActivationModelSymbolic(lambda r: -ca.sumsqr(r))
    end = CostStack(state).add("far", ResidualModelState(state), weight=1.0, activation=away)
    knot = IntegratedActionModelRK4(Sledge(state, 1, costs, constraints=rows), dt=0.1)
    return ShootingProblem([0.1, 0.0], [knot] * 40, end)


def test_a_cost_without_a_least_value_beside_rows_is_unbounded() -> None:
    solution = SolverSQP(paid_to_leave(lower=-1.0)).solve()
    assert solution.status is SolverStatus.UNBOUNDED
    assert "term 'far' fell to -" in solution.explain()


def driven_far(**wall: float) -> ShootingProblem:
    """A sledge that gets more the further it is at the end, before a wall or none, at no cost of its force."""
    state = StateVector(2, names=["q", "v"])
    place = ResidualModelSymbolic(state, lambda x: x[0])
    rows = ConstraintStack(state).add("wall", place, **wall) if wall else None
    end = CostStack(state).add("far", place, weight=1.0, activation=ActivationModelSymbolic(lambda r: -r[0]))
    knot = IntegratedActionModelRK4(Sledge(state, 1, CostStack(state)), dt=0.1)
    return ShootingProblem([0.0, 0.0], [knot] * 20, ActionModelTerminal(end, constraints=rows))


@pytest.mark.parametrize("wall", [1e3, 1e5, 1e7])
def test_a_linear_cost_leads_to_a_wall_however_far_it_is(wall: float) -> None:
    """The cost has no curvature. With a least δ of 1e-4 steps were 1e4 at most, and 300 did not lead to 1e7."""
    solution = SolverSQP(driven_far(upper=wall)).solve()
    assert solution.converged
    assert solution.iterations <= 30
    assert solution.cost == pytest.approx(-wall)


def test_a_linear_cost_without_a_wall_is_unbounded() -> None:
    """It took all 300 iterations, and ended at a cost of -8e5."""
    solution = SolverSQP(driven_far()).solve()
    assert solution.status is SolverStatus.UNBOUNDED
    assert solution.iterations <= 20


def test_between_limits_of_all_controls_a_cost_has_a_least_value() -> None:
    """However far below all typical costs it is."""
    solution = SolverSQP(paid_to_leave(lower=-1.0, upper=1e6), SQPOptions(max_iterations=30)).solve()
    assert solution.cost < -1e6
    assert solution.status is SolverStatus.MAX_ITERATIONS
