"""Alternative names of robots, for suggestions in messages."""

from __future__ import annotations

from collections.abc import Iterable

from trajopt.checks import check_text, check_texts
from trajopt.errors import UnknownNameError, unknown_name

OTHER_NAMES = {"emika": "panda", "fr3": "panda", "franka": "panda", "jaco": "kinova"}
"""Names under which users may look for a robot, and the name used here."""


def unknown_robot(kind: str, name: str, known: Iterable[str]) -> UnknownNameError:
    """Returns the error for an unknown robot. It suggests similar names, and "panda" for an alias such as "franka".

    Args:
        kind: Description of the name, such as "legged robot".
        name: The unknown name.
        known: Names of all robots.
    """
    names = check_texts("known", known)
    words = check_text("name", name).lower().replace("-", "_").replace(" ", "_").split("_")
    also = [OTHER_NAMES.get(word, word) for word in words]
    return unknown_name(kind, name, names, suggest=[robot for robot in also if robot in names])
