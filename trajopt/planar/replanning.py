"""Replanning of the rest of a motion, from a disturbed state."""

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
    """Solves the rest of a solution's problem from a disturbed state at a knot.

    Costs, constraints and run-time parameters of the knots stay those of the plan, which is the initial guess. This
    works for any problem. To solve one again and again, use `trajopt.mpc`, which compiles only once.

    Args:
        solution: The plan, with its problem.
        knot: Knot of the disturbed state, 0..T-1.
        state: The disturbed state (nx,).
        solver: Class of the solver, such as SolverSQP.
        options: Options of the solver; its defaults if None.

    Returns:
        The corrected plan, with T - knot knots.

    Raises:
        InvalidArgumentError: The solution has no problem, or `knot` or `state` does not fit.
    """
    check_instance("solution", solution, Solution, "pass the result of a solver's solve")
    if solution.problem is None:
        raise InvalidArgumentError(
            "solution: expected a solution with its problem, got one without, from a file; load it with load(path, "
            "problem)"
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
