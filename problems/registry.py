"""Families of one kind by name."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, Generic

from trajopt.checks import check_known
from trajopt.problems.case import ProblemInfo
from trajopt.problems.family import Case, Family
from trajopt.robots import Robot


class Registry(Generic[Case]):
    """Families of one kind, by name. The module of a family is imported at its first use.

    Args:
        kind: Kind of the families, for messages.
        modules: Module of each family, by name; it contains the family as `FAMILY`, or several as `FAMILIES`.
    """

    def __init__(self, kind: str, modules: Mapping[str, str]) -> None:
        self._kind, self._modules = kind, modules

    def names(self) -> list[str]:
        """Names of the families."""
        return sorted(self._modules)

    def describe(self, name: str) -> ProblemInfo:
        """Describes a family, its robots, and its options with their defaults, without loading a robot.

        Raises:
            UnknownNameError: There is no family of this name; the message lists the known ones.
        """
        return self._family(name).info()

    def load(self, name: str, /, robot: str | Robot | None = None, **options: Any) -> Case:
        """Builds a ready problem, or a closed loop.

        Args:
            name: Name of the family, one of `names()`.
            robot: Name of one of the family's robots; by default the first. If `any_robot` is True, also another name,
                the path of a file or a Robot. None for a family with its own model.
            **options: Options of the family, see `describe(name).options`.

        Raises:
            UnknownNameError: There is no family, robot or option of this name; the message lists the known ones.
            InvalidArgumentError: An option has a wrong value, or `robot` is not None for a family with its own model.
            MissingDependencyError: The robot needs a package that is not installed.
        """
        return self._family(name).load(robot, options)

    def _family(self, name: str) -> Family[Case]:
        module = importlib.import_module(self._modules[check_known(self._kind, name, self._modules)])
        families = module.FAMILIES if hasattr(module, "FAMILIES") else (module.FAMILY,)
        return next(family for family in families if family.name == name)
