"""Closed loops that are ready to run: a controller, a plant, disturbances, and a report of what matters.

    case = trajopt.problems.mpc.load("cart-pole-balance")
    log = case.simulate()
    print(case.report(log))

Importing this package builds nothing and loads no robot.
"""

from __future__ import annotations

from typing import Any

from trajopt.checks import check_known
from trajopt.model.calls import explain_calls
from trajopt.problems.case import ProblemInfo
from trajopt.problems.family import Family
from trajopt.problems.mpc import arm, cart_pole, drive, quadrotor, quadruped
from trajopt.problems.mpc.case import MPCCase

__all__ = ["MPCCase", "describe", "load", "names"]

_FAMILIES: dict[str, Family[MPCCase]] = {
    family.name: family for family in (arm.FAMILY, cart_pole.FAMILY, drive.FAMILY, quadrotor.FAMILY, quadruped.FAMILY)
}


def names() -> list[str]:
    """Names of the families."""
    return sorted(_FAMILIES)


def describe(name: str) -> ProblemInfo:
    """Description of a family and its options with their defaults; builds nothing.

    Raises:
        UnknownNameError: There is no such family; the message lists the known ones.
    """
    return _family(name).info()


def load(name: str, /, robot: str | None = None, **options: Any) -> MPCCase:
    """Builds a closed loop.

    Args:
        name: Name of the family, one of `names()`.
        robot: None; each family has its own.
        **options: Options of the family, see `describe(name).options`.

    Raises:
        UnknownNameError: There is no such family or option; the message lists the known ones.
        InvalidArgumentError: An option has a wrong value.
        MissingDependencyError: The robot needs a package that is not installed.
    """
    return _family(name).load(robot, options)


def _family(name: str) -> Family[MPCCase]:
    return _FAMILIES[check_known("closed loop", name, _FAMILIES)]


explain_calls(__name__)
