"""Minimum of a quadratic function of a few variables within bounds, by an active set."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trajopt.types import Reals

Mask = npt.NDArray[np.bool_]

ROUNDING = 1e-12  # curvature, relative to the largest one, that rounding may hide
CONCAVE = 1e-9  # negative curvature, relative to the largest one, that is none of rounding
SLIGHT = 1e-15  # decrease, relative to the size of the function, that counts as none


def bounded_minimum(H: Reals, g: Reals, lower: Reals, upper: Reals, kept: Reals | None = None) -> Reals | None:
    """Minimum d (k,) of g · d + ½ d · H d with lower <= d <= upper; None if H has negative curvature.

    Variables at a bound are held; the others take Newton's step up to the first bound, which is held from there on.
    Where no step is left, the one whose bound is pulled at most is let go (Nocedal, Wright, Numerical optimization,
    2006, algorithm 16.3). With weights a of a sum, a · d stays 0; its multiplier is that of the variables that are not
    held, or one that holds as many of the others as there is.

    Args:
        H: Hessian (k, k), positive semidefinite.
        g: Gradient (k,).
        lower: Lower bounds (k,), finite where H is singular.
        upper: Upper bounds (k,).
        kept: Weights a (k,) of a sum a · d that has to stay 0, >= 0; None for none. The bounds must admit d = 0 then.
    """
    width = upper - lower
    scale = np.where(np.isfinite(width) & (width > 0.0), width, 1.0)
    H, g, bounds = H * np.outer(scale, scale), g * scale, (lower, upper)
    lower, upper = lower / scale, upper / scale
    kept = np.zeros_like(g) if kept is None else kept * scale / (np.abs(kept * scale).max() or 1.0)
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
            step[~held], multiplier = _newton(own, slope[~held], kept[~held])
        if held.all() or not kept[~held].any():
            multiplier = _holding(slope, kept, d <= lower, lower < upper)
        if -slope @ step > SLIGHT * size:
            d, held = _moved(d, step, held, lower, upper)
            continue
        slope = slope + multiplier * kept
        pull = np.where(lower < upper, np.where(d <= lower, -slope, slope), 0.0) * held
        if pull.max(initial=0.0) <= ROUNDING * size:
            break
        held[int(pull.argmax())] = False
    return np.clip(d * scale, *bounds)


def _newton(H: Reals, slope: Reals, kept: Reals) -> tuple[Reals, float]:
    """Newton's step with kept · step = 0, and the multiplier of that sum."""
    step = np.asarray(np.linalg.solve(H, -slope), dtype=np.float64)
    if not kept.any():
        return step, 0.0
    along = np.linalg.solve(H, kept)
    multiplier = float(kept @ step) / float(kept @ along)
    return step - multiplier * along, multiplier


def _holding(slope: Reals, kept: Reals, below: Mask, movable: Mask) -> float:
    """Multiplier m of a sum whose variables are all held at bounds, in the middle of what slope + m · kept allows.

    Those at lower bounds are held by slopes >= 0, the others by slopes <= 0. If these exclude each other, the middle is
    where the two that are pulled most are pulled alike, so that both are let go, one after the other.
    """
    part = movable & (kept > 0.0)
    ends = -slope[part] / kept[part]
    low, high = ends[below[part]].max(initial=-np.inf), ends[~below[part]].min(initial=np.inf)
    middle = np.isfinite(low) and np.isfinite(high)
    return 0.5 * float(low + high) if middle else float(np.clip(0.0, low, high))


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
