"""Programs of maximal dissipation, solved by the twin's own methods, in doubles or with 60 digits.

With w ≥ 0 the weights of the rays, Σ w ≤ 1 in each contact, c and G given:

    QP  min  cᵀw + ½ wᵀG w - μ Σ log w - μ Σ_f log(1 - Σ w_f)        LP  the same with G = 0, contact by contact

The QP follows the central path from the centre down to μ; each Newton step is damped by 1/(1 + λ) with the Newton
decrement λ, which is proved to stay inside and to converge (Nesterov and Nemirovskii 1994, theorem 2.2.3). The LP is
w_i = μ/(c_i + ν) with the root ν of Σ w + μ/ν = 1, where Newton's steps come from the left and never overshoot.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.simulator.twin_numbers import Numbers, doubles, exact, is_exact, like, power_of_ten, scalar, solve, sqrt

Groups = Sequence[slice]
"""The rays of each contact."""


def centre(groups: Groups, other: Numbers) -> Numbers:
    """The analytic centre: 1 / (number of rays + 1) in each contact."""
    parts = [like(np.ones(g.stop - g.start), other) / (g.stop - g.start + 1) for g in groups]
    return np.concatenate(parts)


def minimise(c: Numbers, G: Numbers, groups: Groups, weight: Any) -> Numbers:
    """The minimiser w of the QP's barrier function with the barrier weight μ > 0."""
    if is_exact(c):
        rays = tuple((g.start, g.stop) for g in groups)
        start = _start(doubles(c).tobytes(), doubles(G).tobytes(), rays, float(weight))
        return _polish(exact(start), c, G, groups, weight)
    w, level = centre(groups, c), 10 * max(float(weight), float(np.max(np.abs(c) + np.abs(G).sum(axis=1), initial=0)))
    while level > weight:
        level = max(float(weight), 0.3 * level)
        w = _polish(w, c, G, groups, level)
    return w


@functools.lru_cache(maxsize=64)
def _start(c: bytes, G: bytes, rays: tuple[tuple[int, int], ...], weight: float) -> Numbers:
    """The minimiser in doubles, which all ends of central differences share."""
    linear = np.frombuffer(c)
    return minimise(linear, np.frombuffer(G).reshape(2 * linear.shape), [slice(*r) for r in rays], weight)


def _polish(w: Numbers, c: Numbers, G: Numbers, groups: Groups, weight: Any) -> Numbers:
    """Newton's method from w, until the decrement is gone or rounding keeps it from falling."""
    least, best, worse = (power_of_ten(-50) if is_exact(c) else 1e-13), None, 0
    for _ in range(500):
        gradient, hessian = derivatives(w, c, G, groups, weight)
        step = solve(hessian, -gradient)
        decrement = sqrt(abs(step @ gradient) / weight)
        if decrement < least:
            return w + step
        if best is not None and decrement >= best and decrement < 1e-5:
            worse += 1
            if worse == 3:
                return w
        best = decrement if best is None else min(best, decrement)
        w = w + (step if decrement < 0.25 else step / (1 + decrement))
    raise ArithmeticError(f"Newton decrement {decrement} after 500 steps")


def derivatives(w: Numbers, c: Numbers, G: Numbers, groups: Groups, weight: Any) -> tuple[Numbers, Numbers]:
    """Gradient and Hessian of the QP's barrier function."""
    mu = scalar(weight, c)
    gradient, hessian = c + G @ w - mu / w, G + np.diag(mu / w**2)
    for g in groups:
        slack = 1 - sum(w[g])
        gradient[g] = gradient[g] + weight / slack
        hessian[g, g] = hessian[g, g] + weight / slack**2
    return gradient, hessian


def limiting(c: Numbers, groups: Groups, weight: Any) -> Numbers:
    """The minimiser w of the LP's barrier function with the barrier weight μ > 0."""
    return np.concatenate([_limiting_of_one(c[g], weight) for g in groups])


def _limiting_of_one(c: Numbers, weight: Any) -> Numbers:
    lowest = max(0 * c[0], -min(c))
    above, near = weight * (0 * c[0] + 1), 1e-15 if not is_exact(c) else power_of_ten(-58)
    for _ in range(500):  # ν = lowest + above: differences c + lowest are exact, so nothing cancels
        rows = np.concatenate([c, [0 * c[0]]]) + lowest + above
        excess = weight * sum(1 / rows) - 1
        step = excess / (weight * sum(1 / rows**2))
        above = above + step
        if step <= near * above:  # exact steps are positive
            return scalar(weight, c) / (c + lowest + above)
    raise ArithmeticError(f"no root of the limiting program after 500 steps; the last is {step}")
