"""Solutions as .npz files: format 3, and reading formats 1 and 2.

Format 1 always had gains and value functions, had no multipliers, and stored the columns of DDP only. Format 2 had no
description.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.checks import check_path
from trajopt.errors import InvalidArgumentError, shown
from trajopt.files import MALFORMED, DamagedFileError, output_file, read_arrays
from trajopt.solution.record import COLUMNS, IterationRecord, SolverStatus
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.solution.solution import Solution

FORMAT = 3
_ARRAYS = ("xs", "us", "x0")
_OPTIONAL = ("K", "k", "Vx", "Vxx")
_FACTS = ("cost", "iterations", "solver", "seconds", "failed_knot")
_LATER = {"compile_seconds": 0.0, "optima": (), "ends": ()}  # files of earlier versions have none
_READERS = {
    "Solution": "trajopt.Solution.load",
    "SolutionBatch": "trajopt.SolutionBatch.load",
    "ClosedLoop": "trajopt.mpc.ClosedLoop.load",
    "IKBatch": "trajopt.ik.IKBatch.load",
}
_KINDS = {f.name: {"int": int, "bool": bool, "str": str}.get(str(f.type), float) for f in fields(IterationRecord)}


def write(path: str | Path, solution: Solution) -> Path:
    """Writes all of a solution but the problem's functions; see `Solution.save`."""
    from trajopt.solution.description import written

    path = check_npz(path)
    arrays = {name: getattr(solution, name) for name in (*_ARRAYS, *_OPTIONAL)}
    arrays = {name: array for name, array in arrays.items() if array is not None}
    arrays |= {f"parameter/{name}": value for name, value in solution.parameters.items()}
    arrays |= {f"multiplier/{name}": value for name, value in solution.multipliers.items()}
    arrays |= {f"unknown/{name}": value for name, value in solution.unknowns.items()}
    arrays |= {f"history/{name}": np.array([getattr(r, name) for r in solution.history]) for name in COLUMNS}
    described = written(solution, arrays)
    facts = {"format": FORMAT, "status": solution.status.name, **{name: getattr(solution, name) for name in _FACTS}}
    facts |= {name: getattr(solution, name) for name in _LATER}
    return write_arrays(path, facts, described, arrays)


def write_arrays(path: Path, facts: dict[str, Any], described: str, arrays: dict[str, Any]) -> Path:
    """Writes facts, a description and arrays to a file; returns its path."""
    with output_file(path) as file:
        np.savez_compressed(file, facts=np.array(json.dumps(facts)), description=np.array(described), **arrays)
    return path


@contextlib.contextmanager
def reading(path: Path, what: str) -> Iterator[None]:
    """Context in which what a damaged file raises becomes an InvalidArgumentError that names the file."""
    try:
        yield
    except InvalidArgumentError:
        raise
    except (*MALFORMED, DamagedFileError) as error:
        raise InvalidArgumentError(f"path: {path} cannot be read as {what}: {error}") from error


def other_kind(kind: str, facts: dict[str, Any]) -> str:
    """Text about a file whose facts are those of results of another kind, with what reads it; otherwise empty."""
    own = facts.get("kind", "ClosedLoop" if "first_solve" in facts else "Solution")  # neither writes its kind
    cure = f": read it with {_READERS[own]}(path)" if own in _READERS else ""
    return "" if own == kind else f"it holds a {own}{cure}"


def _check_kind(path: Path, kind: str, facts: dict[str, Any]) -> None:
    if words := other_kind(kind, facts):
        raise InvalidArgumentError(f"path: expected a file that {kind}.save wrote, got {path}; {words}")


def read_described(path: Path, kind: str, most: int) -> tuple[dict[str, Any], dict[str, Any], Any]:
    """Arrays, facts and description of a file of results of this kind, with a format of at most this number."""
    arrays = read_arrays(path)
    facts, described = json.loads(str(arrays.pop("facts"))), json.loads(str(arrays.pop("description")))
    _check_kind(path, kind, facts)
    if facts["format"] > most:
        raise ValueError(f"it has format {facts['format']}, this version reads up to {most}; upgrade trajopt")
    return arrays, facts, described


def read(path: str | Path) -> dict[str, Any]:
    """Reads the fields of a solution from a file; see `Solution.load`."""
    from trajopt.solution import description

    path = check_path("path", path)
    arrays = _arrays(path)
    try:
        facts = json.loads(str(arrays.pop("facts")))
        _check_kind(path, "Solution", facts)
        if facts["format"] > FORMAT:
            raise ValueError(f"it has format {facts['format']}, this version reads up to {FORMAT}; upgrade trajopt")
        attributes = {
            **{name: arrays[name] for name in _ARRAYS},
            **{name: arrays.get(name) for name in _OPTIONAL},
            **{name: facts[name] for name in _FACTS},
            **{name: _tuples(facts.get(name, default)) for name, default in _LATER.items()},
            "status": SolverStatus[facts["status"]],
            "history": _history(arrays),
            "described": description.read(str(arrays.pop("description", "null")), arrays),
        }
    except InvalidArgumentError:
        raise
    except MALFORMED as error:
        raise InvalidArgumentError(f"path: {path} cannot be read as a saved solution: {error}") from error
    named = {f"{kind}s": _named(arrays, kind) for kind in ("parameter", "multiplier", "unknown")}
    return attributes | named


def _arrays(path: Path) -> dict[str, Any]:
    """All arrays of a saved solution."""
    if not os.path.isfile(path):  # Path.is_file raises for names that are too long
        raise InvalidArgumentError(
            f"path: expected a file that Solution.save wrote, but there is no file at {shown(str(path))}"
        )
    try:
        arrays = read_arrays(path)
    except DamagedFileError as error:
        wanted = "" if path.suffix == ".npz" else "; Solution.save writes .npz files"
        raise InvalidArgumentError(f"path: {path} cannot be read as a saved solution: {error}{wanted}") from error
    if "facts" not in arrays:
        held = ", ".join(sorted(arrays)[:8]) or "nothing"
        raise InvalidArgumentError(
            f"path: expected a file that Solution.save wrote, got {path}, which has other arrays: {held}"
        )
    return arrays


def _tuples(value: Any) -> Any:
    """The value with tuples in place of lists, which JSON makes of them."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _history(arrays: dict[str, Reals]) -> tuple[IterationRecord, ...]:
    columns = {name: arrays[f"history/{name}"] for name in COLUMNS if f"history/{name}" in arrays}
    return tuple(
        IterationRecord(**{name: _KINDS[name](value) for name, value in zip(columns, row)})
        for row in zip(*columns.values())
    )


def _named(arrays: dict[str, Reals], prefix: str) -> dict[str, Reals]:
    return {name.split("/", 1)[1]: value for name, value in arrays.items() if name.startswith(f"{prefix}/")}


def check_npz(path: str | Path) -> Path:
    """Checks a path to write a solution to; a path without a suffix gets .npz.

    Raises:
        InvalidArgumentError: The folder does not exist or cannot be written, or the suffix is not .npz.
    """
    from trajopt.files import check_output_path

    path = check_path("path", path)
    path = path.with_suffix(".npz") if path.suffix == "" and path.name else path
    return check_output_path(path, "path", (".npz",))
