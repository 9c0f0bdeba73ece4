"""Interface of callbacks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trajopt.shooting import ShootingProblem
    from trajopt.solution import IterationRecord, Solution


class Callback(ABC):
    """What a solver calls: `preparing` and `start` once, the object itself after each iteration, `finish` once.

    Deriving from it is convenient, not needed: a plain function of a record is a callback as well. The same object may
    watch several solves, one after the other.
    """

    def preparing(self) -> AbstractContextManager[None]:
        """Within what this returns the solver compiles the models, or loads their code; called before `start`."""
        return nullcontext()

    def start(self, problem: ShootingProblem, solver_name: str) -> None:  # noqa: B027 (optional: nothing to do here)
        """Called before the first iteration.

        Args:
            problem: The problem that is about to be solved.
            solver_name: Name of the solver.
        """

    @abstractmethod
    def __call__(self, record: IterationRecord) -> bool | None:
        """Called after each iteration; True stops the solve (its status is then STOPPED_BY_CALLBACK).

        Args:
            record: What the iteration did; read-only.
        """

    def finish(self, solution: Solution) -> None:  # noqa: B027 (optional: nothing to do here)
        """Called once after the last iteration.

        Args:
            solution: What the solve returns.
        """
