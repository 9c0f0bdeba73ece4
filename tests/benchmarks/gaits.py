"""Asked and reached by every ready gait of our own, for all robots that load."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tests.benchmarks.table import table
from trajopt import problems
from trajopt.analysis import Reached, friction_use, legged_motion, reached
from trajopt.errors import MissingDependencyError

HEADER = [
    "gait",
    "iterations",
    "clearance [%]",
    "length [%]",
    "rise [%]",
    "landing [mm]",
    "lowest [mm]",
    "friction [%]",
]
TITLE = """Gaits: what each ready gait reaches of what it is asked for (clearance of swings, length of steps, rise of
the centre of mass), how far above its foothold a foot lands at worst, the lowest point of a foot above the ground, and
the largest part of the friction coefficient that is used. Required: 95 to 105 %, 1 mm, -0.5 mm, 102 %."""
MU = 0.7  # of the ready gaits [-]
GAITS = ("quadruped-", "biped-")

Figures = dict[str, dict[str, Any]]


def cases() -> Iterator[tuple[str, str]]:
    """Name and robot of each gait."""
    for name in problems.names():
        if name.startswith(GAITS):
            yield from ((name, robot) for robot in problems.describe(name).robots)


def measure(chosen: Iterable[tuple[str, str]] | None = None) -> Figures:
    """Figures of each gait, or of those chosen, by its family and robot; robots that are not installed are left out."""
    found: Figures = {}
    for name, robot in chosen or cases():
        try:
            case = problems.load(name, robot=robot)
        except MissingDependencyError:
            continue
        solution = case.solve()
        motion = legged_motion(solution)
        rows = reached(solution, motion)
        found[f"{name} {robot}"] = {
            "iterations": solution.iterations,
            "converged": solution.converged,
            **{what: _shares(rows, what) for what in ("clearance", "length", "rise")},
            "landing": [1e3 * row.reached for row in rows if row.what == "landing"],
            "lowest": 1e3 * min(row.reached for row in rows if row.what == "lowest"),
            "friction": 100 * friction_use(motion) / MU,
        }
    return found


def report(figures: Figures) -> str:
    """The figures as a table."""
    rows = []
    for name, known in figures.items():
        spans = [_span(known[what]) for what in ("clearance", "length", "rise")]
        landing = max(known["landing"], key=abs)
        count = f"{known['iterations']}{'' if known['converged'] else ' (not converged)'}"
        rows.append([name, count, *spans, f"{landing:+.2f}", f"{known['lowest']:+.2f}", f"{known['friction']:.0f}"])
    return table(TITLE, HEADER, rows)


def _shares(rows: tuple[Reached, ...], what: str) -> list[float]:
    """What is reached of what is asked for, in per cent."""
    return [100 * row.reached / row.asked for row in rows if row.what == what]


def _span(values: list[float]) -> str:
    low, high = (f"{edge:.1f}" for edge in (min(values), max(values))) if values else ("", "")
    return low if low == high else f"{low}-{high}"
