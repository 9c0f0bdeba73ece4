"""Columns of a sweep's store: numbers of all rows from the chunks on disk, trajectories of one chunk when asked for."""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trajopt.errors import InvalidArgumentError, UnsupportedOperationError, shown
from trajopt.sweeps.store import DAMAGES
from trajopt.types import Reals

PARAMETER = "p:"
"""Prefix of parameters among the arrays of a chunk."""

OUTCOMES = ("index", "status", "converged", "cost", "iterations", "seconds", "error")
"""Arrays of a chunk with one number or text a row; others are parameters and trajectories."""

WIDE = 16  # elements of a value of which a table has all; of larger ones, such as guesses, it has those that vary

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, eq=False)
class Columns:
    """Numbers of some rows, and where their trajectories lie.

    Attributes:
        files: Files of the chunks.
        chunk: Number of each row's file (n,) [-].
        place: Number of each row within its file (n,) [-].
        outcomes: Arrays (n,) by the names of `OUTCOMES`.
        parameters: Values by name, (n, ...).
    """

    files: tuple[Path, ...]
    chunk: np.ndarray[Any, np.dtype[np.int64]]
    place: np.ndarray[Any, np.dtype[np.int64]]
    outcomes: Mapping[str, Any]
    parameters: Mapping[str, Any]

    def take(self, rows: Any) -> Columns:
        """Some of the rows, by a slice, a mask or numbers."""
        return Columns(
            files=self.files,
            chunk=self.chunk[rows],
            place=self.place[rows],
            outcomes={name: column[rows] for name, column in self.outcomes.items()},
            parameters={name: column[rows] for name, column in self.parameters.items()},
        )

    def trajectory(self, row: int, name: str) -> Reals:
        """States or controls of a row, by their name "xs" or "us": (T + 1, nx), (T, nu)."""
        found = _trajectories(self.files[self.chunk[row]], name)[self.place[row]]
        copied: Reals = found.copy()
        return copied

    def trajectories(self) -> Iterator[tuple[Any, Reals, Reals]]:
        """Rows (m,), states (m, T + 1, nx) and controls (m, T, nu) of one chunk after the other."""
        for number in np.unique(self.chunk):
            rows = np.flatnonzero(self.chunk == number)
            xs, us = (_trajectories(self.files[number], name)[self.place[rows]] for name in ("xs", "us"))
            yield rows, xs, us


def read_columns(files: Sequence[Path]) -> tuple[Columns, tuple[Path, ...]]:
    """Columns of all chunks, rows in the order of their index; and files that cannot be read, which are left out."""
    read: list[tuple[Path, dict[str, Any]]] = []
    damaged = []
    for file in files:
        try:
            read.append((file, _small_arrays(file)))
        except DAMAGES as error:
            _log.warning("%s is damaged and left out (%s): run the sweep again to do its rows again", file, error)
            damaged.append(file)
    if not read:
        raise InvalidArgumentError(
            "folder: expected a store with at least one chunk that can be read, got "
            f"{len(damaged)} damaged ones; run the sweep again with this store"
        )
    read = _like_the_newest(read)
    sizes = [len(arrays["index"]) for _, arrays in read]
    joined = {name: np.concatenate([arrays[name] for _, arrays in read]) for name in read[0][1]}
    found = Columns(
        files=tuple(file for file, _ in read),
        chunk=np.repeat(np.arange(len(read)), sizes),
        place=np.concatenate([np.arange(size) for size in sizes]),
        outcomes={name: joined[name] for name in OUTCOMES},
        parameters={n.removeprefix(PARAMETER): each for n, each in joined.items() if n.startswith(PARAMETER)},
    )
    return found.take(np.argsort(joined["index"], kind="stable")), tuple(damaged)


def _like_the_newest(read: list[tuple[Path, dict[str, Any]]]) -> list[tuple[Path, dict[str, Any]]]:
    """Chunks with the parameters of the newest; a sweep that was cut off may have left others beside them."""
    kinds = [{name: array.shape[1:] for name, array in arrays.items()} for _, arrays in read]
    newest = kinds[int(np.argmax([file.stat().st_mtime_ns for file, _ in read]))]
    kept = [pair for pair, kind in zip(read, kinds) if kind == newest]
    if len(kept) < len(read):
        _log.warning("%d chunks of earlier sweeps with other parameters are left out", len(read) - len(kept))
    return kept


def _small_arrays(file: Path) -> dict[str, Any]:
    """All arrays of a chunk but its trajectories."""
    with file.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
        names = [name for name in arrays.files if name in OUTCOMES or name.startswith(PARAMETER)]
        found = {name: arrays[name] for name in names}
    for name in OUTCOMES:
        if len(found[name]) != len(found["index"]):
            raise ValueError(f"{name} has {len(found[name])} rows in place of {len(found['index'])}")
    return found


@functools.lru_cache(maxsize=8)
def _trajectories(file: Path, name: str) -> Any:
    """States or controls of a chunk."""
    try:
        with file.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
            found = arrays[name] if name in arrays.files else None
    except DAMAGES as error:
        raise InvalidArgumentError(
            f"folder: {shown(str(file))} is damaged ({error}); run the sweep again with this store, which does its "
            "rows again"
        ) from error
    if found is None:
        raise UnsupportedOperationError(
            f"{name}: this sweep keeps none; trajopt.sweep(..., trajectories=True) does, and solution() solves again"
        )
    return found


def components(parameters: Mapping[str, Any], *, varied: bool) -> dict[str, Any]:
    """Columns (n,) of numbers, such as "goal.reference[2]", of parameters with values (n, ...).

    Args:
        parameters: Values by name, (n, ...).
        varied: Whether to leave out columns whose numbers are all the same.
    """
    found = {}
    for name, values in parameters.items():
        flat = values.reshape(len(values), int(np.prod(values.shape[1:])))
        for place, column in zip(np.ndindex(values.shape[1:]), flat.T):
            differs = column.dtype.kind in "biuf" and len(column) > 0 and not np.all(column == column[0])
            if differs or not (varied or flat.shape[1] > WIDE):
                found[name + (f"[{', '.join(map(str, place))}]" if place else "")] = column
    return found
