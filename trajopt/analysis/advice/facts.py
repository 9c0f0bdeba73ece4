"""Facts of a solution for advice: gaps that are left, black boxes, and solvers that take its problem."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from trajopt.actions.expression import ActionModelExpression
from trajopt.analysis.advice.neglected_curvature import left_out
from trajopt.analysis.constraints import HELD
from trajopt.errors import TrajoptError
from trajopt.solution.record import IterationRecord
from trajopt.solution.solution import Solution

SHORT = 0.25
"""Step length up to which steps count as short [-]."""
VISIBLE = 0.2
"""Curvature that is left out, beside that of Gauss-Newton's Hessian, from which on its source is named [-]."""
LOST = 10.0
"""Times the decrease that was promised by which the merit rises where a rollout has lost the guess [-]."""


def gap_left(solution: Solution) -> str:
    """The largest gap in words, of a trajectory that its controls don't lead along; empty without any, or unknown."""
    try:
        gaps = np.abs(solution.gaps()).max(axis=1, initial=0.0)
    except TrajoptError:  # a black box that fails on the trajectory; or there is no problem
        return ""
    knot = int(gaps.argmax())
    if not gaps[knot] > HELD:
        return ""
    times = solution.times
    time = "" if times is None else f" ({times[knot]:.3g} s)"
    return f"the dynamics are left with a gap of {gaps[knot]:.2g} before knot {knot}{time}"


def has_black_boxes(solution: Solution) -> bool:
    """Whether a knot of the problem is no expression; a file doesn't tell, and counts as none."""
    return any(not isinstance(model, ActionModelExpression) for model in solution.description.models)


def curvature_left_out(solution: Solution) -> str:
    """Advice where steps were short as the cost is more curved along them than in their Hessian; empty elsewhere."""
    recent = solution.history[-10:]
    known = solution.solver in ("SolverDDP", "SolverFDDP")
    if not (known and recent) or any(math.isnan(record.blend) for record in recent):
        return ""
    length = float(np.median([record.step_length for record in recent]))
    if length > SHORT:
        return ""
    if any(record.blend > 0.0 for record in solution.history):
        return (
            f"steps were cut to {length:.2g} though exact Hessians were taken where they were convex: the cost is not "
            "convex here; try another guess, or a smaller weight of the largest term"
        )
    options = f"{solution.solver.removeprefix('Solver')}Options"
    cure = f'{options}(hessian="exact") takes the exact one, or along a parabola'
    if not _has_exact_hessians(solution):
        cure = f"{options}(initial_regularization=2.0) damps it, as such models have no exact one"
    return (
        f"steps were cut to {length:.2g}: along them the cost is about {1.0 / length:.0f} times as curved as in "
        f"Gauss-Newton's Hessian, which leaves out the bends of residuals and dynamics{_source(solution)}; "
        f"{_ratio(recent)}{cure}"
    )


def _source(solution: Solution) -> str:
    """The part that most of what Gauss-Newton leaves out comes from, in words; empty where that is not seen."""
    try:
        found = left_out(solution)
    except TrajoptError:  # a black box that fails on the trajectory
        return ""
    if found is None or not found.total > VISIBLE * found.promised:
        return ""
    name, most = next(iter(found.sources.items()))
    share = most / sum(each for each in found.sources.values() if each > 0.0)
    return f" (along the last direction {100.0 * share:.0f} % of that comes from {name})"


def _ratio(recent: Sequence[IterationRecord]) -> str:
    """Part of the promised decrease that came, in words; empty where the solver has not recorded it."""
    promised, came = (math.fsum(getattr(r, name) for r in recent) for name in ("expected_decrease", "decrease"))
    if not (math.isfinite(came) and promised > 0.0):
        return ""
    return (
        f"the last {len(recent)} steps brought {100.0 * came / promised:.0f} % of what it promised for their length; "
    )


def _has_exact_hessians(solution: Solution) -> bool:
    """Whether all models of the problem have them; a file doesn't tell, and counts as if."""
    models = solution.description.models
    return all(isinstance(model, ActionModelExpression) and model.has_lagrangian_hessian for model in models)


def guess_lost(solution: Solution) -> str:
    """Advice where the first rollout of SolverSQP has left a guess that linear steps would keep; empty elsewhere."""
    if solution.solver != "SolverSQP" or len(solution.history) < 2:
        return ""
    first, second = solution.history[:2]
    rolled_out = first.gap_norm > HELD > second.gap_norm
    if not (rolled_out and first.decrease < -LOST * abs(first.expected_decrease)):
        return ""
    return (
        f"the first rollout left the guess: its merit was {-first.decrease:.2g} larger, where the program promised "
        f'{first.expected_decrease:.2g} less; SQPOptions(steps="linear") closes gaps knot by knot, and keeps to the '
        "states of the guess"
    )


def other_solvers(solution: Solution) -> str:
    """Other solvers that take the problem, as "SolverDDP and SolverSQP"; empty if there are none."""
    constrained = solution.description.constraint_names or solution.description.start != "fixed"
    names = ["SolverSQP"] if constrained else ["SolverDDP", "SolverFDDP", "SolverSQP"]
    return " and ".join(name for name in names if name != solution.solver)
