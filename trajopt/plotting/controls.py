"""Panels of controls, with limbs below each other."""

from __future__ import annotations

import dataclasses
from typing import Any

from trajopt.analysis.lines import Line, panels_of
from trajopt.solution import Solution

_MOST = 4  # largest number of panels of controls with equal limits [-]


def control_panels(solution: Solution) -> list[list[Line]]:
    """Returns panels of controls, or of motor torques derived from them, one for each limb.

    Without limbs, controls with equal limits share a panel.
    """
    panels = panels_of(solution)
    torques = [panel for panel in panels if panel[0].group == "torque"]
    drawn = torques or [panel for panel in panels if panel[0].group == "control"]
    if any(line.limb for panel in drawn for line in panel):
        return [[_short(line) for line in panel] for panel in drawn]
    alike: dict[tuple[Any, ...], list[Line]] = {}
    for panel in drawn:
        for line in panel:
            bounds = (b"" if each is None else each.tobytes() for each in (line.least, line.most))
            alike.setdefault((*line.panel, line.lower, line.upper, *bounds), []).append(line)
    return list(alike.values()) if len(alike) <= _MOST else drawn


def _short(line: Line) -> Line:
    """Moves the limb of a line from its name to its owner, which becomes the title of its panel."""
    name = line.name.removeprefix(line.limb).removesuffix("_joint").strip("_")
    name = f"joint {name}" if name.isdigit() else name
    return dataclasses.replace(line, limb="", owner=line.limb, name=name or line.name)
