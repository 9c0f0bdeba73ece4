"""Continuation: one solve after the other, while a parameter of the problem goes where it should be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trajopt.checks import check_items, check_texts
from trajopt.errors import InvalidArgumentError, shown
from trajopt.solution import Solution
from trajopt.solvers.base import SolverAbstract


def continuation(
    solver: SolverAbstract[Any],
    parameter: str | Sequence[str],
    values: Sequence[Any],
    xs: Any = None,
    us: Any = None,
) -> tuple[Solution, ...]:
    """Solves a problem for one value of a parameter after the other, each from the solution before.

    Such as a barrier weight, which is large at first, where contacts are felt from afar and many guesses lead to a
    solution, and small at last, where they are close to rigid:

        *_, solution = continuation(SolverFDDP(problem), "barrier_weight", (10.0, 1.0, 0.1), xs, us)

    Limits that are hard to meet are wide at first, and come closer:

        bounds = [(-k * torque, k * torque) for k in (2.0, 1.4, 1.0)]
        *_, solution = continuation(SolverSQP(problem), ("torques.lower", "torques.upper"), bounds)

    The problem keeps the last value. A solve that does not converge is the guess of the next one all the same; its
    status tells.

    Args:
        solver: The solver, of the problem that has the parameter.
        parameter: Name of the run-time parameter, which gets the same value at all knots that have it; or several.
        values: Its values, in order; for several parameters a value of each, in turn.
        xs: Guess of the first solve, as `solve` takes it.
        us: Guess of the first solve, as `solve` takes it.

    Returns:
        The solutions, one a value.

    Raises:
        InvalidArgumentError: `solver` is no solver, or there is no value, or one that the parameter refuses, or not one
            for each of several parameters.
        UnknownNameError: The problem has no such parameter; the message lists those that it has.
    """
    if not isinstance(solver, SolverAbstract):
        raise InvalidArgumentError(f"solver: expected a solver, such as SolverFDDP(problem), got {shown(solver)}")
    steps = check_items("values", values, "values of the parameter")
    if not steps:
        raise InvalidArgumentError("values: expected one value or more, got none")
    names = (parameter,) if isinstance(parameter, str) else check_texts("parameter", parameter)
    found: list[Solution] = []
    for value in steps:
        own = (value,) if isinstance(parameter, str) else check_items("values", value, "values, one per parameter")
        if len(own) != len(names):
            raise InvalidArgumentError(f"values: expected one of each of {', '.join(names)}, got {shown(value)}")
        for name, each in zip(names, own):
            solver.problem.set_parameter(name, each)
        found.append(solver.solve(found[-1]) if found else solver.solve(xs, us))
    return tuple(found)
