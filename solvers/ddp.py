"""Differential dynamic programming."""

from __future__ import annotations

import math

from trajopt.solvers.acceptance import DDPAcceptance, Promise
from trajopt.solvers.riccati import RiccatiOutcome
from trajopt.solvers.rollout import RolloutProgress, RolloutSolverAbstract


class DDPSolverAbstract(RolloutSolverAbstract):
    """DDP: every accepted trajectory is a rollout from x0.

    The states of a guess with gaps only serve to linearise; the first step closes all gaps. Expected decrease
    dV(α) = α (d0 + α d1 / 2), d0 = Σ Qu · k, d1 = -Σ k · Quu k.
    """

    def acceptance(self) -> DDPAcceptance:
        """Part of the promised decrease must come."""
        return DDPAcceptance(self.options)

    def begin(self, run: RolloutProgress) -> None:
        """Rolls out the controls of a guess with gaps: first steps are held against that, and it is the way out."""
        if not run.feasible and self.options.rollout_on_failure:
            run.guess_rolled_out = self.rolled_out(run)

    def promise(self, run: RolloutProgress, outcome: RiccatiOutcome) -> Promise:
        """d0 = Σ Qu · k, which is -d1 where no limit is active."""
        rolled, least = run.guess_rolled_out, -math.inf
        if not run.feasible and rolled is not None:
            least = run.cost - rolled.cost - self.options.rollout_margin * rolled.scale
        return Promise(outcome.decrease, -outcome.curvature, None, None, min(abs(run.cost), run.first_scale), least)

    def feasible_after(self, run: RolloutProgress, length: float) -> bool:
        """Always: every step is a rollout."""
        return True

    def after_failed_search(self, run: RolloutProgress) -> None:
        """Gains about a guess with gaps can make every rollout diverge: the controls alone are a feasible guess."""
        if not run.feasible and run.guess_rolled_out is not None:
            self.go_on_from(run, run.guess_rolled_out)


class SolverDDP(DDPSolverAbstract):
    """DDP with Gauss-Newton Hessians, that is iLQR: every accepted trajectory is a rollout from x0.

    It refuses constraints, and control limits of models (`lower`, `upper`) are not kept: SolverBoxDDP keeps them.

    Source: Mayne 1966; Tassa, Mansard, Todorov, ICRA 2014; acceptance as Crocoddyl 3.2.1.
    """
