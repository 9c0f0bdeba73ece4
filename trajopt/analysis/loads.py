"""Masses and inertias of a robot that differ between the knots of a solution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trajopt.analysis.references import knot_values
from trajopt.robots.parameters import PREFIX, robot_with
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.robots import Robot
    from trajopt.solution import Solution


def robots_of_knots(solution: Solution) -> list[Robot]:
    """The robot with the masses and inertias of each running knot; empty if they are the same at all of them."""
    robot, changing, robots = solution.robot, _changing(solution), dict[bytes, "Robot"]()
    if robot is None or not changing:
        return []
    rows = [{name: values[t] for name, values in changing.items()} for t in range(len(solution.us))]
    keys = [b"".join(value.tobytes() for value in row.values()) for row in rows]
    for key, row in zip(keys, rows):
        if key not in robots:
            robots[key] = robot_with(robot, row)
    return [robots[key] for key in keys]


def left_out_words(solution: Solution) -> str:
    """Text for the parameters of bodies that differ between knots, and that a plant does not have."""
    names = ", ".join(name for name in _changing(solution))
    return f"the plant keeps its own masses: {names} of the knots left out"


def _changing(solution: Solution) -> dict[str, Reals]:
    """Values (T, ...) of parameters of bodies that differ between running knots, by name."""
    own = {} if solution.robot is None else solution.robot.parameters
    names = [PREFIX + name for name, parameter in own.items() if parameter.of_body]
    values = knot_values(solution) if names else {}
    rows = {name: values[name][: len(solution.us)] for name in names if name in values}
    return {name: each for name, each in rows.items() if len(each) and np.any(each != each[0])}
