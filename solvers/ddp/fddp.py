"""Feasibility-driven differential dynamic programming."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from trajopt.solvers.ddp.acceptance import FDDPAcceptance, Promise
from trajopt.solvers.ddp.progress import RolloutProgress
from trajopt.solvers.ddp.rollout import RolloutSolverAbstract
from trajopt.solvers.options import FDDPOptions, SolverOptions
from trajopt.solvers.riccati.riccati import RiccatiOutcome


class FDDPSolverAbstract(RolloutSolverAbstract):
    """FDDP: a guess may have gaps between knots, and a step of length α closes the fraction α of each gap.

    Predicted decrease dV(α) = α (d0 + α d1 / 2). With gaps f,
    d0 = Σ Qu · k - Σ Vx · f + dv, d1 = -Σ k · Quu k + Σ f · Vxx f - 2 dv, dv = -Σ f · Vxx (xs ⊖ xs_try).
    """

    options_type: ClassVar[type[SolverOptions]] = FDDPOptions
    options: FDDPOptions
    closes_parts_of_gaps = True

    def acceptance(self) -> FDDPAcceptance:
        """Acceptance test of FDDP: as in DDP, but the cost may rise while gaps close."""
        return FDDPAcceptance(self.options)

    def promise(self, run: RolloutProgress, outcome: RiccatiOutcome) -> Promise:
        """Predicted decrease: d0 and d1 without dv, which depends on the trial."""
        if run.feasible:
            return Promise(outcome.decrease, -outcome.curvature, None, None, min(abs(run.cost), run.first_scale))
        gaps, r = self._evaluator.f, self._riccati
        d0 = outcome.decrease - float(np.vdot(r.Vx, gaps))
        d1 = -outcome.curvature + float(np.vdot(r.Vf, gaps))
        return Promise(d0, d1, gaps, r.Vf, abs(run.cost))

    def feasible_after(self, run: RolloutProgress, length: float) -> bool:
        """Returns True after a full step, and from then on."""
        return run.was_feasible or length == 1.0

    def after_failed_search(self, run: RolloutProgress) -> None:
        """Continues from the rollout of the guess's controls if even strong regularisation fails with gaps."""
        if run.feasible or not self.options.rollout_on_failure or run.regularization < 1.0:
            return
        rolled = self.rolled_out(run)
        if rolled is not None:
            self.go_on_from(run, rolled)
            run.regularization = self.options.initial_regularization


class SolverFDDP(FDDPSolverAbstract):
    """FDDP with Gauss-Newton Hessians: a guess may have gaps; a step of length α closes the fraction α of each gap.

    It rejects constraints and ignores the control limits `lower` and `upper` of models; SolverBoxFDDP enforces these.

    Source: Mastalli et al., Crocoddyl, ICRA 2020, section III; acceptance as Crocoddyl 3.2.1.
    """
