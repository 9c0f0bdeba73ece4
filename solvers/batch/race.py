"""Race of several guesses of one problem: the most promising one goes on, hopeless ones stop."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

from trajopt.errors import pass_on_signal
from trajopt.model.functions import is_of_user
from trajopt.solution import SolverStatus
from trajopt.solvers.batch.results import BatchResults
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.solvers.base import SolverAbstract

FIRST = 10
"""Iterations of each guess before they are compared. With 5, 92 of 108 reaches end near the best, with 12 98."""
BACK = 3
"""Iterations whose decrease a guess may repeat [-]."""
ALIKE = 1e-4
"""Difference of costs, relative to them, below which two guesses lead to the same optimum: one of them waits [-]."""
BETTER = 1e-3
"""Part of the best cost by which a guess must promise to fall below it, to go on [-]."""


def can_race(solver: SolverAbstract[Any]) -> bool:
    """Whether guesses may be solved in turns: rollouts compare by cost, unless something watches each solve."""
    ours = solver.steps_are_rollouts and not is_of_user(solver)
    watched = solver.callbacks or solver.options.time_limit or solver.problem.unknowns or solver.problem.nu == 0
    return ours and not watched


class Racer:
    """Solve of one guess, which can pause.

    Args:
        solver: Solver of its own.
        xs: Guess of the states (T + 1, nx).
        us: Guess of the controls (T, nu).

    Attributes:
        paused: When its last iteration ended, by time.perf_counter() [s].
    """

    def __init__(self, solver: SolverAbstract[Any], xs: Reals, us: Reals) -> None:
        self.solver = solver
        self.run = solver._start(xs, us, False, None)
        self.paused = time.perf_counter()

    @property
    def over(self) -> bool:
        """Whether the solve has ended."""
        return self.run.status is not None

    def go_on(self, iterations: int) -> None:
        """Runs some more iterations, as `SolverAbstract.solve` does."""
        run = self.run
        run.started += time.perf_counter() - self.paused
        for _ in range(iterations):
            if run.status is not None:
                break
            run.iterations += 1
            record = self.solver.iterate(run)
            if record is not None:
                self.solver._watch(run, record)
            self.solver._check_limits(run)
        self.paused = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Time of the solve so far, without that of the others [s]."""
        return self.paused - float(self.run.started)

    @property
    def promise(self) -> float:
        """Cost that may be reached soon [cost].

        It is the cost less the larger one of the decrease that the last direction predicted, at most |cost|, and the
        decrease in the last `BACK` iterations. It is infinite while the trajectory has gaps.
        """
        run = self.run
        if not run.history or not run.feasible:
            return math.inf
        costs = [record.cost for record in run.history[-1 - BACK :]]
        predicted = min(abs(run.history[-1].stop), abs(run.cost))
        return float(run.cost - max(predicted, costs[0] - run.cost, 0.0))


def race(solver: SolverAbstract[Any], states: Reals, controls: Reals, results: BatchResults) -> None:
    """Solves a problem from several guesses, and fills the rows of those that have ended.

    Each guess has its first iterations; then always the guess that promises the lowest cost has one more. Once a guess
    has converged, others go on only as long as they promise to fall below the lowest cost that was reached. A guess
    with the cost of the one that goes on waits until that one has ended without a solution.

    Args:
        solver: Solver of the problem, with rollouts.
        states: Guesses (n, T + 1, nx).
        controls: Guesses (n, T, nu).
        results: Results with a row for each guess.
    """
    racers = dict[int, Racer]()
    kept: list[Any] = solver.__dict__.setdefault("_racers", [])  # each has arrays of its own
    for i, guess in enumerate(zip(states, controls)):
        if i > len(kept):
            kept.append(type(solver)(solver.problem, solver.options))
        own = kept[i - 1] if i else solver
        try:
            racers[i] = Racer(own, *guess)
            racers[i].go_on(FIRST)
        except Exception as error:
            pass_on_signal(error)
            results.fail(i, error)
            racers.pop(i, None)
    leaders = dict[int, int]()
    try:
        while (best := _next(racers, leaders)) is not None:
            try:
                racers[best].go_on(1)
            except Exception as error:
                pass_on_signal(error)
                results.fail(best, error)
                del racers[best]
    except KeyboardInterrupt:
        for racer in racers.values():
            racer.run.status = racer.run.status or SolverStatus.INTERRUPTED
    for i, racer in racers.items():
        results.seconds[i] = racer.seconds
        if racer.over:
            racer.run.started += time.perf_counter() - racer.paused
            results.take(i, racer.solver._finish(racer.run))


def _next(racers: dict[int, Racer], leaders: dict[int, int]) -> int | None:
    """Number of the guess that goes on, which now leads those with its cost; None if none does."""
    ended = [racer.run.cost for racer in racers.values() if racer.run.status is SolverStatus.CONVERGED]
    lowest = min(ended, default=math.inf)
    bound = lowest - BETTER * abs(lowest) if ended else math.inf
    promises = {i: racer.promise for i, racer in racers.items() if not racer.over}
    waiting = [i for i in promises if (not ended or promises[i] < bound) and not _leads(racers.get(leaders.get(i, -1)))]
    if not waiting:
        return None
    best = min(waiting, key=lambda i: promises[i])
    cost = racers[best].run.cost
    for i in waiting:
        if i != best and promises[i] < math.inf and abs(racers[i].run.cost - cost) <= ALIKE * abs(cost):
            leaders[i] = best
    return best


def _leads(racer: Racer | None) -> bool:
    """Whether a guess still has or has found a solution for those that wait for it."""
    return racer is not None and (not racer.over or racer.run.status is SolverStatus.CONVERGED)
