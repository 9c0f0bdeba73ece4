"""The interior-point filter method: its rows, its filter, and its solutions beside those of quadratic programs."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from casadi import SX

from tests.support.hard_problems import crane, double_integrator, trailer
from tests.support.interior import interior_steps
from tests.support.nearby import nearby
from trajopt.actions import ActionModelTerminal
from trajopt.actions.differential import DifferentialActionModelSymbolic
from trajopt.actions.integrated import IntegratedActionModelRK4
from trajopt.constraints import ConstraintStack
from trajopt.costs import CostStack
from trajopt.residuals import ResidualModelControl, ResidualModelState, ResidualModelSymbolic
from trajopt.shooting import ShootingProblem
from trajopt.shooting.evaluator import Evaluator
from trajopt.solvers import SolverSQP, SQPOptions
from trajopt.solvers.sqp.filter import Filter
from trajopt.solvers.sqp.interior import InteriorSteps
from trajopt.solvers.sqp.interior.barrier import Barrier, Bounds, longest
from trajopt.states import StateVector
from trajopt.types import Reals

INF = np.inf
LOWER = np.array([[-1.0, -INF, 2.0, -INF]])
UPPER = np.array([[1.0, 3.0, 2.0, INF]])


def barrier(c: Reals, mu: float = 0.1) -> Barrier:
    return Barrier.at(Bounds.of(LOWER, UPPER, *[np.ones_like(LOWER)] * 2), np.array([c]), mu)


def test_slacks_begin_inside() -> None:
    at = barrier(np.array([5.0, -7.0, 0.0, 4.0]))
    assert at.slack[0, 0] == pytest.approx(0.99)
    assert at.slack[0, 1] == -7.0
    assert at.slack[0, 2] == at.slack[0, 3] == 0.0
    assert np.all(at.bounds.distances(at.slack) > 0.0)
    assert np.array_equal(at.bounds.residuals(np.array([[5.0, -7.0, 0.5, 4.0]]), at.slack)[0, [1, 2, 3]], [0, -1.5, 0])


def test_steps_of_rows_solve_newtons_equations() -> None:
    """c - s = 0, y = z_u - z_l and z d = μ, to first order, for any change of the rows."""
    rng = np.random.default_rng(0)
    at = barrier(np.array([0.3, 1.0, 1.7, 0.0]))
    c = np.array([[0.4, 1.5, 1.7, 0.0]])
    residual = at.bounds.residuals(c, at.slack)
    D, h = at.stiffness, at.stiffness * residual + at.pull(at.mu)
    rows = rng.normal(size=(1, 4))
    ds = np.where(at.bounds.on.any(axis=0), rows + residual, 0.0)
    y, z = D * rows + h, at.z + at.dz(ds, at.mu)
    assert y[0, :2] == pytest.approx((z[1] - z[0])[0, :2])
    change = at.bounds.changes(ds) * at.z + at.bounds.distances(at.slack) * (z - at.z)
    products = (at.z * at.bounds.distances(at.slack) + change)[at.bounds.on]
    assert products == pytest.approx(at.mu)
    assert D[0, 2] == h[0, 2] == 0.0  # an equation, which has no barrier


def test_the_slope_of_the_barrier_is_its_derivative() -> None:
    at, ds, step = barrier(np.array([0.3, 1.0, 2.0, 0.0])), np.array([[0.4, -0.7, 0.0, 0.0]]), 1e-6
    difference = (at.value(at.slack + step * ds) - at.value(at.slack - step * ds)) / (2.0 * step)
    assert at.slope(ds) == pytest.approx(difference, rel=1e-7)
    assert np.isnan(at.value(at.slack + 10.0 * ds))


def test_the_longest_step_keeps_a_part() -> None:
    assert longest(np.array([1.0, 2.0]), np.array([-4.0, -1.0])) == pytest.approx(0.2475)
    assert longest(np.array([1.0]), np.array([3.0])) == 1.0


def test_the_filter_remembers_points_that_were_left_for_less_infeasibility() -> None:
    judge = Filter(1.0)
    assert judge.accepts(
        (1.0, 5.0), (0.5, 9.0), slope=-1e-3, length=1.0, enough=5.0
    )  # less infeasible, though costlier
    assert len(judge.entries) == 1
    assert not judge.accepts((0.5, 9.0), (1.0, 6.0), slope=-1.0, length=1.0, enough=9.0)  # as bad as the first in both
    assert judge.accepts((0.5, 9.0), (0.4, 20.0), slope=-1.0, length=1.0, enough=9.0)


def test_the_filter_wants_a_decrease_where_one_is_promised() -> None:
    judge = Filter(1.0)
    assert not judge.accepts((0.0, 5.0), (0.0, 5.0), slope=-1.0, length=1.0, enough=4.9)
    assert judge.accepts((0.0, 5.0), (0.0, 4.0), slope=-1.0, length=1.0, enough=4.9)
    assert not judge.entries
    assert not judge.accepts((0.0, 5.0), (2e4, 0.0), slope=-1.0, length=1.0, enough=4.9)
    assert not judge.accepts((0.0, 5.0), (0.0, np.nan), slope=-1.0, length=1.0, enough=4.9)


def test_below_an_infeasibility_that_counts_as_none_the_function_decides() -> None:
    judge = Filter(1.0, held=1e-6)
    assert not judge.accepts((1e-7, 5.0), (0.0, 5.0), slope=-1e-12, length=1.0, enough=4.9)
    assert judge.accepts((0.0, 5.0), (1e-7, 4.8), slope=-1e-12, length=1.0, enough=4.9)


def begun(problem: ShootingProblem, xs: Reals, us: Reals, *, rollouts: bool) -> InteriorSteps:
    return interior_steps(problem, xs, us, rollouts=rollouts)[0]


def solved(problem: ShootingProblem, xs: Reals, us: Reals, *, rollouts: bool) -> tuple[InteriorSteps, Evaluator, int]:
    steps, work, run = interior_steps(problem, xs, us, rollouts=rollouts)
    while steps.outcome is None and run.iterations < 300:
        run.iterations += 1
        steps.iterate(run)
    return steps, work.evaluator, run.iterations


@pytest.mark.parametrize("rollouts", [False, True])
def test_a_convex_program(rollouts: bool) -> None:
    """Both kinds of steps end at the optimum and the multipliers of SolverSQP."""
    problem = double_integrator(0.0, wall=1.02, end=1.0)
    other = SolverSQP(problem).solve()
    steps, e, iterations = solved(problem, np.zeros((41, 2)), np.zeros((40, 1)), rollouts=rollouts)
    assert steps.solved
    assert iterations < 40
    assert e.cost == pytest.approx(other.cost, rel=1e-7)
    assert e.us == pytest.approx(other.us, abs=1e-4)
    lam, y, _ = steps.multipliers
    assert y == pytest.approx(other.multipliers["constraints"], abs=1e-4)
    assert lam[1:] == pytest.approx(other.multipliers["dynamics"][1:], abs=1e-4)


def test_a_trailer_from_linear_steps_alone() -> None:
    problem, (xs, us) = trailer()
    steps, e, iterations = solved(problem, xs, us, rollouts=False)
    assert steps.solved
    assert iterations < 100
    assert steps.error < 1e-8
    assert e.largest_gap < 1e-8


@pytest.mark.parametrize(("rollouts", "own"), [(False, 0.0), (True, 5e-4)])
def test_the_regularisation_is_relative_to_the_barrier(rollouts: bool, own: float) -> None:
    """δ adds δ μ / size² to the Hessian, and to the weights of bounds, of rollouts, their `own` part."""
    steps = begun(double_integrator(0.0, wall=1.02, end=1.0), np.zeros((41, 2)), np.zeros((40, 1)), rollouts=rollouts)
    D = np.ones_like(steps._weights.weights)
    lq, sizes, mu = steps._program.qp.lq, np.concatenate([steps._units.states, steps._units.controls]), 5e-3
    steps._point = replace(steps._point, barrier=replace(steps._point.barrier, mu=mu))
    steps._is_convex(0.0, D)
    plain, weights = lq.H.copy(), steps._weights.weights.copy()
    steps._is_convex(100.0, D)
    assert lq.H - plain == pytest.approx(
        np.tile(np.diag(100.0 * (mu if rollouts else 1.0) / sizes**2), (40, 1, 1)), rel=1e-9, abs=1e-12
    )
    assert steps._weights.weights - weights == pytest.approx(100.0 * own * D, abs=1e-6)


def test_a_corrected_step_aims_below_what_a_plain_one_leaves() -> None:
    """(z + Δz)(d + Δd) = μ + Δz Δd after a plain step, so the next one aims at μ - Δz Δd, at most 5-fold off."""
    at, ds = barrier(np.array([0.3, 1.0, 1.7, 0.0])), np.array([[0.02, -0.03, 0.0, 0.0]])
    dz = at.dz(ds, at.mu)
    short = 0.02 * dz / np.abs(dz).max()
    aims, length = at.corrected(ds, short)
    assert length == 1.0
    assert aims[at.bounds.on] == pytest.approx((at.mu - at.bounds.changes(ds) * short)[at.bounds.on])
    assert np.ptp(aims[at.bounds.on]) > 1e-5
    aims, length = at.corrected(100.0 * ds, -1e6 * np.abs(dz))
    assert length < 1.0
    assert aims.min() == pytest.approx(0.2 * at.mu)
    assert aims.max() == pytest.approx(5.0 * at.mu)


def test_the_barrier_is_lowered_where_a_plain_step_promises_little() -> None:
    steps = begun(double_integrator(0.0, wall=1.02, end=1.0), np.zeros((41, 2)), np.zeros((40, 1)), rollouts=True)
    step, point = steps._direction(), steps._point
    assert step is not None
    first, count = point.barrier.mu, point.barrier.products.size
    assert np.abs(point.residual).max() > 0.1
    slight, large = (replace(step, slope=-part * first * count) for part in (0.01, 0.05))
    costly = replace(point.barrier, y=1e3 * np.ones_like(point.barrier.y))
    steps._point = replace(point, barrier=costly)
    assert not steps._is_slight(slight)  # residuals weigh more
    free = replace(point.barrier, y=np.zeros_like(point.barrier.y))
    steps._point = replace(point, lam=np.zeros_like(point.lam), barrier=free)
    assert steps._is_slight(slight)
    assert not steps._is_slight(large)
    steps._lower_barrier()
    assert steps._point.barrier.mu == pytest.approx(0.2 * first)


def test_steps_are_corrected_until_errors_are_small() -> None:
    steps = begun(double_integrator(0.0, wall=1.02, end=1.0), np.zeros((41, 2)), np.zeros((40, 1)), rollouts=True)
    ends = []
    for error in (1.0, 1e-6):
        steps.error = error
        step = steps._direction()
        assert step is not None
        plain = steps._newton(steps._point.residual, steps._point.barrier.mu)
        ends.append(np.abs(step.dz - plain.dz).max())
    assert ends[0] > 1e-3
    assert ends[1] == 0.0


def test_a_promise_below_rounding_is_no_end_while_the_error_falls() -> None:
    steps = begun(double_integrator(0.0, wall=1.02, end=1.0), np.zeros((41, 2)), np.zeros((40, 1)), rollouts=True)
    point = steps._point
    closed = replace(point, c=point.barrier.bounds.target + point.barrier.slack, f=np.zeros_like(point.f))
    steps._point = replace(closed, barrier=replace(point.barrier, mu=1e-12))
    steps.length, steps.ridge, steps.promised, steps.error = 1.0, 0.0, 0.0, 1e-3
    for last, solved_then in ((1.0, False), (1e-3, True)):
        steps._last_error = last
        assert steps.solved is solved_then


def test_a_row_that_nothing_moves_may_be_at_its_bound() -> None:
    """Its slack had no inside: the product of its multiplier and distance stayed, and the optimum was left again."""
    problem, guess = crane()
    solution = SolverSQP(problem).solve(*guess)
    assert solution.converged
    assert solution.history[-1].method == "interior"
    assert solution.iterations <= 100  # it took 138
    assert solution.cost == pytest.approx(5.2768365, rel=1e-6)


class Drone(DifferentialActionModelSymbolic):
    """A drone of 0.5 kg in a vertical plane: x = (place, pitch, rates), u = the thrusts of two rotors [N]."""

    def acceleration(self, x: SX, u: SX) -> SX:
        push = (u[0] + u[1]) / 0.5
        return ca.vertcat(-push * ca.sin(x[2]), push * ca.cos(x[2]) - 9.81, 50.0 * (u[0] - u[1]))


def test_an_optimum_ends_the_solve_whatever_the_sizes_of_the_steps() -> None:
    """Bounds were relaxed by 90 times what may be violated, and it stayed at the optimum for 250 iterations."""
    state, hover = StateVector(6), [2.4525, 2.4525]
    costs = CostStack(state).add("effort", ResidualModelControl(state, hover), weight=1.0)
    rows = ConstraintStack(state).add("thrusts", ResidualModelControl(state), lower=0.0, upper=6.0)
    circles = ResidualModelSymbolic(
        state, lambda x: ca.vertcat(ca.sumsqr(x[:2] - [1.0, 0.05]), ca.sumsqr(x[:2] - [2.0, 1.2]))
    )
    rows.add("circles", circles, lower=0.25)
    goal = np.array([3.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    end = ConstraintStack(state).add("goal", ResidualModelState(state, goal), equals=0.0)
    knot = IntegratedActionModelRK4(Drone(state, 2, costs, constraints=rows), dt=0.05)
    problem = ShootingProblem(state.zero(), [knot] * 60, ActionModelTerminal(CostStack(state), constraints=end))
    guess = np.linspace(state.zero(), goal, 61), np.tile(hover, (60, 1))
    solver = SolverSQP(problem, SQPOptions(steps="linear"))
    solutions = [solver.solve(*guess) for _ in nearby(problem, 7)]  # at several optima, by longer and shorter ways
    assert all(solution.converged and solution.history[-1].method == "interior" for solution in solutions)
    assert np.median([solution.iterations for solution in solutions]) <= 60
    assert min(solution.cost for solution in solutions) < 0.0365


def test_a_step_that_regularisation_shortens_counts_as_short() -> None:
    """A solve went on for 250 iterations with δ of 1e15 and steps of length 1, which moved nothing."""
    problem, (xs, us) = trailer()
    steps, _, run = interior_steps(problem, xs, us, rollouts=True)
    steps._forced = 1e9
    steps.iterate(run)
    assert steps.ridge >= 1e9
    assert steps.length > 0.1
    assert steps.mean_length == pytest.approx(0.9, abs=1e-3)
