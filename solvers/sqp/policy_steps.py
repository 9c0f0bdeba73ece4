"""Steps that are rollouts of a program's policy, with the augmented Lagrangian of the rows as merit.

Sources: Tassa, Mansard, Todorov, Control-limited differential dynamic programming, 2014; Howell, Jackson, Manchester,
ALTRO, 2019.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trajopt.solution import IterationRecord
from trajopt.solvers.qp import QPStatus
from trajopt.solvers.sqp.merit import Descent, Taken
from trajopt.solvers.sqp.method import FAILURES, Outcome, ProgramSteps
from trajopt.solvers.sqp.progress import SQPProgress
from trajopt.solvers.sqp.workspace import Workspace

TOLERABLE = 10.0  # times the merit that the program promises: what the first rollout may have
FLAT = 1e-7  # promised decrease of the merit, relative to it, at the end
CUT = 0.15  # length below which the next program is Gauss-Newton's, or has a larger δ
SMALL = 0.03  # promised decrease of the merit, relative to it, after which multipliers are renewed


class PolicySteps(ProgramSteps):
    """An iteration solves a program with the rows as proximal ones, and rolls out its policy.

    Multipliers are renewed, and penalties raised, once a step promises little.

    Args:
        work: Where the trajectory is.
        run: State of the solve.
        rolled: Whether the trajectory is a rollout; from any other one the first step may end anywhere.
    """

    name = "policy"

    def __init__(self, work: Workspace, run: SQPProgress, *, rolled: bool) -> None:
        super().__init__(work)
        options, self._rolled = work.options, rolled
        self._merit = work.merit(run, run.y, min(options.initial_penalty, options.max_penalty))
        self._plain = False

    def iterate(self, run: SQPProgress) -> IterationRecord | None:
        """Runs one iteration: a program, a rollout of its policy, and the multipliers after it."""
        work, e = self._work, self._work.evaluator
        gap = e.largest_gap
        exact = (self._rolled or bool(run.lam.any())) and not self._plain  # else multipliers are not known
        step = work.model.solve(run, self._merit, exact=exact, ridge=self._ridge)
        if step.status is QPStatus.INDEFINITE:
            run.failed_knot, self.outcome = step.failed_knot, Outcome.INDEFINITE
            return None
        descent = Descent.along(step, self._merit, e, exact=work.model.blend > 0.0)
        taken = self._search(descent)
        if self.outcome is Outcome.LOST:
            return None
        self._learn(descent, taken)
        if taken is not None or (descent.is_flat(FLAT) and e.nc):  # else it stays where it is
            self._accept(run, descent, taken)
        self._rolled = True
        cut = taken is not None and 0.0 < taken.length < 1.0 and not e.nc
        self._conclude(run, step, -descent.slope, feasible=run.feasible, partial=cut)
        if self.outcome is None and self.failures >= FAILURES:
            self.outcome = Outcome.FAILED
        return self._record(run, descent, taken, gap_norm=gap, nonfinite_trial=work.rollouts.nonfinite)

    def _search(self, descent: Descent) -> Taken | None:
        """The longest rollout that lowers the merit enough."""
        if not self._rolled:
            return self._first(descent)
        trials = self._work.rollouts.along(descent)
        return next((taken for taken in trials if taken.merit <= descent.enough(taken.length)), None)

    def _first(self, descent: Descent) -> Taken | None:
        """A rollout from a guess with gaps, whose own merit says little; None if all diverge.

        It is the first whose merit is not far from what the program promises, and not above that of the rollout of the
        guess's controls, or of none. Else it is the one of least merit; if that is such a plain one, with far more than
        promised, the guess is lost.
        """
        best = self._work.rollouts.plain(descent)
        tolerable = TOLERABLE * abs(descent.merit.promised(self._work.evaluator, descent.step))
        most = tolerable if best is None else min(tolerable, best.merit)
        for taken in self._work.rollouts.along(descent):
            if taken.merit <= most:
                return taken
            if best is None or taken.merit < best.merit:
                best = taken
        if best is None or (best.length == 0.0 and best.merit > tolerable):
            self.outcome = Outcome.LOST
        return best

    def _learn(self, descent: Descent, taken: Taken | None) -> None:
        """A larger δ after a failed search or a very short step; without rows first Gauss-Newton's Hessian."""
        if taken is None and not (descent.is_flat(FLAT) and self._work.evaluator.nc):
            self.failures += 1
            self._regularize(8.0)
            return
        cut = taken is not None and taken.length < CUT and self._rolled
        self._plain = cut and descent.exact and not self._work.evaluator.nc
        self.failures = 0
        self._regularize(2.0 if cut and not self._plain else 0.0)

    def _accept(self, run: SQPProgress, descent: Descent, taken: Taken | None) -> None:
        """Moves to the rollout, takes the program's multipliers, and renews those of the penalty near the end."""
        work, step = self._work, descent.step
        self._take(run, step)
        if taken is not None:
            run.trajectory, run.feasible = (taken.xs, taken.us), True
        if taken is None or (taken.length >= 0.5 and -descent.slope < SMALL * max(1.0, abs(descent.before))):
            c = work.evaluator.c if taken is None else taken.c
            whole = taken is not None and taken.length == 1.0
            y = work.rows.of_general(step.y if whole else self._merit.gradient(c))
            most = work.options.max_penalty * run.units.stiffness
            self._merit = replace(self._merit, mu=np.minimum(most, work.options.penalty_increase * self._merit.mu), y=y)
        work.move(run, *run.trajectory)
