"""Family of ready problems: a function that builds a case, and its options."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from trajopt.errors import InvalidArgumentError, unknown_name
from trajopt.problems.case import ProblemCase, ProblemInfo


@dataclass(frozen=True, kw_only=True)
class Family:
    """A family of ready problems.

    Attributes:
        name: Name of the family.
        description: The motion, in one sentence.
        build: Function that builds a case; its keyword arguments are the options, with defaults, and `robot` if there
            is a choice of robots.
        robots: Robots to choose from, the default one first; empty for a family with a model of its own.
        reference_cost: Cost of a known solution with the defaults; None if none is known [cost].
        reference_source: Source of that cost.
        reference_holds: Whether the reference cost of a case is valid for all options; otherwise for the defaults only.
    """

    name: str
    description: str
    build: Callable[..., ProblemCase]
    robots: tuple[str, ...] = ()
    reference_cost: float | None = None
    reference_source: str = ""
    reference_holds: bool = False

    @property
    def options(self) -> dict[str, Any]:
        """Options of `build` with their defaults, without the robot."""
        parameters = inspect.signature(self.build).parameters.values()
        return {p.name: p.default for p in parameters if p.name != "robot"}

    def info(self) -> ProblemInfo:
        """Description of the family; builds nothing."""
        return ProblemInfo(
            name=self.name,
            description=self.description,
            robots=self.robots,
            options=self.options,
            reference_cost=self.reference_cost,
            reference_source=self.reference_source,
        )

    def load(self, robot: str | None, options: dict[str, Any]) -> ProblemCase:
        """Builds a case.

        Raises:
            UnknownNameError: The family has no such robot or option; the message lists the known ones.
            InvalidArgumentError: A robot is given, and the family has a model of its own.
        """
        for option in options:
            if option not in self.options:
                raise unknown_name(f"{self.name}: option", option, self.options)
        if robot is not None and not self.robots:
            raise InvalidArgumentError(f"robot: expected None for {self.name}, which has its own model, got {robot!r}")
        if robot is not None and robot not in self.robots:
            raise unknown_name(f"{self.name}: robot", robot, self.robots)
        case = self.build(**({} if robot is None else {"robot": robot}), **options)
        if self.reference_holds or all(np.array_equal(value, self.options[name]) for name, value in options.items()):
            return case
        return dataclasses.replace(case, reference_cost=None, reference_source="")
