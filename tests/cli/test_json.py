"""Results as JSON: numbers for scripts, and all that the command says otherwise."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from tests.support.command_line import CliRunner
from trajopt import problems
from trajopt.cli import app
from trajopt.cli.common import plain


def result_of(*arguments: str) -> tuple[int, Any]:
    """Exit code and JSON of a command."""
    done = CliRunner().invoke(app, list(arguments))
    return done.exit_code, json.loads(done.stdout)


def test_solve() -> None:
    code, found = result_of("solve", "pendulum", "--json")
    expected = problems.load("pendulum").solve()
    assert code == 0
    assert found["problem"] == "pendulum"
    assert found["status"] == "converged"
    assert found["cost"] == pytest.approx(expected.cost, rel=1e-9)
    assert found["iterations"] == expected.iterations
    assert found["report"]["torque"].startswith("at most")


def test_a_solve_that_does_not_converge_says_so() -> None:
    code, found = result_of("solve", "pendulum", "--json", "--option", "max_iterations=1")
    assert code == 2
    assert (found["converged"], found["iterations"]) == (False, 1)


def test_list() -> None:
    _, found = result_of("list", "--json")
    names = [about["name"] for about in found["problems"]]
    assert sorted(names) == sorted([*problems.names(), *problems.mpc.names()])
    _, one = result_of("list", "arm-reach", "--json")
    assert one["robots"][0] == "ur5"
    assert one["options"]["T"] == 100
    assert one["command"] == "trajopt solve arm-reach"


def test_inverse_kinematics() -> None:
    code, found = result_of("ik", "--robot", "ur5", "--frame", "tool0", "--position", ".4", ".1", ".4", "--json")
    assert code == 0
    assert found["solved"]
    assert len(found["q"]) == 6


def test_closed_loops() -> None:
    code, found = result_of("mpc", "cart-pole-balance", "--duration", "0.1", "--json")
    assert code == 0
    assert found["counts"] == {"solved": 5, "partial": 0, "failed": 0}
    assert result_of("mpc", "--json")[1]["loops"][0]["name"] == "arm-tracking"


def test_simulations() -> None:
    _, found = result_of("simulate", "small-quadruped", "--duration", "0.05", "--json")
    assert found["duration"] == pytest.approx(0.05)
    assert len(found["x"]) == 37


def test_numbers_that_json_lacks_are_null() -> None:
    found = plain({"a": np.array([1.0, math.inf]), "b": float("nan"), "c": (1, "x", None), 2: object})
    assert found["a"] == [1.0, None]
    assert found["b"] is None
    assert found["c"] == [1, "x", None]
    assert isinstance(found["2"], str)
