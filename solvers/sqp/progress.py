"""State of a solve by sequential quadratic programming."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from trajopt.solvers.augmented_lagrangian import AugmentedLagrangian
from trajopt.solvers.progress import Progress
from trajopt.solvers.sqp.attempts import Attempts
from trajopt.solvers.sqp.interior import InteriorSteps
from trajopt.solvers.sqp.units import Units
from trajopt.types import Reals


@dataclass(kw_only=True)
class SQPProgress(Progress):
    """State of a solve by SQP.

    Attributes:
        guess: States (T + 1, nx) and controls (T, nu) that a restart begins with.
        linear: Whether steps are linear, and judged by a filter, or rollouts of a policy.
        scale: Factor of the cost that makes a typical cost 1, see `Units` [1/cost].
        units: Sizes that tolerances, penalties and regularisations are relative to.
        penalty: Augmented Lagrangian of the rows that are no limits, beside the scaled cost.
        filter: Pairs of infeasibility and scaled cost on which trials of linear steps must improve.
        largest: Infeasibility above which every linear step is rejected.
        lam: Multipliers of the dynamics by the last QP, of the scaled cost (T + 1, ndx).
        y: Multipliers of the rows by the last QP (T + 1, nc).
        p: Gradient of the cost in the terminal residuals (nr,) that the last QP predicted; None before the first QP.
        next_p: Gradient of the cost in the terminal residuals (nr,) that the QP of this iteration predicts.
        start_y: Multipliers of the bounds of a chosen start (ndx,).
        K: Gains of the last QP (T, nu, ndx).
        warm: Whether multipliers came with the guess.
        blend: Part of the Hessian of the Lagrangian in that of the last QP, 0 for Gauss-Newton's [-].
        repaired: Whether the trajectory is a rollout, or the first step may end anywhere.
        ridge: Initial δ on the diagonal of Huu in the next QP.
        failures: Searches without a step, one after the other [-].
        plain: Whether the next QP is Gauss-Newton's.
        full: Whether the last step was a full one.
        partial: Whether the last step was a part of a full one, in a problem without rows.
        shorts: Short steps, one after the other [-].
        mean_length: Mean of the last step lengths, 0 of none, 1 at first [-].
        first_step: Mean size of the first program's step of each control (nu,).
        gap: Largest gap of the trajectory, in units of the states.
        stationarity: Largest gradient of the Lagrangian along the controls.
        violation: Largest violation of a row, in units of the rows.
        largest_violation: Largest violation of a row, as it is.
        infeasibility: Sum of all gaps and violations, see `merit.infeasibility`.
        complementarity: Largest product of a multiplier and the distance from its bound.
        stuck: Number of consecutive iterations in which no step is predicted to reduce the violation [-].
        lined: Whether linear steps have taken over from rollouts that lost the guess.
        leaps: Steps that were taken though they raised the merit [-].
        attempts: Attempts still to be made, and the results of those that have ended.
        is_far: Whether the last program promised a decrease of the merit that is more than the end's.
        solved: Whether the trajectory is optimal, and keeps all rows.
        interior: Interior-point steps, while they are in use; else None.
        nonfinite_trial: Place of the first trial of the iteration that was not finite, see `Trials.nonfinite_trial`.
    """

    guess: tuple[Reals, Reals] = field(default_factory=lambda: (np.zeros(0), np.zeros((0, 0))))
    linear: bool = False
    scale: float = 1.0
    units: Units = field(default_factory=Units.none)
    penalty: AugmentedLagrangian = field(default_factory=AugmentedLagrangian.empty)
    filter: list[tuple[float, float]] = field(default_factory=list)
    largest: float = math.inf
    lam: Reals = field(default_factory=lambda: np.zeros((0, 0)))
    y: Reals = field(default_factory=lambda: np.zeros((0, 0)))
    p: Reals | None = None
    next_p: Reals | None = None
    start_y: Reals = field(default_factory=lambda: np.zeros(0))
    K: Reals = field(default_factory=lambda: np.zeros((0, 0, 0)))
    warm: bool = False
    blend: float = 0.0
    repaired: bool = True
    ridge: float = 0.0
    failures: int = 0
    plain: bool = False
    full: bool = False
    partial: bool = False
    shorts: int = 0
    mean_length: float = 1.0
    first_step: Reals = field(default_factory=lambda: np.zeros(0))
    gap: float = 0.0
    stationarity: float = math.nan
    violation: float = math.nan
    largest_violation: float = math.nan
    infeasibility: float = math.nan
    complementarity: float = math.nan
    stuck: int = 0
    lined: bool = False
    leaps: int = 0
    nonfinite_trial: tuple[int, Reals, Reals] | None = None
    attempts: Attempts = field(default_factory=lambda: Attempts([]))
    is_far: bool = True
    solved: bool = False
    interior: InteriorSteps | None = None
