"""Interface of callbacks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from trajopt.errors import InvalidArgumentError

if TYPE_CHECKING:
    from trajopt.shooting import ShootingProblem
    from trajopt.solution import IterationRecord, Solution


class Callback(ABC):
    """What a solver calls: `preparing` and `start` once, the object itself after each iteration, `finish` once.

    A plain function of a record will do where nothing else is of interest. The same object may watch several solves,
    one after the other.
    """

    @staticmethod
    def of(callback: Callback | Callable[[IterationRecord], Any]) -> Callback:
        """The callback itself, or one that calls a function with each record.

        Raises:
            InvalidArgumentError: It is neither.
        """
        if isinstance(callback, Callback):
            return callback
        if not callable(callback) or isinstance(callback, type):
            raise InvalidArgumentError(
                f"callbacks: expected functions of an iteration's record, or objects of classes derived from "
                f"trajopt.callbacks.Callback, got {callback!r}"
            )
        return _Function(callback)

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


class _Function(Callback):
    """A function of a record as a callback."""

    def __init__(self, function: Callable[[IterationRecord], Any]) -> None:
        self._function = function

    def __call__(self, record: IterationRecord) -> bool | None:
        """Calls the function."""
        return bool(self._function(record))
