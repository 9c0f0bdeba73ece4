"""Contents of the disk cache by robot, kind and form, derived from the labels of its entries.

A label is "FORM: WHAT", such as "quick code: derivatives of dynamics of go2 with 4 contacts". The robot follows the
last " of "; without a robot, the class of the model takes its place.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from trajopt.cache import disk

PROGRAM, EXPRESSION, QUICK_CODE, OPTIMISED_CODE = FORMS = ("program", "expression", "quick code", "optimised code")
"""Forms of entries."""

OTHER = "other"
"""Form shown for entries written by tables or other versions of trajopt."""

SHARED = "shared"
"""Robot shown for code that all robots share, such as matrix products and drivers."""

_KINDS = {"dynamics": "dynamics", "impulses": "dynamics", "costs": "costs", "constraints": "constraints"}


@dataclass(frozen=True, kw_only=True)
class Content:
    """Number and size of the cache's entries of one robot, kind and form.

    Attributes:
        robot: Name of the robot, or class of the model; `SHARED` for shared code.
        kind: "dynamics", "costs", "constraints" or "others"; merged code joins several kinds with " and ".
        form: One of `FORMS`, or `OTHER`.
        entries: Number of entries [-].
        size: Total size [bytes].
    """

    robot: str
    kind: str
    form: str
    entries: int
    size: int


def contents() -> list[Content]:
    """Entries of the cache by robot, kind and form; the largest robots come first."""
    sizes: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for label, size in disk.labels():
        sizes[parsed(label)].append(size)
    total: dict[str, int] = defaultdict(int)
    for (robot, _, _), each in sizes.items():
        total[robot] += sum(each)
    rows = sorted(sizes, key=lambda row: (row[0] == SHARED, -total[row[0]], row[0], _place(row[1]), row[2]))
    return [
        Content(robot=robot, kind=kind, form=form, entries=len(sizes[row]), size=sum(sizes[row]))
        for row in rows
        for robot, kind, form in [row]
    ]


def parsed(label: str) -> tuple[str, str, str]:
    """Splits a label into robot, kind and form."""
    form, colon, what = label.partition(": ")
    if not colon or form not in FORMS:
        return SHARED, "others", OTHER
    parts = [part.removeprefix("derivatives of ") for part in what.split(" and ")]
    kinds = {part: _KINDS[first] for part in parts if (first := part.split(" ", 1)[0]) in _KINDS}
    owner = next(iter(kinds), what if form == PROGRAM else "")
    _, of, robot = owner.rpartition(" of ")
    return robot.partition(" with ")[0] if of else SHARED, " and ".join(dict.fromkeys(kinds.values())) or "others", form


def _place(kind: str) -> tuple[int, str]:
    kinds = list(dict.fromkeys(_KINDS.values()))
    return kinds.index(kind) if kind in kinds else len(kinds) + (kind == "others"), kind
