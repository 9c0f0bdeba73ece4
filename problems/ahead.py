"""Compiles ahead what ready problems of a robot need: for a container, a classroom, a robot that must start at once."""

from __future__ import annotations

from collections.abc import Callable

from trajopt import kernels
from trajopt.checks import check_text
from trajopt.problems.ready import MODULES, describe, load

REACH = "arm-reach"
"""What is compiled for robots without gaits."""


def of_robot(robot: str) -> list[str]:
    """Names of the problems that `warm` compiles: the gaits of a robot with legs, a reach of any other."""
    gaits = [n for n, module in MODULES.items() if module.endswith("_gaits") and not n.startswith("crocoddyl")]
    return [name for name in gaits if robot in describe(name).robots] or [REACH]


def warm(robot: str, *, begin: Callable[[str], object] = lambda _: None) -> list[str]:
    """Puts the code that ready problems of a robot need into the disk cache, so that their next start compiles nothing.

    It solves each of the robot's gaits once, or a reach of an arm, and waits for optimised code. With
    TRAJOPT_OPTIMISE=off it compiles quick code alone.

    Args:
        robot: Name of the robot, or an arm's file, as in `load("arm-reach", robot)`.
        begin: Is called with the name of each problem when it is begun.

    Returns:
        Names of the problems.

    Raises:
        UnknownNameError: There is no such robot; the message lists the known ones.
        InvalidArgumentError: The robot is neither an arm nor one with gaits.
        MissingDependencyError: The robot needs a package that is not installed.
    """
    names = of_robot(check_text("robot", robot))
    for name in names:
        begin(name)
        case = load(name, robot)
        solver = case.solver(case.problem, case.options)
        solver.solve(case.xs, case.us)
        kernels.wait_until_optimised()
    return names
