"""Minimum of a quadratic function of a few variables within bounds, by an active set."""

from __future__ import annotations

import numpy as np

from trajopt.types import Reals

ROUNDING = 1e-12  # curvature, relative to the largest one, that rounding may hide
CONCAVE = 1e-9  # negative curvature, relative to the largest one, that is none of rounding
ITERATIONS, HALVINGS, ENOUGH = 100, 30, 0.1


def bounded_minimum(H: Reals, g: Reals, lower: Reals, upper: Reals) -> Reals | None:
    """Minimum d (k,) of g · d + ½ d · H d with lower <= d <= upper; None if H has negative curvature.

    A projected Newton method: variables at a bound that the gradient pushes out are held, the others take Newton's step
    of them alone, cut to the bounds (Bertsekas, Projected Newton methods, 1982).

    Args:
        H: Hessian (k, k), positive semidefinite.
        g: Gradient (k,).
        lower: Lower bounds (k,), finite where H is singular.
        upper: Upper bounds (k,).
    """
    width = upper - lower
    scale = np.where(np.isfinite(width) & (width > 0.0), width, 1.0)
    H, g, lower, upper = H * np.outer(scale, scale), g * scale, lower / scale, upper / scale
    largest = float(np.abs(H).max(initial=0.0))
    if largest > 0.0 and np.linalg.eigvalsh(H)[0] < -CONCAVE * largest:
        return None
    ridge = ROUNDING * max(largest, float(np.abs(g).max(initial=0.0))) or 1.0
    d = np.clip(np.zeros_like(g), lower, upper)
    for _ in range(ITERATIONS):
        slope = g + H @ d
        free = ~(((d <= lower) & (slope >= 0.0)) | ((d >= upper) & (slope <= 0.0)))
        if not free.any():
            break
        step = np.zeros_like(d)
        step[free] = np.linalg.solve(H[np.ix_(free, free)] + ridge * np.eye(int(free.sum())), -slope[free])
        moved = _searched(H, slope, d, step, lower, upper)
        if moved is None:
            break
        d = moved
    return d * scale


def _searched(H: Reals, slope: Reals, d: Reals, step: Reals, lower: Reals, upper: Reals) -> Reals | None:
    """The first point of halved steps, cut to the bounds, that brings enough; None if none does."""
    for power in range(HALVINGS):
        moved = np.clip(d + 0.5**power * step, lower, upper)
        change = moved - d
        if not change.any():
            return None
        if slope @ change + 0.5 * change @ H @ change <= ENOUGH * min(0.0, slope @ change):
            return None if np.abs(change).max() <= ROUNDING * max(1.0, np.abs(moved).max()) else moved
    return None
