"""Attempts of SolverSQP one after the other, and the verdict that a problem is infeasible."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from trajopt.solution import SolverStatus
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.solvers.sqp.method import MethodAbstract
    from trajopt.solvers.sqp.progress import SQPProgress
    from trajopt.solvers.sqp.rows import RowBounds
    from trajopt.solvers.sqp.units import Units

LESS = 0.5  # part that is left of the largest error after progress
FEWER = 0.4  # part of the infeasibility alone: xArms 61 -> 40 iterations; with .5 a Panda creeps for 300
SAME, ENDS = 2e-2, 8  # relative difference of Σ w v² that count as equal; ends that must be, with attempts between them
MOST = 0.8  # part of the dead ends that must be the lowest: a few get stuck above
SIZES = (0.1, 1.0, 1.0, 0.5, *20 * (1.0,))  # of random changes: a small one leaves a saddle, large ones a valley
WAVES = 6  # of which a random change consists: of 60 pendulums 49 swing up, 45 with 4 waves
EVERY = 3  # random attempt with units of its own, without which 52 of 60 pendulums swing up, with which 53
GROWS, LARGEST = 3.0, 1e3  # of random changes of controls without limits, whose size is unknown where ends are dead
INTERIOR = ("line", "rollouts")
MUCH = 0.1  # relative difference of costs that counts: as progress, and against a solution that is dearer than a motion
HASTY = ("linear", "close")  # which converge in few iterations or not at all


@dataclass(frozen=True, eq=False)
class Left:
    """Result of an attempt.

    Attributes:
        trajectory: States (T + 1, nx) and controls (T, nu).
        cost: Their cost [cost].
        infeasibility: Largest gap or violation.
        feasible: Whether they are a rollout.
        multipliers: Multipliers of the dynamics, of the rows and of a start, for the scaled cost.
        squares: Σ w v² of its violations, which is stationary at a dead end.
        moved: Whether its controls are other ones than those of the guess.
    """

    trajectory: tuple[Reals, Reals]
    cost: float
    infeasibility: float
    feasible: bool
    multipliers: tuple[Reals, Reals, Reals]
    squares: float = 0.0
    moved: bool = True

    @staticmethod
    def by(run: SQPProgress) -> Left:
        """Returns the result of an attempt from the state of the solve at its end."""
        infeasibility, multipliers = max(run.gap, run.violation), (run.lam, run.y, run.start_y)
        moved = not np.array_equal(run.trajectory[1], run.guess[1])
        return Left(run.trajectory, run.cost, infeasibility, run.feasible, multipliers, run.squares, moved)

    def restore(self, run: SQPProgress) -> None:
        """Sets trajectory, cost and multipliers of the solve to those of this attempt."""
        run.trajectory, run.cost, run.feasible = self.trajectory, self.cost, self.feasible
        run.lam, run.y, run.start_y = self.multipliers


@dataclass(frozen=True)
class Mark:
    """Iteration at which the largest error, the infeasibility or the cost of a motion fell last; their least values."""

    iteration: int = 0
    error: float = math.inf
    infeasibility: float = math.inf
    cost: float = math.inf


@dataclass
class Attempts:
    """Attempts of a solve that are still to be made, and the results of those that have ended.

    "anew" begins from the rollout of the guess's controls, "random" from that of other ones, "rest" from the initial
    state at rest, unless that was the guess. Others interrupt an attempt, which goes on after interior-point steps
    without a solution: "close", linear steps from where it ends near one, and from the guess "linear" ones and
    interior-point steps, "line" and "rollouts".

    Attributes:
        pending: Names of the attempts still to be made, in this order.
        feasibility: Largest infeasibility that counts as none.
        best: Best result of the attempts that have ended.
        paused: Result of an interrupted attempt, and its method.
        dead_ends: Results of attempts that have ended at stationary points of the violation.
        mark: The last progress.
        kind: Kind of the present attempt; empty for the first one.
        number: Its number, from 1 [-].
        least: Least Σ w v² that a rollout was left with.
        units: Units at the guess.
        own_units: Whether the present attempt has units of its own start, whose penalties lead elsewhere.
    """

    pending: list[str]
    feasibility: float = 0.0
    best: Left | None = None
    paused: tuple[Left, MethodAbstract] | None = None
    dead_ends: list[Left] = field(default_factory=list)
    mark: Mark = Mark()
    kind: str = ""
    number: int = 1
    least: float = math.inf
    units: Units | None = None
    own_units: bool = False

    @staticmethod
    def after(*, rolled: bool, interior: bool, feasibility: float) -> Attempts:
        """Attempts after the first one.

        Args:
            rolled: Whether the first one began with a rollout of the guess's controls.
            interior: Whether interior-point steps are possible.
            feasibility: Largest infeasibility that counts as none.
        """
        others = ["anew", "rest"]
        if interior:
            others = ["rollouts", "line"] if rolled else ["line", *others, "rollouts"]
            others += ["random"] * len(SIZES)
        return Attempts(["linear", *others], feasibility)

    @property
    def _draws(self) -> int:
        """Number of random attempts before the present one [-]."""
        return len(SIZES) - 1 - self.pending.count("random")

    @property
    def lined(self) -> bool:
        """Whether linear steps from the guess have been tried."""
        return "linear" not in self.pending

    def leave_out(self, attempt: str) -> None:
        """Takes note that the first attempt is of this kind."""
        self.pending.remove(attempt)

    def begin(self, iteration: int, kind: str) -> None:
        """Counts an attempt of a kind that begins after this iteration."""
        self.mark, self.number, self.kind = Mark(iteration), self.number + 1, kind
        if kind not in ("close", "paused"):  # which go on in the units of the attempt before
            self.own_units = kind == "rest" or (kind == "random" and self._draws % EVERY == 1)

    def put_first(self, attempt: str) -> None:
        """Moves an attempt before the others that are still to be made."""
        self.pending.sort(key=lambda each: each != attempt)

    def stalls(self, iteration: int, error: float, infeasibility: float, cost: float, patience: int) -> bool:
        """Whether neither error, infeasibility nor cost fell for `patience` iterations, all that HASTY ones have.

        The cost counts in the first attempt, once all rows are kept: gradients of a swing-up with wide limits are large
        until its end.
        """
        cost = cost if infeasibility <= self.feasibility and self.number == 1 else math.inf
        last = self.mark
        fell = error < LESS * last.error or self.feasibility < infeasibility < FEWER * last.infeasibility
        if (fell or last.cost - cost > MUCH * abs(cost)) and self.kind not in HASTY:
            least = min(error, last.error), min(infeasibility, last.infeasibility), min(cost, last.cost)
            self.mark = Mark(iteration, *least)
        return iteration - self.mark.iteration >= patience

    def random_controls(self, us: Reals, sizes: Reals, rows: RowBounds) -> Reals:
        """Returns us (T, nu) plus a few random waves.

        Their height is half the width of the limits, or `sizes` (nu,), which grow, for a control without limits.
        """
        half = 0.5 * (rows.u_upper - rows.u_lower)
        number = self._draws
        size = SIZES[number] * np.where(np.isfinite(half), half, sizes * min(GROWS**number, LARGEST))
        t = np.linspace(0.0, np.pi, len(us))[:, None]
        heights = np.random.default_rng(number).normal(size=(WAVES, us.shape[1]))
        return us + size * (np.cos(t * np.arange(WAVES)) @ heights)

    def end(self, left: Left) -> SolverStatus | None:
        """Status of the solve after an attempt that ended at a stationary point of the violation.

        None if another attempt follows: after the first one steps along lines, then other controls.
        """
        if self.kind not in HASTY and not self.own_units:  # short attempts say little, others weigh rows otherwise
            self.dead_ends.append(left)
        if len(self.dead_ends) == 1:
            self.pending.sort(key=lambda attempt: {"linear": 0, "line": 0, "rollouts": 2}.get(attempt, 1))
        return self.verdict() if self._most(ENDS) or not self.pending else None

    def verdict(self) -> SolverStatus:
        """Status if no attempt follows: INFEASIBLE if most of the dead ends, at least two, are the lowest ones."""
        return SolverStatus.INFEASIBLE if self._most(2) else SolverStatus.STALLED

    def _most(self, number: int) -> bool:
        """Whether so many dead ends, and most of all, are the lowest ones, and no attempt came far closer."""
        lowest = self._lowest()
        if len(lowest) < max(number, MOST * len(self.dead_ends)):
            return False
        return self.least > LESS * min(each.squares for each in lowest)

    def _lowest(self) -> list[Left]:
        """Dead ends with the least Σ w v², to second order the same along all ways to a stationary point.

        Where an attempt can't leave its start, as of links that hang below their goal, it tells of no way.
        """
        ends = [each for each in self.dead_ends if each.moved]
        least = min((each.squares for each in ends), default=0.0)
        return [each for each in ends if each.squares <= (1.0 + SAME) * least]

    def interrupt(self, run: SQPProgress) -> None:
        """Keeps the present attempt, which may go on later, unless it has interrupted another one itself."""
        if self.paused is None:
            run.method.rest()
            self.paused = Left.by(run), run.method

    def leave(self, run: SQPProgress) -> None:
        """Stores the result of an attempt in `best` if it is the best so far."""
        left = Left.by(run)
        self.best = self._better(self.best, left)
        if left.feasible and left.squares > 0.0 and not self.own_units:
            self.least = min(self.least, left.squares)

    def knows_better(self, run: SQPProgress) -> bool:
        """Whether an earlier attempt has left a feasible result that is much cheaper than the present solution."""
        kept = [each for each in (self.best, self.paused and self.paused[0]) if each is not None]
        costs = [each.cost for each in kept if each.infeasibility <= self.feasibility]
        return any(run.cost - cost > MUCH * max(abs(run.cost), abs(cost)) for cost in costs)

    def keep_best(self, run: SQPProgress) -> bool:
        """Goes back to the best result, or dead end of an infeasible problem; whether it is not the last one."""
        last = best = Left.by(run)
        others = [self.best, self.paused and self.paused[0]]
        if run.status is SolverStatus.INFEASIBLE and (lowest := self._lowest()):
            best, others = lowest[0], list(lowest)
        for each in others:
            best = self._better(each, best)
        best.restore(run)
        return best is not last

    def _better(self, one: Left | None, other: Left) -> Left:
        """The result with less infeasibility; of two feasible ones that with less cost."""
        if one is None or self._rank(other) < self._rank(one):
            return other
        return one

    def _rank(self, left: Left) -> tuple[float, float]:
        return max(left.infeasibility, self.feasibility), left.cost
