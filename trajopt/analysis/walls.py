"""Walls around a motion: constant bounds of constraints at all knots on the position of a body or of a frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trajopt.analysis.constraints import constraint_rows
from trajopt.analysis.skeleton import skeleton_of
from trajopt.residuals import ResidualModelFrameTranslation
from trajopt.states.place_names import place_columns
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.solution import Solution

_SAME = 1e-9  # change over time below which a bound is a wall [m]


def walls_of(solution: Solution) -> Reals:
    """Returns boxes that points of a motion stay in, shape (n, 2, 3) [m]: lower and upper corners, infinite where open.

    Args:
        solution: The solution; without its problem only the walls of a body are known.
    """
    boxes = [*_of_body(solution), *_of_frames(solution)]
    closed = [box for box in boxes if np.isfinite(box).any()]
    return np.reshape(closed, (-1, 2, 3))


def _of_body(solution: Solution) -> list[Reals]:
    """Box of the coordinates x, y and z of a state that is a pose."""
    if solution.description.poses is None:
        return []
    box, lines = _open(), [line for line in solution.description.lines if line.unit == "m"]
    columns = place_columns([line.name.rpartition(".")[2] for line in lines], ["m"] * len(lines))
    for axis, line in ((axis, lines[i]) for axis, i in columns.items() if axis != "theta"):
        if line.least is not None and line.most is not None:
            between = line.least != line.most  # equations are goals
            box[:, "xyz".index(axis)] = [
                _constant(np.where(between, bounds, np.nan), -side * np.inf)
                for side, bounds in ((1.0, line.least), (-1.0, line.most))
            ]
    return [box]


def _of_frames(solution: Solution) -> list[Reals]:
    """Box of each constraint on the position of a frame."""
    robot, boxes = solution.robot, []
    residuals = {item.name: item.residual for item in solution.description.items}
    for rows in constraint_rows(solution):
        residual = residuals.get(rows.name)
        if robot is None or not isinstance(residual, ResidualModelFrameTranslation) or rows.rows != ("x", "y", "z"):
            continue
        _, (path,) = skeleton_of(robot.model, solution.xs[:, : robot.nq], [residual.frame_id])
        between = rows.lower != rows.upper
        box = _open()
        for axis in range(3):
            for i, (side, bounds) in enumerate(((1.0, rows.lower), (-1.0, rows.upper))):
                world = np.where(between, bounds + path - rows.values, np.nan)[:, axis]
                box[i, axis] = _constant(world, -side * np.inf)
        boxes.append(box)
    return boxes


def _open() -> Reals:
    """Box without walls."""
    return np.array([np.full(3, -np.inf), np.full(3, np.inf)])


def _constant(bounds: Reals, otherwise: float) -> float:
    """The bound (T + 1,), if it holds at all knots between the ends and does not change; NaN marks knots without one.

    A bound at some knots is where the motion passes or stops, and no wall.
    """
    finite = bounds[np.isfinite(bounds)]
    wall = len(finite) > 1 and np.ptp(finite) < _SAME and np.isfinite(bounds[1:-1]).all()
    return float(finite[0]) if wall else otherwise
