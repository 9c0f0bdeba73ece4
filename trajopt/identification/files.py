"""Logs from files: .csv tables with a header, and .npz arrays."""

from __future__ import annotations

import os
from os import PathLike
from pathlib import Path

import numpy as np

from trajopt.checks import check_path
from trajopt.errors import InvalidArgumentError
from trajopt.files import DamagedFileError, read_arrays, read_rows
from trajopt.robots import Robot
from trajopt.states import StateMultibody
from trajopt.types import Reals

_ARRAYS = {"times": ("times", "time", "t"), "states": ("states", "xs"), "controls": ("controls", "us")}


def read_log(robot: Robot, path: str | PathLike[str]) -> tuple[Reals, Reals, Reals]:
    """States (N + 1, nx), torques (N, nv) and times (N + 1,) of a file; see `Log.read`."""
    file = check_path("path", path)
    if not os.path.isfile(file):
        raise InvalidArgumentError(f"path: expected a file, got {str(file)!r}, which does not exist")
    if file.suffix == ".npz":
        return _arrays(file)
    if file.suffix == ".csv":
        return _table(robot, file)
    raise InvalidArgumentError(f"path: expected a .csv or .npz file, got {file.name!r}")


def _arrays(file: Path) -> tuple[Reals, Reals, Reals]:
    try:
        arrays = read_arrays(file)
    except DamagedFileError:
        raise InvalidArgumentError(
            f"{file.name}: expected arrays of numbers as numpy.savez writes them, got another kind of file"
        ) from None
    if {"facts", "description", "xs"} <= arrays.keys():
        raise InvalidArgumentError(
            f"{file.name}: expected a log, got a file of Solution.save; write it by "
            f'Solution.load({file.name!r}).to_csv("log.csv") and read that'
        )
    chosen = {}
    for kind, names in _ARRAYS.items():
        name = next((name for name in names if name in arrays), None)
        if name is None:
            raise InvalidArgumentError(f"{file.name}: expected an array {kind!r}, got {', '.join(arrays) or 'none'}")
        chosen[kind] = np.asarray(arrays[name], dtype=float)
    return chosen["states"], chosen["controls"], chosen["times"]


def _table(robot: Robot, file: Path) -> tuple[Reals, Reals, Reals]:
    rows = read_rows(file, "path")
    if len(rows) < 2:
        raise InvalidArgumentError(f"{file.name}: expected a header and rows of numbers, got {len(rows)} rows")
    names = [head.split("[")[0].strip() for head in rows[0]]
    state = StateMultibody(robot)
    torques = [name.replace("v:", "u:", 1) for name in state.coordinate_names[robot.nq :]]
    places = []
    for name in ("time", *state.coordinate_names, *torques):
        if name not in names:
            raise InvalidArgumentError(f"{file.name}: expected a column {name!r}, got {', '.join(names)}")
        places.append(names.index(name))
    first, last = places[: 1 + state.nx], places[1 + state.nx :]
    try:
        known = np.array([[float(row[i]) for i in first] for row in rows[1:]])
        applied = np.array([[float(row[i]) for i in last] for row in rows[1:-1]])
    except (ValueError, IndexError) as error:
        raise InvalidArgumentError(f"{file.name}: expected numbers in every row, got {error}") from None
    return known[:, 1:], applied, known[:, 0]
