"""Gains that grow towards a terminal equation, and are poor feedback there."""

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


def terminal_gains(solution: Solution, constraints: Sequence[ConstraintRows]) -> list[str]:
    """Returns a line on gains that grow towards an equation at the end; empty without these.

    Their median is that of knots with feedback, as controls at a bound have none.

    Args:
        solution: The solution.
        constraints: Its constraints.
    """
    ends = [repr(rows.name) for rows in constraints if not rows.soft and (rows.equations & rows.enforced)[-1].any()]
    if solution.status is not SolverStatus.CONVERGED or solution.K is None or not ends:
        return []
    sizes = np.abs(np.nan_to_num(solution.K)).max(axis=(1, 2), initial=0.0)
    knot = int(sizes.argmax())
    median = float(np.median(sizes[sizes >= _NONE * sizes[knot]]))
    if not 0.0 < GROWN * median < sizes[knot] or 2 * knot < len(sizes):
        return []
    are = "is an equation" if len(ends) == 1 else "are equations"
    return [
        f"  gains: up to {sizes[knot]:.2g} at knot {knot}{time_words(solution, knot)}, {sizes[knot] / median:.0f} "
        f"times their median, as {' and '.join(ends)} {are} at the end: "
        "as a feedback they answer small errors there with large controls; those of a terminal cost stay moderate"
    ]
