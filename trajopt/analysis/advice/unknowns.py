"""Lines about parameters that the solver chose: their values, and what a bound that holds one costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trajopt.shooting.unknown import labels_of

if TYPE_CHECKING:
    from trajopt.solution.solution import Solution

AT = 1e-6  # distance from a bound, relative to its size, that counts as none
PART = 0.01  # of a bound that is moved


def unknown_lines(solution: Solution) -> list[str]:
    """One line for each element of an unknown: value, unit, and the price of its bound if it is at one."""
    prices, problem = solution.multipliers.get("unknowns"), solution.problem
    lines, at = list[str](), 0
    for name, value in solution.unknowns.items():
        unknown = None if problem is None else problem.unknowns.get(name)
        for i, (label, number) in enumerate(zip(labels_of(name, value.shape), value.ravel(order="F"))):
            unit = "" if unknown is None or unknown.unit == "-" else f" {unknown.unit}"
            price = None if prices is None else float(prices[0, at])
            lines.append(f"  unknown {label!r}: {number:.6g}{unit}")
            if unknown is not None and unknown.shape == value.shape:
                lower, upper = (float(bound[i]) for bound in unknown.bounds)
                lines[-1] += _bound(float(number), lower, upper, price, abs(solution.cost))
            at += 1
    return lines


def _bound(value: float, lower: float, upper: float, price: float | None, cost: float) -> str:
    """Text about the bound at which a value is; empty if it is within its bounds."""
    for which, bound, sign in (("lower", lower, -1.0), ("upper", upper, 1.0)):
        if np.isfinite(bound) and abs(value - bound) <= AT * max(abs(bound), abs(upper - lower)):
            step = PART * abs(bound)
            saved = 0.0 if price is None else -sign * price * step
            share = f" ({100 * saved / cost:.2g} % of the cost)" if cost > 0.0 else ""
            way, percent = "lower" if sign < 0.0 else "raise", round(100 * PART)
            word = f"; to {way} it by {percent} % would save about {saved:.3g}{share}"
            return f", at its {which} bound" + (word if saved > 0.0 else "")
    return ", within its bounds"
