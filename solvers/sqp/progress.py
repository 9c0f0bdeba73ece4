"""State of a solve by sequential quadratic programming."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.solution import IterationRecord
from trajopt.solvers.progress import Progress
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.solvers.sqp.attempts import Attempts
    from trajopt.solvers.sqp.method import MethodAbstract
    from trajopt.solvers.sqp.units import Units


@dataclass(kw_only=True)
class SQPProgress(Progress):
    """State of a solve by SQP, which all its methods share.

    Attributes:
        guess: States (T + 1, nx) and controls (T, nu) that all attempts begin with.
        units: Sizes that tolerances, penalties and regularisations are relative to.
        lam: Multipliers of the dynamics, of the scaled cost (T + 1, ndx).
        y: Multipliers of the rows (T + 1, nc).
        start_y: Multipliers of the bounds of a chosen start (ndx,).
        K: Gains (T, nu, ndx).
        gap: Largest gap of the trajectory, in units of the states.
        stationarity: Largest gradient of the Lagrangian along the controls.
        violation: Largest violation of a row, in units of the rows.
        largest_violation: Largest violation of a row, as it is.
        squares: Σ w v² of the violations v, with the stiffness w of their rows, where that is stationary.
        infeasibility: Sum of all gaps and violations, see `Workspace.infeasibility`.
        complementarity: Largest product of a multiplier and the distance from its bound.
        attempts: Attempts still to be made, and the results of those that have ended.
        method: The method in use.
    """

    guess: tuple[Reals, Reals] = field(default_factory=lambda: (np.zeros(0), np.zeros((0, 0))))
    units: Units = field(init=False)
    lam: Reals = field(default_factory=lambda: np.zeros((0, 0)))
    y: Reals = field(default_factory=lambda: np.zeros((0, 0)))
    start_y: Reals = field(default_factory=lambda: np.zeros(0))
    K: Reals = field(default_factory=lambda: np.zeros((0, 0, 0)))
    gap: float = 0.0
    stationarity: float = math.nan
    violation: float = math.nan
    largest_violation: float = math.nan
    squares: float = 0.0
    infeasibility: float = math.nan
    complementarity: float = math.nan
    attempts: Attempts = field(init=False)
    method: MethodAbstract = field(init=False)

    def record(self, **columns: Any) -> IterationRecord:
        """Returns the record of the current iteration, with the number of the attempt and the solver's `columns`."""
        return super().record(attempt=self.attempts.number, **columns)

    @property
    def scale(self) -> float:
        """Factor of the cost that makes a typical cost 1, see `Units` [1/cost]."""
        return 1.0 / self.units.cost
