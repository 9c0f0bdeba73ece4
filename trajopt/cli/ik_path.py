"""Files of the command `trajopt ik`: positions over time as input, joint angles as output."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from trajopt.checks import check_positive
from trajopt.cli.common import check_input
from trajopt.errors import InvalidArgumentError
from trajopt.files import output_file, read_rows, write_rows
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.ik import IKPath

COLUMNS = ("time", "x", "y", "z")


def read_path(file: Path, dt: float | None) -> tuple[Reals, float]:
    """Reads positions (n, 3) [m] from a .csv file and returns them at times 0, dt, 2 dt ..., with dt [s].

    Args:
        file: The file, with columns time, x, y and z; its header may have units, such as "x [m]".
        dt: Time step [s]; by default the smallest step in the file.

    Raises:
        InvalidArgumentError: The file cannot be read, lacks a column, or its times do not ascend.
    """
    check_input("--path", file)
    rows = read_rows(file, "--path")
    names = [head.split("[")[0].strip().lower() for head in rows[0]] if rows else []
    missing = [name for name in COLUMNS if name not in names]
    if missing or len(rows) < 3:
        got = f"lacks {', '.join(missing)}" if missing else f"has {len(rows) - 1} rows"
        raise InvalidArgumentError(f"--path: expected columns time, x, y, z and at least two rows; {file.name} {got}")
    places = [names.index(name) for name in COLUMNS]
    try:
        values = np.array([[float(row[i]) for i in places] for row in rows[1:]])
    except (ValueError, IndexError) as error:
        raise InvalidArgumentError(f"--path: expected numbers in every row of {file.name}, got {error}") from None
    if not np.isfinite(values).all() or np.diff(values[:, 0]).min() <= 0.0:
        raise InvalidArgumentError(f"--path: expected finite numbers and ascending times in {file.name}")
    times = values[:, 0] - values[0, 0]
    step = float(np.diff(times).min()) if dt is None else check_positive("--dt", dt, unit="s")
    if step > times[-1] or times[-1] / step > 1e6:
        raise InvalidArgumentError(f"--dt: expected 1 to 1e6 steps in {times[-1]:g} s, got a step of {step:g} s")
    at = step * np.arange(round(times[-1] / step) + 1, dtype=np.float64)
    return np.stack([np.interp(at, times, column) for column in values[:, 1:].T], axis=1), step


def write_path(file: Path, path: IKPath, names: tuple[str, ...]) -> None:
    """Writes times and configurations by coordinate name; a .npz file also gets velocities."""
    if file.suffix == ".npz":
        with output_file(file, "--save") as opened:
            np.savez(opened, times=path.times, positions=path.qs, velocities=path.vs, distance=path.distance)
        return
    rows = [[repr(float(each)) for each in (t, *q)] for t, q in zip(path.times, path.qs)]
    write_rows(file, [["time [s]", *names], *rows])
