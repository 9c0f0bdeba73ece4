"""Augmented Lagrangian of constraint rows with bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trajopt.types import Reals


@dataclass(eq=False)
class AugmentedLagrangian:
    """Penalty Σ ½ (μ r² - y²/μ) with r = c + y/μ - proj(c + y/μ), the projection onto lower <= c <= upper.

    Its gradient by c is μ r, the first-order update of the multipliers: positive at an upper bound, negative at a lower
    one.

    Attributes:
        lower: Lower bounds of the rows (T + 1, nc).
        upper: Upper bounds.
        y: Multipliers.
        mu: Penalty weights, > 0.

    Source: Rockafellar, Augmented Lagrange multiplier functions, 1974; Nocedal, Wright, Numerical Optimization, 17.4.
    """

    lower: Reals
    upper: Reals
    y: Reals
    mu: Reals

    def gradient(self, c: Reals) -> Reals:
        """Gradient of the penalty with respect to the rows, μ r, at rows c (..., T + 1, nc)."""
        moved = c + self.y / self.mu
        return self.mu * (moved - np.clip(moved, self.lower, self.upper))

    def value(self, c: Reals) -> float:
        """Penalty at rows c (T + 1, nc); not finite if the rollout has diverged."""
        with np.errstate(over="ignore", invalid="ignore"):
            return float(((self.gradient(c) ** 2 - self.y**2) / (2.0 * self.mu)).sum())
