"""Registries of families: one form for problems and closed loops, functions of their packages."""

from __future__ import annotations

import pickle
from types import ModuleType

import pytest

from trajopt import problems
from trajopt.errors import UnknownNameError, WrongCallError
from trajopt.problems import mpc, pendulum
from trajopt.problems.registry import Registry

ROOMS = pytest.mark.parametrize(("room", "kind"), [(problems, "problem"), (mpc, "closed loop")])


@ROOMS
def test_an_unknown_name_lists_the_known_ones_of_its_kind(room: ModuleType, kind: str) -> None:
    for call in (room.describe, room.load):
        with pytest.raises(UnknownNameError, match=f"{kind} 'pendulums' not found.*{room.names()[0]}"):
            call("pendulums")


@ROOMS
def test_they_are_functions_of_the_package(room: ModuleType, kind: str) -> None:
    for name in ("describe", "load", "names"):
        function = getattr(room, name)
        assert (function.__module__, function.__qualname__) == (room.__name__, name)
        assert pickle.loads(pickle.dumps(function)) is function
    with pytest.raises(WrongCallError, match=r"^describe: argument 'name' is missing; it takes \(name\)"):
        room.describe()
    with pytest.raises(WrongCallError, match=r"^names: expected no argument"):
        room.names("pendulum")


def test_names_are_sorted_and_describe_builds_nothing() -> None:
    registry: Registry[problems.ProblemCase] = Registry(
        "problem", {name: f"trajopt.problems.{name}" for name in ("pendulum", "lqr")}
    )
    assert registry.names() == ["lqr", "pendulum"]
    assert registry.describe("pendulum") == pendulum.FAMILY.info()
    assert registry.load("lqr").name == "lqr"
