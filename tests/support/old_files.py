"""Files of revision 2720678, and what they must still say."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

FILES = Path(__file__).parents[1] / "data" / "files_of_2720678"
FACTS: dict[str, Any] = json.loads((FILES / "facts.json").read_text())


def brief(value: Any) -> Any:
    """A value as in facts.json: arrays as type, shape and digest, numbers, texts and None as they are."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "U":
            return value.tolist()
        data = np.ascontiguousarray(value)
        return f"{data.dtype} {data.shape} {hashlib.sha256(data.tobytes()).hexdigest()[:16]}"
    if isinstance(value, dict):
        return {str(key): brief(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [brief(each) for each in value]
    return value.item() if isinstance(value, np.generic) else value


def assert_says(thing: Any, facts: dict[str, Any], *others: str) -> None:
    """Whether attributes of a thing are those that were written down, but for others that are checked elsewhere."""
    for name, expected in facts.items():
        if name not in others:
            np.testing.assert_equal(brief(getattr(thing, name)), expected, err_msg=name)
