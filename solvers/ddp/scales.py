"""Units of tolerances and of regularisation, taken from the problem: S and h of `DDPOptions`."""

from __future__ import annotations

import math

import numpy as np

from trajopt.shooting.evaluator import Evaluator

FLOOR = 1e-14  # of the scale of costs, as a part of the first one: costs may end at 0
FALLEN = 1e9  # a cost that ends so many first scales below zero has no least value


def costs(evaluator: Evaluator, first: float = math.inf) -> float:
    """Scale S of the costs at the expanded trajectory [cost]. Without `first` it is Σ|l_t|.

    Args:
        evaluator: Evaluator with the costs of the knots.
        first: S1, the scale at the first rollout [cost].
    """
    scale = float(np.abs(evaluator.costs).sum())
    return scale if first == math.inf else min(scale, first) + FLOOR * first


def at_most(first: float) -> float:
    """Returns an upper bound of the scale S of `costs` [cost], from the scale `first` at the first rollout."""
    return (1.0 + FLOOR) * first


def curvature(evaluator: Evaluator) -> float:
    """Unit h of the regularisation ρ: √(Luu Lxx), with the means Luu and Lxx of the diagonal of the cost's Hessian."""
    e, n = evaluator, evaluator.state.ndx
    along = np.add.reduce(np.maximum(e.H.reshape(e.T, -1)[:, :: n + e.nu + 1], 0.0), axis=0)  # diagonals, by column
    controls = sum(len(kind.knots) * kind.model.nu for kind in e.running)
    padding = e.T * e.nu - controls  # with 1 along each
    Luu = (float(np.add.reduce(along[n:])) - padding) / controls
    end = np.maximum(e.terminal_H.reshape(-1)[:: n + 1], 0.0)
    Lxx = float(np.add.reduce(along[:n]) + np.add.reduce(end)) / n
    if Luu and Lxx:
        return math.sqrt(Luu * Lxx)
    return Luu or Lxx or max(float(np.abs(e.g).max()), float(np.abs(e.terminal_g).max())) or 1.0
