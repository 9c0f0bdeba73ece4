"""Public names of revision 2720678: each can be had today, or its error names the new place.

`tests/data/public_names_of_2720678.py` found them in README, docs and examples of that revision.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest

NAMES = (Path(__file__).parent / "data" / "public_names_of_2720678.txt").read_text().splitlines()
ERRORS = (ImportError, AttributeError)


def get(name: str) -> Any:
    """What a name of an old program stands for: an import as it is written there, or a chain of attributes."""
    if " " in name:
        exec(name, {})
        return None
    thing, path = importlib.import_module("trajopt"), "trajopt"
    for part in name.split(".")[1:]:
        path = f"{path}.{part}"
        try:
            thing = getattr(thing, part)
        except AttributeError as error:
            if not hasattr(thing, "__path__"):
                raise
            try:
                thing = importlib.import_module(path)
            except ModuleNotFoundError:
                raise error from None  # it names the new place, if the package knows one
    return thing


def works(name: str) -> bool:
    try:
        get(name)
    except ERRORS:
        return False
    return True


def names_new_place(old: str, message: str) -> bool:
    """Whether a message names a place of the package that has what the old name stood for.

    That is the name itself somewhere else, a room that has it, or what the message says is its new name.
    """
    words = re.findall(r"[\w.]+", old)
    at = (old if len(words) == 1 else ".".join(words[1::2])).split(".")
    parents = {".".join(at[:n]) for n in range(1, len(at) + 1)}
    tails = [".".join(at[n:]) for n in range(1, len(at))]
    replaced = re.search(r"\b(?:now|moved|renamed)\b", message)
    for place in set(re.findall(r"trajopt(?:\.[A-Za-z_]\w*)+", message)) - parents:
        is_like_it = len(at) == 2 or place.rpartition(".")[2][0].isupper()  # a room, or a class
        new_name = place.endswith(f".{at[-1]}") or (replaced and is_like_it)
        if (works(place) and new_name) or any(works(f"{place}.{tail}") for tail in tails):
            return True
    return False


@pytest.mark.filterwarnings("default::DeprecationWarning")
def test_each_public_name_works_or_names_its_new_place() -> None:
    lost = {}
    for name in NAMES:
        try:
            get(name)
        except ERRORS as error:
            if not names_new_place(name, str(error)):
                lost[name] = f"{type(error).__name__}: {error}"
    assert len(NAMES) > 200
    assert not lost


@pytest.mark.parametrize(
    ("message", "good"),
    [
        ("it has moved: use trajopt.solution.Solution", True),
        ("trajopt.nowhere is now trajopt.solution", True),
        ("trajopt.nowhere is now trajopt.solvers", False),
        ("it is now trajopt.SolverStatus", True),
        ("did you mean trajopt.SolverStatus?", False),
        ("it is now trajopt.solution.Solutions", False),
        ("module trajopt.nowhere has no attribute Solution", False),
        ("did you mean Solution?", False),
    ],
)
def test_the_new_place_in_a_message_must_exist(message: str, good: bool) -> None:
    assert names_new_place("from trajopt.nowhere import Solution", message) is good
    assert names_new_place("trajopt.nowhere.Solution", message) is good


def test_a_room_has_a_new_place_with_all_of_its_names() -> None:
    assert names_new_place("from trajopt import nowhere", "trajopt.nowhere is now trajopt.solution")
    assert names_new_place("trajopt.nowhere.Solution.load", "trajopt.nowhere is now trajopt.solution")
    assert not names_new_place("trajopt.nowhere.Solution.read", "trajopt.nowhere is now trajopt.solution")
