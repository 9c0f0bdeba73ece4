"""Store of a sweep: a folder with its recipe, and a file for each finished chunk.

    recipe.json           recipe, version and fingerprint of the problem
    chunks/<key>.npz      results of a chunk, under a hash of recipe, row numbers and values
    begun.json            number of rows of a sweep that is not complete, null if a generator yields them
    chunks.json           keys of the last complete sweep's chunks in order; other files are from earlier sweeps
    table.parquet         outcomes of all rows of a complete sweep

A file gets its name when it is complete. If it is damaged later, its checksums fail (CRC-32 of each array, in the .npz
itself), and its chunk is solved again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from trajopt.checks import check_path
from trajopt.errors import InvalidArgumentError, shown
from trajopt.files import UNFINISHED, DamagedFileError, arrays_of, replacing
from trajopt.solution import Solution
from trajopt.sweeps.recipe import Recipe
from trajopt.sweeps.work import Arrays, Chunk, built, guess_of, solve_rows

FORMAT = 1

ABANDONED = 3600.0
"""Age of an unfinished file from which its process counts as killed; a younger one may still be written [s]."""


class Store:
    """Folder of a sweep; it is created if it does not exist.

    Args:
        folder: The folder.
        recipe: Recipe of the sweep.
        fingerprint: Fingerprint of what the recipe builds.
        coordinates: Name of each coordinate of a state, for pictures.
        units: Units of values by name, see `units_of`, likewise.
        rows: Number of rows of the sweep; None for those of a generator.

    Raises:
        InvalidArgumentError: The folder cannot be written, or belongs to another recipe.
    """

    def __init__(
        self,
        folder: str | Path,
        recipe: Recipe,
        fingerprint: str,
        coordinates: Sequence[str] = (),
        units: Mapping[str, Sequence[str]] | None = None,
        rows: int | None = None,
    ) -> None:
        self.folder = check_path("store", folder)
        self._fingerprint = fingerprint
        self._chunks = self.folder / "chunks"
        try:
            self._chunks.mkdir(parents=True, exist_ok=True)
            if (self.folder / "recipe.json").exists():
                self._check(recipe)
            else:
                facts = {"format": FORMAT, "fingerprint": fingerprint, "recipe": json.loads(recipe.text)}
                facts |= {"coordinates": list(coordinates), "units": dict(units or {})}
                _replace(self.folder / "recipe.json", json.dumps(facts, indent=1).encode())
            (self.folder / "chunks.json").unlink(missing_ok=True)
            _replace(self.folder / "begun.json", json.dumps(rows).encode())
        except OSError as error:
            raise InvalidArgumentError(
                f"store: expected a writable folder, got {shown(str(folder))}: {error.strerror}"
            ) from error

    def _check(self, recipe: Recipe) -> None:
        """Raises InvalidArgumentError if the folder is the store of another recipe or fingerprint."""
        facts = read_facts(self.folder)
        if json.dumps(facts["recipe"], sort_keys=True) != recipe.text:
            raise InvalidArgumentError(
                f"store: expected a new folder, or one of the same recipe, got {shown(str(self.folder))} of "
                f"{json.dumps(facts['recipe'])}; the recipe of this sweep is {recipe.text}"
            )
        if facts["fingerprint"] != self._fingerprint:
            raise InvalidArgumentError(
                f"store: {shown(str(self.folder))} was begun with another version of trajopt or of the function that "
                "builds the problem, so results would not fit together; use a new folder or that version"
            )

    def key(self, chunk: Chunk) -> str:
        """Returns the name of a chunk: a hash of the problem, the rows' numbers and their values."""
        digest = hashlib.sha256(f"{self._fingerprint} {chunk.start} {chunk.trajectories} ".encode())
        for name in sorted(chunk.values):
            values = np.ascontiguousarray(chunk.values[name])
            digest.update(f"{name} {values.dtype.str} {values.shape} ".encode() + values.tobytes())
        return digest.hexdigest()[:32]

    def holds(self, key: str) -> bool:
        """Whether a chunk is stored and undamaged; a damaged one is deleted."""
        path = self._path(key)
        if not path.exists():
            return False
        try:
            with arrays_of(path) as arrays:
                sound = arrays.zip.testzip() is None and str(arrays["key"]) == key
        except DamagedFileError:
            sound = False
        if not sound:
            path.unlink(missing_ok=True)
        return sound

    def write(self, key: str, arrays: Arrays) -> None:
        """Writes the results of a chunk."""
        with replacing(self._path(key)) as file:
            np.savez(file, key=np.array(key), **arrays)  # type: ignore[arg-type]

    def close(self, keys: Sequence[str]) -> None:
        """Writes the list of the sweep's chunks in order, and deletes files that killed processes left."""
        _replace(self.folder / "chunks.json", json.dumps(list(keys)).encode())
        (self.folder / "begun.json").unlink(missing_ok=True)
        for file in self._chunks.glob(f"*{UNFINISHED}"):
            with contextlib.suppress(FileNotFoundError):
                if time.time() - file.stat().st_mtime > ABANDONED:
                    file.unlink()

    def _path(self, key: str) -> Path:
        return self._chunks / f"{key}.npz"


def chunk_files(folder: Path) -> list[Path]:
    """Returns the files of finished chunks: those of the last complete sweep, or all if it is incomplete."""
    try:
        keys = json.loads((folder / "chunks.json").read_text())
        return [folder / "chunks" / f"{key}.npz" for key in keys]
    except (OSError, ValueError):
        return sorted((folder / "chunks").glob("*.npz")) if os.path.isdir(folder / "chunks") else []


def begun_rows(folder: Path) -> int | None:
    """Returns the number of rows of an incomplete sweep, None if it is unknown; 0 if it is complete.

    Stores that earlier versions began do not tell, and have 0.
    """
    try:
        rows = json.loads((folder / "begun.json").read_text())
        return None if rows is None else int(rows)
    except (OSError, ValueError, TypeError):
        return 0


def read_facts(folder: Path) -> Mapping[str, Any]:
    """Returns the content of `recipe.json`.

    Raises:
        InvalidArgumentError: The file does not exist or cannot be read.
    """
    try:
        facts = json.loads((folder / "recipe.json").read_text())
        if facts["format"] > FORMAT:
            raise ValueError(f"format {facts['format']}, this version reads up to {FORMAT}; upgrade trajopt")
        names = tuple(map(str, facts.get("coordinates", ())))  # absent in stores of earlier versions
        units = {str(name): tuple(map(str, each)) for name, each in dict(facts.get("units", {})).items()}
        kept = {"coordinates": names, "units": units}
        return {"fingerprint": str(facts["fingerprint"]), "recipe": dict(facts["recipe"]), **kept}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidArgumentError(
            f"store: expected the folder of a sweep, got {shown(str(folder))}, whose recipe.json cannot be read: "
            f"{error}"
        ) from error


def solve_again(folder: Path, parameters: Mapping[str, Any]) -> Solution:
    """Solves a row of a store again, in this process.

    Args:
        folder: Folder of the store.
        parameters: The row's values by name.

    Returns:
        The whole solution, bit-identical to the one in the store.
    """
    setup = built(Recipe(**read_facts(folder)["recipe"]))
    values = {name: np.asarray(value)[None] for name, value in parameters.items()}
    solution: Solution = solve_rows(setup, values, [guess_of(setup, parameters)])[0]
    return solution


def _replace(path: Path, content: bytes) -> None:
    """Replaces a file atomically."""
    with replacing(path) as file:
        file.write(content)
