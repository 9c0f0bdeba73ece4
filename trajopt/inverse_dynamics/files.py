"""Recorded motions from files: .csv tables with a header, and .npz arrays."""

from __future__ import annotations

import os
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from trajopt.checks import check_array, check_instance, check_path, check_positive
from trajopt.errors import InvalidArgumentError
from trajopt.files import DamagedFileError, read_arrays, read_rows
from trajopt.robots import Robot
from trajopt.solution import Solution
from trajopt.states import StateMultibody
from trajopt.types import Reals

TIMES = ("times", "time", "t")
POSITIONS = ("positions", "qs", "q", "xs")


def read_positions(robot: Robot, path: str | PathLike[str], dt: float | None = None) -> tuple[Reals, Reals]:
    """Reads configurations (n, nq) and their times (n,) [s] from a file.

    A .csv file has a header and a row for each time. It has a column "time" (or "t"; a unit such as [s] may follow),
    and one for each coordinate of the robot, by name or in the order of the coordinates. `Solution.to_csv` writes such
    files; further columns are ignored. A .npz file has arrays "times" and "positions" (or "qs", or states "xs"), or
    comes from `Solution.save`. Of rows with the same time, as at impulses, the last one counts.

    Args:
        robot: The robot.
        path: Path of the file.
        dt: Time step, > 0 [s], for a file without times.

    Raises:
        InvalidArgumentError: The file cannot be read, lacks a coordinate, or has a solution of another robot. Its times
            do not ascend, or it has no times and `dt` is None. Or `dt` is not > 0.
    """
    check_instance("robot", robot, Robot, "use load_robot")
    file = check_path("path", path)
    if not os.path.isfile(file):  # Path.is_file raises for names that are too long
        raise InvalidArgumentError(f"path: expected a file, got {str(file)!r}, which does not exist")
    step = None if dt is None else check_positive("dt", dt, unit="s")
    if file.suffix == ".npz":
        times, q = _arrays(robot, file)
    elif file.suffix == ".csv":
        times, q = _table(robot, file)
    else:
        raise InvalidArgumentError(f"path: expected a .csv or .npz file, got {file.name!r}")
    if times is None:
        if step is None:
            kind = f"a column {TIMES[1]!r}" if file.suffix == ".csv" else f"an array {TIMES[0]!r}"
            raise InvalidArgumentError(f"{file.name}: expected {kind} [s], got none; pass the time step, --dt (dt=)")
        times = step * np.arange(len(q), dtype=float)
    if not np.isfinite(q).all():
        row, column = np.argwhere(~np.isfinite(q))[0]
        raise InvalidArgumentError(
            f"{file.name}: expected finite numbers, got {q[row, column]} for coordinate {column} in data row {row}; "
            "interpolate the gaps, for instance with scipy.interpolate, or remove these rows"
        )
    at = check_array(f"{file.name}: times", times, (len(q),), cure="one time for each configuration")
    for row in np.flatnonzero(np.diff(at) < 0)[:1]:
        raise InvalidArgumentError(
            f"{file.name}: times: expected ascending times, got {at[row + 1]:g} s after {at[row]:g} s"
        )
    last = np.append(np.diff(at) > 0, True)  # of states at one time keep that after the impulse
    return q[last], at[last]


def _arrays(robot: Robot, file: Path) -> tuple[Reals | None, Reals]:
    try:
        arrays = read_arrays(file)
    except DamagedFileError:
        raise InvalidArgumentError(
            f"{file.name}: expected arrays of numbers as numpy.savez writes them, got another kind of file; use the "
            "extension .csv for tables of numbers"
        ) from None
    if {"facts", "description", "xs"} <= arrays.keys():
        solution = Solution.load(file)
        own, others = StateMultibody(robot).coordinate_names[: robot.nq], solution.coordinate_names[: robot.nq]
        for name, other in zip(own, others):
            if name != other:
                raise InvalidArgumentError(
                    f"{file.name}: expected a motion of {robot.name}, got one of another robot, with {other} where "
                    f"{robot.name} has {name}; save the positions alone if the names of its joints differ"
                )
        arrays |= {} if solution.times is None else {TIMES[0]: solution.times}
    times = next((arrays[name] for name in TIMES if name in arrays), None)
    q = next((arrays[name] for name in POSITIONS if name in arrays), None)
    if q is None or q.ndim != 2 or q.shape[1] not in (robot.nq, robot.nq + robot.nv):
        raise InvalidArgumentError(f"{file.name}: expected an array 'positions' (n, {robot.nq}), got {_shapes(arrays)}")
    return times, np.asarray(q[:, : robot.nq], dtype=float)


def _shapes(arrays: dict[str, Any]) -> str:
    return ", ".join(f"{name} {array.shape}" for name, array in arrays.items()) or "nothing"


def _table(robot: Robot, file: Path) -> tuple[Reals | None, Reals]:
    rows = read_rows(file, "path")
    if len(rows) < 2:
        raise InvalidArgumentError(f"{file.name}: expected a header and rows of numbers, got {len(rows)} rows")
    names = [head.split("[")[0].strip() for head in rows[0]]
    at = next((names.index(name) for name in TIMES if name in names), None)
    columns = _columns(robot, file, names, at)
    used = columns if at is None else [at, *columns]
    for line, row in enumerate(rows[1:], 2):
        if len(row) <= max(used):
            raise InvalidArgumentError(f"{file.name}: expected {len(names)} columns, got {len(row)} in row {line}")
    try:
        values = np.array([[float(row[i]) for i in used] for row in rows[1:]])
    except ValueError as error:
        raise InvalidArgumentError(f"{file.name}: expected numbers in every row, got {error}") from None
    return (None, values) if at is None else (values[:, 0], values[:, 1:])


def _columns(robot: Robot, file: Path, names: list[str], times: int | None) -> list[int]:
    """Columns of the robot's coordinates: by name, or else all columns except that of the times."""
    wanted = StateMultibody(robot).coordinate_names[: robot.nq]
    plain = {name.removeprefix("q:"): i for i, name in reversed(list(enumerate(names)))}
    named = [plain.get(name.removeprefix("q:")) for name in wanted]
    if None not in named:
        return [i for i in named if i is not None]
    rest = [i for i in range(len(names)) if i != times]
    if len(rest) != robot.nq:
        missing = ", ".join(name for name, i in zip(wanted, named) if i is None)
        raise InvalidArgumentError(
            f"{file.name}: expected a column for each coordinate of {robot.name}, but {missing} is missing"
        )
    return rest
