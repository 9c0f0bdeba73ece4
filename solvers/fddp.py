"""Feasibility-driven differential dynamic programming."""

from __future__ import annotations

import numpy as np

from trajopt.shooting.evaluator import Trials
from trajopt.solvers.base import Progress, SolverAbstract
from trajopt.solvers.options import FDDPOptions
from trajopt.solvers.riccati import RiccatiOutcome
from trajopt.types import Reals


class SolverFDDP(SolverAbstract):
    """FDDP with Gauss-Newton Hessians: a guess may have gaps between knots, and a step of length α closes the part α.

    Expected decrease dV(α) = α (d0 + α d1 / 2). With gaps f,
    d0 = Σ Qu · k - Σ Vx · f + dv, d1 = -Σ k · Quu k + Σ f · Vxx f - 2 dv, dv = -Σ f · Vxx (xs ⊖ xs_try).

    Source: Mastalli et al., Crocoddyl, ICRA 2020, section III; acceptance as Crocoddyl 3.2.1.
    """

    options_type = FDDPOptions
    options: FDDPOptions

    def _slopes(self, run: Progress, outcome: RiccatiOutcome) -> tuple[float, float]:
        gradient, curvature = outcome.decrease, -outcome.decrease
        if not run.feasible:
            gaps = self._evaluator.gaps
            gradient -= float(np.vdot(self._riccati.Vx, gaps))
            curvature += float(np.vdot(self._riccati.Vf, gaps))
        return gradient, curvature

    def _trial_gaps(self, run: Progress) -> Reals | float:
        return 0.0 if run.feasible else self._evaluator.gaps

    def _slopes_at(self, run: Progress, slopes: tuple[float, float], trials: Trials, lane: int) -> tuple[float, float]:
        if run.feasible:
            return slopes
        dv = float(np.vdot(self._riccati.Vf, trials.dx[lane]))
        return slopes[0] + dv, slopes[1] - 2.0 * dv

    def _accepts(self, run: Progress, slopes: tuple[float, float], expected: float, decrease: float) -> bool:
        if expected >= 0:
            small = abs(slopes[0]) < self.options.gradient_tolerance
            return small or decrease > self.options.acceptance * expected
        return not run.feasible and decrease > self.options.negative_acceptance * expected

    def _feasible_after(self, run: Progress, length: float) -> bool:
        return run.was_feasible or length == 1.0
