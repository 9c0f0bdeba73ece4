"""Steps that are rollouts of a program's policy, with the augmented Lagrangian of the rows as merit.

Sources: Tassa, Mansard, Todorov, Control-limited differential dynamic programming, 2014; Howell, Jackson, Manchester,
ALTRO, 2019; Byrd, Nocedal, Waltz, Steering exact penalty methods for nonlinear programming, 2008, for the penalty.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt

from trajopt.solution import IterationRecord
from trajopt.solvers.qp import QPSolution, QPStatus
from trajopt.solvers.sqp.merit import Descent, Taken
from trajopt.solvers.sqp.method import FAILURES, Outcome, ProgramSteps
from trajopt.solvers.sqp.progress import SQPProgress
from trajopt.solvers.sqp.workspace import Workspace
from trajopt.types import Reals

ASTRAY = 1e4  # merit that a guess promises over that of the rollout of its controls: weak cart-poles 1e7, others 300
ALIKE = 0.1  # relative difference of the merits of a guess with gaps and of the rollout of its controls
KEEPS = 0.8  # of a program's step, by which the first rollout may leave it: cables .2 to .8, bodies that turn .9 on
TOLERABLE = 10.0  # times the merit that the program promises, which is near it
LEAP = 1e-3  # increase of the merit by a leap, relative to it
FLAT = 1e-7  # promised decrease of the merit, relative to it, at the end
CUT = 0.15  # length below which the next program is Gauss-Newton's, or has a larger δ
SMALL = 0.03  # promised decrease of the merit, relative to it, after which multipliers are renewed
LEFT = 0.2  # part of the violations that a program may leave, and that a higher penalty must remove at least
RAISE, AGREES = 4.0, 0.1  # of a penalty; relative difference of a decrease and its promise, where steps are trusted


class PolicySteps(ProgramSteps):
    """An iteration solves a program with the rows as proximal ones, and rolls out its policy.

    The penalty follows the programs. If one leaves more than a part of the violations, the penalty grows until another
    one helps no more: at once for equations before the end, else after a full step that came out as promised.
    Multipliers are renewed, and penalties raised, once a step promises little.

    Args:
        work: Where the trajectory is.
        run: State of the solve.
        rolled: Whether the trajectory is a rollout, or near one; from others the first step keeps to its program.
        raised: How often the first penalty has been raised, where multipliers are known [-].
    """

    name = "policy"

    def __init__(self, work: Workspace, run: SQPProgress, *, rolled: bool, raised: int = 0) -> None:
        super().__init__(work)
        options, self._rolled, self._longest = work.options, rolled, work.options.step_lengths[0]
        weight = options.initial_penalty * options.penalty_increase**raised
        self._merit = work.merit(run, run.y, min(weight, options.max_penalty))
        self._plain, self._trusted, self._leaps = False, False, FAILURES

    def iterate(self, run: SQPProgress) -> IterationRecord | None:
        """Runs one iteration: a program, a rollout of its policy, and the multipliers after it."""
        work, e = self._work, self._work.evaluator
        gap = e.largest_gap
        step = self._direction(run)
        if step.status is QPStatus.INDEFINITE:
            run.failed_knot, self.outcome = step.failed_knot, Outcome.INDEFINITE
            return None
        descent = Descent.along(step, self._merit, e, exact=work.model.blend > 0.0)
        taken = self._search(run, descent)
        while taken is not None and not self._moves(run, partial(self._accept, run, step, taken)):
            taken = self._search(run, descent, below=taken.length)
        if self.outcome in (Outcome.LOST, Outcome.ASTRAY):
            return None
        self._learn(descent, taken)
        if taken is None and descent.is_flat(FLAT) and e.nc:  # it stays, with other multipliers
            self._accept(run, step, None)
        self._renew(run, descent, taken)
        self._rolled = True
        cut = taken is not None and 0.0 < taken.length < 1.0 and not e.nc
        self._conclude(run, step, -descent.slope, feasible=run.feasible, partial=cut)
        if self.outcome is None and self.failures >= FAILURES:
            self.outcome = Outcome.FAILED
        return self._record(run, descent, taken, gap_norm=gap, nonfinite_trial=work.rollouts.nonfinite)

    def _direction(self, run: SQPProgress) -> QPSolution:
        """The solution of the program with a penalty that leaves few of the violations."""
        exact = (self._rolled or bool(run.lam.any())) and not self._plain  # else multipliers are not known
        solve = partial(self._work.model.solve, run, exact=exact, ridge=self._ridge)
        step = solve(self._merit)
        while (kinds := self._too_soft(run, step)) is not None:
            before, left = self._merit, self._left(run, step).sum()
            self._raise(run, np.where(kinds, RAISE, 1.0))
            step = solve(self._merit)
            if step.status is QPStatus.INDEFINITE or not self._left(run, step).sum() < (1.0 - LEFT) * left:
                self._merit = before
                return solve(before)
        return step

    def _left(self, run: SQPProgress, step: QPSolution | None) -> Reals:
        """Relative violations of general rows (T + 1, nc), now or as a program predicts them."""
        rows, c = self._work.rows, self._work.evaluator.c
        return np.abs(rows.of_general(rows.beyond(c if step is None else c + step.rows))) / run.units.rows

    def _too_soft(self, run: SQPProgress, step: QPSolution) -> npt.NDArray[np.bool_] | None:
        """Mask (T + 1, nc) of rows whose penalty is too low, if it can be raised; None if there are none."""
        rows, options = self._work.rows, self._work.options
        if step.status is QPStatus.INDEFINITE or not rows.lower.size:
            return None
        then, ends = self._left(run, step), np.zeros(rows.lower.shape, dtype=bool)
        if then.max() <= options.feasibility:
            return None
        now, ends[-1] = self._left(run, None), True
        kinds = [rows.general & (rows.lower == rows.upper) & ~ends, *([~ends, ends] if self._trusted else [])]
        soft = np.zeros_like(ends)
        for kind in kinds:
            missed = then[kind]
            if missed.sum() > LEFT * now[kind].sum() and missed.max(initial=0.0) > options.feasibility:
                soft |= kind
        soft &= self._merit.mu < 0.99 * options.max_penalty * run.units.stiffness
        return soft if soft.any() else None

    def _raise(self, run: SQPProgress, factor: Reals | float, y: Reals | None = None) -> None:
        """Raises the penalty, up to the largest one; with new multipliers if there are any."""
        most = self._work.options.max_penalty * run.units.stiffness
        mu = np.maximum(np.minimum(most, factor * self._merit.mu), self._merit.mu)
        self._merit = replace(self._merit, mu=mu, y=self._merit.y if y is None else y)

    def _search(self, run: SQPProgress, descent: Descent, below: float = math.inf) -> Taken | None:
        """A rollout that lowers the merit enough; without rows, near the end, a few full ones may raise it a little.

        Those lead past a bend of the cost, such as a quadratic barrier's at its bound, to where the Hessian has it.
        Only lengths `below` one are tried, where that led to a place without derivatives.
        """
        guessed, e = not self._rolled and below == math.inf, self._work.evaluator
        plain = self._work.rollouts.plain(descent) if guessed else descent.before
        gapped, rests = run.gap >= self._work.options.feasibility, guessed and bool((e.xs == e.xs[0]).all())
        far = gapped and abs(plain - descent.before) > ALIKE * abs(descent.before)
        if far or rests:
            taken = self._first(run, descent, plain, rests=rests)
            if taken is not None or far:
                return taken
            self.outcome = None
        full: Taken | None = None
        for taken in self._work.rollouts.along(descent, below):
            if taken.merit <= descent.enough(taken.length):
                return taken
            full = taken if taken.length == self._longest else full
        if guessed and gapped:
            return self._first(run, descent, plain, rests=rests)
        if full is None or self._work.rows.general.size or not (self._leaps and descent.is_flat(FLAT)):
            return None
        leaps = full.merit - descent.before < LEAP * max(1.0, abs(descent.before))
        self._leaps -= leaps
        return full if leaps else None

    def _first(self, run: SQPProgress, descent: Descent, plain: float, *, rests: bool) -> Taken | None:
        """A rollout from a guess with gaps, whose own merit says little; none if the guess is astray, or lost.

        It is lost if the whole rollout leaves the states that the program predicts. From a guess that `rests` at
        one state, which says nothing of the way, it may, if some rollout is near what is promised, or better than the
        guess. The one taken is the longest that is near what is promised and not above `plain`, the merit of the
        rollout of the guess's controls; else that of least merit.
        """
        rollouts = self._work.rollouts
        promised = descent.merit.promised(self._work.evaluator, descent.step)
        if promised - plain > ASTRAY * max(1.0, abs(plain)):
            self.outcome = Outcome.ASTRAY
            return None
        trials, tolerable = list(rollouts.along(descent)), TOLERABLE * abs(promised)
        least = min(trials, key=lambda each: each.merit, default=None)
        if least is not None:
            whole = trials[0].length == self._longest
            kept = whole and rollouts.departure(descent, run.units.states) <= KEEPS
            if kept or (rests and least.merit <= max(tolerable, descent.before)):
                return next((each for each in trials if each.merit <= min(tolerable, plain)), least)
        self.outcome = Outcome.LOST
        return None

    def _learn(self, descent: Descent, taken: Taken | None) -> None:
        """A larger δ after a failed search or a very short step; without rows first Gauss-Newton's Hessian."""
        if taken is None and not (descent.is_flat(FLAT) and self._work.evaluator.nc):
            self.failures, self._trusted = self.failures + 1, False
            self._raise_ridge()
            return
        cut = taken is not None and taken.length < CUT and self._rolled
        self._plain = cut and descent.exact and not self._work.evaluator.nc
        self.failures = 0
        self._relax_ridge(short=cut and not self._plain)
        full = taken is not None and taken.length == 1.0
        came = (descent.before - taken.merit) / (-0.5 * descent.slope) if taken and descent.slope < 0.0 else 0.0
        self._trusted = full and abs(came - 1.0) < AGREES

    def _accept(self, run: SQPProgress, step: QPSolution, taken: Taken | None) -> None:
        """Moves to the rollout, if there is one, and takes the program's multipliers."""
        self._take(run, step, 0.0 if taken is None else taken.length)
        if taken is not None:
            run.trajectory, run.feasible = (taken.xs, taken.us), True
        self._work.move(run, *run.trajectory)

    def _renew(self, run: SQPProgress, descent: Descent, taken: Taken | None) -> None:
        """Raises the penalty, with new multipliers, where a step promises little."""
        work, size = self._work, max(1.0, abs(descent.before))
        stays = taken is None and descent.is_flat(FLAT) and work.evaluator.nc > 0
        if stays or (taken is not None and taken.length >= 0.5 and -descent.slope < SMALL * size):
            c = work.evaluator.c if taken is None else taken.c
            whole = taken is not None and taken.length == 1.0
            y = descent.step.y if whole else self._merit.gradient(c)
            self._raise(run, work.options.penalty_increase, work.rows.of_general(y))
