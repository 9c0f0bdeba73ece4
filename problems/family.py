"""Family of ready problems: a function that builds a case from options."""

from __future__ import annotations

import dataclasses
import inspect
import numbers
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import NoneType
from typing import Any, Generic, TypeVar, get_args

import numpy as np

from trajopt import solvers
from trajopt.errors import InvalidArgumentError, shown, unknown_name
from trajopt.problems.case import ProblemCase, ProblemInfo
from trajopt.robots import Robot, unknown_robot
from trajopt.shooting import ShootingProblem

Case = TypeVar("Case")
"""Result of a family: a ready problem, or a closed loop."""


@dataclass(frozen=True, kw_only=True)
class Family(Generic[Case]):
    """A family of ready problems, or of closed loops.

    Attributes:
        name: Name of the family.
        description: The motion, in one sentence.
        build: Function that builds a case. Its keyword arguments are the options, with defaults, and `robot` if there
            is a choice of robots.
        robots: Robots to choose from, the default one first; empty if the family has its own model.
        any_robot: Whether `build` also accepts other robots: a name or a file as in `load_robot`, or a Robot.
        usual: Values that a default of None stands for, for the default robot, by name of the option.
        reference_cost: Cost of a known solution with the default options [cost]; None if no solution is known.
        reference_source: Source of that cost.
        reference_holds: Whether the reference cost is valid for all options; if not, for the defaults only.
    """

    name: str
    description: str
    build: Callable[..., Case]
    robots: tuple[str, ...] = ()
    any_robot: bool = False
    usual: Mapping[str, Any] = field(default_factory=dict)
    reference_cost: float | None = None
    reference_source: str = ""
    reference_holds: bool = False

    @property
    def options(self) -> dict[str, Any]:
        """Options of `build` with their defaults, without the robot."""
        parameters = inspect.signature(self.build).parameters.values()
        return {p.name: p.default for p in parameters if p.name != "robot"}

    def info(self) -> ProblemInfo:
        """Description of the family; builds no problem."""
        own = ("name", "description", "robots", "any_robot", "options", "reference_cost", "reference_source")
        fields = {name: getattr(self, name) for name in own}
        return ProblemInfo(**fields, usual=dict(self.usual), meanings=self._meanings())

    def case(self, problem: ShootingProblem, **fields: Any) -> ProblemCase:
        """Case with the family's name, description and reference, and these fields of ProblemCase.

        By default the solver is SolverSQP if the problem has constraints, otherwise SolverFDDP, with its own options.
        """
        solver = fields.pop("solver", solvers.SolverSQP if problem.constraint_names else solvers.SolverFDDP)
        own = ("name", "description", "reference_cost", "reference_source")
        usual = {name: getattr(self, name) for name in own} | {"options": solver.options_type()}
        return ProblemCase(problem=problem, solver=solver, **usual | fields)

    def load(self, robot: str | Robot | None, options: dict[str, Any]) -> Case:
        """Builds a case.

        Raises:
            UnknownNameError: The family has no robot or option of this name; the message lists the known ones.
            InvalidArgumentError: `robot` is not None, but the family has its own model; or an option has a wrong type
                or value.
        """
        self._check(options)
        if robot is not None and not self.robots:
            raise InvalidArgumentError(
                f"robot: expected None for {self.name}, which has its own model, got {shown(robot)}; omit it (--robot)"
            )
        if robot is not None:
            self._check_robot(robot)
        arguments = ({} if robot is None else {"robot": robot}) | options
        case = self.build(**arguments)
        if not isinstance(case, ProblemCase):
            return case
        usual = all(np.array_equal(value, self.options[name]) for name, value in options.items())
        unknown: dict[str, Any] = (
            {} if self.reference_holds or usual else {"reference_cost": None, "reference_source": ""}
        )
        return dataclasses.replace(case, arguments=arguments, **unknown)

    def _check_robot(self, robot: str | Robot) -> None:
        """Raises an error unless the robot is one of the family, or any file or Robot if the family accepts it."""
        if isinstance(robot, Robot if self.any_robot else ()):
            return
        if not isinstance(robot, str):
            what = "a name, the path of a file or a Robot" if self.any_robot else f"one of {', '.join(self.robots)}"
            raise InvalidArgumentError(f"{self.name}: robot: expected {what}, got {shown(robot)}")
        if robot not in self.robots and not self.any_robot:
            raise unknown_robot(f"{self.name}: robot", robot, self.robots)

    def _check(self, options: dict[str, Any]) -> None:
        """Raises an error for unknown options and wrong types of values; `build` checks the values."""
        parameters = inspect.signature(self.build, eval_str=True).parameters
        for option, value in options.items():
            if option not in self.options:
                raise unknown_name(f"{self.name}: option", option, self.options)
            annotation = parameters[option].annotation
            kinds = set(get_args(annotation) or (annotation,))
            if value is None or not kinds <= _EXPECTED.keys():
                continue
            if not any(isinstance(value, _EXPECTED[kind][0]) for kind in kinds):
                expected = " or ".join(_EXPECTED[kind][1] for kind in sorted(kinds - {NoneType}, key=str))
                raise InvalidArgumentError(f"{option}: expected {expected}, got {value!r}")

    def _meanings(self) -> dict[str, str]:
        """Meaning of each option, from the docstring of `build`."""
        text = inspect.getdoc(getattr(self.build, "func", self.build)) or ""
        arguments = text.partition("Args:\n")[2].partition("\n\n")[0]
        pairs = re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", arguments, re.MULTILINE)
        return {name: " ".join(words.split()) for name, words in pairs if name in self.options}


_EXPECTED: dict[Any, tuple[tuple[type, ...], str]] = {
    bool: ((bool, np.bool_), "True or False"),
    float: ((numbers.Real, np.number), "a number"),
    int: ((numbers.Real, np.number), "a number"),
    str: ((str,), "a name"),
    NoneType: ((NoneType,), ""),
}
"""Accepted Python types for each annotated type, and their description."""
