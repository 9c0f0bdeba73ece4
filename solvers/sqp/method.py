"""Interface between the supervisor of SolverSQP and its methods, and the base of those that solve programs."""

from __future__ import annotations

import enum
import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar

from trajopt.solution import IterationRecord
from trajopt.solvers.qp import QPSolution
from trajopt.solvers.sqp.merit import Descent, Taken
from trajopt.solvers.sqp.optimality import cannot_get_closer, is_solved
from trajopt.solvers.sqp.progress import SQPProgress
from trajopt.solvers.sqp.quadratic_model import FIRST_RIDGE
from trajopt.solvers.sqp.workspace import Workspace

ROUNDED = 1e-12  # largest gap of a rollout
FAILURES, STUCK = 3, 3  # searches without a step, and iterations that can't get closer, that end steps along programs


class Outcome(enum.Enum):
    """Results of an iteration after which a method can't simply go on."""

    SOLVED = "the trajectory is optimal, and keeps all rows"
    STUCK = "rows are violated, and no step promises to reduce the violation"
    FAILED = "searches fail one after the other"
    INDEFINITE = "no program is convex"
    LOST = "no rollout is close to what a guess with gaps promises"
    CLOSED = "gaps are closed, or lines get nowhere: rollouts may take over"


class MethodAbstract(ABC):
    """Moves the trajectory of a solve, one iteration after the other, from where it is at the construction.

    Attributes:
        outcome: What the last iteration has come to; None if it can go on.
        failures: Searches without a step, one after the other [-].
        stuck: Iterations that can't get closer to the constraints, one after the other [-].
    """

    name: ClassVar[str]
    outcome: Outcome | None = None
    failures: int = 0
    stuck: int = 0

    @abstractmethod
    def iterate(self, run: SQPProgress) -> IterationRecord | None:
        """Runs one iteration, and sets `outcome`.

        Returns:
            Its record; None if there was no step to try.
        """

    def rest(self) -> None:
        """Forgets past failures, before it goes on after another method."""
        self.failures, self.stuck, self.outcome = 0, 0, None


class ProgramSteps(MethodAbstract):
    """Base of methods whose steps lie along solutions of quadratic programs.

    Args:
        work: Where the trajectory is.
    """

    def __init__(self, work: Workspace) -> None:
        self._work, self._ridge, self._stationarity = work, 0.0, math.inf

    def _regularize(self, factor: float) -> None:
        """Makes the first δ of the next program so many times the last one."""
        self._ridge = factor * max(self._work.model.ridge, FIRST_RIDGE)

    def _take(self, run: SQPProgress, step: QPSolution) -> None:
        """Takes multipliers and gains of a program."""
        self._work.model.accept()
        run.lam, run.y, run.K = step.lam, step.y, run.K if step.K is None else step.K

    def _conclude(self, run: SQPProgress, step: QPSolution, promised: float, *, feasible: bool, partial: bool) -> None:
        """Sets the outcome of an iteration that the trajectory alone decides; arguments as in `is_solved`."""
        work = self._work
        stays = cannot_get_closer(run, work.evaluator, work.rows, work.model, work.options)
        self.stuck, self.outcome = self.stuck + 1 if stays else 0, None
        last = self._stationarity if work.model.blend > 0.0 else 0.0
        self._stationarity = run.stationarity
        if is_solved(run, work.options, step, promised, feasible=feasible, partial=partial, last=last):
            self.outcome = Outcome.SOLVED
        elif self.stuck >= STUCK:
            self.outcome = Outcome.STUCK

    def _record(self, run: SQPProgress, descent: Descent, taken: Taken | None, **columns: Any) -> IterationRecord:
        """Record of an iteration that searched along the solution of a program."""
        return run.record(
            stop=run.stationarity,
            step_length=0.0 if taken is None else taken.length,
            accepted=taken is not None,
            regularization=self._work.model.ridge,
            blend=self._work.model.blend,
            expected_decrease=-descent.slope,
            decrease=math.nan if taken is None else descent.before - taken.merit,
            constraint_violation=run.largest_violation,
            complementarity=run.complementarity,
            method=self.name,
            **columns,
        )
