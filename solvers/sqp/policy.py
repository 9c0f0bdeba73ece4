"""Line search by rollouts of a policy, with controls clipped to their limits."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from trajopt.kernels import lane_count
from trajopt.shooting.evaluator import Evaluator
from trajopt.shooting.trials import Trials
from trajopt.solvers.qp import QPSolution
from trajopt.solvers.sqp.merit import Taken, merit, sufficient
from trajopt.solvers.sqp.progress import SQPProgress
from trajopt.solvers.sqp.rows import RowBounds
from trajopt.types import Reals

WILD = 1e3  # times the merit of the guess's rollout: what the first rollout of a policy must not exceed
LOST = 10.0  # times the merit that the program promises: what is lost of a guess by the rollout of its controls
NOISE = 1.2  # second differences over first ones: √3 of white noise, at most 0.8 of a gait's quasi-static guess
JUMPS = 0.1  # part of the knots where states may jump, as velocities do at touch-downs and take-offs
NEARLY = 0.1  # gaps over steps of a guess that is nearly a motion
FLAT = 1e-7  # promised decrease of the merit, relative to it, near the end
LEAP, LEAPS = 1e-3, 5  # increase of the merit by a leap, relative to it, and number of leaps in a solve, at most
FAR = 1.5  # largest rotation of a state by one step [rad]; without a limit drones ended with a needless full turn


class PolicySearch:
    """Rolls out x⁺ = f(x, clip(u + α du - K (x ⊖ xs ⊖ α dx))), one step length first, then one a lane at once.

    A start that is to be chosen is xs_0 ⊕ α dx_0, within its bounds.

    Args:
        evaluator: Evaluator with the trajectory and the feedback law.
        lengths: Step lengths, decreasing [-].
    """

    def __init__(self, evaluator: Evaluator, lengths: tuple[float, ...]) -> None:
        self._e, self._lengths = evaluator, lengths
        self._rotations = np.flatnonzero(evaluator.state.curved_directions)
        self._trials = [Trials(evaluator, width, clipped=True) for width in (1, lane_count())]

    def prepare(self) -> None:
        """Compiles the code of the rollouts, so that a search does not wait for it."""
        for trials in self._trials:
            for call in trials.calls:
                call.prepare()

    def limit(self, rows: RowBounds) -> None:
        """Sets the limits to which rollouts clip the controls, `u_lower` and `u_upper` of the rows."""
        for trials in self._trials:
            trials.lower[:], trials.upper[:] = rows.u_lower, rows.u_upper

    def roll_out(self, x0: Reals, us: Reals, *, or_none: bool = True) -> bool:
        """Makes the evaluator's trajectory the rollout of controls, or `or_none` of none where that diverges.

        Returns:
            Whether there is one; the evaluator keeps its trajectory otherwise.
        """
        e, trials = self._e, self._trials[0]
        kept = e.us.copy()
        for controls in (us, *([np.clip(np.zeros_like(us), trials.lower, trials.upper)] if or_none else [])):
            e.us[:], e.k[:], e.K[:] = controls, 0.0, 0.0
            (cost,) = trials.roll_out(x0, [1.0], None)
            if trials.in_range(0, cost):
                e.xs[:], e.us[:] = trials.xs[0], trials.us[0]
                return True
        e.us[:] = kept
        return False

    def along(self, run: SQPProgress, rows: RowBounds, step: QPSolution, before: float, slope: float) -> Taken | None:
        """Returns the first rollout with enough decrease of the merit, in which no state rotates by more than FAR.

        Near the end it may be one without, see `_leap`. From a guess with gaps, whose merit says little, it is the
        first one that is better than the rollout of the guess's controls; else, as that may stand still, and with rows
        whose penalties are most of a merit, the first one that is not far worse, or that rollout.
        """
        e, plain = self._e, None if run.repaired else self._plain(run, rows, step)
        penalized = rows.general & (np.isfinite(rows.lower) | np.isfinite(rows.upper))
        most = math.inf if plain is None else WILD * abs(plain.merit) if penalized.any() else plain.merit
        spare: Taken | None = None
        assert step.K is not None
        e.K[:] = step.K
        e.k[:] = -step.du - (step.K @ step.dx[:-1, :, None])[:, :, 0]
        for trials, lane, length, cost in self._tried(rows, step):
            reached = merit(run, rows, cost, trials.c[lane])
            enough = sufficient(run, before, slope, length) if run.repaired else most
            if not math.isfinite(reached):
                run.nonfinite_trial = run.nonfinite_trial or trials.nonfinite_trial(lane)
                continue
            if self._turned(trials, lane) > FAR:
                continue
            if reached <= enough:
                return _taken(trials, lane, length, reached, step)
            if plain is not None and spare is None and reached <= WILD * abs(plain.merit):
                spare = _taken(trials, lane, length, reached, step)
        spare = plain if spare is None else spare
        return spare if spare is not None else self._leap(run, rows, step, before, slope)

    def _leap(self, run: SQPProgress, rows: RowBounds, step: QPSolution, before: float, slope: float) -> Taken | None:
        """The full step though it raises the merit, near the end, where no part of it lowers it: a few times.

        It leads past a bend of the cost, such as a quadratic barrier's at its bound, to where the Hessian has it.
        """
        trials, size = self._trials[0], max(1.0, abs(before))
        if rows.general.size or run.leaps >= LEAPS or abs(slope) >= FLAT * size:
            return None
        reached = merit(run, rows, trials.totals(1)[0], trials.c[0])
        if not reached - before < LEAP * size or self._turned(trials, 0) > FAR:
            return None
        run.leaps += 1
        return _taken(trials, 0, self._lengths[0], reached, step)

    def _turned(self, trials: Trials, lane: int) -> float:
        """Largest rotation of a lane's states from the trajectory, about one axis [rad]."""
        return float(np.abs(trials.dx[lane][:, self._rotations]).max(initial=0.0))

    def _plain(self, run: SQPProgress, rows: RowBounds, step: QPSolution) -> Taken | None:
        """The rollout of the guess's controls or that of none, whichever has the smaller merit; None if both diverge.

        Controls that hold an underactuated system at rest may drive it far from there.
        """
        e, trials, found = self._e, self._trials[0], []
        kept, e.k[:], e.K[:] = e.us.copy(), 0.0, 0.0
        for us in (kept, np.clip(np.zeros_like(kept), trials.lower, trials.upper)):
            e.us[:] = us
            (cost,) = trials.roll_out(e.xs[0], [1.0], None)
            found.append(_taken(trials, 0, 0.0, merit(run, rows, cost, trials.c[0]), step))
        e.us[:] = kept
        best = min(found, key=lambda taken: taken.merit)
        return best if math.isfinite(best.merit) else None

    @staticmethod
    def loses(taken: Taken | None, promised: float) -> bool:
        """Whether rollouts have lost a guess: all diverge, or the best has length 0 and a merit far above `promised`.

        Args:
            taken: Result of `along`.
            promised: The merit that the program promises after a full step.
        """
        return taken is None or (taken.length == 0.0 and taken.merit > LOST * abs(promised))

    def _tried(self, rows: RowBounds, step: QPSolution) -> Iterator[tuple[Trials, int, float, float]]:
        e, (single, many) = self._e, self._trials
        turns = [(single, self._lengths[:1])]
        turns += [(many, self._lengths[i : i + lane_count()]) for i in range(1, len(self._lengths), lane_count())]
        for trials, lengths in turns:
            trials.begin(e.xs[0], lengths, None)
            if rows.chosen:
                for lane, alpha in enumerate(trials.alphas[:, 0]):
                    trials.xs[lane, 0] = rows.within_start(e.state.integrate(e.xs[0], alpha * step.dx[0]))
            trials.run()
            for lane, cost in enumerate(trials.totals(len(lengths))):
                yield trials, lane, lengths[lane], cost


def _taken(trials: Trials, lane: int, length: float, reached: float, step: QPSolution) -> Taken:
    """The rollout of a lane."""
    return Taken(length, *trials.trajectory(lane), trials.c[lane].copy(), reached, step)


def is_noisy(xs: Reals) -> bool:
    """Whether states (T + 1, nx) are noise rather than a motion: second differences exceed the first ones.

    The knots where it bends most, `JUMPS` of them, are left out.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # the guess is checked when it is expanded
        steps, bends = (np.linalg.norm(np.diff(xs, order, axis=0), axis=1) for order in (1, 2))
    kept = np.argsort(bends)[: bends.size - int(JUMPS * bends.size)]
    return bool(bends[kept].sum() > NOISE * 0.5 * (steps[kept] + steps[kept + 1]).sum())


def is_nearly_a_motion(xs: Reals, gaps: Reals, least: float) -> bool:
    """Whether states (T + 1, nx) have gaps (T + 1, ndx) above `least`, but small ones, as a shifted solution has.

    A rollout would leave such a motion where it is unstable.
    """
    steps, jumps = np.linalg.norm(np.diff(xs, axis=0), axis=1).sum(), np.linalg.norm(gaps[1:], axis=1).sum()
    return bool(least < jumps < NEARLY * steps)
