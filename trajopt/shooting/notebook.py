"""HTML representation of a problem in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trajopt.notebook import table

if TYPE_CHECKING:
    from trajopt.actions.base import ActionModelAbstract
    from trajopt.shooting.problem import ShootingProblem


def html_of(problem: ShootingProblem) -> str:
    """HTML table of a problem: its state, start, knots, cost terms and controls."""
    times, running = problem.times, [kind.model for kind in problem.kinds[:-1]]
    knots = [f"{len(kind.knots)} × {type(kind.model).__name__}" for kind in problem.kinds[:-1]]
    whole = next((model for model in running if model.nu == problem.nu), None)
    rows = {
        "state": f"{problem.state!r}; nx = {problem.state.nx}, ndx = {problem.state.ndx}",
        "start": problem.start if isinstance(problem.start, str) else "within bounds",
        "x0": np.array2string(problem.x0, precision=4, suppress_small=True, threshold=40),
        "knots": "\n".join([f"T = {problem.T}" + ("" if times is None else f", {times[-1]:.4g} s"), *knots]),
        "controls": "none" if whole is None else ", ".join(whole.control_names),
    }
    for i, model in enumerate(running):
        rows["running cost" if len(running) == 1 else f"running cost {i + 1}"] = _terms(model)
    rows["terminal cost"] = _terms(problem.terminal)
    return table("ShootingProblem", rows)


def _terms(model: ActionModelAbstract) -> str:
    """Cost terms of a model, one per line; the name of its class if it has none."""
    return "\n".join(map(repr, model.model_parts.terms)) or type(model).__name__
