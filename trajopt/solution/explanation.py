"""A solution in words: why the solver stopped, where the cost comes from, which knob to turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trajopt.shooting import inspection
from trajopt.solution.record import SolverStatus

if TYPE_CHECKING:
    from trajopt.solution.solution import Solution


def explain(solution: Solution) -> str:
    """See `Solution.explain`."""
    lines = [f"{solution.solver}: {solution.status}.", _numbers(solution)]
    lines += _terms(solution)
    if solution.problem is not None:
        lines += _optimality(solution)
    lines += [f"-> {advice}" for advice in _advice(solution)]
    return "\n".join(lines)


def _numbers(solution: Solution) -> str:
    last = f", last step length {solution.history[-1].step_length:g}" if solution.history else ""
    return f"cost {solution.cost:.7g} after {solution.iterations} iterations in {solution.seconds:.3g} s{last}"


def _terms(solution: Solution) -> list[str]:
    """The three largest terms, each with the knot where it is largest."""
    if solution.problem is None:
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


def _optimality(solution: Solution) -> list[str]:
    gaps, slope = np.abs(solution.gaps()), np.abs(solution.stationarity())
    line = f"  largest gap {gaps.max():.2g} before knot {int(gaps.max(axis=1).argmax())}; "
    if slope.size == 0:
        return [line + "there is no control"]
    knot, control = (int(i) for i in np.unravel_index(slope.argmax(), slope.shape))
    name = inspection.controls(solution.problem).names[control] if solution.problem is not None else f"u{control}"
    return [line + f"steepest control {name!r} at knot {knot}: dJ/du = {slope.max():.2g}"]


def _advice(solution: Solution) -> list[str]:
    """What to try, by status."""
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
    if status is SolverStatus.DIVERGED:
        where = f" (first at knot {solution.failed_knot})" if solution.failed_knot is not None else ""
        return [f"the value function grew without bound{where}: shorten dt, scale the weights down, or start closer"]
    advice = []
    recent = history[-10:]
    if len(recent) > 1:
        fall = recent[0].cost - recent[-1].cost
        if fall > 1e-3 * abs(recent[-1].cost):
            advice.append(
                f"the cost still fell by {fall:.2g} in the last {len(recent)} iterations: raise max_iterations"
            )
        if np.median([r.step_length for r in recent]) < 0.1:
            advice.append(
                "the last steps were short: try a larger initial_regularization, the other of SolverDDP and "
                "SolverFDDP, or a guess closer to the goal"
            )
    return advice


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
