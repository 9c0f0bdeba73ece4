"""Differential dynamic programming."""

from __future__ import annotations

import numpy as np

from trajopt.shooting.evaluator import Trials
from trajopt.solvers.base import Progress, SolverAbstract
from trajopt.solvers.riccati import RiccatiOutcome


class SolverDDP(SolverAbstract):
    """DDP with Gauss-Newton Hessians, that is iLQR: every accepted trajectory is a rollout from x0.

    The states of a guess with gaps only serve to linearise; the first step closes all gaps. Expected decrease
    dV(α) = α (d0 + α d1 / 2), d0 = Σ Qu · k, d1 = -Σ k · Quu k = -d0.

    Source: Mayne 1966; Tassa, Mansard, Todorov, ICRA 2014; acceptance as Crocoddyl 3.2.1.
    """

    def _slopes(self, run: Progress, outcome: RiccatiOutcome) -> tuple[float, float]:
        return outcome.decrease, -outcome.decrease

    def _trial_gaps(self, run: Progress) -> float:
        return 0.0

    def _slopes_at(
        self,
        run: Progress,
        slopes: tuple[float, float],
        trials: Trials,
        lane: int,
    ) -> tuple[float, float]:
        return slopes

    def _accepts(self, run: Progress, slopes: tuple[float, float], expected: float, decrease: float) -> bool:
        if expected < 0:
            return False
        small = abs(slopes[0]) < self.options.gradient_tolerance
        return small or not run.feasible or decrease > self.options.acceptance * expected

    def _feasible_after(self, run: Progress, length: float) -> bool:
        return True

    def _after_failed_search(self, run: Progress) -> None:
        """Gains about a guess with gaps can make every rollout diverge: the controls alone are a feasible guess."""
        if run.feasible or not self.options.rollout_on_failure:
            return
        e, trials = self._evaluator, self._evaluator.trials(1)
        e.k[:], e.K[:] = 0.0, 0.0
        trials.xs[0, 0], trials.alphas[:], trials.gaps[:] = run.x0, 0.0, 0.0
        trials.run()
        cost = float(trials.costs[0].sum())
        if np.isfinite(cost):
            run.trajectory, run.cost, run.feasible = (trials.xs[0].copy(), trials.us[0].copy()), cost, True
            run.expanded = False
            e.xs[:] = trials.xs[0]
