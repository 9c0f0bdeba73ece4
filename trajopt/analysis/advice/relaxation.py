"""Text about what to relax where constraints are violated."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trajopt.analysis.advice.constraints import (
    MOST,
    NOISE,
    by_violation,
    excesses,
    held_back,
    nearly_met,
    unit_of,
)
from trajopt.analysis.basics import rounded_up, runs, time_words
from trajopt.analysis.constraints import HELD, ConstraintRows
from trajopt.analysis.gaps import no_motion
from trajopt.constraints.row_block import constraint_of
from trajopt.solution.record import SolverStatus
from trajopt.solution.solution import Solution

ROOM = 200
"""Characters of a list of rows with amounts; where it is longer, amounts help nobody [-]."""
NAMED = 3
"""Largest number of named constraints [-]."""


def relaxation(solution: Solution, constraints: Sequence[ConstraintRows]) -> str:
    """Advises to relax the violated constraints, and names those in their way; empty if none is violated.

    Amounts are given at a stationary point of the violation only, at which solvers end as INFEASIBLE: to first order no
    change of the controls reduces them. They are those of all violated rows together, with which this motion is
    feasible. One row alone may have to give more, and a saddle may have smaller ones. Of many rows, whose amounts help
    nobody, the constraints are named. Violations of states that are no
    motion tell nothing of what to relax.
    """
    ordered = by_violation(constraints)
    if not ordered or no_motion(solution):
        return ""
    stationary = solution.status is SolverStatus.INFEASIBLE
    first, *more = _violated_rows(solution, constraints, amounts=stationary)
    names = [repr(name) for name in dict.fromkeys(constraint_of(rows.name) for rows in ordered)]
    words = f"relax {first}"
    if stationary and sum(len(each) + 2 for each in more) > ROOM:
        return f"{len(more) + 1} rows of {_together(names)} are violated, so that to relax one of them is not enough"
    elif stationary and more:
        words += f" and, with it, {', '.join(more)}: this motion then satisfies all constraints"
        words += "; one alone may have to give more"
    else:
        words += ", which this motion lacks" if stationary else ", by an amount that this motion does not tell"
        words += f" (also violated: {', '.join(names[1:])})" if names[1:] else ""
    knot, _, _ = ordered[0].largest(excesses(ordered[0]))
    if others := _in_the_way(constraints, ordered[0], knot):
        words += f"; or relax others that are at their bounds before: {'; '.join(others)}"
    return words


def _together(names: Sequence[str]) -> str:
    """The first of these names, at most three, and how many are left: "a, b and c", "a, b, c and 2 more"."""
    first, left = names[:NAMED], len(names) - NAMED
    if left > 0:
        return f"{', '.join(first)} and {left} more"
    return " and ".join([*([", ".join(first[:-1])] if first[1:] else []), first[-1]])


def _violated_rows(solution: Solution, constraints: Sequence[ConstraintRows], *, amounts: bool) -> list[str]:
    """Rows of hard constraints in words, the worst first, with their knots and, if wanted, amounts.

    A violation is negligible beside a larger one of the same unit.
    """
    found, worst = list[tuple[float, float, str]](), dict[str, float]()
    hard = [(rows, excesses(rows), i) for rows in constraints if not rows.soft for i in range(len(rows.rows))]
    for rows, beyond, i in hard:
        worst[rows.units[i]] = max(worst.get(rows.units[i], HELD / NOISE), float(beyond[:, i].max(initial=0.0)))
    for rows, beyond, i in hard:
        knots = np.flatnonzero(beyond[:, i] > NOISE * worst[rows.units[i]])
        if len(knots):
            most = int(beyond[:, i].argmax())
            excess = float(beyond[most, i])
            amount = f" by {rounded_up(excess)}{unit_of(solution, rows, most, i)}" if amounts else ""
            at = f"knot {most}{time_words(solution, most)}" if len(knots) == 1 else f"knots {runs(knots)}"
            found.append((-float(beyond.max()), -excess, f"{rows.title(i)!r}{amount} at {at}"))
    return [words for *_, words in sorted(found)]


def opposed(solution: Solution, constraints: Sequence[ConstraintRows]) -> str:
    """Names the violated rows, which may exclude each other, and what to relax; empty if none is violated."""
    relaxed = relaxation(solution, constraints)
    if not relaxed:
        return ""
    ordered = by_violation(constraints)
    names = [repr(rows.title(rows.largest(excesses(rows))[1])) for rows in ordered[:MOST]]
    if nearly_met(constraints):
        knot, row, excess = ordered[0].largest(excesses(ordered[0]))
        unit = unit_of(solution, ordered[0], knot, row)
        return f"{' and '.join(names)}, but by {excess:.2g}{unit} at most, little beside its size"
    alone = "may contradict the dynamics or other bounds"
    return f"{' and '.join(names)} {'may exclude each other' if len(names) > 1 else alone}: {relaxed}"


def softening(constraints: Sequence[ConstraintRows]) -> str:
    """Advises to soften the violated constraints, with code for the worst; empty if none is violated."""
    names = list(dict.fromkeys(constraint_of(rows.name) for rows in by_violation(constraints)))
    if not names:
        return ""
    more = f", likewise {_together([repr(name) for name in names[1:]])}" if names[1:] else ""
    return f'soften it with a slack: add("{names[0]}", ..., soft=(linear, quadratic)){more}'


def _in_the_way(constraints: Sequence[ConstraintRows], first: ConstraintRows, knot: int) -> list[str]:
    """Lists other constraints that are at their bounds before a knot, those at most knots first."""
    lines = []
    for rows in constraints:
        count = int(held_back(rows)[: knot + 1].any(axis=1).sum())
        if rows is not first and count:
            total = int((rows.knots <= knot).sum())
            lines.append((count, f"{rows.name!r} at {count} of {total} knot{'' if total == 1 else 's'}"))
    return [words for _, words in sorted(lines, reverse=True)[:3]]
