"""Columns of a sweep's store: numbers of all rows, with the trajectories of a chunk read on demand."""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trajopt.errors import InvalidArgumentError, UnsupportedOperationError, shown
from trajopt.files import DamagedFileError, arrays_of
from trajopt.types import Reals

PARAMETER = "p:"
"""Prefix of parameter names among the arrays of a chunk."""

OUTCOMES = {
    "index": int,
    "status": str,
    "converged": bool,
    "cost": float,
    "iterations": int,
    "seconds": float,
    "error": str,
}
"""Arrays of a chunk with one number or text per row, and their types; others are parameters and trajectories."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, eq=False)
class Columns:
    """Results of some rows of a sweep as arrays, and the positions of their trajectories in the store.

    Attributes:
        files: Files of the chunks.
        chunk: Index of each row's file in `files` (n,) [-].
        place: Index of each row within its file (n,) [-].
        outcomes: Arrays (n,) by the names in `OUTCOMES`.
        parameters: Values by name, (n, ...).
    """

    files: tuple[Path, ...]
    chunk: np.ndarray[Any, np.dtype[np.int64]]
    place: np.ndarray[Any, np.dtype[np.int64]]
    outcomes: Mapping[str, Any]
    parameters: Mapping[str, Any]

    def take(self, rows: Any) -> Columns:
        """Returns some rows, selected by a slice, a mask or indices."""
        return Columns(
            files=self.files,
            chunk=self.chunk[rows],
            place=self.place[rows],
            outcomes={name: column[rows] for name, column in self.outcomes.items()},
            parameters={name: column[rows] for name, column in self.parameters.items()},
        )

    def trajectory(self, row: int, name: str) -> Reals:
        """Returns the states "xs" (T + 1, nx) or controls "us" (T, nu) of a row."""
        values: Reals = _trajectories(self.files[self.chunk[row]], name)[self.place[row]].copy()
        return values

    def trajectories(self) -> Iterator[tuple[Any, Reals, Reals]]:
        """Yields for each chunk the rows (m,), their states (m, T + 1, nx) and controls (m, T, nu)."""
        for number in np.unique(self.chunk):
            rows = np.flatnonzero(self.chunk == number)
            xs, us = (_trajectories(self.files[number], name)[self.place[rows]] for name in ("xs", "us"))
            yield rows, xs, us


def read_columns(files: Sequence[Path]) -> tuple[Columns, tuple[Path, ...]]:
    """Returns the columns of all chunks with rows sorted by index, and the damaged files, which are left out."""
    if not files:
        none: dict[str, Any] = {name: np.zeros(0, kind) for name, kind in OUTCOMES.items()}
        return Columns(files=(), chunk=none["index"], place=none["index"], outcomes=none, parameters={}), ()
    read: list[tuple[Path, dict[str, Any]]] = []
    damaged = []
    for file in files:
        try:
            read.append((file, _small_arrays(file)))
        except DamagedFileError as error:
            _log.warning("%s is damaged and left out (%s): run the sweep again to solve its rows again", file, error)
            damaged.append(file)
    if not read:
        raise InvalidArgumentError(
            f"folder: expected a store with at least one readable chunk, got {len(damaged)} damaged ones only; run the "
            "sweep again with this store, which replaces them"
        )
    read = _like_the_newest(read)
    sizes = [len(arrays["index"]) for _, arrays in read]
    joined = {name: np.concatenate([arrays[name] for _, arrays in read]) for name in read[0][1]}
    columns = Columns(
        files=tuple(file for file, _ in read),
        chunk=np.repeat(np.arange(len(read)), sizes),
        place=np.concatenate([np.arange(size) for size in sizes]),
        outcomes={name: joined[name] for name in OUTCOMES},
        parameters={n.removeprefix(PARAMETER): each for n, each in joined.items() if n.startswith(PARAMETER)},
    )
    return columns.take(np.argsort(joined["index"], kind="stable")), tuple(damaged)


def _like_the_newest(read: list[tuple[Path, dict[str, Any]]]) -> list[tuple[Path, dict[str, Any]]]:
    """Keeps the chunks with the parameters of the newest one; an interrupted sweep may have left others."""
    kinds = [{name: array.shape[1:] for name, array in arrays.items()} for _, arrays in read]
    newest = kinds[int(np.argmax([file.stat().st_mtime_ns for file, _ in read]))]
    kept = [pair for pair, kind in zip(read, kinds) if kind == newest]
    if len(kept) < len(read):
        _log.warning("%d chunks of earlier sweeps with other parameters are left out", len(read) - len(kept))
    return kept


def _small_arrays(file: Path) -> dict[str, Any]:
    """Reads all arrays of a chunk except its trajectories."""
    with arrays_of(file) as arrays:
        names = [name for name in arrays.files if name in OUTCOMES or name.startswith(PARAMETER)]
        columns = {name: arrays[name] for name in names}
    for name in OUTCOMES:
        if len(columns[name]) != len(columns["index"]):
            raise ValueError(f"{name} has {len(columns[name])} rows instead of {len(columns['index'])}")
    return columns


@functools.lru_cache(maxsize=8)
def _trajectories(file: Path, name: str) -> Any:
    """Reads the states or controls of a chunk."""
    try:
        with arrays_of(file) as arrays:
            values = arrays[name] if name in arrays.files else None
    except DamagedFileError as error:
        raise InvalidArgumentError(
            f"folder: {shown(str(file))} is damaged ({error}); run the sweep again with this store to solve its rows "
            "again"
        ) from error
    if values is None:
        raise UnsupportedOperationError(
            f"{name}: this sweep did not store trajectories; use trajopt.sweep(..., trajectories=True), or solution() "
            "to solve the row again"
        )
    return values
