"""HTML representation of a problem in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trajopt.notebook import table

if TYPE_CHECKING:
    from trajopt.actions.base import ActionModelAbstract
    from trajopt.shooting.problem import ShootingProblem


def html_of(problem: ShootingProblem) -> str:
    """HTML table of a problem: its state, start, knots, controls, free parameters, cost terms and constraints."""
    times, running = problem.times, [kind.model for kind in problem.kinds[:-1]]
    knots = [f"{len(kind.knots)} × {type(kind.model).__name__}" for kind in problem.kinds[:-1]]
    whole = next((model for model in running if model.nu == problem.nu), None)
    free = " (dt is free)" if "dt" in problem.unknowns else ""
    rows = {
        "state": f"{problem.state!r}; nx = {problem.state.nx}, ndx = {problem.state.ndx}",
        "start": problem.start if isinstance(problem.start, str) else "within bounds",
        "x0": np.array2string(problem.x0, precision=4, suppress_small=True, threshold=40),
        "knots": "\n".join([f"T = {problem.T}" + ("" if times is None else f", {times[-1]:.4g} s{free}"), *knots]),
        "controls": "none" if whole is None else ", ".join(whole.control_names),
    }
    if problem.unknowns:
        rows["free"] = "\n".join(map(repr, problem.unknowns.values()))
    for i, model in enumerate(running):
        number = f" {i + 1}" if len(running) > 1 else ""
        rows |= {f"running cost{number}": _terms(model), **_constraints(f"running constraints{number}", model)}
    rows |= {"terminal cost": _terms(problem.terminal), **_constraints("terminal constraints", problem.terminal)}
    return table("ShootingProblem", rows)


def _terms(model: ActionModelAbstract) -> str:
    """Cost terms of a model, one per line; the name of its class if they are unknown."""
    costs = model.model_parts.costs
    return type(model).__name__ if costs is None else "\n".join(map(repr, costs.terms)) or "none"


def _constraints(title: str, model: ActionModelAbstract) -> dict[str, str]:
    """Row with the constraints of a model, one per line; empty without constraints."""
    lines = "\n".join(map(repr, model.constraints.items))
    return {title: lines} if lines else {}
