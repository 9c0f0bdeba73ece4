"""Text about bodies that come nearer than the margin without a row, because others have all slots."""

from __future__ import annotations

import numpy as np

from trajopt.analysis.basics import time_words
from trajopt.analysis.body_gaps import body_gaps
from trajopt.analysis.references import distances_of
from trajopt.residuals import ResidualModelCollisions
from trajopt.solution.solution import Solution

NOTHING = 1e-6  # violation of a margin that is not reported [m]


def crowded_slots(solution: Solution) -> list[str]:
    """Returns a line for each collision constraint with bodies that violate its margin without a row."""
    items, values = distances_of(solution)
    lines = []
    for item in items:
        residual, robot = item.residual, solution.robot
        if not isinstance(residual, ResidualModelCollisions) or robot is None or f"{item.name}.lower" not in values:
            continue
        margins = values[f"{item.name}.lower"].min(axis=1)
        knots = np.flatnonzero(np.isfinite(margins))
        if solution.problem is not None and solution.problem.start == "fixed" and len(margins) > 1:
            knots = knots[knots > 0]  # no solver can change x0
        gaps, own = body_gaps(item, values, solution.xs, knots)
        found = residual.without_row(gaps, own)
        excess = {pair: margins[knots] - gaps for pair, gaps in found.items()}
        near = {pair: float(each.max()) for pair, each in excess.items() if each.max() > NOTHING}
        if near:
            pair = max(near, key=lambda each: near[each])
            knot = int(knots[excess[pair].argmax()])
            gap = float(margins[knot]) - near[pair]
            lines.append(
                f"too near without a row of {item.name!r}, {len(near)} in all: {pair}, {gap:.3g} m apart at "
                f"knot {knot}{time_words(solution, knot)}: raise pairs= and obstacles= of the constraint"
            )
    return lines
