"""Tables of outcomes as files: .csv and .parquet."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trajopt.errors import MissingDependencyError
from trajopt.files import check_output_path


def write_csv(path: str | Path, table: Mapping[str, Any]) -> Path:
    """Writes columns (n,) to a .csv file; numbers are written such that reading gives the same bits."""
    path = check_output_path(path, "path", (".csv",))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*(column.tolist() for column in table.values())))
    return path


def write_parquet(path: str | Path, table: Mapping[str, Any]) -> Path:
    """Writes columns (n,) to a .parquet file.

    Raises:
        MissingDependencyError: pyarrow is not installed.
    """
    path = check_output_path(path, "path", (".parquet",))
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise MissingDependencyError(
            "a .parquet file needs pyarrow: pip install pyarrow; to_csv needs nothing"
        ) from error
    parquet.write_table(pyarrow.table(dict(table)), path)
    return path
