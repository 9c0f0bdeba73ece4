"""Names by which coordinates of a state are the position and heading of a body."""

from __future__ import annotations

from collections.abc import Sequence

PLACES = ("{}", "p{}", "p_{}", "pos_{}", "position_{}", "{}_pos", "{}_position")
"""Names of positions, {} for x, y or z; those besides the first one need the unit m, as px may be a momentum."""

HEADINGS = ("theta", "heading", "yaw", "psi")
"""Names of the angle from the world's x axis."""

NAMES_OF_PLACES = "x, y (or px, py, or pos_x, pos_y; z and theta or heading are optional)"
"""The most usual ones, for messages."""


def place_columns(names: Sequence[str], units: Sequence[str]) -> dict[str, int]:
    """Returns the index of "x", "y", and if they exist "z" and "theta", among coordinates; empty without x and y.

    Args:
        names: Name of each coordinate.
        units: Unit of each coordinate; "-" counts as any unit.
    """
    for pattern in PLACES:
        wanted = {axis: pattern.format(axis) for axis in "xyz"}
        present = {axis: names.index(name) for axis, name in wanted.items() if name in names}
        if {"x", "y"} <= set(present) and (pattern == "{}" or all(units[i] in ("m", "-") for i in present.values())):
            headings = [names.index(name) for name in HEADINGS if name in names]
            return {**present, "theta": headings[0]} if headings else present
    return {}
