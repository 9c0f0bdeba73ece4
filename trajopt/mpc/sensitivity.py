"""Derivatives of the control of a step."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from trajopt.errors import InvalidArgumentError
from trajopt.shooting import ShootingProblem
from trajopt.shooting.knots import Knots
from trajopt.solution import Solution, SolverStatus
from trajopt.solution.solution import motion_solution
from trajopt.solvers import SolutionDerivatives
from trajopt.solvers.sqp.real_time import Plan
from trajopt.types import Reals


class PlanDerivatives:
    """Derivatives of the first control of a plan, computed on demand; one factorisation serves all names.

    Args:
        problem: Problem of the window.
        solver: Name of the solver.
    """

    def __init__(self, problem: ShootingProblem, solver: str) -> None:
        self._problem, self._solver, self._plan = problem, solver, Plan.zeros(problem)
        self._table = problem.table.values.copy()
        self._derivatives: SolutionDerivatives | None = None
        self._missing = "the controller has no plan yet; call reset(x0) first"

    def remember(self, plan: Plan, *, failed: bool) -> None:
        """Stores the plan of a step and the current parameters."""
        self._plan.take(plan.xs, plan.us, plan.K, plan.lam, plan.y)
        self._table[:] = self._problem.table.values
        self._derivatives = None
        self._missing = "the last step failed, and its control follows an earlier plan" if failed else ""

    def by(self, name: str, knots: Knots = None) -> Reals:
        """Returns du0/dp (nu, np); see `MPCController.sensitivity`."""
        if self._missing:
            raise InvalidArgumentError(f"sensitivity: {self._missing}")
        if self._derivatives is None:
            self._derivatives = SolutionDerivatives(self._solution(), approximate=True)
        return np.array(self._derivatives.by(name, knots).dus[0])

    def _solution(self) -> Solution:
        """The plan as a solution."""
        problem, plan = self._problem, self._plan
        now = problem.table.values.copy()
        problem.table.values[:] = self._table
        try:
            motion = motion_solution(problem, plan.xs, plan.us, solver=self._solver)
        finally:
            problem.table.values[:] = now
        effort: dict[str, Any] = {"status": SolverStatus.MAX_ITERATIONS, "iterations": 1, "x0": plan.xs[0]}
        return replace(motion, K=plan.K, multipliers={"dynamics": plan.lam, "constraints": plan.y}, **effort)
