"""Trajectories of a problem with unknown parameters: x in guesses and solutions, (x, θ) inside of a solver."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trajopt.shooting import ShootingProblem
from trajopt.types import Reals


def with_unknowns(
    problem: ShootingProblem, xs: Reals, multipliers: Mapping[str, Reals], known: Mapping[str, Reals]
) -> tuple[Reals, Mapping[str, Reals]]:
    """States (T + 1, nx + k) and multipliers with the unknowns, from those without.

    Args:
        problem: The problem.
        xs: States (T + 1, nx).
        multipliers: Multipliers as in `Solution`, which may be empty.
        known: First values of unknowns by name; others have their guesses.
    """
    freed = problem.freed()
    assert freed is not None
    theta = freed.flat(known)
    states = np.hstack([xs, np.tile(theta, (len(xs), 1))])
    if not multipliers:
        return states, multipliers
    own = multipliers.get("unknowns", np.zeros((len(xs), len(theta))))
    return states, {**multipliers, "dynamics": np.hstack([multipliers["dynamics"], own])}


def without_unknowns(problem: ShootingProblem, xs: Reals, fields: Mapping[str, Any]) -> tuple[Reals, dict[str, Any]]:
    """States (T + 1, nx) and fields of a solution, with the unknowns among these.

    Args:
        problem: The problem.
        xs: States (T + 1, nx + k).
        fields: Fields of a solution of the problem with states (x, θ).
    """
    freed = problem.freed()
    assert freed is not None
    nx, n, found = problem.state.nx, problem.state.ndx, dict(fields)
    theta = xs[0, nx:]
    found |= {"unknowns": freed.shaped(theta), "parameters": freed.parameters_at(theta)}
    multipliers = dict(found.get("multipliers", {}))
    if found.get("Vx") is not None:
        multipliers["unknowns"] = found["Vx"][:, n:].copy()
    for name, place in (("K", np.s_[:, :, :n]), ("Vx", np.s_[:, :n]), ("Vxx", np.s_[:, :n, :n])):
        if found.get(name) is not None:
            found[name] = found[name][place].copy()
    if "dynamics" in multipliers:
        lam = multipliers["dynamics"]
        multipliers |= {"dynamics": lam[:, :n].copy(), "unknowns": lam[:, n:].copy()}
    if "start" in multipliers:
        own = multipliers.pop("start")[:n]
        if not isinstance(problem.start, str):
            multipliers["start"] = own
    return xs[:, :nx].copy(), found | {"multipliers": multipliers}
