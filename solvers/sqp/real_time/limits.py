"""Constraint rows of a problem at its current parameters, and limits of its controls."""

from __future__ import annotations

import numpy as np

from trajopt.analysis.contradictions import contradictions
from trajopt.shooting import ShootingProblem
from trajopt.shooting.evaluator import Evaluator
from trajopt.solution import SolverStatus
from trajopt.solution.solution import motion_solution
from trajopt.solvers.sqp.rows import RowBounds


class Limits:
    """Constraint rows of a problem at its current parameters, and limits of its controls.

    The limits combine constraints on single controls with the limits of the models.

    Args:
        evaluator: Evaluator of the problem.
        problem: The problem.

    Attributes:
        rows: The rows.
        bounds: Bounds of the rows, those of inactive rows included, and weights of their slacks.
        lower: Lower limits of the controls (N, nu), -inf without a limit.
        upper: Upper limits of the controls (N, nu), inf without a limit.
        of_models: Lower and upper limits of the models alone, (N, nu) each.
        contradiction: Why no control keeps the rows, if limits of a control exclude each other; otherwise empty.
    """

    def __init__(self, evaluator: Evaluator, problem: ShootingProblem) -> None:
        self._e, self._problem = evaluator, problem
        self.lower, self.upper = evaluator.control_limits()
        self.of_models = self.lower.copy(), self.upper.copy()

    def begin(self) -> None:
        """Computes rows and limits at the evaluator's trajectory."""
        self._e.expand(None)
        e, problem = self._e, self._problem
        self.rows, self.bounds = RowBounds(e, problem), problem.table.rows.now()
        self.contradiction = ""
        if self.rows.excluded:
            motion = motion_solution(problem, e.xs.copy(), e.us.copy(), solver="controller")
            self.contradiction = "; ".join(contradictions(motion)) or str(SolverStatus.INFEASIBLE)
        lower, upper = self.of_models
        np.maximum(lower, self.rows.u_lower, out=self.lower)
        np.minimum(upper, self.rows.u_upper, out=self.upper)

    def follow(self) -> None:
        """Updates rows and bounds to the current parameters."""
        now = self._problem.table.rows.now()
        if now is not self.bounds and not self.rows.follow(self._problem):
            self.begin()
        self.bounds = now
