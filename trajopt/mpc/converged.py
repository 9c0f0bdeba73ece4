"""Steps of the mode "converged": full solves from the shifted plan."""

from __future__ import annotations

import dataclasses
from typing import Any

from trajopt.errors import InvalidArgumentError
from trajopt.mpc.step import MPCStatus
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution, SolverStatus
from trajopt.solvers import SolverAbstract, SolverOptions
from trajopt.solvers.sqp.real_time import Limits, Plan, PlanEvaluator
from trajopt.types import Reals

STOPPED = (
    *(SolverStatus.MAX_ITERATIONS, SolverStatus.TIME_LIMIT, SolverStatus.STOPPED_BY_CALLBACK),
    SolverStatus.LINE_SEARCH_FAILED,
)


@dataclasses.dataclass(slots=True)
class PlanOutcome:
    """Outcome of planning: status, reason why the plan is not solved, number of iterations [-]."""

    status: MPCStatus
    reason: str
    iterations: int


class Converged:
    """Solves the problem from a plan, and copies the solution to the plan.

    Args:
        solver: Class of the solver.
        problem: The problem.
        options: Options of the solver.
        judge: Evaluator of plans of the problem.
        limits: Limits of the problem.
        time_budget: Time limit of each solve except the first [s]; None for no limit.
    """

    def __init__(
        self,
        solver: type[SolverAbstract[Any]],
        problem: ShootingProblem,
        options: SolverOptions | None,
        judge: PlanEvaluator,
        limits: Limits,
        time_budget: float | None,
    ) -> None:
        self._problem, self._first = problem, solver(problem, options)
        self._judge, self._limits = judge, limits
        self._next = self._first
        if time_budget is not None:
            limit = self._first.options.time_limit
            shorter = time_budget if limit is None else min(limit, time_budget)
            self._next = solver(problem, dataclasses.replace(self._first.options, time_limit=shorter))

    def begin(self, plan: Plan, x: Reals, guess: Any) -> PlanOutcome:
        """First solve, from state x and a guess: (xs, us), a Solution, or None for the solver's own guess."""
        self._problem.x0 = x
        if guess is None:
            return self._taken(plan, self._first.solve())
        if isinstance(guess, Solution):
            return self._taken(plan, self._first.solve(guess))
        if not isinstance(guess, (list, tuple)) or len(guess) != 2:
            raise InvalidArgumentError(f"guess: expected (xs, us) or a Solution, got {type(guess).__name__}")
        return self._taken(plan, self._first.solve(*guess))

    def prepare(self, plan: Plan) -> None:
        """Does nothing: a solve starts with the measured state."""

    def feedback(self, plan: Plan, x: Reals) -> PlanOutcome:
        """Solves the window from the last plan and a measured state, until convergence."""
        self._problem.replace_x0(x)
        xs = plan.xs.copy()
        xs[0] = x
        self._limits.follow()
        multipliers = None
        if self._next.takes_multipliers:
            multipliers = {"dynamics": plan.lam, "constraints": plan.y}
        return self._taken(plan, self._next.solve(xs, plan.us, multipliers=multipliers))

    def _taken(self, plan: Plan, solution: Solution) -> PlanOutcome:
        if solution.status is SolverStatus.INTERRUPTED:
            raise KeyboardInterrupt
        status = MPCStatus.SOLVED if solution.converged else MPCStatus.FAILED
        if solution.status in STOPPED:
            status = MPCStatus.PARTIAL
        if status is not MPCStatus.FAILED:
            multipliers = solution.multipliers
            lam, y = multipliers.get("dynamics"), multipliers.get("constraints")
            plan.take(solution.xs, solution.us, solution.K, lam, y)
            self._judge.see(plan)
        reason = "" if solution.converged else self._limits.contradiction or str(solution.status)
        return PlanOutcome(status, reason, solution.iterations)
