"""A solver of one's own on the base that all solvers share."""

from __future__ import annotations

import numpy as np
import pytest

from trajopt import (
    ActionModelLQR,
    ConstraintStack,
    CostStack,
    InvalidArgumentError,
    ResidualModelControl,
    ShootingProblem,
    StateVector,
    problems,
)
from trajopt.solution import IterationRecord, SolverStatus
from trajopt.solvers import Progress, SolverAbstract, SolverFDDP, SolverOptions


class SolverGradientDescent(SolverAbstract[Progress]):
    """u ← u - α dJ/du, with the step length halved until the cost falls."""

    progress_type = Progress

    def iterate(self, run: Progress) -> IterationRecord:
        if not run.feasible:
            run.trajectory = (self.problem.rollout(run.trajectory[1]), run.trajectory[1])
            run.feasible = True
        d, us = self.problem.calc_diff(*run.trajectory), run.trajectory[1]
        gradient, costate = np.empty_like(us), d.Lx[-1]
        for t in reversed(range(len(us))):
            gradient[t] = d.Lu[t] + d.Fu[t].T @ costate
            costate = d.Lx[t] + d.Fx[t].T @ costate
        for length in 0.5 ** np.arange(40):
            tried = us - length * gradient
            xs = self.problem.rollout(tried)
            run.cost = self.problem.calc(xs, tried).cost
            if run.cost < d.cost - 0.1 * length * np.vdot(gradient, gradient):
                run.trajectory = (xs, tried)
                break
        slope = float(np.abs(gradient).max())
        if slope < 1e-4:
            run.status = SolverStatus.CONVERGED
        return run.record(stop=slope, step_length=float(length), decrease=d.cost - run.cost)


def test_gradient_descent_ends_where_fddp_does() -> None:
    node = ActionModelLQR([[1.0, 0.1], [0.0, 1.0]], [[0.0], [0.1]], np.eye(2), np.eye(1))
    problem = ShootingProblem([1.0, 0.0], [node] * 20, node)
    solution = SolverGradientDescent(problem, SolverOptions(max_iterations=500)).solve()
    best = SolverFDDP(problem).solve()
    assert solution.status is SolverStatus.CONVERGED
    assert solution.cost == pytest.approx(best.cost, rel=1e-6)
    np.testing.assert_allclose(solution.us, best.us, atol=1e-3)


def test_constraints_are_refused_unless_it_says_that_it_honours_them() -> None:
    state = StateVector(2)
    rows = ConstraintStack(state).add("push", ResidualModelControl(state), upper=1.0)
    node = ActionModelLQR([[1.0, 0.1], [0.0, 1.0]], [[0.0], [0.1]], np.eye(2), np.eye(1), constraints=rows)
    problem = ShootingProblem([1.0, 0.0], [node] * 3, CostStack(state))
    with pytest.raises(InvalidArgumentError, match="SolverGradientDescent can't enforce constraints, .*: push; use"):
        SolverGradientDescent(problem)

    class Penalty(SolverGradientDescent):
        honours_constraints = True

    assert Penalty(problem).problem is problem


def test_limits_and_callbacks_are_the_base_s() -> None:
    case = problems.load("lqr")
    stopped = SolverGradientDescent(case.problem, callbacks=[lambda record: record.iteration == 2]).solve()
    assert stopped.status is SolverStatus.STOPPED_BY_CALLBACK
    assert len(stopped.history) == 2
    limited = SolverGradientDescent(case.problem, SolverOptions(max_iterations=3)).solve()
    assert limited.status is SolverStatus.MAX_ITERATIONS
    assert [r.cost for r in limited.history] == sorted((r.cost for r in limited.history), reverse=True)
    late = SolverGradientDescent(case.problem, SolverOptions(time_limit=1e-9)).solve()
    assert late.status is SolverStatus.TIME_LIMIT
    assert limited.K is None
    assert "SolverGradientDescent" in limited.explain()
