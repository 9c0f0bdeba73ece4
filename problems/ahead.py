"""Compiles the ready problems of a robot ahead of time: for a container, a classroom, or a robot in the field."""

from __future__ import annotations

from collections.abc import Callable

from trajopt import kernels
from trajopt.checks import check_text
from trajopt.errors import InvalidArgumentError, shown
from trajopt.problems.ready import MODULES, describe, load

REACH = "arm-reach"
"""Problem that is compiled for robots without gaits."""


def of_robot(robot: str) -> list[str]:
    """Names of the problems that `warm` compiles: the gaits of a legged robot, or a reach of any other robot."""
    gaits = [n for n, module in MODULES.items() if module.endswith("_gaits") and not n.startswith("crocoddyl")]
    return [name for name in gaits if robot in describe(name).robots] or [REACH]


def warm(robot: str, *, begin: Callable[[str], object] = lambda _: None) -> list[str]:
    """Compiles the code of a robot's ready problems to the disk cache, so that later starts compile nothing.

    It solves each gait of the robot once, or a reach of an arm, and waits for optimised code. With
    TRAJOPT_OPTIMISE=off it compiles only quick code.

    Args:
        robot: Name of the robot, or an arm's file, as in `load("arm-reach", robot)`.
        begin: Function that is called with the name of each problem before it is compiled.

    Returns:
        Names of the problems.

    Raises:
        UnknownNameError: There is no robot of this name; the message lists the known ones.
        InvalidArgumentError: The robot is not an arm and has no gaits, or `begin` is not a function.
        MissingDependencyError: The robot needs a package that is not installed.
    """
    names = of_robot(check_text("robot", robot))
    if not callable(begin):
        raise InvalidArgumentError(f"begin: expected a function of the name of a problem, got {shown(begin)}")
    for name in names:
        begin(name)
        case = load(name, robot)
        solver = case.solver(case.problem, case.options)
        solver.solve(case.xs, case.us)
        kernels.wait_until_optimised()
    return names
