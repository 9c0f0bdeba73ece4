"""Goals in terminal costs that a motion hardly approaches, whether or not its solve converged."""

from __future__ import annotations

from collections.abc import Sequence

from trajopt.analysis.advice.constraints import held_knots
from trajopt.analysis.advice.facts import more_guesses, more_time
from trajopt.analysis.constraints import ConstraintRows
from trajopt.analysis.references import PLACED
from trajopt.constraints.row_block import constraint_of
from trajopt.costs.cost_stack import CostTerm
from trajopt.errors import TrajoptError
from trajopt.residuals import ResidualModelCoMPosition, ResidualModelState, ResidualModelSymbolic
from trajopt.shooting import inspection
from trajopt.solution.solution import Solution

LEFT = 0.9
"""Least part of a terminal term at x0 that is left at the end of a motion that hardly approaches its goal [-]."""
MAIN = 0.5
"""Least part of the cost that such a term has [-]."""
OFTEN = 0.5
"""Part of the knots from which controls are named that are at their bounds [-]."""
_GOALS = (ResidualModelState, ResidualModelSymbolic, ResidualModelCoMPosition)


def unapproached(solution: Solution, constraints: Sequence[ConstraintRows]) -> list[str]:
    """Returns a sentence for each terminal cost, most of the cost, that is hardly less than if the motion stayed at x0.

    Places of a robot's frames have sentences of their own, see `misses`.

    Args:
        solution: The solution, with its problem.
        constraints: Its constraints.
    """
    items, terms = solution.description.terminal_items, solution.description.cost_terms
    kinds = _GOALS if solution.robot is not None else (*_GOALS, *PLACED)
    names = [item.name for item in items if isinstance(item, CostTerm) and isinstance(item.residual, kinds)]
    if not names or terms is None or solution.problem is None:
        return []
    there = {name: float(terms[name][-1]) for name in names}
    names = [name for name in names if there[name] > MAIN * abs(solution.cost)]
    if not names:
        return []
    xs = solution.xs.copy()
    xs[-1] = solution.xs[0]
    try:
        with solution.as_solved() as problem:
            stays = inspection.cost_terms(problem, xs, solution.us)
    except TrajoptError:  # a model fails there
        return []
    return [
        f"term {name!r} at the end is {there[name]:.4g}, and {stays[name][-1]:.4g} if the motion stays at its start: "
        f"its goal is hardly approached; {_cure(solution, constraints)}"
        for name in names
        if LEFT * stays[name][-1] < there[name] <= stays[name][-1]  # more is no goal, such as the time of a clock
    ]


def _cure(solution: Solution, constraints: Sequence[ConstraintRows]) -> str:
    """Advice to raise bounds of controls that are often met, or the weight."""
    limits = [rows for rows in constraints if max(rows.controls, default=-1) >= 0 and not rows.soft]
    most = max(limits, key=held_knots, default=None)
    if most is None or held_knots(most) < max(1.0, OFTEN * len(most.knots)):
        return f"raise its weight, {more_time(solution)}start from another guess: {more_guesses(solution)}"
    often = f"{constraint_of(most.name)!r} is at its bounds at {held_knots(most)} of {len(most.knots)} knots"
    return f"{often}; raise these bounds, or check the units of masses, kg, and of lengths, m"
