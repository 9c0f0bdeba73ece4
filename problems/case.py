"""What a ready problem consists of, and what is known about a family without building it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution
from trajopt.solvers import SolverAbstract, SolverOptions
from trajopt.types import Reals

Report = Callable[[Solution], dict[str, str]]


def no_report(solution: Solution) -> dict[str, str]:
    """Nothing to say beyond the cost."""
    return {}


@dataclass(frozen=True, kw_only=True, eq=False)
class ProblemCase:
    """A problem with a first guess, the solver that suits it, and what it is known to cost.

    Attributes:
        name: Name of its family.
        description: What is to happen, in one sentence.
        problem: The shooting problem.
        xs: First guess of the states (T + 1, nx); None for the solver's own: x0 everywhere.
        us: First guess of the controls (T, nu); None for the solver's own: quasi-static.
        solver: Class of the solver that suits it.
        options: Options that suit it.
        reference_cost: Cost of a known solution with these options; None if none is known [cost].
        reference_source: Where that cost comes from.
        report: What a solution means, in words with units: a value by a short name.
    """

    name: str
    description: str
    problem: ShootingProblem
    solver: type[SolverAbstract[Any]]
    options: SolverOptions
    xs: Reals | None = field(default=None, repr=False)
    us: Reals | None = field(default=None, repr=False)
    reference_cost: float | None = None
    reference_source: str = ""
    report: Report = field(default=no_report, repr=False)


@dataclass(frozen=True, kw_only=True)
class ProblemInfo:
    """A family of problems, as `describe` tells it.

    Attributes:
        name: Its name.
        description: What is to happen, in one sentence.
        robots: Robots that it is known for, the default one first; empty if it has a model of its own.
        options: What `load` takes for it, with the defaults.
        reference_cost: Cost of a known solution with the defaults; None if none is known [cost].
        reference_source: Where that cost comes from.
    """

    name: str
    description: str
    robots: tuple[str, ...]
    options: dict[str, Any]
    reference_cost: float | None
    reference_source: str
