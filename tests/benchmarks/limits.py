"""Limits of every ready legged problem that has them as constraints, checked by Pinocchio alone."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import Any

from tests.benchmarks.table import table
from tests.support.limits_physics import LIMIT, LIMITS, SLIP, Excess, excess_of_case
from trajopt import problems
from trajopt.errors import MissingDependencyError

FAMILIES = ("quadruped-", "biped-")
FORCES, JOINTS = LIMITS[:3], LIMITS[3:]
HEADER = ["problem", "iterations", "forces", "torque", "velocity", "position", "slip [mm]", "bars"]
TITLE = f"""Limits: by how much each legged problem with limits is beyond them, knot by knot, by Pinocchio: forces
beyond cones and soles, of the weight [-], torques [N m], velocities [rad/s] and positions [rad] of joints, negative
where there is room; and how far a foot that stands moves. Required: converged, {LIMIT:g}, {1e3 * SLIP:g} mm."""

Figures = dict[str, dict[str, Any]]


def cases() -> Iterator[tuple[str, str]]:
    """Name and robot of every ready legged problem with limits."""
    for name in problems.names():
        about = problems.describe(name)
        if (name.startswith(FAMILIES) and "limits" in about.options) or name == "com-circle":
            yield from ((name, robot) for robot in about.robots)


def measure(chosen: Iterable[tuple[str, str]] | None = None) -> Figures:
    """Figures of each problem, or of those chosen, by name and robot; robots that are not installed are left out."""
    found: Figures = {}
    for name, robot in chosen or cases():
        try:
            figures = figures_of(name, robot)
        except MissingDependencyError:
            continue
        found[f"{name} {robot}"] = figures
        print(*_row(f"{name} {robot}", figures), file=sys.stderr, flush=True)
    return found


def figures_of(name: str, robot: str) -> dict[str, Any]:
    """Solves a problem with its limits; its figures."""
    case = load(name, robot)
    solution = case.solve()
    excess = excess_of_case(case, solution, robot)
    return {"iterations": solution.iterations, "converged": solution.converged, **vars(excess)}


def missed(figures: dict[str, Any]) -> list[str]:
    """Bars that a problem does not reach."""
    beyond = Excess(**{field.name: figures[field.name] for field in fields(Excess)}).failures()
    return ["converged", *beyond] if not figures["converged"] else beyond


def failures(figures: Figures) -> bool:
    """Whether a problem does not reach a bar."""
    return any(missed(known) for known in figures.values())


def load(name: str, robot: str) -> problems.ProblemCase:
    """A ready problem with limits; the circle of the centre of mass has them anyhow."""
    return problems.load(name, robot) if name == "com-circle" else problems.load(name, robot, limits=True)


def report(figures: Figures) -> str:
    """The figures as a table."""
    return table(TITLE, HEADER, [_row(name, known) for name, known in figures.items()])


def _row(name: str, known: dict[str, Any]) -> list[str]:
    failed = missed(known)
    count = f"{known['iterations']}{'' if known['converged'] else ' (not converged)'}"
    forces = max(known[limit] for limit in FORCES)
    joints = [f"{known[limit]:.2g}" for limit in JOINTS]
    verdict = f"NO: {', '.join(failed)}" if failed else "yes"
    return [name, count, f"{forces:.2g}", *joints, f"{1e3 * known['slip']:.2g}", verdict]
