"""Contacts of a simulator that nothing reaches: what they should push has costs without a gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from trajopt.analysis.spheres import simulated_contacts
from trajopt.solution.solution import Solution

_MOST = 4  # largest number of listed names [-]
_NOTHING = 1e-9  # entry of a derivative that counts as zero, relative to the largest one of its kind [-]


def untouched(solution: Solution) -> list[str]:
    """Returns a sentence if costs depend on coordinates that no control moves, as no force acts at some contacts.

    Args:
        solution: The solution, with its problem.
    """
    problem = solution.problem
    contacts = () if problem is None else simulated_contacts(problem.running)
    forces = solution.contact_forces() if contacts else {}
    idle = [each.name for each in contacts if not np.abs(forces[each.name]).any()]
    if not idle or not np.all(np.isfinite(solution.xs)):
        return []
    with solution.as_solved() as solved:
        stuck = _unmoved(solved.calc_diff(solution.xs, solution.us))
        names = [name for name, each in zip(solved.state.tangent_names, stuck) if each]
    if not names:
        return []
    return [
        f"no force acts at {_listed(idle)} at any knot, so no control moves {_listed(names)}, and costs of them have "
        "no gradient: start from controls whose rollout touches, solver.solve(us=...), or move x0 until it touches"
    ]


def _unmoved(d: Any) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Tangent coordinates (ndx,) with a slope of the cost that depend on no control at any knot."""
    moved = np.zeros((len(d.Lx), d.Lx.shape[1]), dtype=np.bool_)
    for t, (Fx, Fu) in enumerate(zip(d.Fx, d.Fu)):
        own = np.abs(Fu).max(axis=1, initial=0.0) > _NOTHING * max(float(np.abs(Fu).max(initial=0.0)), 1e-300)
        moved[t + 1] = own | (np.abs(Fx) > _NOTHING) @ moved[t]
    slopes = np.abs(d.Lx) > _NOTHING * max(float(np.abs(d.Lx).max(initial=0.0)), 1e-300)
    return np.asarray(slopes[1:].any(axis=0) & ~moved.any(axis=0))


def _listed(names: list[str]) -> str:
    more = len(names) - _MOST
    return ", ".join(repr(name) for name in names[:_MOST]) + (f" and {more} more" if more > 0 else "")
