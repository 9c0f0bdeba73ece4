"""Progress of the iterations that led to the returned motion; other attempts of a solver count for nothing here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

from trajopt.analysis.advice.facts import more_time
from trajopt.analysis.constraints import HELD
from trajopt.analysis.gaps import no_motion
from trajopt.solution.record import IterationRecord
from trajopt.solution.solution import Solution

RECENT = 10
"""Number of last iterations that count [-]."""
FALL, SHRINKAGE = 1e-3, 0.1
"""Falls of the cost, and of the largest violation, over these iterations that are worth more of them [-]."""
LATEST = 3
"""Number of last iterations in which violations must still fall at the same rate: a stuck attempt ends there."""
MOST_METHODS = 4
"""Largest number of listed turns of methods."""
_METHODS = {"policy": "rollouts", "linear": "along lines", "interior": "by interior points"}
_SAME = 1e-9  # relative difference of equal costs [-]


def last_records(solution: Solution) -> Sequence[IterationRecord]:
    """Last ten records of the attempt that returned the motion, up to it; all of them if none has its cost."""
    history = solution.history
    ends = [i for i, record in enumerate(history) if math.isclose(record.cost, solution.cost, rel_tol=_SAME)]
    end = ends[-1] if ends else len(history) - 1
    return [record for record in history[: end + 1] if record.attempt == history[end].attempt][-RECENT:]


def going_on(solution: Solution) -> list[str]:
    """Advice to go on with a solve: violations or the cost still fell, or later attempts used up the iterations."""
    recent, history = last_records(solution), solution.history
    if len(recent) < 2:
        return []
    gaps = bool(no_motion(solution))
    before = max(0, len(recent) - 1 - LATEST)
    first, middle, last = (_infeasibility(recent[i], gaps=gaps) for i in (0, before, -1))
    latest, end = recent[-1] is history[-1], recent[-1].iteration
    count = f"in the last {len(recent)} iterations{'' if latest else f' up to {end}, which led to this motion'}"
    cure = "raise max_iterations, or start from a better guess" if latest else "solver.solve(solution) goes on from it"
    if last > HELD:
        fell = last < (1.0 - SHRINKAGE) * first and last < (1.0 - SHRINKAGE * LATEST / RECENT) * middle
        what = "gaps and violations" if gaps else "violations"
        return [f"{what} still fell by {100.0 * (1.0 - last / first):.0f} % {count}: {cure}"] if fell else []
    held = [record.cost for record in recent if _infeasibility(record, gaps=gaps) <= HELD]
    fall = held[0] - held[-1]
    if fall > FALL * abs(held[-1]):
        return [f"the cost still fell by {fall:.2g} {count}: {cure}"]
    if recent[-1].attempt == history[-1].attempt:
        return []
    return [
        f"the motion is that of iteration {recent[-1].iteration}, and no later attempt from another guess found a "
        "better one: solver.solve(solution) goes on from it"
    ]


def stagnation(solution: Solution) -> str:
    """Text that a problem may be infeasible, where all of several attempts ended at violations; empty elsewhere.

    The last attempt does not count, as it was cut short.
    """
    ended = [list(records)[-1] for _, records in groupby(solution.history, key=lambda each: each.attempt)][:-1]
    least = min((_infeasibility(record, gaps=True) for record in ended), default=0.0)
    if len(ended) < 2 or least <= HELD:
        return ""
    return (
        f"the problem may be infeasible: the violations stopped falling in {len(ended)} attempts, in none below "
        f"{least:.2g}; relax a limit{more_time(solution, ', or ', '')}"
    )


def _infeasibility(record: IterationRecord, *, gaps: bool) -> float:
    """Largest violation after an iteration, and, with `gaps`, largest gap before it."""
    sizes = [record.constraint_violation, *([record.gap_norm] if gaps else [])]
    return max((size for size in sizes if math.isfinite(size)), default=0.0)


def method_lines(solution: Solution) -> list[str]:
    """Methods of SolverSQP that took the steps, one after the other or, if many, together; nothing for one method."""
    taken = [record.method for record in solution.history if record.method in _METHODS]
    runs = [(method, len(list(run))) for method, run in groupby(taken)]
    if len(runs) > MOST_METHODS:
        attempts = len({record.attempt for record in solution.history})
        words = [f"{taken.count(method)} {name}" for method, name in _METHODS.items() if method in taken]
        return [f"  steps: {attempts} attempts, with {', '.join(words)} in all"]
    steps = [f"{count} {_METHODS[method]}" for method, count in runs]
    return [f"  steps: {', then '.join(steps)}"] if len(steps) > 1 else []
