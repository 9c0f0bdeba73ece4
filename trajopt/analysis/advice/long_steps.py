"""Advice on steps that are too long: rows that are violated between knots, and errors of the integrator."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trajopt.actions.integrated import IntegratedActionModelEuler
from trajopt.analysis.advice.constraints import by_violation
from trajopt.analysis.basics import time_words
from trajopt.analysis.between_knots import ViolatedBetween, may_have_stages
from trajopt.analysis.constraints import ConstraintRows
from trajopt.analysis.step_errors import ranges
from trajopt.errors import TrajoptError
from trajopt.solution.solution import Solution

SHORTER = 20
"""Number of steps a knot in which the controls of Euler's steps are played back [-]."""
SMALL = 1e-6
"""Deviation at the end that is left out, relative to the range of the coordinate [-]."""
STAGES = ', or rows="stages" of the integrator (of a gait: of GaitOptions)'


def advice_on_steps(solution: Solution, constraints: Sequence[ConstraintRows]) -> list[str]:
    """All advice on the steps of a converged solution.

    Args:
        solution: The solution.
        constraints: Its constraints, see `constraint_rows`.
    """
    return [*smaller_steps(solution), *_violated_after_the_solve(solution, constraints), *_inaccurate_steps(solution)]


def smaller_steps(solution: Solution) -> list[str]:
    """Advice for each constraint that is violated between knots."""
    wall = "; for a thin wall, constrain the place of one knot"
    between = solution.description.between
    euler = _of_euler(solution) if between else ""
    return [
        f"between knots {each.places}{time_words(solution, each.knot)} {each.title!r} is violated by "
        f"{each.size}: {_shorter(solution)}, or a larger margin{STAGES * each.stages}{wall * _is_wall(each)}"
        f"{euler}"
        for each in between
    ]


def _of_euler(solution: Solution) -> str:
    """Further advice for Euler's steps of a length that the solver chose, as long ones as it could."""
    euler = any(isinstance(model, IntegratedActionModelEuler) for model in solution.description.models[:-1])
    if not (euler and _chosen(solution)):
        return ""
    return (
        f"; such steps of Euler's method may miss limits and goals besides, {_missed(solution)}: "
        "IntegratedActionModelRK4 is more accurate"
    )


def _missed(solution: Solution) -> str:
    """Words for the largest deviations of all knots and of the end, under the same controls in shorter steps."""
    unknown = f"analysis.replay(solution, {SHORTER}) shows by how much"
    if solution.problem is None:
        return unknown
    from trajopt.analysis.replays import replay  # with the simulator, which takes long to import

    try:
        finer = replay(solution, SHORTER, feedback="open").xs
    except TrajoptError:  # a model has no value on the way
        return unknown
    state = solution.problem.state
    missed = np.abs([state.difference(*pair) for pair in zip(solution.xs, finer)])
    parts = missed / ranges(state, solution.xs)
    knot = int(parts.max(axis=1).argmax())
    at_end = knot == len(parts) - 1 or parts[-1].max() < SMALL
    places = [(knot, f"at knot {knot}{time_words(solution, knot)}")] + [(-1, "at the end")] * (not at_end)
    words = []
    for t, place in places:
        most = int(parts[t].argmax())
        unit = f" {state.tangent_units[most]}".replace(" -", "")
        words.append(f"{missed[t, most]:.2g}{unit} in {state.tangent_names[most]!r} {place}")
    return f"here by {' and '.join(words)}, as analysis.replay(solution, {SHORTER}, feedback='open') shows"


def _violated_after_the_solve(solution: Solution, constraints: Sequence[ConstraintRows]) -> list[str]:
    """Advice if the knots of a solve were divided and constraints are violated at those that were added."""
    if "constraints" in solution.multipliers or not by_violation(constraints):
        return []
    model = solution.description.models[0] if solution.description.models else None
    stages = STAGES if may_have_stages(model) else ""
    return [f"constraints hold at the knots of the solve only: {_shorter(solution)}, or a larger margin{stages} there"]


def _inaccurate_steps(solution: Solution) -> list[str]:
    """Advice if errors of the integrator matter for the motion; otherwise empty."""
    error = solution.description.step_error
    if error is None:
        return []
    unit, end_unit = f" {error.unit}".rstrip(), f" {error.end_unit}".rstrip()
    if error.first_order:
        part = f"{100 * error.deviation / error.scale:.2g} %" if error.scale else f"{error.deviation:.2g}{end_unit}"
        sums = f"to follow it in shorter steps, the controls must change by {part} in the mean, {error.end_name!r} most"
    elif error.deviation > error.scale:
        sums = f"in shorter steps the same controls miss the end in {error.end_name!r} by more than its whole range"
        sums += f" ({error.scale:.2g}{end_unit})"
    else:
        sums = f"in shorter steps the same controls miss the end by {error.deviation:.2g}{end_unit} in"
        sums += f" {error.end_name!r}"
    cure = "more knots, with a smaller dt" if _chosen(solution) else "shorter steps (dt), with more knots"
    return [
        f"steps are too long for this motion: {sums}; a single step errs most between knots {error.knot} and "
        f"{error.knot + 1}{time_words(solution, error.knot)}, by {error.error:.2g}{unit} in {error.name!r}: take {cure}"
        f"{', or IntegratedActionModelRK4' if error.euler else ''}"
    ]


def _is_wall(violated: ViolatedBetween) -> bool:
    """Whether a row may be a distance from an obstacle."""
    return violated.unit in ("m", "m²", "") and not violated.coordinate


def _shorter(solution: Solution) -> str:
    return "bound the free dt from above" if _chosen(solution) else "take shorter steps"


def _chosen(solution: Solution) -> bool:
    """Whether the solver chose the time step."""
    return any(name.rpartition(".")[2] == "dt" for name in solution.unknowns)
