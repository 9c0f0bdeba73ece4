"""Gains that are far above their median, and are poor feedback there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trajopt.analysis.basics import time_words
from trajopt.analysis.constraints import ConstraintRows
from trajopt.solution.record import SolverStatus
from trajopt.solution.solution import Solution

GROWN = 30.0
"""Ratio of the largest gain to the median from which gains are said to grow; with costs alone it is about 3 [-]."""
_NONE = 1e-4
"""Largest gains of a control at its bound, which are not exactly 0, relative to the largest gain [-]."""
_MOSTLY = 0.5
"""Part of the knots with a control at its bound from which a plan is at its bounds [-]."""
_SATURATED = (
    "; at {} of {} knots a control at its bound has none: to follow the plan use mpc.MPCController, or the gains of a "
    "problem whose costs keep to it"
)


def large_gains(solution: Solution, constraints: Sequence[ConstraintRows]) -> list[str]:
    """Returns a line on gains that grow towards an equation at the end, or between bounds; empty without these.

    Their median is that of knots with feedback, as controls at a bound have none.

    Args:
        solution: The solution.
        constraints: Its constraints.
    """
    if solution.status is not SolverStatus.CONVERGED or solution.K is None or not constraints:
        return []
    K = np.abs(np.nan_to_num(solution.K)).max(axis=2, initial=0.0)
    sizes = K.max(axis=1, initial=0.0)
    knot = int(sizes.argmax())
    median = float(np.median(sizes[sizes >= _NONE * sizes[knot]]))
    if not 0.0 < GROWN * median < sizes[knot]:
        return []
    ends = _equations_at_the_end(constraints) if 2 * knot >= len(sizes) else ""
    saturated = int((_NONE * sizes[knot] > K).any(axis=1).sum())
    bounds = saturated >= _MOSTLY * len(K)
    if not (ends or bounds):
        return []
    return [
        f"  gains: up to {sizes[knot]:.2g} at knot {knot}{time_words(solution, knot)}, {sizes[knot] / median:.0f} "
        f"times their median{ends}: as a feedback they answer small errors there with large controls"
        f"{'; those of a terminal cost stay moderate' if ends else ''}"
        f"{_SATURATED.format(saturated, len(K)) if bounds else ''}"
    ]


def _equations_at_the_end(constraints: Sequence[ConstraintRows]) -> str:
    """Words for the equations at the end; empty without one."""
    ends = [repr(rows.name) for rows in constraints if not rows.soft and (rows.equations & rows.enforced)[-1].any()]
    are = "is an equation" if len(ends) == 1 else "are equations"
    return f", as {' and '.join(ends)} {are} at the end" if ends else ""
