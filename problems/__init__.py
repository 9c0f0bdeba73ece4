"""Ready problems: each file is a family, each case comes with a guess, a solver and a reference cost.

    case = trajopt.problems.load("arm-reach", robot="talos_arm")
    solution = case.solver(case.problem, case.options).solve(case.xs, case.us)

Importing this room builds and loads nothing.
"""

from __future__ import annotations

from typing import Any

from trajopt.errors import unknown_name
from trajopt.problems import arm_reach, arm_reach_seed, cart_pole, double_pendulum, lqr, pendulum, unicycle
from trajopt.problems.case import ProblemCase, ProblemInfo
from trajopt.problems.family import Family

__all__ = ["Family", "ProblemCase", "ProblemInfo", "describe", "load", "names"]

_FAMILIES: dict[str, Family] = {
    module.FAMILY.name: module.FAMILY
    for module in (arm_reach, arm_reach_seed, cart_pole, double_pendulum, lqr, pendulum, unicycle)
}


def names() -> list[str]:
    """Names of the families."""
    return sorted(_FAMILIES)


def describe(name: str) -> ProblemInfo:
    """What a family is about, its robots, and its options with their defaults; loads no robot.

    Raises:
        UnknownNameError: There is no such family; lists those that there are.
    """
    return _family(name).info()


def load(name: str, robot: str | None = None, **options: Any) -> ProblemCase:
    """Builds a ready problem.

    Args:
        name: Its family, one of `names()`.
        robot: One of the family's robots; the first of them by default.
        **options: The family's options, see `describe(name).options`.

    Raises:
        UnknownNameError: No such family, robot or option; lists those that there are.
        InvalidArgumentError: A value of an option does not fit.
        MissingDependencyError: The robot needs a package that is not installed.
    """
    return _family(name).load(robot, options)


def _family(name: str) -> Family:
    if name not in _FAMILIES:
        raise unknown_name("problem", name, _FAMILIES)
    return _FAMILIES[name]
