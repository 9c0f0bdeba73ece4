"""Text about limits of states and controls that a motion exceeds, or that look like placeholders."""

from __future__ import annotations

from collections.abc import Sequence

from trajopt.analysis.constraints import named_rows
from trajopt.analysis.limits import LimitUse, limit_uses, placeholders
from trajopt.constraints.row_block import constraint_of
from trajopt.solution.solution import Solution

MOST_LIMITS = 8
"""Largest number of listed limits."""


def exceeded(solution: Solution) -> list[LimitUse]:
    """Returns exceeded limits, the worst first, without bounds of constraints."""
    return [use for use in limit_uses(solution) if use.knots and not use.constrained]


def limit_lines(over: Sequence[LimitUse]) -> list[str]:
    """Returns lines about exceeded limits; empty if all limits hold."""
    if not over:
        return []
    more = [f"    and {len(over) - MOST_LIMITS} more"] if len(over) > MOST_LIMITS else []
    return [
        f"  limits exceeded ({len(over)}):",
        *(f"    {use}" for use in over[:MOST_LIMITS]),
        *more,
    ]


def placeholder_advice(solution: Solution) -> list[str]:
    """Returns advice about limits that are constraints and look like placeholders."""
    uses = [use for use in limit_uses(solution) if use.constrained]
    return [
        f"{words} look like placeholders of the robot's file: set true ones with "
        + _setting(solution, [use for use in uses if words.startswith(use.quantity)])
        for words in placeholders(uses)
    ]


def cures_of_limits(solution: Solution, over: Sequence[LimitUse]) -> list[str]:
    """Returns advice for limits that are not constraints, or not at their knot, or whose constraints are wider."""
    idle, wide = {use.quantity for use in over if not (use.bounded or use.partly)}, [use for use in over if use.bounded]
    cures = [_constraints_instead(solution, idle)] if idle else []
    partly = [use for use in over if use.partly]
    if partly:
        names, knots = ", ".join(sorted({use.quantity for use in partly})), sorted({use.knot for use in partly})
        where = "at the end" if knots == [len(solution.us)] else f"at knot {knots[0]}"
        cures.append(
            f"limits of {names} are constraints at other knots, but not {where}: add them there too"
            + (f", {_END_LIMITS if solution.robot else _END_ROWS}" if knots[-1] == len(solution.us) else "")
        )
    if wide:
        cures.append(
            f"bounds of constraints on {', '.join(sorted({use.quantity for use in wide}))} are wider than these "
            f"limits: narrow them with {_setting(solution, wide)}"
        )
    return cures


_END_LIMITS = "ActionModelTerminal(costs, constraints=ConstraintStack.of_robot(state))"
_END_ROWS = "ActionModelTerminal(costs, constraints=...)"


def _constraints_instead(solution: Solution, quantities: set[str]) -> str:
    """Code that turns limits of these quantities into constraints, or a solver that enforces them."""
    controls = quantities <= {"control", "force", "torque"} and not any(
        name.startswith("a:") for name in solution.control_names
    )
    if solution.description.schedule is not None:
        code = "gait_problem(..., limits=True)"
    elif solution.robot is not None:
        code = "constraints=ConstraintStack.of_robot(state, actuation) of the dynamics"
    elif controls:
        code = 'ConstraintStack(state).add("limits", ResidualModelControl(state), lower=..., upper=...)'
    else:
        code = 'ConstraintStack(state).add("limits", ResidualModelState(state), lower=..., upper=...)'
    box = ", or SolverBoxFDDP, which keeps lower and upper of the controls" if controls else ""
    named = ", ".join(sorted(quantities))
    return (
        f"limits are enforced only as constraints: {code}, with SolverSQP{box}; otherwise give {named} more "
        "weight in the cost, or more time for the motion"
    )


def _setting(solution: Solution, uses: Sequence[LimitUse]) -> str:
    """Code that sets the bounds of the constraints on the coordinates and controls of some limits."""
    limited = {(use.name.rpartition(" ")[2], use.unit) for use in uses}
    names = [
        constraint_of(rows.name)
        for rows in named_rows(solution)
        if any((row.rpartition(":")[2], unit) in limited for row, unit in zip(rows.rows, rows.units))
    ]
    first, *others = dict.fromkeys(names) if names else ["NAME"]
    more = f", likewise for {', '.join(map(repr, others))}" if others else ""
    return f'problem.set_parameter("{first}.lower", ...) and "{first}.upper"{more}'
