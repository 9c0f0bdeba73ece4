"""Names by which coordinates of a state are the position and heading of a body."""

from __future__ import annotations

from collections.abc import Sequence

PLACES = ("{}", "p{}", "p_{}", "pos_{}", "position_{}", "{}_pos", "{}_position")
"""Names of positions, {} for x, y or z; those besides the first one need the unit m, as px may be a momentum."""

HEADINGS = ("theta", "heading", "yaw", "psi")
"""Names of the angle from the world's x axis."""

NAMES_OF_PLACES = "x, y, or x, z in a vertical plane (or px, py, or pos_x, pos_y; theta or heading is optional)"
"""The most usual ones, for messages."""


def place_columns(names: Sequence[str], units: Sequence[str]) -> dict[str, int]:
    """Returns the index of each of "x", "y", "z" and "theta" that exists among coordinates.

    With x and z alone the body is in a vertical plane, where "theta" is no heading and left out. The result is empty
    without x, and without both y and z.

    Args:
        names: Name of each coordinate.
        units: Unit of each coordinate; "-" counts as any unit.
    """
    for pattern in PLACES:
        wanted = {axis: pattern.format(axis) for axis in "xyz"}
        present = {axis: names.index(name) for axis, name in wanted.items() if name in names}
        if len(present) < 2 or "x" not in present:
            continue
        if pattern == "{}" or all(units[i] in ("m", "-") for i in present.values()):
            headings = [names.index(name) for name in HEADINGS if name in names] if "y" in present else []
            return {**present, "theta": headings[0]} if headings else present
    return {}
