"""Constraint rows and control limits of a window, and the fallback to the policy of a plan."""

from __future__ import annotations

import numpy as np

from trajopt.mpc.plan import Plan
from trajopt.shooting import ShootingProblem
from trajopt.shooting.evaluator import Evaluator
from trajopt.solvers.sqp.rows import RowBounds
from trajopt.types import Reals


class Limits:
    """Constraint rows of a window at the current parameters, and limits of its controls.

    The limits combine constraints on single controls with the limits of the models.

    Args:
        evaluator: Evaluator of the problem.
        problem: The problem.

    Attributes:
        rows: The rows.
        bounds: Bounds of the rows, those of inactive rows included, and weights of their slacks.
        lower: Lower limits of the controls (N, nu), -inf without a limit.
        upper: Upper limits of the controls (N, nu), inf without a limit.
    """

    def __init__(self, evaluator: Evaluator, problem: ShootingProblem) -> None:
        self._e, self._problem = evaluator, problem
        self._trials = evaluator.trials(1, clipped=True)
        self.lower, self.upper = evaluator.control_limits()
        self._of_models = self.lower.copy(), self.upper.copy()

    def begin(self) -> None:
        """Computes rows and limits at the evaluator's trajectory."""
        self._e.expand(None)
        self.rows, self.bounds = RowBounds(self._e, self._problem), self._problem.table.rows.now()
        lower, upper = self._of_models
        np.maximum(lower, self.rows.u_lower, out=self.lower)
        np.minimum(upper, self.rows.u_upper, out=self.upper)
        self._trials.lower[:], self._trials.upper[:] = self.lower, self.upper

    def unknown_to_rows(self) -> list[str]:
        """Names of controls whose model has a limit, `lower` or `upper`, that no constraint repeats."""
        lower, upper = self._of_models
        beyond = (lower > self.rows.u_lower) | (upper < self.rows.u_upper)
        return list(
            dict.fromkeys(
                name
                for kind in self._e.running
                for j, name in enumerate(kind.model.control_names)
                if beyond[np.array(kind.knots), j].any()
            )
        )

    def follow(self) -> None:
        """Updates rows and bounds to the current parameters."""
        now = self._problem.table.rows.now()
        if now is not self.bounds and not self.rows.follow(self._problem):
            self.begin()
        self.bounds = now

    def fall_back(self, plan: Plan, x: Reals) -> None:
        """Replaces a plan by the rollout of its own policy clip(us - K (x ⊖ xs)) from a state.

        If the rollout diverges, only the first control is replaced.
        """
        e, trials = self._e, self._trials
        e.xs[:], e.us[:], e.K[:], e.k[:] = plan.xs, plan.us, plan.K, 0.0
        (cost,) = trials.roll_out(x, [1.0], None)
        if trials.in_range(0, cost):
            plan.xs[:], plan.us[:] = trials.xs[0], trials.us[0]
            return
        u = plan.us[0] - plan.K[0] @ e.state.difference_unchecked(plan.xs[0], x)
        plan.us[0] = np.clip(u, self.lower[0], self.upper[0])
