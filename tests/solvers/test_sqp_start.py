"""SolverSQP where the start is to be chosen, where there is no running knot, and where there is no control."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from casadi import SX

import trajopt
from trajopt.actions import ActionModelDiscrete, ActionModelTerminal
from trajopt.actions.differential import DifferentialActionModelFreeFwdDynamics
from trajopt.actions.integrated import IntegratedActionModelEuler
from trajopt.actuation import ActuationModelMatrix
from trajopt.constraints import ConstraintStack
from trajopt.costs import CostStack
from trajopt.residuals import ResidualModelControl, ResidualModelControlGrav, ResidualModelState, ResidualModelSymbolic
from trajopt.shooting import ShootingProblem
from trajopt.solution import SolverStatus
from trajopt.solvers import SolverSQP, SQPOptions
from trajopt.states import StateMultibody, StateVector
from trajopt.types import Reals

STEPS = ("policy", "linear")
GOALS = np.array([[2.0, -1.0], [0.5, 0.3], [1.0, 1.0], [-1.0, 2.0]])


class Follower(ActionModelDiscrete):
    """x⁺ = x + u, cost ½ |x - goal|² + ½ |u|²."""

    def __init__(self, state: StateVector, goal: Reals, constraints: ConstraintStack) -> None:
        super().__init__(state, 2, constraints=constraints)
        self.goal = goal

    def next_state(self, x: SX, u: SX) -> SX:
        return x + u

    def running_cost(self, x: SX, u: SX) -> SX:
        return SX(0.5 * ca.sumsqr(x - ca.DM(self.goal)) + 0.5 * ca.sumsqr(u))

    def terminal_cost(self, x: SX) -> SX:
        return SX(0.5 * ca.sumsqr(x - ca.DM(self.goal)))


def follower(start: object, *, limit: float | None = None) -> ShootingProblem:
    state = StateVector(2)
    rows = ConstraintStack(state)
    if limit is not None:
        rows.add("speed", ResidualModelControl(state), lower=-limit, upper=limit)
    models = [Follower(state, goal, rows) for goal in GOALS]
    end = Follower(state, GOALS[-1], ConstraintStack(state))
    return ShootingProblem([3.0, 3.0], models[:-1], end, start=start)  # type: ignore[arg-type]


def least_squares() -> Reals:
    """States (4, 2) of the unconstrained optimum with a free start, by the normal equations."""
    T = len(GOALS) - 1
    reach = np.tril(np.ones((T + 1, T + 1)))  # x_t = x_0 + u_0 + ... of the unknowns (x_0, u_0, ..)
    A = np.vstack([reach, np.eye(T + 1)[1:]])
    b = np.vstack([GOALS, np.zeros((T, 2))])
    found = np.linalg.lstsq(A, b, rcond=None)[0]
    return reach @ found


@pytest.mark.parametrize("steps", STEPS)
def test_free_start_of_a_linear_problem(steps: str) -> None:
    problem = follower("free")
    solution = SolverSQP(problem, SQPOptions(steps=steps)).solve()
    assert solution.converged
    assert solution.iterations <= 3
    np.testing.assert_allclose(solution.xs, least_squares(), atol=1e-8)
    np.testing.assert_allclose(solution.multipliers["dynamics"][0], 0.0, atol=1e-8)


@pytest.mark.parametrize("steps", STEPS)
def test_start_within_bounds(steps: str) -> None:
    """The first coordinate is held by its bound, as if it were given; the second is free."""
    free = least_squares()[0]
    lower, upper = np.array([-5.0, -np.inf]), np.array([free[0] - 0.5, np.inf])
    problem = follower((lower, upper))
    solution = SolverSQP(problem, SQPOptions(steps=steps)).solve()
    assert solution.converged
    np.testing.assert_allclose(solution.xs[0], [upper[0], free[1]], atol=1e-7)
    fixed = ShootingProblem(solution.xs[0], problem.running, problem.terminal)
    again = SolverSQP(fixed).solve()
    np.testing.assert_allclose(solution.us, again.us, atol=1e-7)
    pull = again.multipliers["dynamics"][0]  # gradient of the optimal cost by the start
    np.testing.assert_allclose(solution.multipliers["start"], -pull, atol=1e-6)
    assert solution.multipliers["start"][0] > 0.1


@pytest.mark.parametrize("steps", STEPS)
def test_free_start_with_limits_of_controls(steps: str) -> None:
    problem = follower("free", limit=0.2)
    solution = SolverSQP(problem, SQPOptions(steps=steps)).solve()
    assert solution.converged
    assert np.abs(solution.us).max() == pytest.approx(0.2, abs=1e-7)
    nearby = np.random.default_rng(0).normal(0.0, 1e-3, (20, 2))
    for dx in nearby:  # no other start is better
        fixed = ShootingProblem(solution.xs[0] + dx, problem.running, problem.terminal)
        assert SolverSQP(fixed).solve().cost > solution.cost - 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("steps", STEPS)
def test_free_start_on_a_manifold(steps: str) -> None:
    """A quadrotor that may start anywhere starts where it shall hover."""
    state = StateMultibody(trajopt.load_robot("hector"))
    rotors = np.zeros((6, 4))
    rotors[2], rotors[3], rotors[4], rotors[5] = 1.0, [0, 0.1, 0, -0.1], [-0.1, 0, 0.1, 0], [-0.01, 0.01, -0.01, 0.01]
    actuation = ActuationModelMatrix(state, rotors)
    target = state.integrate(state.zero(), np.r_[1.0, 0.5, 2.0, np.zeros(9)])
    costs = CostStack(state).add("hover", ResidualModelState(state, target), weight=1.0)
    end = CostStack(state).add("hover", ResidualModelState(state, target), weight=1.0)
    costs.add("thrust", ResidualModelControlGrav(state, actuation), weight=1e-2)
    node = IntegratedActionModelEuler(DifferentialActionModelFreeFwdDynamics(state, actuation, costs), dt=0.05)
    x0 = state.integrate(target, np.r_[0.3, -0.2, 0.1, 0.4, 0.3, -0.5, np.full(6, 0.1)])
    problem = ShootingProblem(x0, [node] * 6, end, start="free")
    solution = SolverSQP(problem, SQPOptions(steps=steps)).solve()
    assert solution.converged
    assert solution.cost < 1e-8
    np.testing.assert_allclose(solution.xs[0], target, atol=1e-4)


class FarBound(ActionModelDiscrete):
    """Cost -x."""

    def next_state(self, x: SX, u: SX) -> SX:
        return x

    def running_cost(self, x: SX, u: SX) -> SX:
        return SX(0)

    def terminal_cost(self, x: SX) -> SX:
        return SX(-x[0])


@pytest.mark.parametrize("qp", ["ipm", "osqp"])
def test_far_linearisation(qp: str) -> None:
    """min -x, x <= 1, x² >= 4 from -0.001, where the linearised step is dx <= -2000."""
    state = StateVector(1)
    rows = ConstraintStack(state).add("upper", ResidualModelState(state, np.zeros(1)), upper=1.0)
    rows.add("far", ResidualModelSymbolic(state, lambda x: x**2), lower=4.0)
    problem = ShootingProblem([-0.001], [], FarBound(state, 0, constraints=rows), start="free")
    solution = SolverSQP(problem, SQPOptions(steps="linear", qp=qp)).solve()
    assert solution.converged
    assert solution.iterations <= 20
    np.testing.assert_allclose(solution.xs, [[-2.0]], atol=1e-7)
    np.testing.assert_allclose(solution.multipliers["constraints"], [[0.0, -0.25]], atol=1e-7)


@pytest.mark.parametrize("steps", STEPS)
def test_no_running_knot(steps: str) -> None:
    """The point of a disc that is nearest to (3, 4)."""
    state = StateVector(2)
    rows = ConstraintStack(state).add("disc", ResidualModelSymbolic(state, lambda x: ca.sumsqr(x)), upper=1.0)
    costs = CostStack(state).add("near", ResidualModelState(state, [3.0, 4.0]), weight=1.0)
    problem = ShootingProblem([0.5, 0.0], [], ActionModelTerminal(costs, constraints=rows), start="free")
    solution = SolverSQP(problem, SQPOptions(steps=steps)).solve()
    assert solution.converged
    np.testing.assert_allclose(solution.xs, [[0.6, 0.8]], atol=1e-7)
    assert solution.us.shape == (0, 0)
    assert solution.K is not None
    assert solution.K.shape == (0, 0, 2)


class Decay(ActionModelDiscrete):
    """x⁺ = x / 2, without control."""

    def next_state(self, x: SX, u: SX) -> SX:
        return SX(0.5 * x)

    def running_cost(self, x: SX, u: SX) -> SX:
        return SX(0.5 * ca.sumsqr(x - 1.0))

    def terminal_cost(self, x: SX) -> SX:
        return SX(0.5 * ca.sumsqr(x - 1.0))


@pytest.mark.parametrize("steps", STEPS)
def test_no_control(steps: str) -> None:
    """Of a given start the rollout is the solution; a free one solves ½ Σ (x0 / 2^t - 1)²."""
    state = StateVector(1)
    model = Decay(state, 0)
    given = SolverSQP(ShootingProblem([4.0], [model] * 3, model), SQPOptions(steps=steps)).solve()
    assert given.converged
    np.testing.assert_allclose(given.xs[:, 0], [4.0, 2.0, 1.0, 0.5])
    assert given.cost == pytest.approx(0.5 * (9.0 + 1.0 + 0.25))
    free = SolverSQP(ShootingProblem([4.0], [model] * 3, model, start="free"), SQPOptions(steps=steps)).solve()
    assert free.converged
    parts = 0.5 ** np.arange(4)
    assert free.xs[0, 0] == pytest.approx(parts.sum() / (parts**2).sum(), abs=1e-8)


def test_no_control_that_could_keep_a_constraint() -> None:
    state = StateVector(1)
    rows = ConstraintStack(state).add("low", ResidualModelState(state, np.zeros(1)), upper=0.25)
    model = Decay(state, 0)
    solution = SolverSQP(ShootingProblem([4.0], [model] * 3, Decay(state, 0, constraints=rows))).solve()
    assert solution.status is SolverStatus.INFEASIBLE
    assert "constraint 'low', row 0, is violated most: by 0.25 at knot 3" in solution.explain()
