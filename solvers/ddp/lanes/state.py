"""Numbers of each lane: costs, regularisation, flags, and the row that it solves."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from trajopt.types import Ints, Reals

IDLE = -1


@dataclass(kw_only=True)
class LaneState:
    """One number for each lane (n,), as in `RolloutProgress` and `Curvature`.

    Attributes:
        row: Row of the batch that the lane solves; IDLE for none.
        iterations: Iterations begun.
        cost: Cost of the trajectory [cost].
        rho: Regularisation in units of `unit` [-].
        unit: Unit h of the regularisation.
        feasible: Whether the trajectory is a rollout.
        was_feasible: Whether the last accepted step started from a rollout.
        fresh: Whether the trajectory has changed since the last expansion.
        confirmed: Whether the direction was computed with the smallest ρ that gives one.
        first_scale: S1 of the options [cost]; 0 before there was a rollout.
        loose: Bound of the tolerance that follows from it, or -1 [cost].
        rolled_cost: Cost of the rollout of a guess with gaps [cost]; infinite if it diverges.
        rolled_scale: Σ|l_t| of this rollout [cost].
        crawled: Short or poor steps so far.
        promised: Predicted decrease of the last direction [cost].
        steady: Steps in a row that say that many are left.
        ridge: ρ of the next exact direction, in units of `unit` [-].
        part: Number of the first part θ of the exact Hessian to try, see `curvature.BLENDS`.
        beaten: Exact directions in a row that Gauss-Newton's were better than.
        pause: Iterations for which no exact direction is tried.
        seconds: Part of the wall time [s].
    """

    row: Any
    iterations: Any
    cost: Any
    rho: Any
    unit: Any
    feasible: Any
    was_feasible: Any
    fresh: Any
    confirmed: Any
    first_scale: Any
    loose: Any
    rolled_cost: Any
    rolled_scale: Any
    crawled: Any
    promised: Any
    steady: Any
    ridge: Any
    part: Any
    beaten: Any
    pause: Any
    seconds: Any

    @classmethod
    def idle(cls, n: int) -> LaneState:
        """Numbers of n idle lanes."""
        counts, flags = (
            ("iterations", "crawled", "steady", "part", "beaten", "pause"),
            ("feasible", "was_feasible", "fresh", "confirmed"),
        )
        arrays: dict[str, Any] = {f.name: np.zeros(n) for f in fields(cls)}
        arrays |= {name: np.zeros(n, dtype=np.int64) for name in counts}
        arrays |= {name: np.zeros(n, dtype=np.bool_) for name in flags}
        return cls(**{**arrays, "row": np.full(n, IDLE, dtype=np.int64)})

    def begin(self, chosen: Ints, rows: Ints, rho: float) -> None:
        """Sets chosen lanes (m,) to the beginning of a solve of rows (m,), whose costs and scales are still unknown."""
        for field in fields(self):
            getattr(self, field.name)[chosen] = 0
        self.row[chosen], self.rho[chosen], self.fresh[chosen] = rows, rho, True
        self.loose[chosen], self.promised[chosen], self.unit[chosen] = -1.0, np.inf, 1.0

    def move(self, source: Ints, target: Ints) -> None:
        """Moves the numbers of lanes (m,) to other lanes (m,); the former are idle then."""
        for field in fields(self):
            array = getattr(self, field.name)
            array[target] = array[source]
        self.row[source] = IDLE

    @property
    def active(self) -> Ints:
        """Lanes that solve a row."""
        return np.flatnonzero(self.row != IDLE)

    def small(self, chosen: Ints, promised: Reals, scale: Reals, tolerance: float, relative: float) -> Any:
        """Whether |d0 + d1 / 2| [cost], promised from a rollout in each of chosen lanes, is below the tolerance.

        Args:
            chosen: Lanes (m,).
            promised: Predicted decrease (m,) [cost].
            scale: Σ|l_t| of the trajectory (m,) [cost].
            tolerance: Absolute tolerance [cost].
            relative: Tolerance relative to the scale [-].
        """
        first = self.first_scale[chosen]
        unit = np.minimum(scale, first) + 1e-14 * first
        return (promised <= self.loose[chosen]) & (promised <= tolerance + relative * unit)
