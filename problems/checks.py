"""Checks of options that several families have."""

from __future__ import annotations

from typing import Any

import numpy as np

from trajopt.errors import InvalidArgumentError


def check_count(argument: str, value: Any, *, least: int = 1) -> int:
    """Returns `value` as an int; raises InvalidArgumentError unless it is an integer >= `least`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InvalidArgumentError(f"{argument}: expected an integer >= {least}, got {value!r}")
    return int(value)
