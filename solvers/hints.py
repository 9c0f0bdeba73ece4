"""Hints for calls as in Crocoddyl, whose names and signatures differ."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any

from trajopt.callbacks.base import Callback
from trajopt.checks import is_integer
from trajopt.errors import close_names, shown
from trajopt.solvers.options import SolverOptions

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
    **{
        name: f"the solution has it: solution = solver.solve(xs, us); solution.{name}"
        for name in ("xs", "us", "K", "k", "cost")
    },
    "iter": "the solution has it: solution = solver.solve(xs, us); solution.iterations",
    "isFeasible": "the records have it: solution.history[-1].feasible",
    "stop": "the records have it: solution.history[-1].stop",
}
"""What a solver of Crocoddyl has, and where it is here."""

SOLVE = (
    "solve takes (xs, us, *, is_feasible, multipliers); the number of iterations and all else are options: "
    "SolverFDDP(problem, FDDPOptions(max_iterations=100)).solve(xs, us, is_feasible=False)"
)


def call_hint(solver: str, options: str, known: Iterable[str], method: str, wrong: Sequence[str]) -> str:
    """Advice for a wrong call of a solver's constructor or of its `solve`; empty if there is no advice.

    Args:
        solver: Class of the solver.
        options: Class of its options.
        known: Names of the options.
        method: Method that was called.
        wrong: Names of arguments that it does not take.
    """
    if method == "solve":
        return SOLVE
    for name in wrong:
        if name in ATTRIBUTES:
            return ATTRIBUTES[name]
        if option := close_names(name, known)[:1]:
            return f"it is an option: {solver}(problem, options={options}({option[0]}=...))"
    return ""


def options_hint(kind: type[SolverOptions], options: Any) -> str:
    """Argument for a solver instead of wrong options; it keeps values that options of both kinds have."""
    if isinstance(options, (list, tuple, Callback)):
        return "callbacks=[...]"
    changed = {"max_iterations": options if is_integer(options) else 100}
    if isinstance(options, SolverOptions):
        shared, usual = next(base for base in type(options).__mro__ if issubclass(kind, base)), type(options)()
        own = {field.name: getattr(options, field.name) for field in fields(shared)}
        changed = {name: value for name, value in own.items() if value != getattr(usual, name)}
    return f"{kind.__name__}({', '.join(f'{name}={shown(value)}' for name, value in changed.items())})"
