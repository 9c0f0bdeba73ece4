"""Facts about a solution for advice: remaining gaps, black boxes, and alternative solvers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from trajopt.actions.expression import ActionModelExpression
from trajopt.analysis.advice.neglected_curvature import left_out
from trajopt.analysis.constraints import HELD
from trajopt.analysis.gaps import largest_gap
from trajopt.analysis.growth import LARGE, explicit_contacts, growth
from trajopt.analysis.spheres import simulated_contacts
from trajopt.errors import TrajoptError
from trajopt.solution.record import IterationRecord
from trajopt.solution.solution import Solution

SHORT = 0.4
"""Largest step length that counts as short [-]."""
VISIBLE = 0.2
"""Smallest curvature missing in Gauss-Newton's Hessian, relative to that Hessian, whose source is named [-]."""
MANY = 30
"""Least number of iterations of SolverSQP after which an exact Hessian is proposed [-]."""
CREEPS, CHEAPER = 10, 0.02
"""Least number of iterations, and largest fall of the cost in them, where kinks may keep a solver from its end [-]."""
LOST = 0.5
"""A rollout has lost the guess if the merit rises by more than this multiple of the predicted decrease [-]."""


def at_kinks(solution: Solution) -> str:
    """Returns a sentence if a motion with contacts of the simulator has hardly become cheaper; otherwise empty."""
    history = solution.history
    last = [each for each in history if each.attempt == history[-1].attempt] if history else []
    late = last[len(last) // 2 :]
    if len(late) < CREEPS or not simulated_contacts(solution.description.models):
        return ""
    costs = [each.cost for each in late if not each.constraint_violation > HELD]
    if len(costs) < len(late) or not max(costs) - solution.cost < CHEAPER * abs(solution.cost):
        return ""
    fell = 100.0 * (max(costs) - solution.cost) / abs(solution.cost)
    return (
        f"the last {len(late)} iterations lowered the cost by {fell:.1g} %: contacts that begin, end or slide make "
        "kinks in the cost, at which steps are short and no gradient vanishes. The motion may be as good as it gets: "
        f"replay it, and compare it with those from other guesses: {more_guesses(solution)}"
    )


def gap_left(solution: Solution) -> str:
    """Returns text about the largest gap of the trajectory; empty if there is none or it is unknown."""
    gap = largest_gap(solution)
    return f"the trajectory still has a gap of {gap}" if gap else ""


def tried_guesses(solution: Solution) -> int:
    """Number of starts of a solve from several ones; 0 for a solve from one guess."""
    return sum(count for _, count, _ in solution.ends)


def more_guesses(solution: Solution) -> str:
    """Returns advice to solve from other guesses: more where several were tried, of gaits one without limits."""
    tried = tried_guesses(solution)
    limited = solution.solver == "SolverSQP" and solution.description.reached and solution.description.constraints
    gait = "SolverFDDP with gait_problem(..., limits=False) solves for a guess, and " if limited else ""
    again = f"solver.solve(starts={2 * tried}) tries more guesses than those {tried}"
    return gait + (again if tried else "solver.solve(starts=8) tries other guesses")


def more_time(solution: Solution, before: str = "", after: str = ", or ") -> str:
    """Returns advice to give the motion more time, between other words; empty if the solver chooses the time step."""
    chosen = any(name.rpartition(".")[2] == "dt" for name in solution.unknowns)
    return "" if chosen else f"{before}give the motion more time{after}"


def grown_derivatives(solution: Solution) -> str:
    """Returns advice if derivatives grow along steps of the simulator with explicit contacts; otherwise empty."""
    cure = explicit_contacts(solution.description.models)
    if not cure or solution.problem is None:
        return ""
    try:
        with solution.as_solved() as problem:
            d = problem.calc_diff(solution.xs, solution.us)
    except TrajoptError:  # a model fails on the trajectory
        return ""
    F = np.concatenate([d.Fx, d.Fu], axis=2)
    K = np.zeros(d.Fu.swapaxes(1, 2).shape) if solution.K is None else np.nan_to_num(solution.K)
    size = growth(F, K)
    return f"derivatives grow by {size:.1g} from the first knot on: {cure}" if size > LARGE else ""


def has_black_boxes(solution: Solution) -> bool:
    """Whether a model of the problem is a black box; False for a solution without its problem."""
    return any(not isinstance(model, ActionModelExpression) for model in solution.description.models)


def curvature_left_out(solution: Solution) -> str:
    """Returns advice if steps were short because the Hessian lacks curvature of the cost; otherwise empty."""
    if solution.solver == "SolverSQP":
        return _crawls(solution)
    recent = solution.history[-10:]
    blends = solution.solver in ("SolverDDP", "SolverFDDP", "SolverBoxDDP", "SolverBoxFDDP")
    if not (blends and recent) or any(math.isnan(record.blend) for record in recent):
        return ""
    length = float(np.median([record.step_length for record in recent]))
    if length > SHORT:
        return ""
    if any(record.blend > 0.0 for record in (solution.history[0], *recent)):  # "auto" may have left them again
        return (
            f"steps were shortened to {length:.2g} although exact Hessians were used where they are convex: the cost "
            "is not convex here; try another guess, or a smaller weight of the largest term"
        )
    options = f"{solution.solver.removeprefix('Solver')}Options"
    cure = f'{options}(hessian="exact") uses the exact one'
    if not _has_exact_hessians(solution):
        cure = f"{options}(initial_regularization=2.0) damps the steps, as such models have no exact Hessian"
    return (
        f"steps were shortened to {length:.2g}: along them the cost has about {1.0 / length:.0f} times the curvature "
        f"of Gauss-Newton's Hessian, which leaves out second derivatives of residuals and dynamics{_source(solution)}; "
        f"{_ratio(recent)}{cure}"
    )


def _crawls(solution: Solution) -> str:
    """Advice if all of many programs of SolverSQP had Gauss-Newton's Hessian, of models that have an exact one."""
    known = not any(record.blend > 0.0 for record in solution.history) and _has_exact_hessians(solution)
    if len(solution.history) < MANY or not known:
        return ""
    return (
        "all steps were those of Gauss-Newton's Hessian, which leaves out second derivatives of residuals and "
        'dynamics: SQPOptions(hessian="exact") takes fewer steps near a solution, and compiles for longer'
    )


def _source(solution: Solution) -> str:
    """Text about the main source of the missing curvature; empty if there is no clear source."""
    try:
        missing = left_out(solution)
    except TrajoptError:  # a black box that fails on the trajectory
        return ""
    if missing is None or not missing.total > VISIBLE * missing.promised:
        return ""
    name, most = next(iter(missing.sources.items()))
    share = most / sum(each for each in missing.sources.values() if each > 0.0)
    return f" (along the last direction {100.0 * share:.0f} % of them come from {name})"


def _ratio(recent: Sequence[IterationRecord]) -> str:
    """Text about the ratio of actual to predicted decrease; empty if the solver does not record it."""
    promised, came = (math.fsum(getattr(r, name) for r in recent) for name in ("expected_decrease", "decrease"))
    if not (math.isfinite(came) and promised > 0.0):
        return ""
    return f"the last {len(recent)} steps achieved {100.0 * came / promised:.0f} % of the decrease predicted for them; "


def _has_exact_hessians(solution: Solution) -> bool:
    """Whether all models of the problem have exact Hessians; True for a solution without its problem."""
    models = solution.description.models
    return all(isinstance(model, ActionModelExpression) and model.has_lagrangian_hessian for model in models)


def may_keep_the_guess(solution: Solution) -> bool:
    """Whether SolverSQP has not tried linear steps from a guess with gaps, as it does where rollouts get stuck."""
    tried = any(record.method == "linear" and record.gap_norm > HELD for record in solution.history)
    return solution.solver == "SolverSQP" and not tried


def guess_lost(solution: Solution) -> str:
    """Returns advice if SolverSQP's first rollout left a guess that linear steps would keep; otherwise empty."""
    if not may_keep_the_guess(solution) or len(solution.history) < 2:
        return ""
    first, second = solution.history[:2]
    rolled_out = first.gap_norm > HELD > second.gap_norm
    if not (rolled_out and first.decrease < -LOST * abs(first.expected_decrease)):
        return ""
    return (
        f"the first rollout left the guess: its merit rose by {-first.decrease:.2g}, where the program predicted a "
        f'decrease of {first.expected_decrease:.2g}; SQPOptions(steps="linear") closes gaps knot by knot, and stays '
        "close to the states of the guess"
    )


def other_solvers(solution: Solution) -> str:
    """Returns other solvers that support the problem, such as "SolverDDP and SolverSQP"; empty if there are none."""
    if solution.solver.startswith("SolverBox"):
        return "SolverSQP, with the limits of controls as rows on ResidualModelControl"
    constrained = solution.description.constraint_names or solution.description.start != "fixed"
    names = ["SolverSQP"] if constrained else ["SolverDDP", "SolverFDDP", "SolverSQP"]
    return " and ".join(name for name in names if name != solution.solver)
