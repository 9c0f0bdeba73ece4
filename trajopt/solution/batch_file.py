"""Many solutions of one problem as a .npz file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from trajopt.analysis.lines import coordinate_units
from trajopt.checks import check_path
from trajopt.shooting import inspection
from trajopt.solution.file import check_npz, read_described, reading, write_arrays
from trajopt.solution.history import Histories

FORMAT = 1
_ARRAYS = ("xs", "us", "cost", "status", "iterations", "seconds", "error", "x0", "failed_knot")
_GROUPS = {
    "parameters": "parameter",
    "multipliers": "multiplier",
    "unknowns": "unknown",
    "chosen": "chosen",
    "base": "base",
}


def write(path: str | Path, batch: dict[str, Any]) -> Path:
    """Writes the fields of a SolutionBatch, all but its problem; see `SolutionBatch.save`."""
    path = check_npz(path)
    arrays = {name: batch[name] for name in (*_ARRAYS, "K", "k") if batch[name] is not None}
    for group, prefix in _GROUPS.items():
        arrays |= {f"{prefix}/{name}": values for name, values in batch[group].items()}
    arrays |= {f"history/{name}": column for name, column in batch["histories"].columns.items()}
    arrays["starts"] = batch["histories"].starts
    facts = {"format": FORMAT, "kind": "SolutionBatch", "solver": batch["solver"]}
    return write_arrays(path, facts, json.dumps(_described(batch)), arrays)


def _described(batch: dict[str, Any]) -> dict[str, Any]:
    """Names and units of states and controls."""
    problem = batch["problem"]
    if problem is None:
        return dict(batch["described"])
    return {
        "coordinate_names": tuple(problem.state.coordinate_names),
        "coordinate_units": coordinate_units(problem.state),
        "control_names": tuple(inspection.controls(problem).names),
        "control_units": tuple(inspection.controls(problem).units),
    }


def read(path: str | Path) -> dict[str, Any]:
    """Reads the fields of a SolutionBatch from a file; see `SolutionBatch.load`."""
    path = check_path("path", path)
    with reading(path, "saved solutions"):
        arrays, facts, described = read_described(path, "SolutionBatch", FORMAT)
        columns = {name.removeprefix("history/"): a for name, a in arrays.items() if name.startswith("history/")}
        return {
            **{name: arrays[name] for name in _ARRAYS},
            **{name: arrays.get(name) for name in ("K", "k")},
            **{group: _named(arrays, prefix) for group, prefix in _GROUPS.items()},
            "histories": Histories(columns=columns, starts=arrays["starts"]),
            "solver": facts["solver"],
            "described": {name: tuple(value) for name, value in described.items()},
        }


def _named(arrays: dict[str, Any], prefix: str) -> dict[str, Any]:
    return {name.split("/", 1)[1]: array for name, array in arrays.items() if name.startswith(f"{prefix}/")}
