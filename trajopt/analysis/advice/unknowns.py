"""Lines about parameters that the solver chose: their values, and what bounds and totals that hold them cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.analysis.touching import touching_distance
from trajopt.shooting.unknown import Unknown, labels_of
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.solution.solution import Solution

PART = 0.01  # of a bound that is moved, or of the distance to the other bound from one of 0


@dataclass(frozen=True, kw_only=True)
class _Element:
    """One element of an unknown, or its total.

    `side` is "lower" or "upper" if it is at that bound or beyond, and empty otherwise. `fixed` says what fixes it, if
    anything does. `price` is the derivative of the cost by the bound or fixed value, and `step` a small part of these.
    """

    label: str
    value: float
    unit: str
    price: float
    bounded: bool = False
    fixed: str = ""
    beyond: bool = False
    side: str = ""
    bound: float = np.nan
    step: float = np.nan


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
    prices, problem, at = solution.multipliers.get("unknowns"), solution.problem, 0
    for name, value in solution.unknowns.items():
        unknown = None if problem is None else problem.unknowns.get(name)
        slopes = np.zeros(value.size)
        if prices is not None and solution.converged:
            slopes = prices[0, at : at + value.size]
        at += value.size
        if unknown is not None and unknown.shape == value.shape:
            yield from _of_unknown(unknown, value.ravel(order="F"), slopes)
            continue
        unit = "" if unknown is None else _after(unknown.unit)
        for label, number in zip(labels_of(name, value.shape), value.ravel(order="F")):
            yield _Element(label=label, value=float(number), unit=unit, price=0.0)


def _of_unknown(unknown: Unknown, values: Reals, slopes: Reals) -> Iterator[_Element]:
    """Elements of an unknown, then its total; `slopes` are the derivatives of the cost by each value alone.

    With a total Σ c θ, a bound moves while elements within their bounds keep the total. These have the same slope per
    c, the price μ of the total; the price of a bound is its slope less c μ.
    """
    unit = _after(unknown.unit)
    found = [_beside(value, low, high) for value, low, high in zip(values, *unknown.bounds)]
    if unknown.total is not None:
        inside = np.array([not each["side"] and not each["fixed"] for each in found])
        weights = unknown.counts * inside
        price = weights @ slopes / (weights @ weights) if inside.any() else np.nan
        slopes = slopes - unknown.counts * price
    for label, value, slope, place in zip(unknown.labels, values, slopes, found):
        yield _Element(label=label, value=float(value), unit=unit, price=float(slope), bounded=True, **place)
    if unknown.total is not None:
        total, step = unknown.total, PART * abs(unknown.total)
        label = f"{unknown.name} in all"
        yield _Element(
            label=label, value=total, unit=unit, price=price, bounded=True, fixed="its total", bound=total, step=step
        )


def _beside(value: float, lower: float, upper: float) -> dict[str, Any]:
    """Place of a value beside its bounds, as fields of an `_Element`."""
    bounds, none = np.array([[lower], [upper]]), np.array([np.inf])
    near = [touching_distance(np.array([value]), low, high) for low, high in ((bounds[0], none), (-none, bounds[1]))]
    nearest, fixed = int(np.argmin(np.abs(value - bounds))), lower == upper
    beyond = bool(lower - value > near[0] or value - upper > near[1])
    touches = not fixed and bool(beyond or abs(value - bounds[nearest]) <= near[nearest])
    bound = float(bounds[nearest, 0]) if touches or fixed else np.nan
    width = upper - lower if np.isfinite(upper - lower) else 1.0
    return {
        "fixed": "its bounds" if fixed else "",
        "beyond": beyond,
        "side": ("lower", "upper")[nearest] if touches else "",
        "bound": bound,
        "step": PART * (abs(bound) or width),
    }


def _after(unit: str) -> str:
    """A unit behind a number; empty for "-", and for several units, as those of a state."""
    return "" if unit == "-" or "," in unit else f" {unit}"


def _bound(element: _Element, cost: float) -> str:
    """Text about the bound at which an element is, if it has bounds, or about what fixes it."""
    if not element.side and not element.fixed:
        return ", within its bounds" if element.bounded else ""
    where = f", fixed by {element.fixed}"
    if element.side:
        where = f", {'beyond' if element.beyond else 'at'} its {element.side} bound"
    way = "raise" if element.price < 0.0 else "lower"
    saved = abs(element.price) * element.step
    if not saved > 0.0 or (element.side and (way == "raise") != (element.side == "upper")):
        return where
    amount = f"{round(100 * PART)} %" if element.bound else f"{element.step:.3g}{element.unit}"
    share = f" ({100 * saved / cost:.2g} % of the cost)" if cost > 0.0 else ""
    return f"{where}; to {way} it by {amount} would save about {saved:.3g}{share}"
