"""Tables of outcomes as .parquet files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trajopt.files import check_output_path, output_file
from trajopt.objects.extras import Extra

TABLES = Extra("a .parquet file", "pyarrow", "sweep", "to_csv needs nothing")


def write_parquet(path: str | Path, table: Mapping[str, Any]) -> Path:
    """Writes columns (n,) to a .parquet file.

    Raises:
        MissingDependencyError: pyarrow is not installed.
    """
    path = check_output_path(path, "path", (".parquet",))
    pyarrow, parquet = (TABLES.load(module) for module in ("pyarrow", "pyarrow.parquet"))
    with output_file(path) as file:
        parquet.write_table(pyarrow.table(dict(table)), file)
    return path
