"""Interface between the supervisor of SolverSQP and its methods."""

from __future__ import annotations

import enum
import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar

from trajopt.solution import IterationRecord
from trajopt.solvers.sqp.merit import Descent, Taken
from trajopt.solvers.sqp.progress import SQPProgress

ROUNDED = 1e-12  # largest gap of a rollout


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

    def _record(self, run: SQPProgress, descent: Descent, taken: Taken | None, **columns: Any) -> IterationRecord:
        """Record of an iteration that searched along the solution of a program."""
        return run.record(
            stop=run.stationarity,
            step_length=0.0 if taken is None else taken.length,
            accepted=taken is not None,
            expected_decrease=-descent.slope,
            decrease=math.nan if taken is None else descent.before - taken.merit,
            constraint_violation=run.largest_violation,
            complementarity=run.complementarity,
            method=self.name,
            **columns,
        )

    def rest(self) -> None:
        """Forgets past failures, before it goes on after another method."""
        self.failures, self.stuck, self.outcome = 0, 0, None
