"""Search for the constraints that put the targets of a batch out of reach, made only if someone asks."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from trajopt.types import Reals


class CausesOfBatch:
    """Finds the causes of targets out of reach, as in `IKResult.causes`; it can be pickled with a batch.

    Args:
        solver: Solver of the batch, which has a method `causes_of`.
        rebuild: Function that builds the solver again, with its arguments, for a batch from a file.
        p: Parameters of each target (n, np).
        seed: Seed of the random starts.
    """

    def __init__(self, solver: Any, rebuild: tuple[Callable[..., Any], tuple[Any, ...]], p: Reals, seed: int) -> None:
        self._rebuild, self._p, self._seed = rebuild, p, seed
        self._solver = solver

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_solver"}

    @functools.cached_property
    def _solver(self) -> Any:
        function, arguments = self._rebuild
        return function(*arguments)

    def __call__(self, targets: Iterable[int], q: Reals) -> dict[int, tuple[str, ...]]:
        """Causes of some targets by number, with the nearest configurations (n, nq) of all targets."""
        return {i: self._solver.causes_of(self._p[i], q[i], self._seed) for i in targets}
