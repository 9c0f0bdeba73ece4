"""Units of a problem: the scale of its cost, and how stiff its rows have to be held."""

from __future__ import annotations

import numpy as np

from trajopt.shooting.evaluator import Evaluator
from trajopt.types import Reals


def cost_scale(e: Evaluator) -> float:
    """Factor that makes the mean of |diag Luu| 1, or that of the terminal Hessian without controls [1/cost]."""
    controls = np.diagonal(e.H, axis1=1, axis2=2)[:, e.state.ndx :]
    diagonal = controls if controls.size else np.diagonal(e.terminal_H)
    curvature = float(np.abs(diagonal).mean())
    return 1.0 / curvature if curvature > 0.0 else 1.0


def stiffness(e: Evaluator, scale: float, path_ratio: float) -> Reals:
    """Curvature of the scaled cost along each row (T + 1, nc), at least 1, and `path_ratio` before the end."""
    found = np.ones(e.c.shape)
    if not found.size:
        return found
    lower = np.tri(e.H.shape[-1])
    for C, H, rows in ((e.C, e.H, found[:-1]), (e.terminal_C[None], e.terminal_H[None], found[-1:])):
        square = (C**2).sum(axis=-1)
        along = np.abs(((C @ (H * lower[: H.shape[1], : H.shape[1]])) * C).sum(axis=-1))
        rows[:] = np.maximum(1.0, scale * np.divide(along, square**2, out=np.zeros_like(along), where=square > 0.0))
    found[:-1] = np.maximum(found[:-1], path_ratio)
    return found
