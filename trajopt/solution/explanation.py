"""A solution in words: why the solver stopped, where the cost comes from, which knob to turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trajopt.analysis import friction_use, legged_motion, limit_uses, reached, reached_words
from trajopt.analysis.basics import has_cost_terms
from trajopt.shooting import inspection
from trajopt.solution.record import SolverStatus

if TYPE_CHECKING:
    from trajopt.solution.solution import Solution

MOST_LIMITS = 8
"""Number of exceeded limits that are listed."""
HELD = 1e-6  # violations below it count as held


def explain(solution: Solution) -> str:
    """See `Solution.explain`."""
    lines = [f"{solution.solver}: {solution.status}.", _numbers(solution)]
    lines += _terms(solution)
    if solution.problem is not None:
        lines += _constraints(solution)
        lines += _optimality(solution)
    lines += _gait(solution)
    lines += _limits(solution)
    lines += [f"-> {advice}" for advice in _advice(solution)]
    return "\n".join(lines)


def _numbers(solution: Solution) -> str:
    last = f", last step length {solution.history[-1].step_length:g}" if solution.history else ""
    return f"cost {solution.cost:.7g} after {solution.iterations} iterations in {solution.seconds:.3g} s{last}"


def _terms(solution: Solution) -> list[str]:
    """The three largest terms, each with the knot where it is largest."""
    if not has_cost_terms(solution):
        return []
    terms = {name: np.nan_to_num(values) for name, values in solution.cost_terms().items()}
    total = sum(float(np.abs(v).sum()) for v in terms.values()) or 1.0
    lines = []
    for name, values in sorted(terms.items(), key=lambda item: -np.abs(item[1]).sum())[:3]:
        worst, share = int(np.abs(values).argmax()), 100 * float(np.abs(values).sum()) / total
        end = " (the terminal)" if worst == len(values) - 1 else ""
        lines.append(
            f"  term {name!r}: {values.sum():.4g}, {share:.0f} % of the cost; "
            f"largest at knot {worst}{end}: {values[worst]:.4g}"
        )
    return lines


def _constraints(solution: Solution) -> list[str]:
    """The constraint that is violated most, and the one with the largest multiplier."""
    violations = {name: v for name, v in solution.violations().items() if v.size}
    if not violations:
        return []
    name = max(violations, key=lambda each: float(violations[each].max()))
    knot, row = (int(i) for i in np.unravel_index(violations[name].argmax(), violations[name].shape))
    worst = float(violations[name][knot, row])
    if worst < HELD:
        return [f"  all constraints hold (largest violation {worst:.1g})"]
    return [f"  constraint {name!r}, row {row}, is violated most: by {worst:.3g} at knot {knot}"]


def _optimality(solution: Solution) -> list[str]:
    gaps, slope = np.abs(solution.gaps()), np.abs(solution.stationarity())
    line = f"  largest gap {gaps.max():.2g} before knot {int(gaps.max(axis=1).argmax())}; "
    if slope.size == 0:
        return [line + "there is no control"]
    knot, control = (int(i) for i in np.unravel_index(slope.argmax(), slope.shape))
    name = inspection.controls(solution.problem).names[control] if solution.problem is not None else f"u{control}"
    return [line + f"steepest control {name!r} at knot {knot}: dJ/du = {slope.max():.2g}"]


def _limits(solution: Solution) -> list[str]:
    """The limits that are exceeded, the worst first; nothing if all are kept."""
    over = [use for use in limit_uses(solution) if use.knots]
    if not over:
        return []
    more = [f"    and {len(over) - MOST_LIMITS} more"] if len(over) > MOST_LIMITS else []
    return [
        f"  limits exceeded ({len(over)}):",
        *(f"    {use}" for use in over[:MOST_LIMITS]),
        *more,
        "-> limits are not enforced: weigh torques and velocities more, or take longer for the motion",
    ]


def _gait(solution: Solution) -> list[str]:
    """Asked and reached of a gait, and the largest use of friction; nothing for a problem that is no gait."""
    rows = reached(solution)
    if not rows:
        return []
    motion = legged_motion(solution)
    lines = [f"  {name}: {text}" for name, text in reached_words(rows).items()]
    known = np.concatenate([foot.mu[np.isfinite(foot.mu)] for foot in motion.feet])
    limit = f" (mu = {known.min():g})" if len(known) else ""
    return [*lines, f"  friction: tangential at most {friction_use(motion):.3g} of the normal force{limit}"]


def _advice(solution: Solution) -> list[str]:
    """Advice by status."""
    status, history = solution.status, solution.history
    if status is SolverStatus.CONVERGED:
        return []
    if status is SolverStatus.INDEFINITE_QUU:
        return [_indefinite(solution)]
    if status is SolverStatus.LINE_SEARCH_FAILED:
        return [
            "the decrease that the model promises does not come: look for a term that is not smooth where its cost is "
            "largest (above), or check a black box with ActionModelNumDiff"
        ]
    if status is SolverStatus.INFEASIBLE:
        return [
            "no change of the controls brings the constraint above closer: relax its bounds, those of the controls, or "
            "give the motion more time; soften it with a cost, such as ActivationModelQuadraticBarrier"
        ]
    if status is SolverStatus.DIVERGED:
        where = f" (first at knot {solution.failed_knot})" if solution.failed_knot is not None else ""
        return [f"the value function grew without bound{where}: shorten dt, scale the weights down, or start closer"]
    if status is SolverStatus.UNBOUNDED:
        return [_unbounded(solution)]
    advice = []
    recent = history[-10:]
    if recent and recent[-1].constraint_violation > HELD:
        advice.append(
            "constraints are still violated: where the one above can't be met, relax its bounds, those of the "
            "controls, or give the motion more time; otherwise start closer to a motion that meets it"
        )
    if len(recent) > 1:
        fall = recent[0].cost - recent[-1].cost
        if fall > 1e-3 * abs(recent[-1].cost):
            advice.append(
                f"the cost still fell by {fall:.2g} in the last {len(recent)} iterations: raise max_iterations"
            )
        if np.median([r.step_length for r in recent]) < 0.1:
            advice.append(
                "the last steps were short: try another of SolverDDP, SolverFDDP and SolverSQP, or a guess closer to "
                "the goal"
            )
    return advice


def _unbounded(solution: Solution) -> str:
    """Names the most negative term."""
    terms = solution.cost_terms() if solution.problem is not None else {}
    totals = {name: float(np.nansum(values)) for name, values in terms.items()}
    if not totals:
        return "give every cost a least value"
    name = min(totals, key=totals.__getitem__)
    return (
        f"term {name!r} came to {totals[name]:.2g} and still falls: give it a least value, such as by an activation "
        ">= 0, or give what makes it fall a cost"
    )


def _indefinite(solution: Solution) -> str:
    """Names the control without curvature at the knot where the Cholesky factorisation failed."""
    t, problem = solution.failed_knot, solution.problem
    if t is None or problem is None:
        return "give every control a cost > 0 at every knot"
    with inspection.with_values(problem, solution.parameters, solution.x0):
        Luu = problem.calc_diff(solution.xs, solution.us).Luu[t]
    values, vectors = np.linalg.eigh(Luu)
    control = inspection.controls(problem).names[int(np.abs(vectors[:, 0]).argmax())]
    return (
        f"at knot {t} the cost has curvature {values[0]:.2g} along control {control!r}: give it a cost > 0, such as "
        "ResidualModelControl with a small weight"
    )
