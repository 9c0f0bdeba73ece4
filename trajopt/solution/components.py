"""Columns of numbers from the values of parameters, for tables and pictures of many solves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.analysis.lines import coordinate_units

if TYPE_CHECKING:
    from trajopt.shooting import ShootingProblem

WIDE = 16
"""Most numbers of a value that a table shows one by one, whether or not they differ between rows [-]."""


def components(parameters: Mapping[str, Any], *, varied: bool) -> dict[str, Any]:
    """Splits parameters with values (n, ...) into columns (n,) of numbers, such as "goal.reference[2]".

    Args:
        parameters: Values by name, (n, ...).
        varied: True to leave out columns whose numbers are all equal.
    """
    columns = {}
    for name, values in parameters.items():
        flat = values.reshape(len(values), int(np.prod(values.shape[1:])))
        for place, column in zip(np.ndindex(values.shape[1:]), flat.T):
            differs = column.dtype.kind in "biuf" and len(column) > 0 and not np.all(column == column[0])
            if differs or not (varied or flat.shape[1] > WIDE):
                columns[name + (f"[{', '.join(map(str, place))}]" if place else "")] = column
    return columns


def labelled(component: str, coordinates: Sequence[str], units: Mapping[str, Sequence[str]] | None = None) -> str:
    """Text of a component in pictures: one of the initial state with its coordinate, and its unit in brackets.

    Args:
        component: Component, such as "x0[1]" or "mass".
        coordinates: Name of each coordinate of a state (nx,).
        units: Result of `units_of`; components without a unit have no brackets.
    """
    name, _, place = component.removesuffix("]").partition("[")
    known = name == "x0" and place.isdecimal() and int(place) < len(coordinates)
    text = f"{component}, {coordinates[int(place)]}" if known else component
    own = (units or {}).get(name.partition("@")[0], ())
    unit = (own[int(place)] if known and own else "") if name == "x0" else _unit(own, place)
    return f"{text} [{unit}]" if unit else text


def _unit(units: Sequence[str], place: str) -> str:
    """Unit of an element; empty for a pure number, and where elements of several units share the name."""
    if len(units) == 1:
        return units[0]
    placement = tuple(units) == ("", "m") and place.count(", ") == 1
    return "m" if placement and place.endswith(", 3") else ""  # of its position, not its rotation


def units_of(problem: ShootingProblem) -> dict[str, list[str]]:
    """Returns the unit of each run-time parameter of a problem, and those of "x0" for each coordinate.

    A list has one unit for all elements of a parameter, or several of which some elements have each. Pure numbers, and
    weights, whose unit depends on their terms, have an empty one.
    """
    kept = {"x0": coordinate_units(problem.state)}
    kept |= {name: tuple(info.unit.split(", ")) for name, info in problem.parameters.items()}
    return {name: ["" if unit == "-" or "cost" in unit else unit for unit in units] for name, units in kept.items()}
