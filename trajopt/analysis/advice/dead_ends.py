"""Advice on solves that end where constraints are violated: as INFEASIBLE or STALLED."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from trajopt.analysis import ConstraintRows
from trajopt.analysis.advice.constraints import (
    beyond_or_at,
    by_violation,
    held_knots,
    sizes_by_unit,
    time_may_help,
)
from trajopt.analysis.advice.facts import gap_left, grown_derivatives, more_guesses, more_time, tried_guesses
from trajopt.analysis.advice.relaxation import relaxation, softening
from trajopt.analysis.gaps import no_motion
from trajopt.constraints.row_block import constraint_of
from trajopt.solution.record import SolverStatus
from trajopt.solution.solution import Solution

ONE_GUESS = {"SolverIpopt": "IPOPT", "SolverFatrop": "fatrop"}
"""Solvers that try one guess, by name."""
RATES = ("N m", "N", "rad/s", "m/s")
"""Units of limits of motors."""
NARROW = 1e-2
"""Bounds below this fraction of the sizes of their units are tolerances, and no limits of motors [-]."""
OFTEN = 0.05
"""Part of the knots from which a constraint is often at its bounds [-]."""
_ENDS = (SolverStatus.INFEASIBLE, SolverStatus.STALLED)
_NEITHER = "constraints and dynamics contradict one another"


def dead_end(solution: Solution, constraints: Sequence[ConstraintRows], *, proved: bool = False) -> list[str]:
    """Returns advice on a solve that ended at violated constraints: other guesses, what to relax or to soften.

    Args:
        solution: The solution.
        constraints: Its constraints.
        proved: Whether no other motion satisfies all constraints.
    """
    grown = grown_derivatives(solution)
    cure = softening(constraints) or "soften a constraint: add(..., soft=(linear, quadratic))"
    longer = more_time(solution, after="") if time_may_help(constraints) else ""
    fast = _often_held(constraints) if longer else None
    return [
        *([f"{longer}: {_often(fast)}"] if fast else []),
        *([grown] if grown else []),
        *([] if proved else [_doubt(solution)]),
        f"{_to_relax(solution, constraints, proved=proved)}; or {cure}",
    ]


def looser_first(solution: Solution, constraints: Sequence[ConstraintRows]) -> list[str]:
    """Returns advice to begin with wider limits of motors where a solve without a motion is often at them.

    It is empty where attempts end at violations of such limits themselves, and not of goals alone.

    Args:
        solution: The solution.
        constraints: Its constraints.
    """
    missed = [rows for rows in constraints if not rows.soft and (rows.violated & rows.enforced).any()]
    most = _often_held(constraints)
    if most is None or not (missed or no_motion(solution)):
        return []
    if solution.status in _ENDS and _limits(by_violation(missed)):
        return []
    name = constraint_of(most.name)
    sides = [side for side in ("lower", "upper") if np.isfinite(getattr(most, side)).any()]
    names = ", ".join(f'"{name}.{side}"' for side in sides)
    values = ", ".join(f"k * {side}" for side in sides)
    first, each = (f"({names})", f"({values})") if len(sides) > 1 else (names, values)
    return [
        f"{_often(most)}: begin with wider ones, and let each solution be the next guess: continuation(solver, "
        f"{first}, [{each} for k in (2.0, 1.4, 1.0)])"
    ]


def _often_held(constraints: Sequence[ConstraintRows]) -> ConstraintRows | None:
    """The limit of motors that is at its bounds or beyond at most knots; None if none is often."""
    most = max(_limits(constraints), key=held_knots, default=None)
    return None if most is None or held_knots(most) < max(1.0, OFTEN * len(most.knots)) else most


def _limits(constraints: Sequence[ConstraintRows]) -> list[ConstraintRows]:
    """Hard limits of motors."""
    sizes = sizes_by_unit(constraints)
    return [
        rows
        for rows in constraints
        if set(rows.units) & set(RATES) and not rows.soft and _widens(rows) and not _tolerance(rows, sizes)
    ]


def _often(rows: ConstraintRows) -> str:
    """Text on how often a limit is at its bounds or beyond."""
    return f"{constraint_of(rows.name)!r} is {_where(rows)} at {held_knots(rows)} of {len(rows.knots)} knots"


def _where(rows: ConstraintRows) -> str:
    """Text on the sides of the knots of `held_knots`: at the bounds, beyond them, or both."""
    beyond = int((beyond_or_at(rows) & rows.violated).any(axis=1).sum())
    if not beyond:
        return "at its bounds"
    return "beyond its bounds" if beyond == held_knots(rows) else "at its bounds or beyond"


def _widens(rows: ConstraintRows) -> bool:
    """Whether larger multiples of the bounds are wider, as those of limits on both sides of zero are."""
    return bool(
        np.all((rows.lower < 0.0) | ~np.isfinite(rows.lower)) and np.all((rows.upper > 0.0) | ~np.isfinite(rows.upper))
    )


def _tolerance(rows: ConstraintRows, sizes: Mapping[str, float]) -> bool:
    """Whether bounds are the tolerance of a goal, narrow beside other rows of their unit, and not limits."""
    ends = np.maximum(*(np.where(np.isfinite(bound), np.abs(bound), 0.0) for bound in (rows.lower, rows.upper)))
    return all(width <= NARROW * sizes[unit] for width, unit in zip(ends.max(axis=0), rows.units))


def _doubt(solution: Solution) -> str:
    """Text that the verdict is none on other motions."""
    if solution.solver in ONE_GUESS:
        return (
            f"{ONE_GUESS[solution.solver]} started from one guess, and its verdict is local: motions elsewhere may "
            f"satisfy all constraints; try another guess, or SolverSQP; {more_guesses(solution)}"
        )
    if starts := tried_guesses(solution):
        return f"this is no proof: motions other than those from these {starts} guesses may satisfy all constraints"
    return f"this is no proof: {more_guesses(solution)} as well"


def _to_relax(solution: Solution, constraints: Sequence[ConstraintRows], *, proved: bool) -> str:
    """Advice on the constraint to relax, or on gaps that are left."""
    relaxed, gap = relaxation(solution, constraints), gap_left(solution)
    if relaxed and proved:
        return relaxed + (more_time(solution, ", or ", "") if time_may_help(constraints) else "")
    if relaxed and solution.status is SolverStatus.INFEASIBLE:
        return f"to first order no change of the controls reduces the violation: {relaxed}"
    if relaxed:
        return f"the attempts end at different violations, so the least one is unknown: {relaxed}"
    return f"{gap}: no motion was found that satisfies all constraints" if gap else _NEITHER
