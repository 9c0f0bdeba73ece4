"""Steps without a plan from the measured state: the policy of the last plan goes on."""

from __future__ import annotations

import numpy as np

from trajopt.shooting.evaluator import Evaluator
from trajopt.solvers.sqp.real_time import Limits, Plan
from trajopt.types import Reals


class LastPlan:
    """Rolls out the policy of a plan from another state, within limits.

    Args:
        evaluator: Evaluator of the problem.
        limits: Limits of the problem.
    """

    def __init__(self, evaluator: Evaluator, limits: Limits) -> None:
        self._e, self._limits = evaluator, limits
        self._trials = evaluator.trials(1, clipped=True)

    def follow(self, plan: Plan, x: Reals) -> None:
        """Replaces a plan by the rollout of its own policy clip(us - K (x ⊖ xs)) from a state.

        If the rollout diverges, only the first control is replaced.
        """
        e, trials, limits = self._e, self._trials, self._limits
        trials.lower[:], trials.upper[:] = limits.lower, limits.upper
        e.xs[:], e.us[:], e.K[:], e.k[:] = plan.xs, plan.us, plan.K, 0.0
        (cost,) = trials.roll_out(x, [1.0], None)
        if trials.in_range(0, cost):
            plan.xs[:], plan.us[:] = trials.xs[0], trials.us[0]
            return
        u = plan.us[0] - plan.K[0] @ e.state.difference_unchecked(plan.xs[0], x)
        plan.us[0] = np.clip(u, limits.lower[0], limits.upper[0])


def controls_without_rows(evaluator: Evaluator, limits: Limits) -> list[str]:
    """Names of controls whose model has a limit, `lower` or `upper`, that no constraint repeats."""
    lower, upper = limits.of_models
    beyond = (lower > limits.rows.u_lower) | (upper < limits.rows.u_upper)
    return list(
        dict.fromkeys(
            name
            for kind in evaluator.running
            for j, name in enumerate(kind.model.control_names)
            if beyond[np.array(kind.knots), j].any()
        )
    )
