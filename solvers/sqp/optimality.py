"""Distance of a trajectory from optimality, and whether it can get closer to its constraints."""

from __future__ import annotations

import numpy as np

from trajopt.shooting.evaluator import Evaluator
from trajopt.solvers.norms import largest, total
from trajopt.solvers.options import SQPOptions
from trajopt.solvers.qp import QPSolution, QPStatus
from trajopt.solvers.sqp.merit import infeasibility
from trajopt.solvers.sqp.progress import SQPProgress
from trajopt.solvers.sqp.quadratic_model import QuadraticModel
from trajopt.solvers.sqp.rows import RowBounds

SLIGHT = 0.01  # part of the squared violations; a promise below it counts as none
PARTIAL = 0.03  # times relative_tolerance, where the last promise was too much: it is exact without rows
LEAST_COST = 1e-5  # times the typical cost: of what tolerances are relative to
LARGE = 100.0  # mean of the multipliers, of the scaled cost, beyond which stationarity is relative to it
FALLS = 0.5  # part of the last gradient below which it falls: a promise of nothing is no end then
LARGEST = 1e4  # times smaller than it is stationarity is taken at most: multipliers of a wild trajectory say nothing


def measure(run: SQPProgress, e: Evaluator, rows: RowBounds, model: QuadraticModel) -> None:
    """Computes gap, violation, infeasibility, stationarity and complementarity at the evaluator's trajectory.

    The last two are relative to the multipliers where these are large (Wächter, Biegler, On the implementation of an
    interior-point filter line-search algorithm, 2006, eq. 6).
    """
    units = run.units
    violations, run.violation, run.largest_violation, multiplier, product = rows.sizes(e.c, run.y, run.scale)
    run.gap, run.infeasibility = units.largest_gap(e), infeasibility(units.sum_of_gaps(e.f), violations)
    controls, start, costates = model.gradient(run)
    controls, costates = controls * units.controls, costates * units.states
    if start.size:
        start = start * units.states
    mean = (total(run.y * units.rows) + total(costates)) / (run.y.size + costates.size)
    large = min(max(mean / LARGE, 1.0), LARGEST)
    run.stationarity = (max(largest(controls), largest(start)) if start.size else largest(controls)) / large
    run.complementarity = product / max(large, multiplier / LARGE)  # as interior points end relative to it


def is_solved(
    run: SQPProgress,
    options: SQPOptions,
    found: QPSolution,
    promised: float,
    *,
    feasible: bool,
    partial: bool,
    last: float,
) -> bool:
    """Whether a trajectory is optimal: its gradient is small, or falls no more while programs promise next to nothing.

    Args:
        run: State of the solve, with the measures of the trajectory.
        options: With the tolerances.
        found: Solution of the last program.
        promised: Decrease of the merit that it promised.
        feasible: Whether gaps are closed.
        partial: Whether only a part of its step was taken.
        last: Stationarity before it.
    """
    size = max(LEAST_COST, abs(run.scale * run.cost))
    if not (feasible and run.violation < options.feasibility):
        return False
    if not run.complementarity < max(options.tolerance, options.feasibility) * min(1.0, size):
        return False
    solved = found.status in (QPStatus.SOLVED, QPStatus.ROUNDING) or options.qp_iterations is not None
    rounding = options.relative_tolerance * size * (PARTIAL if partial else 1.0)
    flat = solved and abs(promised) < rounding and not run.stationarity < FALLS * last
    return flat or run.stationarity < options.tolerance * min(1.0, size)


def cannot_get_closer(
    run: SQPProgress, e: Evaluator, rows: RowBounds, model: QuadraticModel, options: SQPOptions
) -> bool:
    """Whether rows are violated, and no change of the controls within limits would help.

    What they promise is the largest decrease of Σ ½ w v² to first order, with v the violations and w the stiffness of
    their rows, as the penalty weighs them; each control moves by at most its value or its size, each coordinate of a
    chosen start by its size.
    """
    if run.violation <= options.feasibility:
        return False
    v, w = rows.beyond(e.c), rows.start_beyond()
    stiff, weighed = run.units.stiffness * v, w / run.units.states**2
    controls, start = model.slope_of_violation(stiff, weighed)
    room = np.maximum(run.units.controls, np.abs(e.us))
    up, down = np.minimum(rows.u_upper - e.us, room), np.maximum(rows.u_lower - e.us, -room)
    promised = np.where(controls < 0.0, -controls * up, -controls * down).sum()
    if start.size:
        promised += (np.abs(start) * run.units.states).sum()
    return bool(promised < SLIGHT * ((stiff * v).sum() + (w * weighed).sum()))
