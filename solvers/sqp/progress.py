"""State of a solve by sequential quadratic programming."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from trajopt.solvers.augmented_lagrangian import AugmentedLagrangian
from trajopt.solvers.progress import Progress
from trajopt.types import Reals


@dataclass(kw_only=True)
class SQPProgress(Progress):
    """State of a solve by SQP.

    Attributes:
        guess: Controls that a restart begins with (T, nu).
        scale: What the cost is multiplied by, so that the mean of |diag Luu| is 1 [1/cost].
        stiffness: Curvature of the scaled cost along each row (T + 1, nc), which penalties are relative to.
        penalty: Augmented Lagrangian of the rows that are not hard, beside the scaled cost.
        lam: Multipliers of the dynamics by the last QP, of the scaled cost (T + 1, ndx).
        y: Multipliers of the rows by the last QP (T + 1, nc).
        repaired: Whether the trajectory is a rollout, or the first step may end anywhere.
        ridge: What the next QP begins with on the diagonal of Huu.
        failures: Searches without a step, one after the other [-].
        restarted: Whether it has begun anew.
        stationarity: Largest gradient of the Lagrangian along the controls.
        violation: Largest violation of a row.
        complementarity: Largest product of a multiplier and the distance from its bound.
        stuck: Iterations in a row at which nothing promises to reduce the violation [-].
    """

    guess: Reals = field(default_factory=lambda: np.zeros((0, 0)))
    scale: float = 1.0
    stiffness: Reals = field(default_factory=lambda: np.zeros((1, 0)))
    penalty: AugmentedLagrangian = field(default_factory=AugmentedLagrangian.empty)
    lam: Reals = field(default_factory=lambda: np.zeros((0, 0)))
    y: Reals = field(default_factory=lambda: np.zeros((0, 0)))
    repaired: bool = True
    ridge: float = 0.0
    failures: int = 0
    restarted: bool = False
    stationarity: float = math.nan
    violation: float = math.nan
    complementarity: float = math.nan
    stuck: int = 0
