"""Interface of callbacks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from trajopt.errors import InvalidArgumentError
from trajopt.objects.calls import wrong_call

if TYPE_CHECKING:
    from trajopt.shooting import ShootingProblem
    from trajopt.solution import IterationRecord, Solution


class Callback(ABC):
    """Base class for observers of a solve; the solver calls the methods in the order below.

    `start` is called once, the object itself after each iteration, and `finish` once. If only the records matter, pass
    a plain function of a record to the solver instead. One object can observe several solves, one after the other.
    """

    @staticmethod
    def of(callback: Callback | Callable[[IterationRecord], Any]) -> Callback:
        """Returns a Callback unchanged; wraps a function in a Callback that calls it with each record.

        Raises:
            InvalidArgumentError: `callback` is neither a Callback nor a function of one argument.
        """
        if isinstance(callback, Callback):
            return callback
        if not callable(callback) or isinstance(callback, type):
            raise InvalidArgumentError(
                f"callbacks: expected functions of an iteration's record, or instances of subclasses of "
                f"trajopt.callbacks.Callback, got {callback!r}"
            )
        fault = wrong_call(callback, (None,), {})
        if fault is not None:
            raise InvalidArgumentError(f"callbacks: expected functions of one argument, the record; {fault}")
        return _Function(callback)

    def start(self, problem: ShootingProblem, solver_name: str) -> None:  # noqa: B027 (optional: nothing to do here)
        """Prepares for a solve; called before the first iteration.

        Args:
            problem: The problem to solve.
            solver_name: Name of the solver.
        """

    @abstractmethod
    def __call__(self, record: IterationRecord) -> bool | None:
        """Receives the record of an iteration; returning True stops the solve with status STOPPED_BY_CALLBACK.

        Args:
            record: Record of the iteration; read-only.
        """

    def finish(self, solution: Solution) -> None:  # noqa: B027 (optional: nothing to do here)
        """Receives the solution; called once after the last iteration.

        Args:
            solution: Result of the solve.
        """


class _Function(Callback):
    """Callback that calls a plain function with each record."""

    def __init__(self, function: Callable[[IterationRecord], Any]) -> None:
        self._function = function

    def __call__(self, record: IterationRecord) -> bool | None:
        """Calls the function."""
        return bool(self._function(record))
