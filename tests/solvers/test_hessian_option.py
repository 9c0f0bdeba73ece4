"""Exact Hessians of DDP and FDDP: what they bring, and when they are taken."""

from __future__ import annotations

import itertools
from typing import Any

import casadi as ca
import numpy as np
import pytest
from casadi import SX

import trajopt
from tests.support import arm_reaches, free_problems
from tests.support.random_starts import FAMILIES, solve_from
from trajopt.actions import ActionModelTerminal
from trajopt.actions.differential import DifferentialActionModelSymbolic
from trajopt.actions.integrated import IntegratedActionModelEuler
from trajopt.costs import CostStack
from trajopt.errors import InvalidArgumentError, UnsupportedOperationError
from trajopt.problems import load
from trajopt.residuals import ResidualModelControl, ResidualModelSymbolic
from trajopt.shooting import ShootingProblem
from trajopt.shooting.evaluator import Evaluator
from trajopt.shooting.lagrangian import LagrangianHessian
from trajopt.solution import IterationRecord, Solution
from trajopt.solvers import (
    BoxDDPOptions,
    DDPOptions,
    FDDPOptions,
    SolverAbstract,
    SolverDDP,
    SolverFDDP,
    SolverSQP,
    SQPOptions,
)
from trajopt.solvers.ddp.acceptance import Promise
from trajopt.solvers.ddp.backward_pass import BackwardPass
from trajopt.solvers.ddp.curvature import BAD, BLENDS, ENOUGH, FIRST_RIDGE, STEADY, Curvature, ExactDirection
from trajopt.solvers.ddp.searches import LineStep
from trajopt.solvers.riccati.linear_quadratic import LinearQuadratic
from trajopt.solvers.riccati.riccati import Riccati
from trajopt.solvers.sqp.policy_steps import CUT
from trajopt.states import StateVector

Solver = type[SolverAbstract[Any]]


class Integrator(DifferentialActionModelSymbolic):
    second_order = False

    def xdot(self, x: SX, u: SX) -> SX:
        return u


def valley() -> ShootingProblem:
    """A point on its way to where |x - c|² is 1, and x is as far as it gets: residuals that do not vanish, and bend."""
    state = StateVector(2)
    costs = CostStack(state).add("effort", ResidualModelControl(state), weight=0.1)
    far = ResidualModelSymbolic(state, lambda x: ca.vertcat(x[0] ** 2 + x[1] ** 2 - 1.0, x[0] - 2.0, x[0] * x[1] - 1.0))
    node = IntegratedActionModelEuler(Integrator(state, 2, costs), 0.1)
    return ShootingProblem(
        np.array([0.1, 0.4]), [node] * 10, ActionModelTerminal(CostStack(state).add("far", far, 1.0))
    )


def solved(problem: ShootingProblem, hessian: str, **options: Any) -> Solution:
    return SolverDDP(problem, DDPOptions(hessian=hessian, relative_tolerance=1e-13, **options)).solve()


def test_the_end_is_quadratic_where_that_of_gauss_newton_is_linear() -> None:
    """Stopping values, half the squared Newton step: each is about the last one squared, or a fixed part of it."""
    exact, linear = (solved(valley(), hessian) for hessian in ("exact", "gauss-newton"))
    assert exact.converged
    assert linear.converged
    assert exact.cost == pytest.approx(linear.cost, rel=1e-9)
    last = [record.stop for record in exact.history][-3:]
    ratios = [b / a for a, b in itertools.pairwise(last)]
    assert ratios[1] < 1e-3 * ratios[0] or last[-1] < 1e-15
    stops = np.array([record.stop for record in linear.history][-5:])
    parts = stops[1:] / stops[:-1]
    assert np.all((parts > 0.01) & (parts < 1.0))
    assert parts.std() < 0.3 * parts.mean()
    assert exact.iterations < 0.6 * linear.iterations


def test_auto_is_gauss_newton_as_long_as_steps_are_full(solver: Solver) -> None:
    problem = load("lqr").problem
    usual, auto = (solver(problem, solver.options_type(hessian=h)).solve() for h in ("gauss-newton", "auto"))  # type: ignore[call-arg]
    np.testing.assert_array_equal(usual.us, auto.us)
    assert all(record.blend == 0.0 for record in auto.history)


def test_auto_is_exact_where_full_steps_lead_to_the_end_in_many(solver: Solver) -> None:
    """A reach whose Gauss-Newton steps are full, overshoot, and promise three fifths of the one before each."""
    case = load("arm-reach", "ur5", target=(0.5, 0.4, 0.3))
    both = [solver(case.problem, solver.options_type(hessian=h)) for h in ("gauss-newton", "auto")]  # type: ignore[call-arg]
    usual, auto = (each.solve(case.xs, case.us) for each in both)
    assert usual.converged
    assert auto.converged
    assert auto.cost == pytest.approx(usual.cost, rel=1e-6)
    assert auto.iterations < 0.5 * usual.iterations
    assert all(record.step_length == 1.0 for record in usual.history[-30:])


def test_auto_needs_fewer_iterations_where_many_steps_are_short(solver: Solver) -> None:
    """The double pendulum swings up from a random start, on which Gauss-Newton crawls."""
    family = FAMILIES["double-pendulum"]
    problem, start = family.build(), family.starts(18)[17]
    usual, auto = (solve_from(solver(problem, solver.options_type(hessian=h)), start) for h in ("gauss-newton", "auto"))  # type: ignore[call-arg]
    assert auto.converged
    assert auto.iterations < 0.85 * usual.iterations
    assert auto.cost == pytest.approx(usual.cost, rel=1e-3)
    blends = [record.blend for record in auto.history]
    assert {1.0, 0.0} <= set(blends[ENOUGH:])
    assert blends[:ENOUGH] == [0.0] * ENOUGH
    np.testing.assert_array_equal(
        [record.cost for record in auto.history[:ENOUGH]], [record.cost for record in usual.history[:ENOUGH]]
    )


def test_exact_directions_pause_where_gauss_newton_is_better(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a loss against a step that brings what it promised: one iteration without, after two in a row two."""
    tried: list[int] = []
    records: list[IterationRecord] = []
    factor = ExactDirection.factor

    def noted(self: ExactDirection, *args: Any) -> Any:
        tried.append(len(records))
        return factor(self, *args)

    monkeypatch.setattr(ExactDirection, "factor", noted)
    case = load("double-pendulum")
    solution = SolverDDP(case.problem, callbacks=[lambda record: records.append(record)]).solve(case.xs, case.us)
    lost = [records[i].blend == 0.0 and records[i].decrease >= records[i].expected_decrease for i in tried]
    in_a_row = [len(list(itertools.takewhile(bool, reversed(lost[: i + 1])))) for i in range(len(lost))]
    assert solution.converged
    assert {1, 2} <= set(in_a_row)
    assert [after - before - 1 for before, after in itertools.pairwise(tried)] == in_a_row[:-1]


def test_after_a_part_the_one_above_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts rise by one at most, from the smallest after a failure; those of a NaN are none."""
    family = FAMILIES["double-pendulum"]
    one = SolverDDP(family.build(), DDPOptions(hessian="exact", max_iterations=60))
    found: list[float] = []
    taken = ExactDirection.factor

    def kept(self: ExactDirection, *args: Any) -> Any:
        found.append((outcome := taken(self, *args))[0])
        return outcome

    monkeypatch.setattr(ExactDirection, "factor", kept)
    solve_from(one, family.starts(18)[17])
    assert 0.0 in found
    assert len(set(found)) > 2
    for before, after in itertools.pairwise(found):
        assert after <= (2.0 * before if before else BLENDS[-1])

    made = LagrangianHessian.__call__
    monkeypatch.setattr(
        LagrangianHessian, "__call__", lambda self, *, ahead: (made(self, ahead=ahead), self.H[3].fill(np.nan))
    )
    solution = solve_from(one, family.starts(18)[17])
    assert all(record.blend == 0.0 for record in solution.history)
    assert np.isfinite(solution.us).all()


def test_contacts_are_as_with_gauss_newton(solver: Solver) -> None:
    case = load("quadruped-trot")
    first = {"max_iterations": 3}
    usual, auto = (
        solver(case.problem, solver.options_type(hessian=h, **first)).solve(case.xs, case.us)  # type: ignore[call-arg]
        for h in ("gauss-newton", "auto")
    )
    np.testing.assert_array_equal(usual.us, auto.us)


def test_exact_is_refused_for_models_that_have_none(solver: Solver) -> None:
    problem = load("hopper", limits=False).problem
    with pytest.raises(
        UnsupportedOperationError, match="such as .* contacts, has no Hessian of the Lagrangian; use hessian="
    ):
        solver(problem, solver.options_type(hessian="exact")).solve()  # type: ignore[call-arg]


def test_exact_for_runge_kutta_steps_of_a_floating_base() -> None:
    """A body that turns about two axes at once, where Gauss-Newton's errors shrink by a factor."""
    state = trajopt.StateMultibody(trajopt.load_robot("hector"))
    costs = trajopt.CostStack(state).add("motors", trajopt.ResidualModelControl(state), weight=1.0)
    rotors = [trajopt.Thruster((x, y, 0.0)) for x, y in ((0.2, 0.2), (0.2, -0.2), (-0.2, 0.0))]
    motors = trajopt.ActuationModelFloatingBaseThrusters(state, rotors)
    flight = trajopt.DifferentialActionModelFreeFwdDynamics(state, motors, costs)
    goal = state.integrate(state.zero(), np.r_[0.0, 0.0, 1.0, 1.0, 0.5, np.zeros(7)])
    end = trajopt.CostStack(state).add("goal", trajopt.ResidualModelState(state, goal), weight=1e3)
    problem = trajopt.ShootingProblem(state.zero(), [trajopt.IntegratedActionModelRK4(flight, 0.1)] * 10, end)
    exact, gauss_newton = (SolverSQP(problem, SQPOptions(hessian=kind)).solve() for kind in ("exact", "gauss-newton"))
    assert exact.converged
    assert exact.cost <= gauss_newton.cost * (1.0 + 1e-6)
    assert exact.iterations <= gauss_newton.iterations / 2  # 7 and 39


@pytest.mark.parametrize("kind", [DDPOptions, SQPOptions])
def test_options_are_checked(kind: type[DDPOptions] | type[SQPOptions]) -> None:
    with pytest.raises(InvalidArgumentError, match="hessian: expected 'gauss-newton', 'exact' or 'auto', got 'newton'"):
        kind(hessian="newton")
    assert DDPOptions.crocoddyl().hessian == BoxDDPOptions.crocoddyl().hessian == "gauss-newton"
    assert DDPOptions().hessian == BoxDDPOptions().hessian == "auto"


def test_sqp_has_the_same_choice() -> None:
    problem = load("double-pendulum").problem
    usual, auto = (
        SolverSQP(problem, SQPOptions(hessian=h, max_iterations=20)).solve() for h in ("gauss-newton", "auto")
    )
    assert {record.blend for record in usual.history} == {0.0}
    assert max(record.blend for record in auto.history) == 1.0


def test_sqp_takes_a_gauss_newton_step_after_a_short_exact_one() -> None:
    case = load("double-pendulum")
    solution = SolverSQP(case.problem, SQPOptions(max_iterations=100)).solve(case.xs, case.us)
    short = [r.accepted and r.blend > 0.0 and r.step_length < CUT for r in solution.history]
    after = [record.blend for was_short, record in zip(short, solution.history[1:]) if was_short]
    assert solution.converged
    assert set(after) == {0.0}


def test_the_gauss_newton_direction_comes_back_to_the_bit() -> None:
    problem = valley()
    e = Evaluator(problem)
    e.prepare()
    e.expand(problem.x0)
    riccati = Riccati(LinearQuadratic.of(e), K=e.K, k=e.k)
    outcome = riccati.factor(feasible=True)
    k, K = e.k.copy(), e.K.copy()
    choice = Curvature(e, BackwardPass(riccati), DDPOptions(hessian="exact"))
    choice.ridge = 100.0  # the valley is not convex at its start
    choice.direction(outcome, 1.0)
    assert choice.blend > 0.0
    assert np.abs(e.k - k).max() > 1e-3
    choice.go_back()
    assert choice.blend == 0.0
    np.testing.assert_array_equal(e.k, k)
    np.testing.assert_array_equal(e.K, K)


def test_the_gauss_newton_step_of_an_unknown_comes_back_too() -> None:
    solver = SolverFDDP(free_problems.swing_up(), FDDPOptions(max_iterations=3))  # convex from here on
    solver.solve()
    choice, border, e = solver._curvature, solver._border, solver._evaluator
    assert border is not None
    outcome = border.choose(solver._riccati, solver._riccati.factor(feasible=True))
    chosen = border.chosen[0].copy()
    choice.direction(outcome, 1.0)
    assert choice.blend > 0.0
    assert np.abs(border.chosen[0] - chosen).max() > 1e-4
    choice.go_back()
    np.testing.assert_array_equal(border.chosen[0], chosen)
    np.testing.assert_array_equal(border.start(1.0)[-1], e.xs[0, -1] + chosen[-1])


def test_the_gradient_expected_after_a_step_is_that_of_the_linear_residuals() -> None:
    """Rᵀ p is the end's gradient, and after dx that of Gauss-Newton's model; H is then of p at the end of the step."""
    e = Evaluator(valley())
    e.prepare()
    e.expand(e.xs[0])
    e.xs[-1] = [0.6, -0.3]
    e.expand(None)
    hessian, dx = LagrangianHessian(e), np.zeros(e.xs.shape)
    nothing, dx[-1] = dx.copy(), [0.2, 0.5]
    x, y = e.xs[-1]
    R = np.array([[2 * x, 2 * y], [1.0, 0.0], [y, x]])
    bends = np.array([2 * np.eye(2), np.zeros((2, 2)), [[0, 1], [1, 0]]])
    np.testing.assert_allclose(R.T @ hessian.gradient_after(nothing)[0], e.terminal_g, atol=1e-12)
    p = hessian.gradient_after(dx)
    np.testing.assert_allclose(R.T @ p[0], e.terminal_g + R.T @ R @ dx[-1], atol=1e-12)
    hessian.expect(p)
    hessian()
    np.testing.assert_allclose(hessian.terminal_H, R.T @ R + np.einsum("i,ijk->jk", p[0], bends), atol=1e-12)
    hessian.expect(None)
    hessian()
    at_x = hessian.gradient_after(nothing)[0]
    np.testing.assert_allclose(hessian.terminal_H, R.T @ R + np.einsum("i,ijk->jk", at_x, bends), atol=1e-12)


@pytest.mark.parametrize("seed", [36, 60])
def test_expected_gradients_save_iterations_on_curved_steps(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reaches with a heavy goal: with the gradients of the trajectory itself they take more iterations."""
    one = SolverDDP(arm_reaches.problem(arm_reaches.reach(seed)), DDPOptions(max_iterations=100))
    found = arm_reaches.solve(one)
    fill = LagrangianHessian.__call__
    monkeypatch.setattr(LagrangianHessian, "__call__", lambda self, *, ahead: fill(self))
    without = arm_reaches.solve(one)
    assert found.converged
    assert found.iterations < without.iterations
    assert found.cost <= without.cost * (1 + 1e-6)


def choice_of(options: DDPOptions) -> Curvature:
    e = Evaluator(valley())
    return Curvature(e, BackwardPass(Riccati(LinearQuadratic.of(e), K=e.K, k=e.k)), options)


def step(length: float, *, accepted: bool = True, decrease: float = 1.0, d0: float = 2.0) -> LineStep:
    """A step whose direction promises d0 / 2."""
    return LineStep(length, accepted, None, 0.0, decrease, 1.0, Promise(d0, -d0))


def test_steps_that_fail_raise_the_ridge() -> None:
    options = DDPOptions(hessian="exact")
    choice = choice_of(options)
    for length, accepted, ridge in (
        (0.0, False, FIRST_RIDGE),
        (0.0, False, FIRST_RIDGE * options.regularization_increase),
        (1.0, True, FIRST_RIDGE * options.regularization_increase / options.regularization_decrease),
        (BAD, True, FIRST_RIDGE * options.regularization_increase),
    ):
        choice.blend = 1.0
        choice.judge(step(length, accepted=accepted), 1e-9)
        assert choice.ridge == pytest.approx(ridge)


def test_short_and_poor_steps_count_and_full_ones_as_far_as_they_lead() -> None:
    """Full steps do as soon as, three times, another FAR of them would not come to the end: 0.5^30 < 1e-9 < 0.7^30."""
    for crawling, expected in (
        ([step(1.0, d0=1e3 * 0.1**i) for i in range(12)], False),
        ([step(1.0, d0=0.5**i) for i in range(STEADY + 1)], True),
        ([step(1.0, d0=0.5**i) for i in range(STEADY)], False),
        ([step(1.0, d0=0.5**i) for i in range(15, 30)], False),
        ([step(1.0, d0=0.7**i) for i in range(15, 30)], True),
        ([step(0.5, d0=0.5**i) for i in range(ENOUGH)], True),
        ([step(1.0, decrease=0.1, d0=0.5**i) for i in range(ENOUGH)], True),
        ([step(0.5, d0=0.5**i) for i in range(ENOUGH - 1)], False),
    ):
        choice = choice_of(DDPOptions())
        for each in crawling:
            choice.judge(each, 1e-9)
        assert choice.engaged == expected
        assert choice.bad_step == (BAD if expected else DDPOptions().bad_step)
