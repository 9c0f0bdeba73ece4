"""Explanation of a solution: why the solver stopped, what dominates the cost, which setting to change."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trajopt.analysis import (
    ConstraintRows,
    LimitUse,
    legged_motion,
    reached,
    reached_words,
)
from trajopt.analysis.advice.causes import causes, in_degrees
from trajopt.analysis.advice.clamped_controls import clamped_controls, clamped_words
from trajopt.analysis.advice.constraints import (
    by_violation,
    constraint_lines,
    nearly_met,
    time_may_help,
)
from trajopt.analysis.advice.crowded_slots import crowded_slots
from trajopt.analysis.advice.dead_ends import dead_end, looser_first
from trajopt.analysis.advice.domain import left_domain
from trajopt.analysis.advice.exceeded_limits import cures_of_limits, exceeded, limit_lines, placeholder_advice
from trajopt.analysis.advice.facts import (
    at_kinks,
    curvature_left_out,
    gap_left,
    grown_derivatives,
    guess_lost,
    has_black_boxes,
    may_keep_the_guess,
    more_guesses,
    more_time,
    other_solvers,
)
from trajopt.analysis.advice.in_the_way import in_the_way
from trajopt.analysis.advice.large_gains import large_gains
from trajopt.analysis.advice.long_steps import advice_on_steps, smaller_steps
from trajopt.analysis.advice.missed_goals import REPLAY, distances_left, headline, misses
from trajopt.analysis.advice.one_knot import one_knot
from trajopt.analysis.advice.progress import going_on, last_records, method_lines, stagnation
from trajopt.analysis.advice.relaxation import opposed, softening
from trajopt.analysis.advice.resting import cannot_rest
from trajopt.analysis.advice.singular_goals import singular_goals
from trajopt.analysis.advice.stationary import stationary
from trajopt.analysis.advice.unapproached import unapproached
from trajopt.analysis.advice.unknowns import bounds_of_failure, unknown_lines
from trajopt.analysis.advice.untouched import untouched
from trajopt.analysis.advice.vanished_rows import vanished_rows
from trajopt.analysis.balance import balance_words
from trajopt.analysis.basics import control_name
from trajopt.analysis.basics import time_words as knot_time
from trajopt.analysis.constraints import named_rows
from trajopt.analysis.flight import flight_words
from trajopt.analysis.gaps import infeasibility, no_motion
from trajopt.analysis.moved import fallen_words, moved_words, speed_words
from trajopt.analysis.reached import friction_words, low_words, sunk_words
from trajopt.analysis.report import slip_words, tipping_words, tips
from trajopt.solution.batch import ERROR
from trajopt.solution.record import SolverStatus
from trajopt.solution.seconds import time_words
from trajopt.solution.solution import Solution

CUT_SHORT = (
    SolverStatus.MAX_ITERATIONS,
    SolverStatus.TIME_LIMIT,
    SolverStatus.INTERRUPTED,
    SolverStatus.STOPPED_BY_CALLBACK,
)
"""Statuses of solves that might have gone on."""
CONVEX = 1e-9
"""Least curvature of a cost that is convex in its controls, relative to the largest one or 1 [-]."""
MOST_ADVICE = 4
"""Largest number of lines of advice on a solve that has not converged."""
MOST_OPTIMA = 6
"""Largest number of listed optima."""
_KEEPS = ': SQPOptions(steps="linear") stays near it'
_NONE_FEASIBLE = "; none keeps dynamics and constraints, the least violation is"


def explain(solution: Solution) -> str:
    """Explains a solution in text; see `Solution.explain`."""
    if solution.status is SolverStatus.UNSOLVED:
        return _explain_motion(solution)
    nothing = no_motion(solution)
    notes = solution.description.notes  # of a motion that was resampled
    why = f"{_headline(solution)}{', before it was resampled' if notes else ''}"
    lines = [f"{solution.solver}: {why}{'' if why.endswith('?') else '.'}"]
    lines += [f"  {note}" for note in notes]
    lines += [f"{nothing}: the states do not follow from the controls"] if nothing else []
    lines += [_numbers(solution), *method_lines(solution), *_optima(solution)]
    lines += [*unknown_lines(solution), *_terms(solution)]
    constraints = named_rows(solution)
    lines += constraint_lines(solution, constraints)
    if not solution.converged and by_violation(constraints):
        lines += [f"  {words}" for words in distances_left(solution)]
    if solution.problem is not None:
        lines += _optimality(solution)
    lines += large_gains(solution, constraints)
    lines += [] if nothing else _gait(solution)
    over = exceeded(solution)
    lines += limit_lines(over)
    advice = [*_advice(solution, constraints, over), *placeholder_advice(solution)]
    lines += [f"-> {each}" for each in (advice if solution.converged else advice[:MOST_ADVICE])]
    if solution.problem is None:
        lines.append("loaded without its problem: Solution.load(path, problem) also reports gaps and the gradient")
    return "\n".join(lines)


def _headline(solution: Solution) -> str:
    """Text for why the solver stopped; where constraints are violated the cost is not to blame."""
    failed = solution.status is SolverStatus.LINE_SEARCH_FAILED
    met = not failed or not opposed(solution, named_rows(solution))
    return headline(solution) if met else str(solution.status).partition(":")[0].replace("cost", "violations")


def _explain_motion(solution: Solution) -> str:
    """Explains a motion that no solver computed: it has no optimality and no advice about a solve."""
    lines = [f"{solution.solver}: {solution.status}."]
    if np.isfinite(solution.cost):
        lines += [f"cost {solution.cost:.7g}", *_terms(solution)]
    lines += [f"  {note}" for note in solution.description.notes]
    over = exceeded(solution)
    advice = [*cures_of_limits(solution, over), *smaller_steps(solution), *misses(solution)]
    lines += [*constraint_lines(solution, named_rows(solution)), *_gait(solution), *limit_lines(over)]
    if "legs" in solution.measured:
        known = "are those of the plant" if solution.measured["legs"] else "are unknown: the plant does not tell them"
        lines.append(f"  contact forces {known}; constraints on forces are of the plan's model and are left out")
    return "\n".join([*lines, *(f"-> {each}" for each in advice)])


def _numbers(solution: Solution) -> str:
    stopped = solution.history and not solution.converged
    last = f", last step length {solution.history[-1].step_length:g}" if stopped else ""
    plural = "" if solution.iterations == 1 else "s"
    return f"cost {solution.cost:.7g} after {solution.iterations} iteration{plural} in {time_words(solution)}{last}"


def _optima(solution: Solution) -> list[str]:
    """Lines about how the starts of a solve from several ones ended, and about their optima."""
    words = [f"{cost:.7g} from {count} start{'s' * (count > 1)}" for cost, count in solution.optima[:MOST_OPTIMA]]
    more = len(solution.optima) - len(words)
    optima = [f"  optima: {', '.join(words)}{f' and {more} more' if more > 0 else ''}"] if words else []
    ends = [f"{count} {_end(name)}{_lowest(name, cost)}" for name, count, cost in solution.ends]
    total, kept = sum(end[1] for end in solution.ends), any(np.isfinite(end[2]) for end in solution.ends)
    least = "" if kept or not ends or solution.problem is None else f"{_NONE_FEASIBLE} {infeasibility(solution):.3g}"
    return [*([f"  of {total} starts: {', '.join(ends)}{least}"] if ends else []), *optima]


def _end(name: str) -> str:
    """Text for how a start ended."""
    ends = {"": "given up, as others promised a lower cost", ERROR: "ended with an error"}
    return ends[name] if name in ends else SolverStatus[name].value.partition(":")[0]


def _lowest(name: str, cost: float) -> str:
    """Lowest cost of starts without an optimum."""
    return "" if name == SolverStatus.CONVERGED.name or not np.isfinite(cost) else f" (lowest cost {cost:.7g})"


def _at(solution: Solution, knot: int) -> str:
    """Text for a knot, with its time if it has one."""
    return f"knot {knot}{knot_time(solution, knot)}"


def _terms(solution: Solution) -> list[str]:
    """Lines about the three largest terms, each with the knot where it is largest."""
    cost_terms = solution.description.cost_terms
    if cost_terms is None:
        return []
    terms = {name: np.nan_to_num(values) for name, values in cost_terms.items()}
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
    knot, size = int(gaps.max(axis=1).argmax()), float(gaps.max())
    where = f"before {_at(solution, knot)}" if knot else "between x0 and the first state"
    line = f"  largest gap {size:.2g} {where}; " if size else "  no gaps; "
    if slope.size == 0:
        return [line + "there is no control"]
    knot, control = (int(i) for i in np.unravel_index(slope.argmax(), slope.shape))
    name = control_name(solution, control)
    steepest = line + f"steepest control {name!r} at {_at(solution, knot)}: dJ/du = {slope.max():.2g}"
    return [steepest, *clamped_words(solution, clamped)]


def _gait(solution: Solution) -> list[str]:
    """Lines about a gait: targets and reached values, and the largest use of friction; empty for other problems."""
    rows = reached(solution)
    if not rows:
        return []
    motion = legged_motion(solution)
    lines = [f"  moved: {moved_words(solution, motion)}"]
    words = {**speed_words(solution, motion), **reached_words(rows), **flight_words(solution, motion)}
    words |= balance_words(solution, motion)
    lines += [f"  {name}: {text}" for name, text in words.items()]
    lines += [f"  slip: {slip_words(solution, motion)}"] if motion.measured else []
    coefficients = np.concatenate([foot.mu[np.isfinite(foot.mu)] for foot in motion.feet])
    limit = f" (mu = {coefficients.min():g})" if len(coefficients) else ""
    lines.append(f"  friction: {friction_words(motion)}{limit}")
    lines += [f"  {name}: {text}" for name, text in tipping_words(solution, motion).items()]
    told = [*sunk_words(rows), *low_words(rows)]
    lines += fallen_words(solution, motion) if solution.solver == REPLAY else told
    if tips(motion) and not motion.measured:
        lines.append("-> to keep the forces within the soles: gait_problem(..., limits=True), with SolverSQP")
    return lines


def _advice(solution: Solution, constraints: Sequence[ConstraintRows], over: Sequence[LimitUse]) -> list[str]:
    """All advice. Of a failure a known cause comes alone, else what has helped most often comes first."""
    unenforced = cures_of_limits(solution, over)  # no reason why constraints do not hold
    missed = [*misses(solution), *unapproached(solution, constraints)]
    crowded, first = crowded_slots(solution), untouched(solution)
    if solution.status is SolverStatus.CONVERGED:
        return [*first, *unenforced, *advice_on_steps(solution, constraints), *missed, *crowded]
    first, last, failed = [*in_degrees(solution), *first], [*crowded, *unenforced], bool(by_violation(constraints))
    if known := causes(solution, constraints):
        return [*first, *known, *last]
    if conflict := one_knot(solution):
        return [*first, conflict, softening(constraints), *last]
    if passed := in_the_way(solution, constraints):
        return [*first, *passed, *crowded]
    others = [*cannot_rest(solution), *singular_goals(solution), *vanished_rows(solution)]
    others += bounds_of_failure(solution)
    others += _advice_by_status(solution, constraints)
    return [*first, *others, *last] if failed else [*first, *unenforced, *others, *missed, *crowded]


def _advice_by_status(solution: Solution, constraints: Sequence[ConstraintRows]) -> list[str]:
    """Advice on a solve that has not converged, and whose cause is not known, what has helped most often first.

    Args:
        solution: The solution.
        constraints: Its constraints.
    """
    looser = looser_first(solution, constraints)
    if solution.status is SolverStatus.STALLED:
        return [*looser, *dead_end(solution, constraints)]
    if solution.status in CUT_SHORT:
        return _cut_short(solution, constraints, looser)
    return [*_at_an_end(solution, constraints), *looser]


def _at_an_end(solution: Solution, constraints: Sequence[ConstraintRows]) -> list[str]:
    """Advice on a solver that could not go on from its last iterate."""
    status = solution.status
    if status is SolverStatus.INDEFINITE_QUU:
        return [_indefinite(solution)]
    if status is SolverStatus.LINE_SEARCH_FAILED:
        cause = at_kinks(solution) or left_domain(solution) or grown_derivatives(solution)
        return [cause or _no_decrease(solution, constraints)]
    if status is SolverStatus.INFEASIBLE:
        return dead_end(solution, constraints)
    if status is SolverStatus.UNBOUNDED:
        return [_unbounded(solution)]
    where = f" (first at {_at(solution, solution.failed_knot)})" if solution.failed_knot is not None else ""
    start = "start from a motion, solve(us=...)" if no_motion(solution) else "start closer"
    return [f"the value function grew without bound{where}: shorten dt, scale the weights down, or {start}"]


def _cut_short(solution: Solution, constraints: Sequence[ConstraintRows], looser: list[str]) -> list[str]:
    """Advice on a solver that might have gone on: to do that, before what is to be relaxed."""
    status, outside = solution.status, at_kinks(solution) or left_domain(solution)
    grown = "" if outside else grown_derivatives(solution)
    advice, more = [each for each in (outside, grown) if each], going_on(solution)
    doubt = "" if more or nearly_met(constraints) else stagnation(solution)
    advice += [doubt] if doubt else []
    relaxed = opposed(solution, constraints)
    if relaxed and nearly_met(constraints):
        advice += [f"constraints are still violated, {relaxed}: more iterations may meet them", *more, *looser]
    elif relaxed and more:  # the rows need not exclude each other
        advice += [*more, *looser]
    elif relaxed:
        time = more_time(solution, ", or ", "") if time_may_help(constraints) else ""
        rest = f"{time}; otherwise start closer to a motion that meets them"
        advice += [*looser, f"constraints are still violated, {relaxed}{rest}"]
    elif status is SolverStatus.MAX_ITERATIONS and (stays := stationary(solution)):
        return [*advice, stays, *looser]
    else:
        advice += [*more, *looser]
    advice += _slow_steps(solution, outside)
    if status is SolverStatus.MAX_ITERATIONS and not advice:
        advice.append(f"raise max_iterations, or start from a better guess; {more_guesses(solution)}")
    return advice


def _slow_steps(solution: Solution, outside: str) -> list[str]:
    """Advice on steps that lost the guess, whose Hessian lacked curvature, or that were short."""
    recent = last_records(solution)
    if len(recent) < 2:
        return []
    curved = "" if outside else curvature_left_out(solution)
    advice = [each for each in (guess_lost(solution), curved) if each]
    if np.median([r.step_length for r in recent]) < 0.1 and not (outside or curved):
        others = f"{other_solvers(solution)}, or " if other_solvers(solution) else ""
        advice.append(f"the last steps were short: try {others}a guess closer to the goal; {more_guesses(solution)}")
    return advice


def _no_decrease(solution: Solution, constraints: Sequence[ConstraintRows]) -> str:
    """Advice if no step was good enough: about gaps of a constrained problem, otherwise about the costs."""
    gap = gap_left(solution) if constraints else ""
    if gap:
        others = other_solvers(solution)
        return (
            f"{gap}: there may be no motion that satisfies all constraints; relax them, {more_time(solution)}"
            f"start closer to one{f', or use {others}, which names the constraint to relax' if others else ''}"
        )
    if against := opposed(solution, constraints):
        return f"no step lowered the violations any further: {against}; {more_guesses(solution)}"
    boxes = ", or check a black box with ActionModelNumDiff" if has_black_boxes(solution) else ""
    return (
        "the cost does not decrease as the model predicts: look for a term that is not smooth where its cost is "
        f"largest (above){boxes}"
    )


def _unbounded(solution: Solution) -> str:
    """Advice about the most negative term."""
    totals = {name: float(np.nansum(values)) for name, values in (solution.description.cost_terms or {}).items()}
    if not totals:
        return "make sure that every cost has a minimum"
    name = min(totals, key=totals.__getitem__)
    return (
        f"term {name!r} fell to {totals[name]:.2g} and still decreases: bound it below, for example by an activation "
        ">= 0, or add a cost on what makes it decrease"
    )


def _indefinite(solution: Solution) -> str:
    """Advice about the knot where the Cholesky factorisation failed: a control without curvature, or the guess."""
    t = solution.failed_knot
    if t is None or solution.problem is None:
        return "add a cost > 0 on every control at every knot"
    if t >= solution.problem.T:
        return f"no program was convex at the end: start from another guess; {more_guesses(solution)}"
    with solution.as_solved() as problem:
        Luu = problem.calc_diff(solution.xs, solution.us).Luu[t]
    values, vectors = np.linalg.eigh(Luu)
    if values[0] > CONVEX * max(1.0, values[-1]):
        gap = gap_left(solution)
        return (
            f"at {_at(solution, t)} the cost is convex in all controls (curvature {values[0]:.2g} or more), so the "
            f"later knots cause this{f', and {gap}' if gap else ''}: {more_guesses(solution)}; "
            f"or start from one that is closer to a motion{_KEEPS if may_keep_the_guess(solution) else ''}"
        )
    control = control_name(solution, int(np.abs(vectors[:, 0]).argmax()))
    return (
        f"at {_at(solution, t)} the cost has curvature {values[0]:.2g} along control {control!r}: add a cost > 0, "
        "such as ResidualModelControl with a small weight"
    )
