"""Hints for calls as in Crocoddyl, whose names and signatures differ."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from trajopt.errors import WrongCallError

P = ParamSpec("P")
R = TypeVar("R")

ATTRIBUTES = {
    "setCallbacks": "callbacks are an argument of the solver: SolverFDDP(problem, callbacks=[CallbackVerbose()])",
    "getCallbacks": "solver.callbacks has them",
    "setCandidate": "pass the guess to the solve: solver.solve(xs, us)",
    "computeDirection": "derive from SolverAbstract and write iterate(run) to change the iteration",
    "th_stop": "it is an option: FDDPOptions(tolerance=...)",
    "th_acceptStep": "it is an option: FDDPOptions(acceptance=...)",
    "th_grad": "it is an option: FDDPOptions(gradient_tolerance=...)",
    "alphas": "they are an option: FDDPOptions(step_lengths=(1.0, 0.5, ...))",
    "reg_min": "it is an option: FDDPOptions(min_regularization=...)",
    "reg_max": "it is an option: FDDPOptions(max_regularization=...)",
    "xs": "the solution has it: solution = solver.solve(xs, us); solution.xs",
    "us": "the solution has it: solution = solver.solve(xs, us); solution.us",
    "K": "the solution has it: solution = solver.solve(xs, us); solution.K",
    "k": "the solution has it: solution = solver.solve(xs, us); solution.k",
    "cost": "the solution has it: solution = solver.solve(xs, us); solution.cost",
    "iter": "the solution has it: solution = solver.solve(xs, us); solution.iterations",
    "isFeasible": "the records have it: solution.history[-1].feasible",
    "stop": "the records have it: solution.history[-1].stop",
}
"""What a solver of Crocoddyl has, and where it is here."""

SOLVE = (
    "solve takes (xs, us, *, is_feasible); the number of iterations and all else are options: "
    "SolverFDDP(problem, FDDPOptions(max_iterations=100)).solve(xs, us, is_feasible=False)"
)


def hinting(hint: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator: calls with arguments that the function does not take raise WrongCallError with a hint."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return function(*args, **kwargs)
            except TypeError as error:
                inside = error.__traceback__ is not None and error.__traceback__.tb_next is not None
                if inside:
                    raise
                raise WrongCallError(f"{error}; {hint}") from None

        return wrapper

    return decorate
