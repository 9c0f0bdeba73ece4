"""Reading and writing of closed loops as .npz files."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.checks import check_path
from trajopt.errors import InvalidArgumentError, shown
from trajopt.files import MALFORMED, read_arrays
from trajopt.mpc.disturbance import Push
from trajopt.mpc.tracking import Tracked
from trajopt.solution import Solution, SolverStatus, description
from trajopt.solution.file import check_npz, other_kind, write_arrays

if TYPE_CHECKING:
    from trajopt.mpc.log import ClosedLoop

FORMAT = 1
_LATER: dict[str, Any] = {
    "missed": "",
    "delay_compensated": False,
    "sensing": "",
    "biased": "",
    "bias_cure": "",
    "time_budget": None,
}  # fields that files of earlier versions lack
_FACTS = (
    "dt",
    "first_solve",
    "delay",
    "seed",
    "plant",
    "solver",
    "stopped",
    "coordinate_names",
    "control_names",
    "soft",
    "every",
)
_OTHERS = ("violations", "reasons", "pushes", "motion", "kept", "estimated")


def write(path: str | Path, log: ClosedLoop) -> Path:
    """Writes a closed loop; see `ClosedLoop.save`."""
    path = check_npz(path)
    arrays = {f.name: getattr(log, f.name) for f in fields(log) if f.name not in (*_FACTS, *_OTHERS, *_LATER)}
    arrays |= {f"violation/{name}": values for name, values in log.violations.items()}
    arrays |= {f"estimated/{name}": values for name, values in log.estimated.items()}
    facts: dict[str, Any] = {"format": FORMAT, **{name: getattr(log, name) for name in (*_FACTS, *_LATER)}}
    facts["violations"], facts["reasons"] = list(log.violations), {str(k): text for k, text in log.reasons.items()}
    facts["estimated"] = list(log.estimated)
    facts["pushes"] = [_plain_push(push) for push in log.pushes]
    facts["tracked"] = []
    for i, tracked in enumerate(log.tracked):
        facts["tracked"].append({name: getattr(tracked, name) for name in ("name", "labels", "unit", "frame")})
        arrays |= {f"actual/{i}": tracked.actual, f"reference/{i}": tracked.reference}
    described = ""
    if log.motion is not None:
        arrays |= {"motion/xs": log.motion.xs, "motion/us": log.motion.us}
        described = description.written(log.motion, arrays)
    return write_arrays(path, facts, described, arrays)


def _plain_push(push: Push) -> dict[str, Any]:
    value = None if callable(push.value) else np.asarray(push.value).tolist()
    return {"time": push.time, "duration": push.duration, "frame": push.frame, "value": value}


def read(path: str | Path) -> dict[str, Any]:
    """Reads the fields of a closed loop from a file; see `ClosedLoop.load`."""
    path = check_path("path", path)
    try:
        arrays = read_arrays(path)
        facts = json.loads(str(arrays.pop("facts")))
        if other := other_kind("ClosedLoop", facts):
            raise ValueError(other)
        if facts["format"] > FORMAT:
            raise ValueError(f"it has format {facts['format']}, this version reads up to {FORMAT}; upgrade trajopt")
        attributes = {name: facts[name] for name in _FACTS} | {n: facts.get(n, old) for n, old in _LATER.items()}
        attributes |= {name: tuple(attributes[name]) for name in ("coordinate_names", "control_names", "soft")}
        attributes["violations"] = {name: arrays.pop(f"violation/{name}") for name in facts["violations"]}
        attributes["estimated"] = {name: arrays.pop(f"estimated/{name}") for name in facts.get("estimated", [])}
        attributes["reasons"] = {int(k): text for k, text in facts["reasons"].items()}
        attributes["pushes"] = tuple(_push(push) for push in facts["pushes"])
        attributes["kept"] = tuple(
            Tracked(name=t["name"], labels=tuple(t["labels"]), unit=t["unit"], actual=arrays.pop(f"actual/{i}"),
                    reference=arrays.pop(f"reference/{i}"), frame=t.get("frame", ""))
            for i, t in enumerate(facts["tracked"])
        )  # fmt: skip
        attributes["motion"] = _motion(arrays)
        attributes |= {name: array for name, array in arrays.items() if "/" not in name}
        return {"estimates": attributes["measured"]} | attributes  # files of earlier versions have no estimates
    except MALFORMED as error:
        raise InvalidArgumentError(
            f"path: expected a file that ClosedLoop.save wrote, but {shown(str(path))} cannot be read: {error}"
        ) from error


def _push(fields: dict[str, Any]) -> Push:
    value = fields["value"]
    return Push(**(fields | {"value": _forgotten if value is None else value}))


def _forgotten(t: float, x: Any) -> Any:
    """Replaces a function of time and state, which files do not store."""
    raise InvalidArgumentError("disturbance: a file does not store functions; pass the push with its function again")


def _motion(arrays: dict[str, Any]) -> Solution | None:
    text = str(arrays.pop("description"))
    if not text:
        return None
    xs, us = arrays.pop("motion/xs"), arrays.pop("motion/us")
    described = description.read(text, arrays)
    for name in [name for name in arrays if name.startswith("description/")]:
        del arrays[name]
    return Solution(
        xs=xs, us=us, cost=float("nan"), status=SolverStatus.UNSOLVED, iterations=0, history=(), solver="closed loop",
        seconds=0.0, x0=xs[0], described=described,
    )  # fmt: skip
