"""Controls that a box solver holds at limits; their gradient is the multiplier of the limit, not an error."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trajopt.analysis.advice.constraints import MOST
from trajopt.analysis.basics import control_name, runs
from trajopt.analysis.touching import TOUCH
from trajopt.solution.solution import Solution
from trajopt.types import Reals

_BOX_SOLVERS = ("SolverBoxDDP", "SolverBoxFDDP")


def clamped_controls(solution: Solution, slope: Reals) -> npt.NDArray[np.bool_]:
    """Returns whether each control is held at a limit by a box solver, while the cost would fall beyond it, (T, nu).

    Args:
        solution: The solution.
        slope: Its stationarity (T, nu) [cost per unit of u].
    """
    us = solution.us
    if solution.solver not in _BOX_SOLVERS:
        return np.zeros(us.shape, dtype=np.bool_)
    lower, upper = np.full(us.shape, -np.inf), np.full(us.shape, np.inf)
    for t, model in enumerate(solution.description.models[:-1]):
        lower[t, : model.nu], upper[t, : model.nu] = model.lower, model.upper
    low = np.isfinite(lower) & (us - lower <= TOUCH * np.maximum(1.0, np.abs(lower))) & (slope > 0.0)
    high = np.isfinite(upper) & (upper - us <= TOUCH * np.maximum(1.0, np.abs(upper))) & (slope < 0.0)
    return np.asarray(low | high)


def clamped_words(solution: Solution, clamped: npt.NDArray[np.bool_]) -> list[str]:
    """Returns a line of text for each control at a limit, those at most knots first; empty if there are none.

    Args:
        solution: The solution.
        clamped: Result of `clamped_controls` (T, nu).
    """
    counts = clamped.sum(axis=0)
    order = [int(i) for i in np.argsort(-counts, kind="stable") if counts[i]]
    lines = []
    for i in order[:MOST]:
        knots, name = np.flatnonzero(clamped[:, i]), control_name(solution, i)
        lines.append(f"  limit of {name!r} is active at {len(knots)} of {len(clamped)} knots ({runs(knots)})")
    return [*lines, *([f"  and of {len(order) - MOST} more controls"] if len(order) > MOST else [])]
