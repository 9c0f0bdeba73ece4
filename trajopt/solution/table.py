"""Solutions as tables: columns with names and units, for .csv files and dictionaries."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trajopt.plotting.style import check_output_path

if TYPE_CHECKING:
    from trajopt.solution.solution import Solution


def write_csv(path: str | Path, solution: Solution) -> Path:
    """Writes one row a knot; see `Solution.to_csv`."""
    path = check_output_path(path, "path", (".csv",))
    times = solution.times
    head = ["knot [-]", *([] if times is None else ["time [s]"])]
    head += [f"{name} [{unit}]" for name, unit in zip(solution.coordinate_names, solution.coordinate_units)]
    head += [f"{name} [{unit}]" for name, unit in zip(solution.control_names, solution.control_units)]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(head)
        for t, x in enumerate(solution.xs):
            u = solution.us[t].tolist() if t < len(solution.us) else [""] * solution.us.shape[1]
            writer.writerow([t, *([] if times is None else [float(times[t])]), *x.tolist(), *u])
    return path


def as_dict(solution: Solution) -> dict[str, Any]:
    """Plain numbers, texts and lists; see `Solution.to_dict`."""
    states, controls = solution.coordinate_names, solution.control_names
    return {
        "solver": solution.solver,
        "status": solution.status.name,
        "converged": solution.converged,
        "cost": float(solution.cost),
        "iterations": solution.iterations,
        "seconds": float(solution.seconds),
        "robot": None if solution.robot is None else solution.robot.name,
        "times": None if solution.times is None else solution.times.tolist(),
        "states": {name: column.tolist() for name, column in zip(states, solution.xs.T)},
        "controls": {name: column.tolist() for name, column in zip(controls, solution.us.T)},
        "state_units": dict(zip(states, solution.coordinate_units)),
        "control_units": dict(zip(controls, solution.control_units)),
    }
