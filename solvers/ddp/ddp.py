"""Differential dynamic programming."""

from __future__ import annotations

import math

from trajopt.solvers.ddp.acceptance import DDPAcceptance, Promise
from trajopt.solvers.ddp.progress import RolloutProgress
from trajopt.solvers.ddp.rollout import RolloutSolverAbstract
from trajopt.solvers.riccati.riccati import RiccatiOutcome


class DDPSolverAbstract(RolloutSolverAbstract):
    """DDP: every accepted trajectory is a rollout from x0.

    The states of a guess with gaps are used only to linearise; the first step closes all gaps. Predicted decrease
    dV(α) = α (d0 + α d1 / 2), d0 = Σ Qu · k, d1 = -Σ k · Quu k.
    """

    def acceptance(self) -> DDPAcceptance:
        """Acceptance test of DDP: a step must achieve part of the predicted decrease."""
        return DDPAcceptance(self.options)

    def begin(self, run: RolloutProgress) -> None:
        """Rolls out the controls of a guess with gaps. First steps are compared with it; it is also the fallback."""
        if not run.feasible and self.options.rollout_on_failure:
            run.guess_rolled_out = self.rolled_out(run)

    def promise(self, run: RolloutProgress, outcome: RiccatiOutcome) -> Promise:
        """Predicted decrease: d0 = Σ Qu · k, which equals -d1 if no limit is active."""
        rolled, least = run.guess_rolled_out, -math.inf
        if not run.feasible and rolled is not None:
            least = run.cost - rolled.cost - self.options.rollout_margin * rolled.scale
        return Promise(outcome.decrease, -outcome.curvature, None, None, min(abs(run.cost), run.first_scale), least)

    def feasible_after(self, run: RolloutProgress, length: float) -> bool:
        """Returns True, since every step is a rollout."""
        return True

    def after_failed_search(self, run: RolloutProgress) -> None:
        """Continues from the rollout of the guess's controls: gains about a guess with gaps may make it diverge."""
        if not run.feasible and run.guess_rolled_out is not None:
            self.go_on_from(run, run.guess_rolled_out)


class SolverDDP(DDPSolverAbstract):
    """DDP with Gauss-Newton Hessians (iLQR): every accepted trajectory is a rollout from x0.

    It rejects constraints and ignores the control limits `lower` and `upper` of models; SolverBoxDDP enforces these.

    Source: Mayne 1966; Tassa, Mansard, Todorov, ICRA 2014; acceptance as Crocoddyl 3.2.1.
    """
