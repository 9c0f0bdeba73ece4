"""Differential dynamic programming."""

from __future__ import annotations

import numpy as np

from trajopt.solvers.acceptance import DDPAcceptance, Promise
from trajopt.solvers.riccati import RiccatiOutcome
from trajopt.solvers.rollout import RolloutProgress, RolloutSolverAbstract


class SolverDDP(RolloutSolverAbstract):
    """DDP with Gauss-Newton Hessians, that is iLQR: every accepted trajectory is a rollout from x0.

    The states of a guess with gaps only serve to linearise; the first step closes all gaps. Expected decrease
    dV(α) = α (d0 + α d1 / 2), d0 = Σ Qu · k, d1 = -Σ k · Quu k = -d0.

    Source: Mayne 1966; Tassa, Mansard, Todorov, ICRA 2014; acceptance as Crocoddyl 3.2.1.
    """

    def acceptance(self) -> DDPAcceptance:
        """Part of the promised decrease must come."""
        return DDPAcceptance(self.options)

    def promise(self, run: RolloutProgress, outcome: RiccatiOutcome) -> Promise:
        """d0 = Σ Qu · k = -d1."""
        return Promise(outcome.decrease, -outcome.decrease)

    def feasible_after(self, run: RolloutProgress, length: float) -> bool:
        """Always: every step is a rollout."""
        return True

    def after_failed_search(self, run: RolloutProgress) -> None:
        """Gains about a guess with gaps can make every rollout diverge: the controls alone are a feasible guess."""
        if run.feasible or not self.options.rollout_on_failure:
            return
        e, trials = self._evaluator, self._evaluator.trials(1)
        e.k[:], e.K[:] = 0.0, 0.0
        (cost,) = trials.roll_out(run.x0, (0.0,), None)
        if np.isfinite(cost):
            run.trajectory, run.cost, run.feasible = (trials.xs[0].copy(), trials.us[0].copy()), cost, True
            run.expanded = False
            e.xs[:] = trials.xs[0]
