"""When solvers say that they converged: scale of the costs, slopes, costs without a least value, random starts."""

from __future__ import annotations

import dataclasses
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
import pytest
from casadi import SX

import trajopt
from tests.support.random_starts import FAMILIES, solve_from
from trajopt import problems
from trajopt.actions.differential import DifferentialActionModelSymbolic
from trajopt.actions.integrated import IntegratedActionModelEuler
from trajopt.activations import ActivationModelAbstract
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution, SolverStatus
from trajopt.solvers import DDPOptions, FDDPOptions, SolverAbstract, SolverDDP, SolverFDDP

Reals = npt.NDArray[np.float64]
Solver = type[SolverAbstract[Any]]


# Scale of the costs


STARTS = {"pendulum": (2.0, 0.0), "double-pendulum": (2.0, 0.0, 0.0, 0.0), "cart-pole": (0.0, 0.5, 1.0, 0.5)}


def scaled(name: str, factor: float) -> ShootingProblem:
    """A problem with all its weights times a factor."""
    problem = problems.load(name).problem
    problem.x0 = STARTS[name]
    for parameter, info in problem.parameters.items():
        if parameter.endswith(".weight"):
            for t in info.knots:
                problem.set_parameter(parameter, factor * problem.get_parameter(parameter, t), knots=t)
    return problem


def swung_up(solver: Solver, problem: ShootingProblem, options: DDPOptions | None = None) -> Solution:
    """From x0 everywhere without control, which has gaps."""
    return solver(problem, options).solve(np.tile(problem.x0, (problem.T + 1, 1)), np.zeros((problem.T, problem.nu)))


@pytest.mark.parametrize("name", STARTS)
def test_the_scale_of_the_costs_changes_nothing(solver: Solver, options: type[DDPOptions], name: str) -> None:
    """Of Gauss-Newton: whether a Hessian is convex, rounding may decide, which the next test leaves out."""
    plain = options(hessian="gauss-newton")
    expected = swung_up(solver, scaled(name, 1.0), plain)
    assert expected.converged
    for factor in (1e-9, 1e9):
        got = swung_up(solver, scaled(name, factor), plain)
        assert (got.status, got.iterations) == (expected.status, expected.iterations)
        assert got.cost == pytest.approx(factor * expected.cost, rel=1e-6)
        np.testing.assert_allclose(got.xs, expected.xs, rtol=0, atol=1e-5 * np.abs(expected.xs).max())
        np.testing.assert_allclose(got.us, expected.us, rtol=0, atol=1e-5 * np.abs(expected.us).max())


@pytest.mark.parametrize("name", STARTS)
def test_with_powers_of_two_the_scale_changes_no_bit(solver: Solver, name: str) -> None:
    """Nothing but a product with the scale: no absolute number is hidden in the algorithm."""
    expected = swung_up(solver, scaled(name, 1.0))
    for exponent in (-30, 30):
        got = swung_up(solver, scaled(name, 2.0**exponent))
        np.testing.assert_array_equal(got.xs, expected.xs)
        np.testing.assert_array_equal(got.us, expected.us)
        assert [r.cost for r in got.history] == [2.0**exponent * r.cost for r in expected.history]


def test_crocoddyl_s_numbers_are_absolute(solver: Solver, options: type[DDPOptions]) -> None:
    """So small costs end elsewhere: its regularisation weighs more then, and its tolerance is met early."""
    crocoddyl = options.crocoddyl()
    large, small = (swung_up(solver, scaled("cart-pole", factor), crocoddyl) for factor in (1.0, 1e-9))
    assert large.converged
    assert small.converged
    assert np.abs(small.us - large.us).max() > 1e-3


# Slopes


def test_much_regularization_is_no_convergence(solver: Solver, options: type[DDPOptions]) -> None:
    """A step that is held back promises little however steep the cost is."""
    problem = problems.load("unicycle").problem
    best, held = solver(problem).solve(), options(initial_regularization=1e9)
    got = solver(problem, held).solve()
    assert got.converged
    np.testing.assert_allclose(got.us, best.us, rtol=0, atol=1e-4)
    unchecked = options(initial_regularization=1e9, confirm_gradient=False)
    early = solver(problem, unchecked).solve(best.xs + 1e-3, best.us + 1e-3)
    assert early.converged
    assert np.abs(early.stationarity()).max() > 100 * np.abs(got.stationarity()).max()


@pytest.mark.parametrize("name", STARTS)
def test_a_converged_solve_has_no_slope(solver: Solver, name: str) -> None:
    """Largest slope of the cost along a control, against that of no control."""
    problem = scaled(name, 1.0)
    solution, us = swung_up(solver, problem), np.zeros((problem.T, problem.nu))
    assert solution.converged
    guess = dataclasses.replace(solution, us=us, xs=problem.rollout(us), K=None)
    assert np.abs(solution.stationarity()).max() < 1e-4 * np.abs(guess.stationarity()).max()


def test_a_cost_that_ends_at_zero(solver: Solver) -> None:
    """Nothing is left to be relative to."""
    model = trajopt.ActionModelLQR(np.eye(2), np.eye(2), np.eye(2), np.eye(2))
    problem = ShootingProblem(np.zeros(2), [model] * 10, model)
    solution = solver(problem).solve(us=np.full((10, 2), 0.3))
    assert solution.converged
    assert solution.iterations < 20
    np.testing.assert_allclose(solution.us, 0.0, atol=1e-10)
    assert solver(problem).solve(us=np.zeros((10, 2))).iterations <= 2


def test_a_cost_that_changes_sign(solver: Solver) -> None:
    """Σ|l| is its scale, and not the cost, which is about zero."""
    model = trajopt.ActionModelLQR([[1.0]], [[1.0]], [[1.0]], [[1.0]], q=[1.0])
    problem = ShootingProblem([0.7320508], [model] * 30, model)
    solution = solver(problem).solve()
    assert solution.converged
    assert np.abs(solution.stationarity()).max() < 1e-5


# Costs without a least value


def lq(**linear: float) -> ShootingProblem:
    """x⁺ = x + u with cost ½ (Q x² + R u²) + q x + r u from x = 1."""
    Q, R, q, r = (linear.get(name, 0.0) for name in "QRqr")
    model = trajopt.ActionModelLQR([[1.0]], [[1.0]], [[Q]], [[R]], q=[q], r=[r])
    return ShootingProblem([1.0], [model] * 5, model)


@pytest.mark.parametrize("costs", [{"r": 1.0}, {"q": 1.0}, {"Q": -1.0, "R": 0.1}, {"Q": 1.0, "R": -1.0}], ids=str)
def test_an_unbounded_cost(solver: Solver, costs: dict[str, float]) -> None:
    solution = solver(lq(**costs)).solve()
    assert solution.status is SolverStatus.UNBOUNDED
    assert "unbounded below" in str(solution.status)
    assert "does every cost term have a minimum" in solution.explain()
    assert not solution.converged
    assert np.isfinite(solution.cost)


class Sum(ActivationModelAbstract):
    """a(r) = Σ r, without a least value."""

    def value(self, r: SX) -> SX:
        return ca.sum1(r)


class Sledge(DifferentialActionModelSymbolic):
    """x = (q, v), dv/dt = u."""

    def acceleration(self, x: SX, u: SX) -> SX:
        return u


def test_an_unbounded_cost_does_not_widen_its_own_tolerance(solver: Solver, options: type[DDPOptions]) -> None:
    """Each step brings as much as the one before, so less and less of what there is."""
    patient = options(step_growth=1.0, relative_tolerance=0.05, max_iterations=60)
    solution = solver(lq(r=1.0), patient).solve()
    last = solution.history[-1]
    assert last.stop < 0.05 * abs(last.cost)
    assert not solution.converged


@pytest.mark.parametrize("T", [2, 20])
def test_an_unbounded_cost_among_others(solver: Solver, options: type[DDPOptions], T: int) -> None:
    """The other terms pull back, so that steps are long and short by turns."""
    state = trajopt.StateVector(2)
    costs = trajopt.CostStack(state)
    costs.add("near", trajopt.ResidualModelState(state), weight=1e-3)
    costs.add("far", trajopt.ResidualModelControl(state), weight=1.0, activation=Sum())
    node = IntegratedActionModelEuler(Sledge(state, 1, costs), dt=0.1)
    end = trajopt.CostStack(state).add("goal", trajopt.ResidualModelState(state), weight=0.0)
    problem = ShootingProblem([1.0, 0.0], [node] * T, end)
    for growth in (1.0, 2.0, 16.0):
        solution = solver(problem, options(step_growth=growth)).solve()
        assert not solution.converged
        assert "term 'far'" in solution.explain()
    assert solution.status is SolverStatus.UNBOUNDED
    assert "term 'far' fell to -" in solution.explain()


# Trials that have diverged


def test_a_trial_beyond_1e30_is_refused(solver: Solver, options: type[DDPOptions]) -> None:
    """Crocoddyl 3.2.1 converges from this start, in 15 iterations; without the limit DDP accepts a cost of 5e94."""
    family = FAMILIES["cart-pole-swing-up"]
    one = solver(family.build(), options.crocoddyl())
    for x0 in family.starts(100)[30:40]:
        costs = [record.cost for record in solve_from(one, x0).history if record.accepted]
        assert max(costs, default=0.0) < 1e30


@pytest.mark.parametrize("A", [1e4, 1e9, 1e100])
def test_states_beyond_1e30_are_refused_where_they_cost_nothing(solver: Solver, A: float) -> None:
    model = trajopt.ActionModelLQR([[A]], [[1.0]], [[0.0]], [[1.0]])
    problem = ShootingProblem([1.0], [model] * 20, trajopt.ActionModelLQR([[1.0]], [[0.0]], [[0.0]], [[1.0]]))
    solution = solver(problem).solve(np.ones((21, 1)), np.zeros((20, 1)))
    assert np.abs(solution.xs).max() < 1e30
    assert solution.converged == (A == 1e4)  # else only states that are too large would do


# Steps beyond a full one


def test_longer_steps_where_the_cost_is_less_curved_than_gauss_newton_takes_it(
    solver: Solver, options: type[DDPOptions]
) -> None:
    problem = problems.load("cart-pole", T=100).problem
    x0 = FAMILIES["cart-pole-balance"].starts(10)[3]
    problem.x0 = x0
    with_them, without = (solve_from(solver(problem, o), x0) for o in (options(), options(step_growth=1.0)))
    assert max(r.step_length for r in without.history) == 1.0
    long = [r for r in with_them.history if r.step_length > 1.0]
    assert long
    assert all(r.decrease > 0 and r.feasible for r in long)
    assert with_them.converged
    assert with_them.iterations < without.iterations
    assert with_them.cost == pytest.approx(problem.calc(with_them.xs, with_them.us).cost, rel=1e-12)
    np.testing.assert_allclose(with_them.gaps(), 0.0, atol=1e-12)


# Random starts

CROCODDYL = {  # 3.2.1, of the first 40 starts: see tests/benchmarks/convergence.py
    "double-pendulum": {"ddp": 16, "fddp": 21},
    "cart-pole-balance": {"ddp": 24, "fddp": 26},
    "cart-pole-swing-up": {"ddp": 8, "fddp": 15},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_as_many_converge_as_with_crocoddyl(name: str) -> None:
    """With our defaults at least as many, with its profile just as many, but for one that a rounding decides."""
    problem, starts = FAMILIES[name].build(), FAMILIES[name].starts(40)
    for solver, options, key in ((SolverDDP, DDPOptions, "ddp"), (SolverFDDP, FDDPOptions, "fddp")):
        ours, theirs = (
            sum(solve_from(one, x0).converged for x0 in starts)
            for one in (solver(problem, options()), solver(problem, options.crocoddyl()))
        )
        assert ours >= CROCODDYL[name][key]
        assert abs(theirs - CROCODDYL[name][key]) <= 1
