"""Search for the constraints that put the targets of a batch out of reach, made only if someone asks."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from trajopt.ik.search import Search
from trajopt.ik.starts import Starts
from trajopt.ik.tasks import TaskModel
from trajopt.types import Reals

ROUNDS, AT_ONCE = 4, 8  # rounds of a search, and starts of a round: together as many as a solve has by default [-]


def causes_of(
    model: TaskModel, starts: Starts, search: Search, tolerance: float, p: Reals, q: Reals, seed: int
) -> tuple[str, ...]:
    """Returns the hard constraints without any one of which all others hold, left out one at a time.

    Args:
        model: The tasks.
        starts: Configurations to start from.
        search: Descents to the tasks.
        tolerance: Largest violation of a row [unit of the row].
        p: Parameters (np,).
        q: The nearest configuration (nq,), from which each search starts.
        seed: Seed of the random starts.
    """
    names = [c.name for c in model.constraints.constraints if c.soft is None]
    if len(names) == 1:
        return ()
    rows = np.tile(p, (len(names), 1))
    for i, name in enumerate(names):
        for key, bound in (("lower", -np.inf), ("upper", np.inf)):
            rows[i, model.layout.slices[f"{name}.{key}"]] = bound
    holds, left = np.zeros(len(names), dtype=np.bool_), np.arange(len(names))
    for tried in range(0, ROUNDS * AT_ONCE, AT_ONCE):
        candidates = starts.candidates(rows[left], tried, AT_ONCE, seed)
        candidates = np.concatenate([np.broadcast_to(q, (len(left), 1, len(q))), candidates], axis=1)
        ends = search.attempt(rows[left], candidates, AT_ONCE, with_start=True)
        order = np.lexsort((ends.merit, ends.target))
        nearest = ends.where(order[np.unique(ends.target[order], return_index=True)[1]])
        ends = search.polished(rows[left], nearest, 0.0)
        holds[left[ends.target[ends.violation <= tolerance]]] = True
        left = np.flatnonzero(~holds)
        if not len(left):
            break
    return tuple(name for name, each in zip(names, holds) if each)


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
