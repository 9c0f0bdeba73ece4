"""Models that solve an equation which may have no solution: trials are refused, derivatives raise and name the knot."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import casadi as ca
import numpy as np
import pytest
from casadi import SX

import trajopt
from tests.kernels.test_steps import solve
from trajopt.actions import Expansion, Point, Values
from trajopt.actions.expression import ActionModelExpression
from trajopt.errors import ModelEvaluationError
from trajopt.kernels import Array, Program, lane_count
from trajopt.shooting import programs as knot_programs
from trajopt.shooting.evaluator import Evaluator
from trajopt.solution import SolverStatus
from trajopt.solvers import DDPOptions, SolverDDP

STATE = trajopt.StateVector(1)
T = 10


class Implicit(ActionModelExpression):
    """x⁺ solves (x⁺)³ + x⁺ = x + u, by `limit` iterations from x; cost ½ (x² + u²), at the end 50 (x - 2)²."""

    def __init__(self, limit: int = 9, limit_at_end: int = 0) -> None:
        super().__init__(STATE, 1)
        self.limit, self.limit_at_end = limit, limit_at_end

    def values(self, program: Program, point: Point) -> Values:
        s, v = SX.sym("x"), SX.sym("u")
        if point.u is None:
            self.solve_at_end(program, point.x)
            (cost,) = program.call(ca.Function("end", [s], [50 * (s - 2) ** 2]), point.x)
            return Values(xnext=None, cost=cost)
        results = [SX(1), s + v, (s**2 + v**2) / 2]
        one, right, cost = program.call(ca.Function("parts", [s, v], results), point.x, point.u)
        return Values(xnext=solve(program, one, right, point.x, self.limit), cost=cost)

    def expansion(self, program: Program, point: Point, multipliers: Any = None, *, lift: Any = None) -> Expansion:
        s, v, z = SX.sym("x"), SX.sym("u"), SX.sym("z")
        found = self.values(program, point)
        if point.u is None or found.xnext is None:
            g, H = program.call(ca.Function("end", [s], [100 * (s - 2), SX(100)]), point.x)
            return Expansion(cost=found.cost, g=g, H=H)
        slope = 1 / (3 * z**2 + 1)
        derivatives = [ca.horzcat(slope, slope), ca.vertcat(s, v), SX.eye(2)]
        F, g, H = program.call(ca.Function("derivatives", [s, v, z], derivatives), point.x, point.u, found.xnext)
        return Expansion(xnext=found.xnext, cost=found.cost, F=F, g=g, H=H)

    def solve_at_end(self, program: Program, x: Array) -> None:
        if self.limit_at_end:
            (one,) = program.call(ca.Function("one", [], [SX(1)]))
            solve(program, one, x, x, self.limit_at_end)

    def term_expressions(self, instant: Any, *, terminal: bool) -> dict[str, SX]:
        return {}


class ClosedForm(trajopt.ActionModelDiscrete):
    """The same by Cardano's formula: with p = 1/3 and q = (x + u) / 2, x⁺ = sinh-like sum of two cube roots."""

    def next_state(self, x: SX, u: SX) -> SX:
        q = (x + u) / 2
        big = ca.fabs(q) + ca.sqrt(q * q + 1 / 27)
        root = big ** (1 / 3)
        return ca.sign(q) * (root - 1 / (3 * root))

    def running_cost(self, x: SX, u: SX) -> SX:
        return (x.T @ x + u.T @ u) / 2

    def terminal_cost(self, x: SX) -> SX:
        return 50 * (x[0] - 2) ** 2


def problem_of(model: Any, x0: float = 0.3) -> trajopt.ShootingProblem:
    return trajopt.ShootingProblem([x0], [model] * T, model)


def test_it_takes_the_iterations_of_the_closed_form() -> None:
    guess = np.full((T, 1), 0.5)
    one, two = (
        SolverDDP(problem_of(model), DDPOptions(hessian="gauss-newton")).solve(us=guess)
        for model in (Implicit(limit=40), ClosedForm(STATE, 1))
    )
    assert one.converged
    assert one.iterations == two.iterations
    np.testing.assert_allclose(one.xs, two.xs, rtol=0, atol=1e-9)
    np.testing.assert_allclose(one.us, two.us, rtol=0, atol=1e-9)
    np.testing.assert_allclose([r.cost for r in one.history], [r.cost for r in two.history], rtol=1e-9)


def test_a_trial_that_fails_costs_infinitely_much_and_disturbs_no_other() -> None:
    """Controls 16 α: long steps ask for more iterations than there are."""
    e = Evaluator(problem_of(Implicit()))
    e.xs[:], e.k[:] = 0.3, -16.0
    lengths = 0.5 ** np.arange(lane_count())
    wide = e.trials(lane_count())
    wide.xs[:, 0], wide.alphas[:, 0] = 0.3, lengths
    wide.run()
    failed = ~np.isfinite(wide.costs.sum(axis=1))
    assert failed.tolist() == [True] * failed.sum() + [False] * (lane_count() - failed.sum())
    assert 0 < failed.sum() < lane_count() - 1
    assert wide.costs[0, 0] == np.inf
    for lane, length in enumerate(lengths):
        alone = e.trials(1)
        alone.xs[:, 0], alone.alphas[:] = 0.3, length
        alone.run()
        np.testing.assert_array_equal(wide.xs[lane], alone.xs[0])
        np.testing.assert_array_equal(wide.costs[lane], alone.costs[0])


def test_a_solver_takes_a_shorter_step_where_a_trial_fails() -> None:
    """With five iterations the far end is out of reach: the search stops before it, and every iterate is sound."""
    guess, options = np.full((T, 1), 0.5), DDPOptions(initial_regularization=1e-9)
    free, tight = (SolverDDP(problem_of(Implicit(limit)), options).solve(us=guess) for limit in (40, 5))
    assert free.converged
    assert free.history[0].step_length == 1.0
    assert tight.history[0].accepted
    assert tight.history[0].step_length < 1.0
    assert tight.status is SolverStatus.LINE_SEARCH_FAILED
    assert free.cost < tight.cost < tight.history[0].cost
    assert problem_of(Implicit(limit=5)).calc(tight.xs, tight.us).cost == pytest.approx(tight.cost)


@pytest.mark.parametrize("lone", [False, True], ids=["lanes", "one by one"])
def test_derivatives_raise_and_name_knot_model_and_residual(lone: bool) -> None:
    """Beside knots whose model cannot fail."""
    model, other = Implicit(), ClosedForm(STATE, 1)
    object.__setattr__(model, "instantaneous", lone)
    problem = trajopt.ShootingProblem([0.3], [other, *[model] * (T - 2), other], other)
    xs, us = np.full((T + 1, 1), 0.3), np.full((T, 1), 0.5)
    assert np.isfinite(problem.calc_diff(xs, us).cost)
    us[0] = us[-1] = us[4] = us[6] = 1e3
    with pytest.raises(ModelEvaluationError) as raised:
        problem.calc_diff(xs, us)
    found = re.match(
        r"knot 4: Implicit found no solution .* \(residual (.*)\) at x = \[0\.3\], u = \[1000", str(raised.value)
    )
    assert found
    z = 0.3
    for _ in range(model.limit):
        z -= (z**3 + z - 1000.3) / (3 * z**2 + 1)
    assert float(found[1]) == pytest.approx(z**3 + z - 1000.3, rel=0.01)
    us[4] = us[6] = 0.5
    assert np.isfinite(problem.calc_diff(xs, us).cost)


def test_a_guess_that_fails_is_refused_by_solve_and_rollout() -> None:
    us = np.full((T, 1), 0.5)
    us[7] = 1e3
    problem = problem_of(Implicit())
    for run in (problem.rollout, lambda us: SolverDDP(problem).solve(np.zeros((T + 1, 1)), us)):
        with pytest.raises(ModelEvaluationError, match="^knot 7: Implicit found no solution"):
            run(us)


def test_the_end_may_fail_too() -> None:
    problem = problem_of(Implicit(limit=40, limit_at_end=5))
    xs, us = np.full((T + 1, 1), 0.3), np.zeros((T, 1))
    assert np.isfinite(problem.calc(xs, us).cost)
    xs[T] = 100.0
    with pytest.raises(ModelEvaluationError, match=r"^knot 10 \(terminal\): Implicit found no solution .* x = \[100\]"):
        problem.calc(xs, us)
    e = Evaluator(problem)
    e.xs[:], e.k[:], e.k[-1] = 0.3, 0.0, -100.0  # the last control leads to x = 4.6
    trials = e.trials(1)
    trials.xs[0, 0], trials.alphas[:] = 0.3, 1.0
    trials.run()
    assert trials.costs[0, T] == np.inf
    assert np.isfinite(trials.costs[0, :T]).all()


def test_problems_of_models_that_cannot_fail_have_no_status() -> None:
    e = Evaluator(problem_of(ClosedForm(STATE, 1)))
    assert not e.can_fail
    model = ClosedForm(STATE, 1)
    assert len(knot_programs.expansion(model, 1).outputs) == 6
    assert len(knot_programs.terminal_expansion(model).outputs) == 3


def test_inspection_raises_too() -> None:
    """One knot by CasADi's evaluator, as `calc` and `calc_diff` of a model do it."""
    model = Implicit(limit_at_end=5)
    data, far = model.create_data(), np.array([1000.0])
    words = r"^Implicit found no solution of an equation that it solves \(residual .*\) at x = \[{}\]{}; start from"
    for evaluate in (model.calc, model.calc_diff):
        evaluate(data, np.array([0.3]), np.array([0.5]))
        with pytest.raises(ModelEvaluationError, match=words.format("0.3", r", u = \[1000\]")):
            evaluate(data, np.array([0.3]), far)
        evaluate(data, np.array([0.3]))
        with pytest.raises(ModelEvaluationError, match=words.format("1000", "")):
            evaluate(data, far)


class ImplicitRate(trajopt.DifferentialActionModelSymbolic):
    """dx/dt solves z³ + z = u + 1."""

    def values(self, program: Program, stage: Any) -> Any:
        return self._solved(program, stage, super().values(program, stage))

    def expansion(self, program: Program, stage: Any) -> Any:
        return self._solved(program, stage, super().expansion(program, stage))

    def _solved(self, program: Program, stage: Any, found: Any) -> Any:
        (one,) = program.call(ca.Function("one", [], [SX(1)]))
        return dataclasses.replace(found, f=solve(program, one, found.f, one))

    def dynamics(self, instant: Any) -> SX:
        return instant.u + 1


def test_inspection_of_dynamics_raises_too() -> None:
    model = ImplicitRate(STATE, 1, trajopt.CostStack(STATE))
    data = model.create_data()
    for evaluate in (model.calc, model.calc_diff):
        evaluate(data, np.zeros(1), np.zeros(1))
        with pytest.raises(ModelEvaluationError, match=r"^ImplicitRate found no solution .* u = \[1e\+30\]"):
            evaluate(data, np.zeros(1), np.array([1e30]))
