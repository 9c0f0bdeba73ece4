"""Results of inverse kinematics for many targets as a .npz file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trajopt.checks import check_path
from trajopt.solution.file import check_npz, read_described, reading, write_arrays

if TYPE_CHECKING:
    from trajopt.ik.result import IKBatch

FORMAT = 1
_ARRAYS = ("q", "solved", "violation", "cost", "starts")
_TEXTS = ("names", "units")
_LISTS = ("active_limits", "causes")


def write(path: str | Path, batch: IKBatch) -> Path:
    """Writes a batch; see `IKBatch.save`."""
    path = check_npz(path)
    arrays = {name: getattr(batch, name) for name in _ARRAYS}
    tasks = {}
    for name, task in batch.residuals.items():
        arrays |= {f"value/{name}": task.value, f"violation/{name}": task.violation}
        tasks[name] = {"unit": task.unit, "soft": task.soft, "bodies": task.bodies, "unchecked": task.unchecked}
        tasks[name] |= {"touching": task.touching, "far": task.far, "is_cost": task.is_cost}
    facts = {"format": FORMAT, "kind": "IKBatch", "tolerance": batch.tolerance, "unchecked": batch.unchecked}
    described = {name: getattr(batch, name) for name in (*_TEXTS, *_LISTS)}
    return write_arrays(path, facts, json.dumps({**described, "tasks": tasks}), arrays)


def read(path: str | Path) -> dict[str, Any]:
    """Reads the fields of an IKBatch, its causes, and the fields of its residuals; see `IKBatch.load`."""
    path = check_path("path", path)
    with reading(path, "a saved batch of results"):
        arrays, facts, described = read_described(path, "IKBatch", FORMAT)
        tasks = {
            name: {**task, "bodies": tuple(task["bodies"]), "touching": tuple(map(tuple, task.get("touching", ()))),
                   "far": tuple(task.get("far", ())),
                   "value": arrays[f"value/{name}"],
                   "violation": arrays[f"violation/{name}"]}
            for name, task in described["tasks"].items()
        }  # fmt: skip
        return {
            **{name: arrays[name] for name in _ARRAYS},
            **{name: tuple(described[name]) for name in _TEXTS},
            **{name: tuple(map(tuple, described[name])) for name in _LISTS},
            **{name: facts[name] for name in ("tolerance", "unchecked")},
            "residuals": tasks,
        }
