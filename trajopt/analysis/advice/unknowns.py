"""Lines about parameters that the solver chose: their values, and what a bound that holds one costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trajopt.analysis.touching import touching_distance
from trajopt.shooting.unknown import labels_of

if TYPE_CHECKING:
    from trajopt.solution.solution import Solution

PART = 0.01  # of a bound that is moved


@dataclass(frozen=True, kw_only=True)
class _Element:
    """One element of an unknown; `side` is "lower" or "upper" if it is at that bound or beyond, and empty otherwise."""

    label: str
    value: float
    unit: str
    bounded: bool
    fixed: bool
    beyond: bool
    side: str
    bound: float
    price: float


def unknown_lines(solution: Solution) -> list[str]:
    """One line for each element of an unknown: value, unit, and the price of its bound if it is at one."""
    return [
        f"  unknown {each.label!r}: {each.value:.6g}{each.unit}{_bound(each, abs(solution.cost))}"
        for each in _elements(solution)
    ]


def bounds_of_failure(solution: Solution) -> list[str]:
    """Advice for each unknown that is at a bound in a solution that has not converged."""
    return [
        f"unknown {each.label!r} ended at its {each.side} bound, {each.bound:.6g}{each.unit}: "
        f"{'lower' if each.side == 'lower' else 'raise'} that bound if the motion needs it; if not, start from another "
        "guess"
        for each in _elements(solution)
        if each.side
    ]


def _elements(solution: Solution) -> Iterator[_Element]:
    prices, problem = solution.multipliers.get("unknowns"), solution.problem
    at = 0
    for name, value in solution.unknowns.items():
        unknown = None if problem is None else problem.unknowns.get(name)
        unit = "" if unknown is None or unknown.unit == "-" else f" {unknown.unit}"
        limits = np.tile([[-np.inf], [np.inf]], value.size)
        bounded = unknown is not None and unknown.shape == value.shape
        if unknown is not None and bounded:
            limits = np.array(unknown.bounds)
        for i, (label, number) in enumerate(zip(labels_of(name, value.shape), value.ravel(order="F"))):
            bounds = limits[:, i]
            near = touching_distance(np.array([number]), *limits[:, i : i + 1])
            nearest, fixed = int(np.argmin(np.abs(number - bounds))), bool(bounds[0] == bounds[1])
            beyond = bool(max(bounds[0] - number, number - bounds[1]) > near)
            touches = not fixed and bool(beyond or abs(number - bounds[nearest]) <= near)
            yield _Element(
                label=label,
                value=float(number),
                unit=unit,
                bounded=bounded,
                fixed=fixed,
                beyond=beyond,
                side=("lower", "upper")[nearest] if touches else "",
                bound=float(bounds[nearest]) if touches else np.nan,
                price=float(prices[0, at]) if prices is not None and solution.converged else 0.0,
            )
            at += 1


def _bound(element: _Element, cost: float) -> str:
    """Text about the bound at which an element is, if it has bounds."""
    if element.fixed:
        return ", fixed by its bounds"
    if not element.side:
        return ", within its bounds" if element.bounded else ""
    sign, way = (-1.0, "lower") if element.side == "lower" else (1.0, "raise")
    saved = -sign * element.price * PART * abs(element.bound)
    share = f" ({100 * saved / cost:.2g} % of the cost)" if cost > 0.0 else ""
    word = f"; to {way} it by {round(100 * PART)} % would save about {saved:.3g}{share}"
    where = "beyond" if element.beyond else "at"
    return f", {where} its {element.side} bound" + (word if saved > 0.0 else "")
