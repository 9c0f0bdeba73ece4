"""A family of ready problems: a function that builds one, and the options that it takes."""

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
    """One file of this room.

    Attributes:
        name: Its name.
        description: What is to happen, in one sentence.
        build: Builds a case; its keyword arguments are the options, with defaults, and `robot` if there are robots.
        robots: Robots that it is known for, the default one first.
        reference_cost: Cost of a known solution with the defaults [cost].
        reference_source: Where that cost comes from.
        reference_holds: Whether the reference cost of a case holds for all options, not for the defaults only.
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
        """What can be said without building anything."""
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
            UnknownNameError: The family has no such robot or option; lists those that it has.
            InvalidArgumentError: It has a model of its own, and no choice of robots.
        """
        for option in options:
            if option not in self.options:
                raise unknown_name(f"{self.name}: option", option, self.options)
        if robot is not None and not self.robots:
            raise InvalidArgumentError(f"robot: {self.name} has a model of its own and takes none, got {robot!r}")
        if robot is not None and robot not in self.robots:
            raise unknown_name(f"{self.name}: robot", robot, self.robots)
        case = self.build(**({} if robot is None else {"robot": robot}), **options)
        if self.reference_holds or all(np.array_equal(value, self.options[name]) for name, value in options.items()):
            return case
        return dataclasses.replace(case, reference_cost=None, reference_source="")
