"""Descents from many starts for many targets at once, and their results."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trajopt.ik.descent_batch import FEW, Kernels, Lanes
from trajopt.ik.tasks import TaskModel
from trajopt.types import Reals

LONGEST_DESCENT, STALL = 40, 1e-3
"""Iterations of a descent to the constraints [-], and fraction of Φ that a step must predict to continue."""
PATIENCE = 20
"""Iterations for which others that have solved a target wait for the descent from its given start [-]. Poses 0.6 rad
from the start took a UR5 to another branch in 89 of 300 without waiting, and in 6 of 300 with it."""
LONGEST_POLISH, SETTLED = 400, 1e-13
"""Iterations to the nearest configuration or the least cost [-], and fraction of Φ that a step must predict."""
MORE, FALLS = 10, 0.5
"""Largest number of times that a polish may take so many iterations [-], and factor by which Φ must fall in each for
another. Near the limit of what is reachable, as with straight legs, convergence is slow: for a Talos with collisions Φ
falls by 0.05 to 0.3 where it ends at zero, and by 0.9 where it does not."""
SHARP, LAST = 1e-4, 12
"""Part of the tolerance to which a single result is taken, so that it can begin a motion on exact rows, and iterations
for it [-]; Newton's steps need one or two."""
AGREEING, SAME = 3, 1.001
"""Starts that must lead to the same least cost before no others are tried [-], and largest ratio of these costs [-]."""
CREEP = 1e-6
"""Predicted fraction of Φ with which a polish that has used all its iterations counts as settled."""


@dataclass(frozen=True)
class DescentEnds:
    """Configurations at which descents have ended, with their violations and costs.

    Attributes:
        target: Index of the target of each (m,).
        q: Configurations (m, nq).
        violation: Largest violations (m,).
        merit: Half the squared violations, or Φ if there are costs (m,).
        cost: Values of the costs (m,).
        settled: Whether the descent has converged (m,).
    """

    target: npt.NDArray[np.int64]
    q: Reals
    violation: Reals
    merit: Reals
    cost: Reals
    settled: npt.NDArray[np.bool_]

    def where(self, chosen: npt.NDArray[np.generic]) -> DescentEnds:
        """Returns only the descents that a mask or indices select."""
        return DescentEnds(*(value[chosen] for value in vars(self).values()))

    def agreeing(self, tolerance: float) -> npt.NDArray[np.int64]:
        """Targets whose least cost several starts have reached, with constraints that hold to this tolerance."""
        ends = self.where((self.violation <= tolerance) & self.settled)
        order = np.lexsort((ends.cost, ends.target))
        target, cost = ends.target[order], ends.cost[order]
        targets, first = np.unique(target, return_index=True)
        last = np.minimum(first + AGREEING - 1, len(target) - 1)
        return targets[(target[last] == targets) & (last - first == AGREEING - 1) & (cost[last] <= SAME * cost[first])]

    @staticmethod
    def joined(parts: list[DescentEnds]) -> DescentEnds:
        """Returns the descents of several objects in one."""
        return DescentEnds(*(np.concatenate(values) for values in zip(*(vars(part).values() for part in parts))))


class Search:
    """Descents for the tasks of a model, within limits.

    Args:
        model: The tasks.
        low: Lower limits of q ⊖ neutral (nv,); -inf for no limit.
        high: Upper limits of q ⊖ neutral (nv,); inf for no limit.
        tolerance: Largest violation of a row [unit of the row].

    Attributes:
        passes: Total iterations so far, where all lanes of a block count once [-].
    """

    def __init__(self, model: TaskModel, low: Reals, high: Reals, tolerance: float) -> None:
        self._model, self._limits, self._tolerance = model, (low, high), tolerance
        self._kernels = Kernels(model)
        self._few: dict[tuple[str, int], Lanes] = {}
        self.passes = 0

    def _lanes(self, use: str, n: int, stall: float, sigma: float) -> Lanes:
        """Lanes for n configurations; small ones are kept for reuse."""
        lanes = self._few.get((use, n)) or Lanes(self._kernels, n, *self._limits)
        if n <= FEW:
            self._few[use, n] = lanes
        lanes.settings[:] = self._tolerance, stall, sigma
        return lanes

    def attempt(self, p: Reals, q: Reals, count: int, *, with_start: bool = False) -> DescentEnds:
        """Descends to the constraints from the most promising starts.

        Args:
            p: Parameters of each target (n, np).
            q: Candidate configurations for each target (n, m, nq); those with the smallest |J⁺Δ| are used.
            count: Number of starts for each target [-].
            with_start: Whether the first candidate of each target is always used, and others wait for its descent.
        """
        n, m = q.shape[:2]
        alone = bool(np.all(self._model.soft))  # without hard rows, the first step tells how far the minimum is
        scouts = self._lanes("scouts", n * m, STALL, float(alone))
        scouts.q[:], scouts.p[:] = q.reshape(n * m, -1), np.repeat(p, m, axis=0)
        scouts.begin()
        scouts.start()
        lengths = scouts.lengths.reshape(n, m)
        if with_start:
            lengths[:, 0] = -1.0
        chosen = np.argsort(lengths, axis=1)[:, :count] + m * np.arange(n)[:, None]
        lanes = self._lanes("descent", n * count, STALL, 0.0)
        lanes.take(scouts, chosen.ravel())
        enough = not self._model.has_costs
        return self._descended(lanes, count, LONGEST_DESCENT, 0.0, first_is_enough=enough, with_start=with_start)

    def polished(self, p: Reals, ends: DescentEnds, sigma: float) -> DescentEnds:
        """Continues to the nearest configuration (σ = 0), or to the least cost under the constraints (σ = 1).

        Multipliers meet the constraints only at the end. A descent to the least cost that has run out of iterations
        before returns to the constraints; if this costs more than where it began, it stays there. It is not settled.
        """
        if not len(ends.q):
            return ends
        ended = self._polished(p, ends, sigma)
        left = np.flatnonzero(ended.violation > self._tolerance)
        if sigma == 0.0 or not len(left):
            return ended
        begun, back = ends.where(left), self._polished(p, ended.where(left), 0.0)
        better = (back.violation <= self._tolerance) & (back.cost < begun.cost)
        order = np.arange(len(ended.q))
        order[left] = len(order) + np.arange(len(left)) + np.where(better, len(left), 0)
        result = DescentEnds.joined([ended, begun, back]).where(order)
        return dataclasses.replace(result, settled=ended.settled & (ended.violation <= self._tolerance))

    def _polished(self, p: Reals, ends: DescentEnds, sigma: float) -> DescentEnds:
        lanes = self._lanes("polish", len(ends.q), SETTLED, sigma)
        lanes.q[:], lanes.p[:] = ends.q, p[ends.target]
        lanes.begin()
        ended = self._descended(lanes, 1, LONGEST_POLISH, sigma, first_is_enough=False)
        return dataclasses.replace(ended if sigma else self._finished(lanes, ends.target, ended), target=ends.target)

    def _finished(self, lanes: Lanes, target: npt.NDArray[np.int64], ended: DescentEnds) -> DescentEnds:
        """Continues descents of unsolved targets (n,) to the nearest configuration while they approach it."""
        falls = ~ended.settled
        for _ in range(MORE):
            active = falls & ~np.isin(target, target[ended.violation <= self._tolerance])
            if not active.any():
                break
            before = ended.merit
            ended = self._descended(lanes, 1, LONGEST_POLISH, 0.0, first_is_enough=False, active=active)
            falls = active & (ended.merit < FALLS * before)
        return ended

    def sharpened(self, p: Reals, ends: DescentEnds) -> DescentEnds:
        """Continues from solutions of one target with parameters p (np,), far below the tolerance."""
        n = len(ends.q)
        lanes = self._lanes("sharpen", n, SETTLED, 0.0)
        lanes.settings[0] = SHARP * self._tolerance
        lanes.q[:], lanes.p[:] = ends.q, p
        lanes.begin()
        found = self._descended(lanes, 1, LAST, 0.0, first_is_enough=False)
        found = dataclasses.replace(found, target=ends.target, merit=ends.merit, settled=ends.settled)
        return DescentEnds.joined([found, ends]).where(np.arange(n) + n * (found.violation >= ends.violation))

    def _descended(
        self,
        lanes: Lanes,
        count: int,
        limit: int,
        sigma: float,
        *,
        first_is_enough: bool,
        with_start: bool = False,
        active: npt.NDArray[np.bool_] | None = None,
    ) -> DescentEnds:
        active, passes = np.ones(lanes.n, np.bool_) if active is None else active, 0
        while passes < limit and active.any():
            passes += lanes.descend(active)
            active = lanes.left[:, 0] != 0.0
            if first_is_enough:
                solved = (lanes["violation"] <= self._tolerance).reshape(-1, count).any(axis=1)
                if with_start and passes < PATIENCE:
                    solved &= ~active[::count]
                active &= ~np.repeat(solved, count)
        if sigma > 0.0 and active.any():  # costs creep along flat valleys
            lanes.settings[1] = CREEP
            passes += lanes.descend(active)
        self.passes += passes
        target = np.arange(lanes.n) // count
        violation, merit, cost = (lanes[name].copy() for name in ("violation", "merit", "cost"))
        return DescentEnds(target, lanes.q.copy(), violation, merit, cost, lanes.left[:, 0] == 0.0)
