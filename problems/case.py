"""A ready problem as a data class, and the description of a family of problems."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trajopt.callbacks import Callback
from trajopt.notebook import table
from trajopt.shooting import ShootingProblem
from trajopt.solution import IterationRecord, Solution
from trajopt.solvers import SolverAbstract, SolverOptions
from trajopt.types import Reals

CROCODDYL = "Crocoddyl 3.2.1, FDDP"
TRAJOPT = "SolverFDDP"
TRAJOPT_SQP = "SolverSQP"

Report = Callable[[Any], dict[str, str]]
"""Maps a solution, or a closed loop, to texts with units, by short names."""


def no_report(result: Any) -> dict[str, str]:
    """Returns a report without entries."""
    return {}


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ProblemCase:
    """A problem with an initial guess, a solver with suitable options, and the cost of a known solution.

    Attributes:
        name: Name of the family.
        description: The motion, in one sentence.
        problem: The shooting problem.
        xs: Initial guess of the states (T + 1, nx); None for the solver's default, x0 at all knots.
        us: Initial guess of the controls (T, nu); None for the solver's default, quasi-static controls.
        solver: Class of the solver.
        options: Options of the solver.
        reference_cost: Cost of a known solution with these options [cost]; None if no solution is known.
        reference_source: Source of that cost.
        report: Function that describes a solution: texts with units, by short names.
        obstacles: Obstacles for pictures: upright cylinders (x, y, radius), shape (n, 3), or balls (x, y, z, radius),
            shape (n, 4) [m].
        arguments: Arguments robot and options of the `load` call that built the case; None if it was built otherwise.
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
    obstacles: Reals = field(default_factory=lambda: np.zeros((0, 4)), repr=False)
    arguments: Mapping[str, Any] | None = field(default=None, repr=False)

    def solve(
        self, *, callbacks: Sequence[Callback | Callable[[IterationRecord], Any]] = (), **options: Any
    ) -> Solution:
        """Solves the problem from its guess, with its solver and options.

        For another guess or solver, use `SolverFDDP(case.problem, case.options).solve(xs, us)`.

        Args:
            callbacks: Callbacks of the solver, such as CallbackVerbose().
            **options: Options of the solver that differ from those of the case, such as max_iterations=100.

        Raises:
            WrongCallError: The solver has no such option; the message lists its options.
            InvalidArgumentError: An option has an invalid value.
            ModelEvaluationError: A model raised an exception, or a derivative is not finite; the message names the
                knot.
        """
        changed = dataclasses.replace(self.options, **options)
        return self.solver(self.problem, changed, callbacks=callbacks).solve(self.xs, self.us)

    def __repr__(self) -> str:
        known = f", reference cost {self.reference_cost:.8g}" if self.reference_cost is not None else ""
        return f"ProblemCase({self.name}: {self.description} {self.problem!r}, {self.solver.__name__}{known})"

    def _repr_html_(self) -> str:
        rows = {"about": self.description, "solver": self.solver.__name__, "options": repr(self.options)}
        if self.reference_cost is not None:
            rows["reference cost"] = f"{self.reference_cost:.8g} ({self.reference_source})"
        return table(self.name, rows) + self.problem._repr_html_()


@dataclass(frozen=True, kw_only=True)
class ProblemInfo:
    """Description of a family of problems.

    Attributes:
        name: Name of the family.
        description: The motion, in one sentence.
        robots: Robots to choose from, the default one first; empty if the family has its own model.
        any_robot: Whether `load` also accepts other robots: a name, a file, or a Robot.
        options: Options of `load`, with their defaults.
        usual: Values that a default of None stands for, for the default robot.
        meanings: Meaning of each option, with its unit.
        reference_cost: Cost of a known solution with the default options [cost]; None if no solution is known.
        reference_source: Source of that cost.
    """

    name: str
    description: str
    robots: tuple[str, ...]
    any_robot: bool
    options: dict[str, Any]
    usual: dict[str, Any]
    meanings: dict[str, str]
    reference_cost: float | None
    reference_source: str
