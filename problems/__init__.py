"""Ready problems in families; each case has an initial guess, a solver with options, and a reference cost.

    case = trajopt.problems.load("arm-reach", robot="ur5")
    solution = case.solver(case.problem, case.options).solve(case.xs, case.us)

Closed loops of model-predictive controllers are in `trajopt.problems.mpc`.

Importing this package builds no problem and loads no robot.
"""

from __future__ import annotations

from typing import Any

from trajopt.checks import check_known
from trajopt.model.calls import explain_calls
from trajopt.problems import (
    arm_limits,
    arm_reach,
    arm_reach_crocoddyl,
    arm_reach_seed,
    arm_spheres,
    biped_gaits,
    block_on_incline,
    cart_pole,
    cart_pole_limits,
    cart_push,
    com_circle,
    double_pendulum,
    hopper,
    humanoid_reach,
    humanoid_taichi,
    lqr,
    lqr_bounds,
    minimum_jerk,
    mpc,
    parking,
    parking_circles,
    pendulum,
    pendulum_limits,
    puck,
    quadrotor_obstacles,
    quadruped_gaits,
    stand_up,
    unicycle,
    walk_freely,
)
from trajopt.problems.case import ProblemCase, ProblemInfo
from trajopt.problems.family import Family

__all__ = ["Family", "ProblemCase", "ProblemInfo", "describe", "load", "mpc", "names"]

_FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        arm_reach.FAMILY,
        arm_reach_crocoddyl.FAMILY,
        arm_reach_seed.FAMILY,
        *biped_gaits.FAMILIES,
        cart_pole.FAMILY,
        double_pendulum.FAMILY,
        block_on_incline.FAMILY,
        cart_push.FAMILY,
        hopper.FAMILY,
        puck.FAMILY,
        stand_up.FAMILY,
        walk_freely.FAMILY,
        humanoid_reach.FAMILY,
        humanoid_taichi.FAMILY,
        lqr.FAMILY,
        pendulum.FAMILY,
        *quadruped_gaits.FAMILIES,
        cart_pole_limits.FAMILY,
        parking.FAMILY,
        parking_circles.FAMILY,
        pendulum_limits.FAMILY,
        lqr_bounds.FAMILY,
        minimum_jerk.FAMILY,
        quadrotor_obstacles.FAMILY,
        arm_limits.FAMILY,
        arm_spheres.FAMILY,
        com_circle.FAMILY,
        unicycle.FAMILY,
    )
}


def names() -> list[str]:
    """Names of the families."""
    return sorted(_FAMILIES)


def describe(name: str) -> ProblemInfo:
    """Description of a family, its robots, and its options with their defaults; loads no robot.

    Raises:
        UnknownNameError: There is no such family; the message lists the known ones.
    """
    return _family(name).info()


def load(name: str, /, robot: str | None = None, **options: Any) -> ProblemCase:
    """Builds a ready problem.

    Args:
        name: Name of the family, one of `names()`.
        robot: One of the robots of the family, by default the first of them; another one where `any_robot` says so.
        **options: Options of the family, see `describe(name).options`.

    Raises:
        UnknownNameError: There is no such family, robot or option; the message lists the known ones.
        InvalidArgumentError: An option has a wrong value.
        MissingDependencyError: The robot needs a package that is not installed.
    """
    return _family(name).load(robot, options)


def _family(name: str) -> Family:
    return _FAMILIES[check_known("problem", name, _FAMILIES)]


explain_calls(__name__)
