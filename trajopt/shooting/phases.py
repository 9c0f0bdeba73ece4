"""Phases of an unknown: the knots that share one value."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from trajopt.checks import is_integer
from trajopt.errors import InvalidArgumentError, shown
from trajopt.shooting.parameters import ParameterTable

Phases = tuple[tuple[int, ...], ...]


def phases_of(table: ParameterTable, name: str, knots: Any) -> tuple[Phases, bool]:
    """Knots of each phase of an unknown, and whether these are a list of phases, each with a value.

    Args:
        table: Values of the parameters.
        name: Name of the parameter.
        knots: Knots of one phase as for `ShootingProblem.set_parameter`, a list of such, or None for all knots.

    Raises:
        InvalidArgumentError: A phase has no knots, or knots without the parameter, or two phases share a knot.
    """
    if knots is None:
        return (), False
    several = isinstance(knots, (list, tuple)) and not all(is_integer(t) for t in knots)
    phases = list[tuple[int, ...]]()
    for i, phase in enumerate(knots if several else [knots]):
        label = f"knots[{i}]" if several else "knots"
        if isinstance(phase, Iterable) and not isinstance(phase, str) and not len(list(phase)):
            raise InvalidArgumentError(
                f"{label}: expected one or more knots, got {shown(phase)}, which leaves the value of {name} without a "
                "meaning; leave the phase out"
            )
        numbers = tuple(sorted(t for where, _ in table.places(name, phase) for t in where))
        for j, other in enumerate(phases):
            if shared := sorted(set(numbers) & set(other)):
                raise InvalidArgumentError(
                    f"{label}: expected phases without a knot in common, got knot {shared[0]} in phases {j} and {i}; "
                    f"end phase {j} before it, such as range(0, {shared[0]})"
                )
        phases.append(numbers)
    return tuple(phases), several
