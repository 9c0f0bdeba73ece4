"""Steps of the mode "converged": full solves from the shifted plan."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np

from trajopt.errors import InvalidArgumentError
from trajopt.mpc.step import MPCStatus
from trajopt.shooting import ShootingProblem
from trajopt.shooting.evaluator import Evaluator
from trajopt.solution import Solution, SolverStatus
from trajopt.solvers import SolverAbstract, SolverOptions
from trajopt.solvers.sqp.real_time import Limits, Plan, PlanEvaluator
from trajopt.types import Reals

FIRM = 100.0  # slack price as a multiple of the largest multiplier; a tenth of it is the multiple of cost slopes
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
        self._problem, self._kind, self._options, self._budget = problem, solver, options, time_budget
        self._judge, self._limits = judge, limits

    @functools.cached_property
    def _solvers(self) -> tuple[SolverAbstract[Any], SolverAbstract[Any]]:
        """The solver of the first solve, and that of later ones."""
        first = self._kind(self._problem, self._options)
        if self._budget is None:
            return first, first
        limit = first.options.time_limit
        shorter = self._budget if limit is None else min(limit, self._budget)
        return first, self._kind(self._problem, dataclasses.replace(first.options, time_limit=shorter))

    def forget(self) -> None:
        """Drops the solvers, so that no time is spent on optimising code that only they run."""
        self.__dict__.pop("_solvers", None)

    def begin(self, plan: Plan, x: Reals, guess: Any) -> PlanOutcome:
        """First solve, from state x and a guess: (xs, us), a Solution, or None for the solver's own guess."""
        self._problem.x0 = x
        if guess is None:
            return self._taken(plan, self._solvers[0].solve())
        if isinstance(guess, Solution):
            return self._taken(plan, self._solvers[0].solve(guess))
        if not isinstance(guess, (list, tuple)) or len(guess) != 2:
            raise InvalidArgumentError(f"guess: expected (xs, us) or a Solution, got {type(guess).__name__}")
        return self._taken(plan, self._solvers[0].solve(*guess))

    def prepare(self, plan: Plan) -> None:
        """Does nothing: a solve starts with the measured state."""

    def feedback(self, plan: Plan, x: Reals) -> PlanOutcome:
        """Solves the window from the last plan and a measured state, until convergence."""
        self._problem.replace_x0(x)
        xs = plan.xs.copy()
        xs[0] = x
        self._limits.follow()
        multipliers = None
        if self._solvers[1].takes_multipliers:
            multipliers = {"dynamics": plan.lam, "constraints": plan.y}
        return self._taken(plan, self._solvers[1].solve(xs, plan.us, multipliers=multipliers))

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


def slack_price(e: Evaluator, problem: ShootingProblem, plan: Plan) -> float:
    """Price of the slacks of softened rows, higher than the multiplier of any row that can be satisfied."""
    e.xs[:], e.us[:] = plan.xs, plan.us
    e.expand(None)
    sizes = (np.abs(e.g), np.abs(e.terminal_g), np.diagonal(e.H, axis1=1, axis2=2), np.diagonal(e.terminal_H))
    slope = max(float(np.max(each, initial=0.0)) for each in sizes)
    largest = float(np.max(np.abs(plan.y[problem.table.rows.free]), initial=0.0))
    return max(FIRM * largest, 0.1 * FIRM * slope, 1e-6)
