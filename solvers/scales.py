"""Units of tolerances and of regularisation, taken from the problem: S and h of `DDPOptions`."""

from __future__ import annotations

import math

import numpy as np

from trajopt.shooting.evaluator import Evaluator

FLOOR = 1e-14  # of the scale of costs, as a part of the first one: costs may end at 0
FALLEN = 1e9  # a cost that ends so many first scales below zero has no least value


def costs(evaluator: Evaluator, first: float = math.inf) -> float:
    """Scale S of the costs, at the trajectory that was expanded; without `first`, Σ|l_t| [cost].

    Args:
        evaluator: What holds the costs of the knots.
        first: S1, the scale at the first rollout [cost].
    """
    scale = float(np.abs(evaluator.costs).sum())
    return scale if first == math.inf else min(scale, first) + FLOOR * first


def at_most(first: float) -> float:
    """A bound of S that costs nothing [cost]."""
    return (1.0 + FLOOR) * first


def curvature(evaluator: Evaluator) -> float:
    """Unit h of ρ, at the trajectory that was expanded."""
    e, n = evaluator, evaluator.state.ndx
    diagonal = np.maximum(np.diagonal(e.H, axis1=1, axis2=2), 0.0)
    controls = [diagonal[list(kind.knots), n : n + kind.model.nu].ravel() for kind in e.running]  # without padding
    Luu = float(np.concatenate(controls).mean())
    Lxx = float(diagonal[:, :n].sum() + np.maximum(np.diagonal(e.terminal_H), 0.0).sum()) / n
    if Luu and Lxx:
        return math.sqrt(Luu * Lxx)
    return Luu or Lxx or max(float(np.abs(e.g).max()), float(np.abs(e.terminal_g).max())) or 1.0
