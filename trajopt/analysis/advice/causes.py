"""Causes of a failure that are known from the problem alone, which neither other guesses nor iterations mend."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trajopt.actions.integrated.base import LONG
from trajopt.analysis.advice.blocked_goals import blocked_goals
from trajopt.analysis.advice.constraints import moving_the_start
from trajopt.analysis.advice.dead_ends import dead_end
from trajopt.analysis.advice.missed_goals import far_goals
from trajopt.analysis.advice.resting import cannot_rest
from trajopt.analysis.advice.too_fast import too_fast
from trajopt.analysis.constraints import ConstraintRows
from trajopt.analysis.contradictions import BEYOND, FROM_START
from trajopt.analysis.goals import asked_steps
from trajopt.residuals import ResidualModelState
from trajopt.residuals.state import whole_states
from trajopt.solution.solution import Solution
from trajopt.states.degrees import looks_like_degrees


def causes(solution: Solution, constraints: Sequence[ConstraintRows]) -> list[str]:
    """Returns a sentence with its cure for each known cause, the first kind that there is; empty if none is known.

    Proofs that constraints exclude each other come first, but for those that say less: about x0 than where to move it,
    and by reachable states, which know no cure, than another cause.

    Args:
        solution: A solution that has not converged.
        constraints: Its constraints.
    """
    proofs = solution.description.contradictions
    start = moving_the_start(solution, constraints)
    if start and all(FROM_START in proof for proof in proofs):
        return [start, *proofs]
    if proofs and not all(BEYOND in proof for proof in proofs):
        return list(proofs)
    kinds = (far_goals, too_fast, long_steps, _weak, blocked_goals)
    found = next((found for kind in kinds if (found := kind(solution))), [])
    cures = dead_end(solution, constraints, proved=True) if proofs and not found else []
    return [*found, *proofs, *cures]


def in_degrees(solution: Solution) -> list[str]:
    """Returns a sentence on an angle of x0, or else of a reference, that looks like degrees; empty if none does."""
    description = solution.description
    state = description.state
    if state is None:
        return []
    if words := looks_like_degrees(state, solution.x0) if description.start == "fixed" else "":
        return [f"x0: {words}"]
    for item in description.items:
        if not isinstance(item.residual, ResidualModelState):
            continue
        steps = asked_steps(item, item.residual, description.values, state.ndx)
        references = whole_states(description.values[f"{item.name}.reference"], solution.xs)
        for t in np.flatnonzero(np.isfinite(steps).any(axis=1)).tolist():
            asked = np.flatnonzero(np.isfinite(steps[t])).tolist()
            if words := looks_like_degrees(state, state.integrate(references[t], np.nan_to_num(steps[t])), asked):
                return [f"the reference of {item.name!r}: {words}"]
    return []


def _weak(solution: Solution) -> list[str]:
    """Postures that the motors of a robot cannot hold; an own model may be one that is not to be held."""
    return cannot_rest(solution) if solution.robot is not None else []


def long_steps(solution: Solution) -> list[str]:
    """Returns a sentence if the time steps of a robot are so long that their unit is in doubt."""
    times = solution.times
    if solution.robot is None or times is None or len(times) < 2 or solution.description.step_unit != "s":
        return []
    longest = float(np.diff(times).max())
    if longest <= LONG:
        return []
    return [
        f"a time step of {longest:.4g} s is long for a robot, and the motion lasts {times[-1]:.4g} s; the unit of dt "
        "is seconds, so try 0.01"
    ]
