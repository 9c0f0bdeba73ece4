"""A solution in words: why the solver stopped, where the cost comes from, which knob to turn."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trajopt.analysis import (
    ConstraintRows,
    LimitUse,
    constraint_rows,
    friction_use,
    legged_motion,
    limit_uses,
    reached,
    reached_words,
)
from trajopt.analysis.advice.clamped_controls import clamped_controls, clamped_words
from trajopt.analysis.advice.constraints import constraint_lines, moving_the_start, relaxation, softening
from trajopt.analysis.advice.domain import left_domain
from trajopt.analysis.advice.facts import curvature_left_out, gap_left, guess_lost, has_black_boxes, other_solvers
from trajopt.analysis.advice.missed_goals import misses, out_of_reach
from trajopt.analysis.constraints import HELD
from trajopt.analysis.report import tipping_words, tips
from trajopt.solution.record import SolverStatus
from trajopt.solution.seconds import time_words
from trajopt.solution.solution import Solution

MOST_LIMITS = 8
"""Number of exceeded limits that are listed."""


def explain(solution: Solution) -> str:
    """See `Solution.explain`."""
    lines = [f"{solution.solver}: {solution.status}.", _numbers(solution)]
    lines += _terms(solution)
    constraints = constraint_rows(solution)
    lines += constraint_lines(solution, constraints)
    if solution.problem is not None:
        lines += _optimality(solution)
    lines += _gait(solution)
    lines += _limits(solution)
    lines += [f"-> {advice}" for advice in (*_advice(solution, constraints), *misses(solution))]
    if solution.problem is None:
        lines.append("loaded without its problem: Solution.load(path, problem) also tells gaps and the gradient")
    return "\n".join(lines)


def _numbers(solution: Solution) -> str:
    last = f", last step length {solution.history[-1].step_length:g}" if solution.history else ""
    plural = "" if solution.iterations == 1 else "s"
    return f"cost {solution.cost:.7g} after {solution.iterations} iteration{plural} in {time_words(solution)}{last}"


def _at(solution: Solution, knot: int) -> str:
    """A knot and its time in words."""
    times = solution.times
    return f"knot {knot}" + ("" if times is None else f" ({times[knot]:.3g} s)")


def _terms(solution: Solution) -> list[str]:
    """The three largest terms, each with the knot where it is largest."""
    known = solution.description.cost_terms
    if known is None:
        return []
    terms = {name: np.nan_to_num(values) for name, values in known.items()}
    total = sum(float(np.abs(v).sum()) for v in terms.values()) or 1.0
    lines = []
    for name, values in sorted(terms.items(), key=lambda item: -np.abs(item[1]).sum())[:3]:
        worst, share = int(np.abs(values).argmax()), 100 * float(np.abs(values).sum()) / total
        end = ", the terminal" if worst == len(values) - 1 else ""
        where = f"; largest at {_at(solution, worst)}{end}: {values[worst]:.4g}" if values[worst] else ""
        lines.append(f"  term {name!r}: {values.sum():.4g}, {share:.0f} % of the cost{where}")
    return lines


def _optimality(solution: Solution) -> list[str]:
    gaps, slope = np.abs(solution.gaps()), solution.stationarity()
    clamped = clamped_controls(solution, slope)
    slope = np.abs(np.where(clamped, 0.0, slope))
    line = f"  largest gap {gaps.max():.2g} before {_at(solution, int(gaps.max(axis=1).argmax()))}; "
    if slope.size == 0:
        return [line + "there is no control"]
    knot, control = (int(i) for i in np.unravel_index(slope.argmax(), slope.shape))
    name = solution.control_names[control]
    steepest = line + f"steepest control {name!r} at {_at(solution, knot)}: dJ/du = {slope.max():.2g}"
    return [steepest, *clamped_words(solution, clamped)]


def _limits(solution: Solution) -> list[str]:
    """The limits that are exceeded, the worst first, without bounds of constraints; nothing if all are kept."""
    over = [use for use in limit_uses(solution) if use.knots and not use.constrained]
    if not over:
        return []
    more = [f"    and {len(over) - MOST_LIMITS} more"] if len(over) > MOST_LIMITS else []
    return [
        f"  limits exceeded ({len(over)}):",
        *(f"    {use}" for use in over[:MOST_LIMITS]),
        *more,
        *(f"-> {cure}" for cure in _cures_of_limits(solution, over)),
    ]


def _cures_of_limits(solution: Solution, over: Sequence[LimitUse]) -> list[str]:
    """Advice on limits that are no constraints, and on those whose constraints have wider bounds."""
    idle = {use.quantity for use in over if not use.bounded}
    wide = sorted({use.quantity for use in over if use.bounded})
    cures = [_cure_of_limits(solution, idle)] if idle else []
    if wide:
        cures.append(
            f"bounds of constraints on {', '.join(wide)} are wider than these limits: narrow them with "
            'problem.set_parameter("NAME.lower", ...) and "NAME.upper"'
        )
    return cures


def _cure_of_limits(solution: Solution, quantities: set[str]) -> str:
    """Line of code that makes limits of these quantities constraints, or another solver that keeps them."""
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
        f"limits are not enforced unless they are constraints: {code}, with SolverSQP{box}; else give {named} more "
        "weight in the cost, or take longer for the motion"
    )


def _gait(solution: Solution) -> list[str]:
    """Asked and reached of a gait, and the largest use of friction; nothing for a problem that is no gait."""
    rows = reached(solution)
    if not rows:
        return []
    motion = legged_motion(solution)
    lines = [f"  {name}: {text}" for name, text in reached_words(rows).items()]
    known = np.concatenate([foot.mu[np.isfinite(foot.mu)] for foot in motion.feet])
    limit = f" (mu = {known.min():g})" if len(known) else ""
    lines.append(f"  friction: tangential at most {friction_use(motion):.3g} of the normal force{limit}")
    lines += [f"  {name}: {text}" for name, text in tipping_words(solution, motion).items()]
    if tips(motion):
        lines.append("-> to keep the forces within the soles: gait_problem(..., limits=True), with SolverSQP")
    return lines


def _advice(solution: Solution, constraints: Sequence[ConstraintRows]) -> list[str]:
    """Advice by status; a start beyond a bound comes first."""
    if solution.status is SolverStatus.CONVERGED:
        return []
    start = moving_the_start(solution, constraints)
    return [*([start] if start else []), *_advice_by_status(solution, constraints)]


def _advice_by_status(solution: Solution, constraints: Sequence[ConstraintRows]) -> list[str]:
    status, history, outside = solution.status, solution.history, left_domain(solution)
    if status is SolverStatus.INDEFINITE_QUU:
        return [_indefinite(solution)]
    if status is SolverStatus.LINE_SEARCH_FAILED:
        return [outside or _no_decrease(solution, constraints)]
    if status is SolverStatus.INFEASIBLE:
        relaxed, gap = relaxation(solution, constraints), gap_left(solution)
        left = f"{gap}: no motion keeps all constraints" if gap else "constraints and dynamics exclude one another"
        cure = softening(constraints) or "soften a constraint: add(..., soft=(linear, quadratic))"
        return [
            f"no change of the controls brings the violated constraint closer: {relaxed}" if relaxed else left,
            cure if out_of_reach(solution) else f"give the motion more time, or {cure}",
        ]
    if status is SolverStatus.DIVERGED:
        where = f" (first at {_at(solution, solution.failed_knot)})" if solution.failed_knot is not None else ""
        return [f"the value function grew without bound{where}: shorten dt, scale the weights down, or start closer"]
    if status is SolverStatus.UNBOUNDED:
        return [_unbounded(solution)]
    advice, far = [outside] if outside else [], out_of_reach(solution)
    recent = history[-10:]
    if recent and recent[-1].constraint_violation > HELD:
        relaxed = relaxation(solution, constraints) or "relax their bounds"
        more = "" if far else ", or give the motion more time; otherwise start closer to a motion that meets them"
        advice.append(f"constraints are still violated: where they can't be met, {relaxed}{more}")
    if len(recent) > 1:
        fall = recent[0].cost - recent[-1].cost
        if fall > 1e-3 * abs(recent[-1].cost) and not far:
            advice.append(
                f"the cost still fell by {fall:.2g} in the last {len(recent)} iterations: raise max_iterations, or "
                "start from a better guess"
            )
        lost = guess_lost(solution)
        advice += [lost] if lost else []
        curved = outside or curvature_left_out(solution)
        advice += [curved] if curved and not outside else []
        if not curved and np.median([r.step_length for r in recent]) < 0.1:
            others = f"{other_solvers(solution)}, or " if other_solvers(solution) else ""
            advice.append(f"the last steps were short: try {others}a guess closer to the goal")
    if status is SolverStatus.MAX_ITERATIONS and not advice and not far:
        advice.append("raise max_iterations, or start from a better guess")
    return advice


def _no_decrease(solution: Solution, constraints: Sequence[ConstraintRows]) -> str:
    """Advice where no step was good enough: gaps that a program with constraints has left, else the costs."""
    gap = gap_left(solution) if constraints else ""
    if gap:
        others = other_solvers(solution)
        return (
            f"{gap}: no motion may keep all constraints; relax them, give the motion more time, or start closer to a "
            f"motion that keeps them{f', or ask {others}, which names the constraint to relax' if others else ''}"
        )
    boxes = ", or check a black box with ActionModelNumDiff" if has_black_boxes(solution) else ""
    return (
        "the decrease that the model promises does not come: look for a term that is not smooth where its cost is "
        f"largest (above){boxes}"
    )


def _unbounded(solution: Solution) -> str:
    """Names the most negative term."""
    totals = {name: float(np.nansum(values)) for name, values in (solution.description.cost_terms or {}).items()}
    if not totals:
        return "give every cost a least value"
    name = min(totals, key=totals.__getitem__)
    return (
        f"term {name!r} came to {totals[name]:.2g} and still falls: give it a least value, such as by an activation "
        ">= 0, or give what makes it fall a cost"
    )


def _indefinite(solution: Solution) -> str:
    """Names the control without curvature at the knot where the Cholesky factorisation failed."""
    t = solution.failed_knot
    if t is None or solution.problem is None:
        return "give every control a cost > 0 at every knot"
    with solution.as_solved() as problem:
        Luu = problem.calc_diff(solution.xs, solution.us).Luu[t]
    values, vectors = np.linalg.eigh(Luu)
    control = solution.control_names[int(np.abs(vectors[:, 0]).argmax())]
    return (
        f"at {_at(solution, t)} the cost has curvature {values[0]:.2g} along control {control!r}: give it a cost > 0, "
        "such as ResidualModelControl with a small weight"
    )
