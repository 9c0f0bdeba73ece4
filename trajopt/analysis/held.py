"""Words for constraints that hold: at the knots, or during all of each step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trajopt.analysis.constraints import ConstraintRows
    from trajopt.solution import Solution


def where_held(solution: Solution, constraints: Iterable[ConstraintRows]) -> str:
    """Returns "hold", or "hold at the knots" where hard rows read states or are violated between knots.

    Args:
        solution: The solution.
        constraints: Its constraints, none of which is violated.
    """
    hard = [rows for rows in constraints if not rows.soft]
    of_states = any(min(rows.controls, default=0) < 0 and rows.enforced[:-1].any() for rows in hard)
    return "hold at the knots" if of_states or solution.description.between else "hold"
