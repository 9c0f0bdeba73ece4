"""Outcome of one row of a sweep: parameters, result, trajectory, and the solution by solving again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from trajopt.errors import UnsupportedOperationError
from trajopt.objects.attributes import ExplainsAttributes
from trajopt.solution import Solution
from trajopt.types import Reals


@dataclass(frozen=True, kw_only=True, eq=False)
class Outcome(ExplainsAttributes):
    """Outcome of one row of a sweep.

    Attributes:
        index: Number of the row in the whole sweep, from 0 [-].
        parameters: Parameter values of the row, by name.
        status: Name of the solver's status, such as "CONVERGED".
        converged: Whether the solver met its stopping criterion.
        cost: Total cost [cost].
        iterations: Iterations of the solver [-].
        seconds: Wall time of the solve [s].
        error: Message of the error that ended the solve; empty without an error.
    """

    index: int
    parameters: Mapping[str, Any]
    status: str
    converged: bool
    cost: float
    iterations: int
    seconds: float
    error: str
    _trajectory: Callable[[str], Reals] = field(repr=False, compare=False)
    _solve: Callable[[Outcome], Solution] = field(repr=False, compare=False)

    @property
    def xs(self) -> Reals:
        """States (T + 1, nx) from the store."""
        return self._read("xs")

    @property
    def us(self) -> Reals:
        """Controls (T, nu) from the store."""
        return self._read("us")

    def solution(self) -> Solution:
        """Solves the row again and returns the whole solution, with problem, gains and history.

        The result is bit-identical to the row. `solution().plot("row.png")`, `.show()`, `.explain()` and
        `.save("row.npz")` work as for any solution.

        Raises:
            UnsupportedOperationError: The solve of this row ended with an error.
        """
        self._refuse_error("solution")
        return self._solve(self)

    def _read(self, name: str) -> Reals:
        self._refuse_error(name)
        return self._trajectory(name)

    def _refuse_error(self, name: str) -> None:
        if self.error:
            raise UnsupportedOperationError(f"{name}: row {self.index} has none, its solve failed with: {self.error}")
