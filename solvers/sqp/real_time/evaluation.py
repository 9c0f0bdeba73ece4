"""Cost, gaps and constraint violations of a plan."""

from __future__ import annotations

import math

import numpy as np

from trajopt.shooting.evaluator import Evaluator
from trajopt.shooting.linear_trial import LinearTrial
from trajopt.solvers.sqp.real_time.limits import Limits
from trajopt.solvers.sqp.real_time.plan import Plan

HELD = 1e-6  # violations up to this size are not reported


class PlanEvaluator:
    """Evaluates plans of a problem at all knots together, without derivatives.

    Args:
        evaluator: Evaluator; plans are steps from its trajectory.
        limits: Rows and bounds as of the last preparation.

    Attributes:
        trial: The plan: its direction from the evaluator's trajectory, its states, controls, gaps and rows.
        cost: Cost of the plan [cost].
        violation: Largest violation of a row [unit of the row].
        at: Knot and row of the largest violation.
    """

    def __init__(self, evaluator: Evaluator, limits: Limits) -> None:
        self._limits, self.trial = limits, LinearTrial(evaluator)
        self._below, self._beyond = np.zeros_like(self.trial.c), np.zeros_like(self.trial.c)
        self.cost, self.violation, self.at = 0.0, 0.0, (0, 0)
        kinds = (*evaluator.running, evaluator.terminal)
        self._names = {t: kind.model.row_names for kind in kinds for t in kind.knots}

    def prepare(self) -> None:
        """Compiles the code that it runs."""
        self.trial.prepare()

    def see(self, plan: Plan) -> None:
        """Evaluates a plan and makes it the trajectory from which later trials step."""
        e, trial = self.trial.evaluator, self.trial
        e.xs[:], e.us[:] = plan.xs, plan.us
        trial.dx.fill(0.0)
        trial.du.fill(0.0)
        self.look()

    def look(self) -> bool:
        """Evaluates the trial along its direction. Returns whether all values are finite."""
        trial = self.trial
        self.cost = trial.go(1.0)
        self.violation, self.at = 0.0, (0, 0)
        if trial.c.size:
            bounds, below, beyond = self._limits.bounds, self._below, self._beyond
            np.subtract(bounds.lower, trial.c, out=below)
            np.subtract(trial.c, bounds.upper, out=beyond)
            np.maximum(below, beyond, out=beyond)
            worst = int(beyond.argmax())
            self.at = worst // beyond.shape[1], worst % beyond.shape[1]
            self.violation = max(beyond.item(worst), 0.0)
        return math.isfinite(self.cost + trial.sum_of_gaps) and not math.isnan(self.violation)

    @property
    def violated(self) -> str:
        """Constraint row and knot of the largest violation; empty if all constraints hold."""
        if not self.violation > HELD:
            return ""
        knot, row = self.at
        return f"{self._names[knot][row]} at knot {knot}"
