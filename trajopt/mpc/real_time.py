"""Steps of the mode "real-time": a real-time iteration, within a time budget."""

from __future__ import annotations

import math
import time

from trajopt.mpc.converged import PlanOutcome
from trajopt.mpc.step import MPCStatus
from trajopt.solvers.sqp.real_time import Plan, RealTimeIteration
from trajopt.types import Reals


class RealTime:
    """Steps of a controller by a real-time iteration.

    Args:
        solver: The iteration.
        time_budget: Time limit of a feedback phase [s]; None for no limit.
    """

    def __init__(self, solver: RealTimeIteration, time_budget: float | None) -> None:
        self._solver, self._budget = solver, math.inf if time_budget is None else time_budget

    def begin(self) -> None:
        """Begins at the evaluator's expanded trajectory, and compiles all code."""
        self._solver.begin()

    def prepare(self, plan: Plan) -> None:
        """Does all work that does not need the measurement."""
        self._solver.prepare(plan)

    def feedback(self, plan: Plan, x: Reals) -> PlanOutcome:
        """Computes the plan from a measured state; a failed step leaves the plan unchanged."""
        found = self._solver.feedback(plan, x, time.perf_counter() + self._budget)
        status = MPCStatus.FAILED if not found.planned else MPCStatus.PARTIAL if found.reason else MPCStatus.SOLVED
        return PlanOutcome(status, found.reason, found.iterations)
