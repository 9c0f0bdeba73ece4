"""Columns of numbers from the values of parameters, for tables and pictures of many solves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

WIDE = 16
"""Most numbers of a value that a table shows one by one, whether or not they differ between rows [-]."""


def components(parameters: Mapping[str, Any], *, varied: bool) -> dict[str, Any]:
    """Splits parameters with values (n, ...) into columns (n,) of numbers, such as "goal.reference[2]".

    Args:
        parameters: Values by name, (n, ...).
        varied: True to leave out columns whose numbers are all equal.
    """
    columns = {}
    for name, values in parameters.items():
        flat = values.reshape(len(values), int(np.prod(values.shape[1:])))
        for place, column in zip(np.ndindex(values.shape[1:]), flat.T):
            differs = column.dtype.kind in "biuf" and len(column) > 0 and not np.all(column == column[0])
            if differs or not (varied or flat.shape[1] > WIDE):
                columns[name + (f"[{', '.join(map(str, place))}]" if place else "")] = column
    return columns
