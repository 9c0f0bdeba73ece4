"""Ready problems: each file is a family or a few, each case comes with a guess, a solver and a reference cost.

    case = trajopt.problems.load("arm-reach", robot="talos_arm")
    solution = case.solver(case.problem, case.options).solve(case.xs, case.us)

Importing this room builds and loads nothing.
"""

from __future__ import annotations

from typing import Any

from trajopt.errors import unknown_name
from trajopt.problems import (
    arm_reach,
    arm_reach_seed,
    biped_gaits,
    cart_pole,
    double_pendulum,
    humanoid_reach,
    humanoid_taichi,
    lqr,
    pendulum,
    quadruped_gaits,
    unicycle,
)
from trajopt.problems.case import ProblemCase, ProblemInfo
from trajopt.problems.family import Family

__all__ = ["Family", "ProblemCase", "ProblemInfo", "describe", "load", "names"]

_FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        arm_reach.FAMILY,
        arm_reach_seed.FAMILY,
        *biped_gaits.FAMILIES,
        cart_pole.FAMILY,
        double_pendulum.FAMILY,
        humanoid_reach.FAMILY,
        humanoid_taichi.FAMILY,
        lqr.FAMILY,
        pendulum.FAMILY,
        *quadruped_gaits.FAMILIES,
        unicycle.FAMILY,
    )
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
