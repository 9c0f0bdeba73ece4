"""Advice on solves that end where constraints are violated: as INFEASIBLE or STALLED."""

from __future__ import annotations

from collections.abc import Sequence

from trajopt.analysis import ConstraintRows
from trajopt.analysis.advice.constraints import relaxation, softening, time_may_help
from trajopt.analysis.advice.facts import gap_left, grown_derivatives, more_time
from trajopt.analysis.advice.missed_goals import out_of_reach
from trajopt.solution.record import SolverStatus
from trajopt.solution.solution import Solution

ONE_GUESS = {"SolverIpopt": "IPOPT", "SolverFatrop": "fatrop"}
"""Solvers that try one guess, by name."""
_NEITHER = "constraints and dynamics contradict one another"


def dead_end(solution: Solution, constraints: Sequence[ConstraintRows]) -> list[str]:
    """Returns advice on a solve that ended at violated constraints: other guesses, what to relax or to soften."""
    grown, beyond = grown_derivatives(solution), out_of_reach(solution)
    cure = softening(constraints) or "soften a constraint: add(..., soft=(linear, quadratic))"
    guesses = [] if beyond else [_doubt(solution)]
    return [
        *([grown] if grown else []),
        *guesses,
        _to_relax(solution, constraints),
        cure if beyond or not time_may_help(constraints) else f"{more_time(solution)}{cure}",
    ]


def _doubt(solution: Solution) -> str:
    """Text that the verdict is none on other motions."""
    if solution.solver in ONE_GUESS:
        return (
            f"{ONE_GUESS[solution.solver]} started from one guess, and its verdict is local: motions elsewhere may "
            "satisfy all constraints; try another guess, solver.solve(starts=8), or SolverSQP"
        )
    return "this is no proof: solver.solve(starts=8) tries other guesses as well"


def _to_relax(solution: Solution, constraints: Sequence[ConstraintRows]) -> str:
    """Advice on the constraint to relax, or on gaps that are left."""
    relaxed, gap = relaxation(solution, constraints), gap_left(solution)
    if relaxed and solution.status is SolverStatus.INFEASIBLE:
        return f"to first order no change of the controls reduces the violation: {relaxed}"
    if relaxed:
        return f"the attempts end at different violations, so the least one is unknown: {relaxed}"
    return f"{gap}: no motion was found that satisfies all constraints" if gap else _NEITHER
