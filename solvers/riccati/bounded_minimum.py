"""Minimum of a quadratic function of a few variables within bounds, by an active set."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trajopt.types import Reals

Mask = npt.NDArray[np.bool_]

ROUNDING = 1e-12  # curvature, relative to the largest one, that rounding may hide
CONCAVE = 1e-9  # negative curvature, relative to the largest one, that is none of rounding
SLIGHT = 1e-15  # decrease, relative to the size of the function, that counts as none


def bounded_minimum(H: Reals, g: Reals, lower: Reals, upper: Reals) -> Reals | None:
    """Minimum d (k,) of g · d + ½ d · H d with lower <= d <= upper; None if H has negative curvature.

    Variables at a bound are held; the others take Newton's step up to the first bound, which is held from there on.
    Where no step is left, the one whose bound is pulled at most is let go (Nocedal, Wright, Numerical optimization,
    2006, algorithm 16.3).

    Args:
        H: Hessian (k, k), positive semidefinite.
        g: Gradient (k,).
        lower: Lower bounds (k,), finite where H is singular.
        upper: Upper bounds (k,).
    """
    width = upper - lower
    scale = np.where(np.isfinite(width) & (width > 0.0), width, 1.0)
    H, g, bounds = H * np.outer(scale, scale), g * scale, (lower, upper)
    lower, upper = lower / scale, upper / scale
    largest = float(np.abs(H).max(initial=0.0))
    if largest > 0.0 and np.linalg.eigvalsh(H)[0] < -CONCAVE * largest:
        return None
    size = largest + float(np.abs(g).max(initial=0.0)) or 1.0
    d = np.clip(np.zeros_like(g), lower, upper)
    held: Mask = (d <= lower) | (d >= upper)
    for _ in range(20 * (len(g) + 1)):
        slope, step = g + H @ d, np.zeros_like(d)
        if not held.all():
            own = H[~held][:, ~held] + ROUNDING * size * np.eye(int((~held).sum()))
            step[~held] = np.linalg.solve(own, -slope[~held])
        if -slope @ step > SLIGHT * size:
            d, held = _moved(d, step, held, lower, upper)
            continue
        pull = np.where(lower < upper, np.where(d <= lower, -slope, slope), 0.0) * held
        if pull.max(initial=0.0) <= ROUNDING * size:
            break
        held[int(pull.argmax())] = False
    return np.clip(d * scale, *bounds)


def _moved(d: Reals, step: Reals, held: Mask, lower: Reals, upper: Reals) -> tuple[Reals, Mask]:
    """The point after a step up to the first bound, and which variables are held there."""
    bound = np.where(step > 0.0, upper, lower)
    room = np.where(step != 0.0, (bound - d) / np.where(step != 0.0, step, 1.0), np.inf)
    first = int(room.argmin())
    if room[first] > 1.0:
        return d + step, held
    moved, held = np.clip(d + room[first] * step, lower, upper), held.copy()
    moved[first], held[first] = bound[first], True
    return moved, held
