"""Attempts of SolverSQP, one after the other: methods and guesses, and when a problem counts as infeasible."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from trajopt.solution import SolverStatus
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.solvers.sqp.progress import SQPProgress
    from trajopt.solvers.sqp.rows import RowBounds

LESS = 0.5  # part that is left of the largest error after progress
SAME, ENDS = 1e-2, 5  # relative difference of violations that count as equal; attempts that end at equal ones
SIZES = (0.1, 1.0, 1.0, 0.5, 1.0, 1.0, 1.0, 1.0)  # of random changes: a small one leaves a saddle, large ones a valley
WAVES = 4  # of which a random change consists
INTERIOR = ("line", "rollouts")


@dataclass(frozen=True)
class Left:
    """Result of an attempt: states and controls, cost, largest gap or violation, and whether there are no gaps."""

    trajectory: tuple[Reals, Reals]
    cost: float
    infeasibility: float
    feasible: bool

    @staticmethod
    def by(run: SQPProgress) -> Left:
        """Builds the result from the current state of a solve."""
        return Left(run.trajectory, run.cost, max(run.gap, run.violation), run.feasible)


@dataclass
class Attempts:
    """Attempts of a solve that are still to be made, and the results of those that have ended.

    "anew" begins from the rollout of the guess's controls, "random" from that of other ones; "line" and "rollouts" are
    interior-point steps from the guess, after which the attempt that they interrupt goes on.

    Attributes:
        pending: Names of the attempts still to be made, in this order.
        best: Best result of the attempts that have ended.
        paused: Result of an interrupted attempt.
        dead_ends: Violations at stationary points where attempts have ended.
        mark: Iteration at which the largest error was last halved, and its value then.
    """

    pending: list[str]
    best: Left | None = None
    paused: Left | None = None
    dead_ends: list[float] = field(default_factory=list)
    mark: tuple[int, float] = (0, math.inf)

    @staticmethod
    def after(*, rolled: bool, interior: bool) -> Attempts:
        """Returns the attempts that may follow a first one.

        Args:
            rolled: Whether the first one began with a rollout of the guess's controls.
            interior: Whether interior-point steps are possible.
        """
        if not interior:
            return Attempts(["anew"])
        return Attempts([*(["rollouts", "line"] if rolled else ["anew", "line", "rollouts"]), *["random"] * len(SIZES)])

    def stalls(self, iteration: int, error: float, patience: int) -> bool:
        """Whether the largest error has not been halved for `patience` iterations."""
        if error < LESS * self.mark[1]:
            self.mark = iteration, error
        return iteration - self.mark[0] >= patience

    def random_controls(self, us: Reals, step: Reals, rows: RowBounds) -> Reals:
        """Returns us (T, nu) plus a few random waves.

        Their height is half the width of the limits, or `step` (nu,) for a control without limits.
        """
        half = 0.5 * (rows.u_upper - rows.u_lower)
        number = len(SIZES) - 1 - self.pending.count("random")
        size = SIZES[number] * np.where(np.isfinite(half), half, step)
        t = np.linspace(0.0, np.pi, len(us))[:, None]
        heights = np.random.default_rng(number).normal(size=(WAVES, us.shape[1]))
        return us + size * (np.cos(t * np.arange(WAVES)) @ heights)

    def end(self, violation: float) -> SolverStatus | None:
        """Status of the solve after an attempt that ended at a stationary point of the violation.

        None if another attempt follows: after the first attempt interior-point steps along lines, then other controls.
        """
        self.dead_ends.append(violation)
        if self._equal_ends() >= ENDS:
            return SolverStatus.INFEASIBLE
        if len(self.dead_ends) == 1:
            self.pending.sort(key=lambda attempt: {"line": 0, "rollouts": 2}.get(attempt, 1))
        return None if self.pending else self.verdict()

    def at_limit(self) -> SolverStatus | None:
        """INFEASIBLE if iterations have run out after two equal dead ends, else None."""
        return SolverStatus.INFEASIBLE if self.dead_ends and self._equal_ends() > 1 else None

    def verdict(self) -> SolverStatus:
        """Status of the solve when no attempt is left."""
        return SolverStatus.INFEASIBLE if self._equal_ends() == len(self.dead_ends) else SolverStatus.STALLED

    def _equal_ends(self) -> int:
        """Number of dead ends with the violation of the last one."""
        last = self.dead_ends[-1]
        return sum(abs(each - last) <= SAME * last for each in self.dead_ends)

    def leave(self, run: SQPProgress) -> None:
        """Stores the result of an attempt in `best` if it is the best so far."""
        self.best = _better(self.best, Left.by(run))

    def keep_best(self, run: SQPProgress) -> None:
        """Goes back to the best trajectory, if the solve ends without convergence."""
        if run.status is SolverStatus.CONVERGED:
            return
        for each in (self.best, self.paused):
            if each is not None:
                best = _better(each, Left.by(run))
                run.trajectory, run.cost, run.feasible = best.trajectory, best.cost, best.feasible


def _better(one: Left | None, other: Left) -> Left:
    """That with less infeasibility, then less cost."""
    if one is None or (other.infeasibility, other.cost) < (one.infeasibility, one.cost):
        return other
    return one
