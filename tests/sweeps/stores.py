"""Stores of sweeps without solving: chunks with numbers that are known."""

from __future__ import annotations

from pathlib import Path

import numpy as np

T, NX, NU = 3, 4, 2


def write(folder: Path, points: np.ndarray, failed: dict[int, str], errors: dict[int, str], chunk: int = 8) -> Path:
    """A store of rows that reach for points (n, 3): the cost is the squared distance from the origin.

    Args:
        folder: Folder of the store, made if there is none.
        points: Values of the parameter goal.reference.
        failed: Statuses of rows that did not converge.
        errors: Messages of rows that ended with an error.
        chunk: Rows of a file.
    """
    n = len(points)
    index = np.arange(n)
    bad = np.isin(index, [*failed, *errors])
    columns = {
        "index": index,
        "p:goal.reference": points,
        "p:goal.weight": np.full(n, 2.0),
        "status": np.array([failed.get(i, "" if i in errors else "CONVERGED") for i in index]),
        "converged": ~bad,
        "cost": np.where(np.isin(index, list(errors)), np.nan, (points**2).sum(axis=1)),
        "iterations": np.where(bad, 100, 10 + index % 3),
        "seconds": np.full(n, 1e-3),
        "error": np.array([errors.get(i, "") for i in index]),
        "xs": index[:, None, None] + np.arange(T + 1)[:, None] + 0.1 * np.arange(NX),
        "us": -index[:, None, None] * np.ones((T, NU)),
    }
    (folder / "chunks").mkdir(parents=True, exist_ok=True)
    for first in range(0, n, chunk):
        rows = slice(first, first + chunk)
        name = f"{(first * 7919) % 1009:04x}.npz"  # in another order than that of the rows
        np.savez(folder / "chunks" / name, **{key: column[rows] for key, column in columns.items()})
    return folder


def grid(m: int) -> np.ndarray:
    """Points (m², 3) on a square at z = 0.5."""
    a, b = np.meshgrid(np.linspace(0.2, 0.8, m), np.linspace(-0.4, 0.4, m))
    return np.stack([a.ravel(), b.ravel(), np.full(m * m, 0.5)], axis=1)
