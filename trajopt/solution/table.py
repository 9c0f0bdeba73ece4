"""Tables of solutions: columns with names and units, for .csv files and dictionaries."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.analysis.basics import time_axis
from trajopt.files import check_output_path, write_rows
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.solution.solution import Solution

_DERIVED = {"acceleration": "a", "torque": "u"}
"""Letters of lines that are no coordinates or controls, as those of controls, by their group."""
_FORCE, _TORQUE = ("fx [N]", "fy [N]", "fz [N]"), ("tx [N m]", "ty [N m]", "tz [N m]")
_AXES = {1: ("f [N]",), 2: ("fx [N]", "fz [N]"), 3: _FORCE, 6: (*_FORCE, *_TORQUE)}
"""Headers of the elements of a contact force, by the number of elements."""


def write_csv(path: str | Path, solution: Solution) -> Path:
    """Writes one row per knot; see `Solution.to_csv`."""
    path = check_output_path(path, "path", (".csv",))
    times = solution.times
    head = ["knot [-]", *([] if times is None else [time_axis(solution)[1]])]
    head += [f"{name} [{unit}]" for name, unit in zip(solution.coordinate_names, solution.coordinate_units)]
    head += [f"{name} [{unit}]" for name, unit in zip(solution.control_names, solution.control_units)]
    columns = {**_derived(solution), **_forces(solution)}
    head += list(columns)
    rows: list[list[Any]] = [head]
    for t, x in enumerate(solution.xs):
        u = solution.us[t].tolist() if t < len(solution.us) else [""] * solution.us.shape[1]
        others = [_cell(column, t) for column in columns.values()]
        rows.append([t, *([] if times is None else [_time(times[t])]), *x.tolist(), *u, *others])
    write_rows(path, rows)
    return path


def _derived(solution: Solution) -> dict[str, Reals]:
    """Accelerations and torques of motors that are no controls, (T,) or at all knots (T + 1,), by header."""
    lines = [line for line in solution.description.lines if line.group in _DERIVED]
    return {f"{_DERIVED[line.group]}:{line.name} [{line.unit}]": line.values for line in lines}


def _forces(solution: Solution) -> dict[str, Reals]:
    """Elements of contact forces (T,) by header, with separate columns for impulses; empty if there are none."""
    columns: dict[str, Reals] = {}
    times = solution.times
    sudden = np.full(len(solution.us), False) if times is None else np.diff(times) == 0.0  # touch-downs
    for name, rows in (solution.description.contact_forces or {}).items():
        axes = _AXES.get(rows.shape[1], tuple(f"{i} [N]" for i in range(rows.shape[1])))
        hits = sudden & np.isfinite(rows).any(axis=1)
        parts = [("", axes, ~hits)] if (~hits & np.isfinite(rows).any(axis=1)).any() or not hits.any() else []
        if hits.any():
            parts.append((" impulse", tuple(axis.replace("]", " s]") for axis in axes), hits))
        for kind, heads, here in parts:
            columns |= {f"{name}{kind} {head}": np.where(here, rows[:, i], np.nan) for i, head in enumerate(heads)}
    return columns


def _cell(column: Reals, t: int) -> float | str:
    """Text of a cell: a number, or empty at the last knot and at knots without the contact."""
    return float(column[t]) + 0.0 if t < len(column) and np.isfinite(column[t]) else ""  # -0.0 becomes 0.0


def _time(time: float) -> float:
    """Time without the rounding error of summed time steps: 0.6 instead of 0.6000000000000002."""
    return float(f"{time:.12g}")


def as_dict(solution: Solution) -> dict[str, Any]:
    """Returns plain numbers, text and lists; see `Solution.to_dict`."""
    states, controls = solution.coordinate_names, solution.control_names
    return {
        "solver": solution.solver,
        "status": solution.status.name,
        "converged": solution.converged,
        "cost": float(solution.cost),
        "iterations": solution.iterations,
        "seconds": float(solution.seconds),
        "compile_seconds": float(solution.compile_seconds),
        "robot": None if solution.robot is None else solution.robot.name,
        "unknowns": {name: value.tolist() for name, value in solution.unknowns.items()},
        "times": None if solution.times is None else [_time(time) for time in solution.times],
        "states": {name: column.tolist() for name, column in zip(states, solution.xs.T)},
        "controls": {name: column.tolist() for name, column in zip(controls, solution.us.T)},
        "state_units": dict(zip(states, solution.coordinate_units)),
        "control_units": dict(zip(controls, solution.control_units)),
    }
