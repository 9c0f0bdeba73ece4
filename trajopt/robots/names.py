"""Other names of robots, for suggestions."""

from __future__ import annotations

from collections.abc import Iterable

from trajopt.checks import check_text, check_texts
from trajopt.errors import UnknownNameError, unknown_name

OTHER_NAMES = {"emika": "panda", "fr3": "panda", "franka": "panda", "jaco": "kinova"}
"""Names under which people look for a robot, and ours."""


def unknown_robot(kind: str, name: str, known: Iterable[str]) -> UnknownNameError:
    """Error for an unknown robot; it suggests robots of similar names, and those with other names, such as "franka"."""
    names = check_texts("known", known)
    words = check_text("name", name).lower().replace("-", "_").replace(" ", "_").split("_")
    also = [OTHER_NAMES.get(word, word) for word in words]
    return unknown_name(kind, name, names, suggest=[robot for robot in also if robot in names])
