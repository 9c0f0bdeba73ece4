"""Log: measured states and controls over time."""

from __future__ import annotations

from os import PathLike

import numpy as np
import numpy.typing as npt

from trajopt.checks import as_numbers, check_array, check_instance, check_positive, shape_of
from trajopt.errors import InvalidArgumentError
from trajopt.identification.files import read_log
from trajopt.objects.immutable import Immutable
from trajopt.robots import Robot
from trajopt.types import Reals


class Log(Immutable):
    """Measured states and controls; a control is constant from its time to the next one.

    Args:
        states: Measured states (N + 1, nx), N >= 2; of robots (q, v). A column that is not measured may hold NaN.
        controls: Measured controls (N, nu), or (N + 1, nu), of which the last row is not used; of robots torques.
        times: Times of the states (N + 1,), ascending, or only the time step [s].

    Attributes:
        states: Measured states (N + 1, nx); read only.
        controls: Measured controls (N, nu); read only.
        times: Times (N + 1,) [s]; read only.

    Raises:
        InvalidArgumentError: Sizes do not fit, numbers are not finite, or times do not ascend.
    """

    def __init__(self, states: npt.ArrayLike, controls: npt.ArrayLike, times: npt.ArrayLike) -> None:
        self.states, controls_ = _table("states", states, gaps=True), _table("controls", controls)
        count = len(self.states)
        if count < 3:
            raise InvalidArgumentError(f"states: expected at least 3 rows, one for each time, got {count}")
        if len(controls_) not in (count - 1, count):
            raise InvalidArgumentError(
                f"controls: expected {count - 1} rows, one for each time step between {count} states, got "
                f"{len(controls_)}"
            )
        self.controls = controls_[: count - 1]
        if shape_of(times) == ():
            self.times = check_positive("times", times, unit="s") * np.arange(count, dtype=float)
        else:
            self.times = check_array("times", times, (count,), cure="one time for each state, or only the time step")
        if np.any(np.diff(self.times) <= 0):
            row = int(np.argmax(np.diff(self.times) <= 0))
            raise InvalidArgumentError(
                f"times: expected ascending times, got {self.times[row + 1]:g} s after {self.times[row]:g} s"
            )
        for array in (self.states, self.controls, self.times):
            array.flags.writeable = False

    @staticmethod
    def read(robot: Robot, path: str | PathLike[str]) -> Log:
        """Reads a log of a robot from a file.

        A .csv file has a header and a row for each time, with columns "time", and "q:JOINT", "v:JOINT" and "u:JOINT" of
        each joint, as `Solution.to_csv` writes them; a unit such as [s] may follow. The torques of the last row are not
        used. A .npz file has arrays "times", "states" and "controls".

        Args:
            robot: The robot.
            path: Path of the file.

        Raises:
            InvalidArgumentError: The file cannot be read, or lacks a column or an array.
        """
        return Log(*read_log(check_instance("robot", robot, Robot, "use load_robot"), path))

    def __len__(self) -> int:
        return len(self.times)

    def __repr__(self) -> str:
        return f"Log({len(self)} states from {self.times[0]:g} to {self.times[-1]:g} s)"


def _table(argument: str, value: npt.ArrayLike, *, gaps: bool = False) -> Reals:
    """A table of finite numbers, one row for each time; with `gaps`, whole columns may be NaN."""
    rows = np.array(as_numbers(argument, value))
    if rows.ndim != 2:
        raise InvalidArgumentError(f"{argument}: expected a table, one row for each time, got shape {rows.shape}")
    bad = ~np.isfinite(rows)
    if gaps:
        bad[:, np.isnan(rows).all(axis=0)] = False
    if bad.any():
        row, column = np.argwhere(bad)[0]
        got = f"got {rows[row, column]} in row {row}, column {column}"
        cure = "; only a whole column may be NaN, if it is not measured" if gaps else ""
        raise InvalidArgumentError(f"{argument}: expected a table of finite numbers, {got}{cure}")
    return rows
