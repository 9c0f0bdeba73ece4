"""Numbers of each lane: costs, regularisation, flags; and the numbers of the rules, which all lanes share.

They are vectors in the arrays of `LaneMemory`, with one name for each element, so that formulas in machine code and
Python read and write the same memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from casadi import SX

from trajopt.solvers.options import DDPOptions, FDDPOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

STATE = (
    *("rho_now", "rho_on_value", "with_gaps", "moves"),
    *("active", "iterations", "cost", "rho", "unit", "feasible", "was_feasible", "fresh", "confirmed", "first_scale"),
    *("loose", "rolled_cost", "rolled_scale", "crawled", "promised", "steady", "ridge", "part", "beaten", "pause"),
    *("lowered", "left", "failed", "searches", "tried", "blend", "exact_decrease", "used", "lost", "code"),
)
"""State of a solve, as in `RolloutProgress` and `Curvature`; flags are 0 or 1.

rho_now, rho_on_value, with_gaps: ρ of a backward pass, ρ on V, and whether gaps count.
moves: Whether the trial replaces the trajectory.
active: Whether the lane solves a row.
iterations: Iterations begun.
cost: Cost of the trajectory [cost].
rho: Regularisation in units of `unit` [-].
unit: Unit h of the regularisation.
feasible: Whether the trajectory is a rollout.
was_feasible: Whether the last accepted step started from a rollout.
fresh: Whether the trajectory has changed since the last expansion.
confirmed: Whether the direction was computed with the smallest ρ that gives one.
first_scale: S1 of the options [cost]; 0 before there was a rollout.
loose: Bound of the tolerance that follows from it, or -1 [cost].
rolled_cost, rolled_scale: Cost of the rollout of a guess with gaps, infinite if it diverges, and Σ|l_t| of it [cost].
crawled: Short or poor steps so far.
promised: Predicted decrease of the last direction [cost].
steady: Steps in a row that say that many are left.
ridge: ρ of the next exact direction, in units of `unit` [-].
part: Number of the first part θ of the exact Hessian to try, see `curvature.BLENDS`.
beaten: Exact directions in a row that Gauss-Newton's were better than.
pause: Iterations for which no exact direction is tried.
lowered: Whether ρ was lowered to confirm a small gradient.
left: Whether a further backward pass is needed.
failed: Whether there is no direction, for any regularisation that is allowed.
searches: Whether the next search is for this lane.
tried: Whether an exact direction was computed, or tried.
blend: Part θ of the exact Hessian; 0 for Gauss-Newton's direction.
exact_decrease: Σ Qu · k of the exact direction [cost].
used: ρ of the step, in units of `unit` [-].
lost: Whether a guess with gaps may be replaced by its rollout, as no step was accepted.
code: Index in `STATUSES` of why the solve ends; 0 if it goes on.
"""

SEARCH = ("alpha", "number", "phase", "accepted", "length", "cost", "decrease", "expected", "unbounded", "left")
"""State of a search: step length of the next trial, its number in the list, FIRST, GROWS or AGAIN; then the outcome,
see `LineStep`; and whether the lane needs a further trial."""
FIRST, GROWS, AGAIN = 0.0, 1.0, 2.0

PROMISE = ("d0", "d1", "scale", "least", "open", "cost", "feasible", "excess")
"""Decrease of the cost that a direction predicts, see `acceptance.Promise`; whether a step of length α closes the part
α of the gaps only; cost and feasibility before the step; a full step that brings `excess` times what it promised is
tried longer."""

TRIAL = ("cost", "scale", "open", "square")
"""Sums over the knots of a trial: l_t, |l_t|, V f · dx of gaps that remain open, and xᵀx."""

RECORD = (
    *("iteration", "cost", "feasible", "accepted", "step_length", "expected_decrease", "decrease"),
    *("stop", "regularization", "gap_norm", "blend"),
)
"""Numbers of an iteration, see `IterationRecord`."""

RULES = (
    *("acceptance", "negative_acceptance", "negligible", "relative_negligible", "growth"),
    *("min_regularization", "max_regularization", "increase", "decrease", "tolerance", "relative_tolerance"),
    *("confirm_gradient", "regularize_value", "rollout_on_failure", "rollout_margin", "good_step", "bad_step"),
    *("max_iterations", "exact"),
)
"""Numbers of the rules, from the options; `exact` says whether solves may turn to exact Hessians."""


def rule_numbers(o: DDPOptions, *, exact: bool) -> tuple[float, ...]:
    """Values of `RULES`."""
    values: Mapping[str, float] = {
        "acceptance": o.acceptance,
        "negative_acceptance": o.negative_acceptance if isinstance(o, FDDPOptions) else 0.0,
        "negligible": o.gradient_tolerance,
        "relative_negligible": 1e-3 * o.relative_tolerance,
        "growth": o.step_growth,
        "min_regularization": o.min_regularization,
        "max_regularization": o.max_regularization,
        "increase": o.regularization_increase,
        "decrease": o.regularization_decrease,
        "tolerance": o.tolerance,
        "relative_tolerance": o.relative_tolerance,
        "confirm_gradient": o.confirm_gradient,
        "regularize_value": o.regularize_value,
        "rollout_on_failure": o.rollout_on_failure,
        "rollout_margin": o.rollout_margin,
        "good_step": o.good_step,
        "bad_step": o.bad_step,
        "max_iterations": o.max_iterations,
        "exact": exact,
    }
    return tuple(float(values[name]) for name in RULES)


def named(names: Sequence[str], vector: SX) -> dict[str, SX]:
    """Elements of a vector by name."""
    return {name: vector[i] for i, name in enumerate(names)}
