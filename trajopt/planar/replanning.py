"""A new plan for the rest of a motion, from a state that a disturbance has led to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from trajopt.checks import check_count, check_instance
from trajopt.errors import InvalidArgumentError, shown
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.solvers import SolverAbstract, SolverOptions


def replan(
    solution: Solution,
    knot: int,
    state: npt.ArrayLike,
    solver: type[SolverAbstract[Any]],
    options: SolverOptions | None = None,
) -> Solution:
    """Solves the rest of a solution's problem, from a knot on, from a disturbed state.

    Costs, constraints and run-time parameters of the knots stay those of the plan, which is the guess. It serves any
    problem; for one that is solved again and again, `trajopt.mpc` keeps what is compiled.

    Args:
        solution: The plan, with its problem.
        knot: Knot at which the disturbed state is, 0..T-1.
        state: The disturbed state (nx,).
        solver: Class of the solver, such as SolverSQP.
        options: Its options; by default the usual ones.

    Returns:
        The corrected plan, of T - knot knots.

    Raises:
        InvalidArgumentError: The solution has no problem, or a knot or the state does not fit.
    """
    check_instance("solution", solution, Solution, "a solver's solve returns one")
    if solution.problem is None:
        raise InvalidArgumentError(
            "solution: expected one with its problem, got one of a file; pass load(path, problem)"
        )
    if not isinstance(solver, type) or not hasattr(solver, "solve"):
        raise InvalidArgumentError(f"solver: expected the class of a solver, such as SolverSQP, got {shown(solver)}")
    plan, T = solution.problem, solution.problem.T
    first = check_count("knot", knot, most=T - 1)
    x = plan.state.check(state, "state")
    rest = ShootingProblem(x, plan.running[first:], plan.terminal)
    for name, rows in solution.parameters.items():
        knots = [t for t in plan.parameters[name].knots if t >= first]
        if knots:
            values: Reals = rows[len(rows) - len(knots) :]
            rest.set_parameter(name, values, [t - first for t in knots])
    xs = solution.xs[first:].copy()
    xs[0] = x
    return solver(rest, options).solve(xs, solution.us[first:])
