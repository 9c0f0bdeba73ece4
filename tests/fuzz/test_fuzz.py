"""Two thousand calls of the public interface, valid and not: none crashes, hangs, raises a raw error or nonsense."""

from __future__ import annotations

import sys

import pytest

from tests.fuzz.call import make
from tests.fuzz.runs import FAULTS, Tally, _items, run
from tests.fuzz.surface import doors

CALLS, SEED = 2000, 1


@pytest.mark.slow
def test_no_call_of_the_public_interface_ends_in_a_fault() -> None:
    tally = run(SEED, 0, CALLS)
    assert sum(tally.verdicts.values()) == CALLS
    assert not tally.faults, tally.table(SEED)
    assert tally.verdicts["fine"] > CALLS / 4  # valid calls are among them
    assert tally.verdicts["refused"] > CALLS / 4


def test_every_class_and_function_that_is_exported_is_a_door() -> None:
    labels = {door.label for door in doors()}
    expected = {"CostStack.add", "FrictionCone.matrix", "ShootingProblem.set_parameter", "SolverFDDP.solve"}
    expected |= {"Stance.of", "StateMultibody.difference", "biped_walk", "load_robot", "Robot.frame_id"}
    assert expected <= labels
    assert len(labels) > 300


def test_a_call_is_the_same_each_time() -> None:
    assert [make(7, i) for i in range(20)] == [make(7, i) for i in range(20)]


@pytest.mark.parametrize(
    ("code", "verdict"),
    [
        ("import os, json; print(0, flush=True); os.abort()", "crash"),
        ("import time; print(0, flush=True); time.sleep(60)", "hang"),
        ('print(0, flush=True); print(\'{"verdict": "raw"}\', flush=True)', "raw"),
    ],
)
def test_crashes_and_hangs_are_seen(code: str, verdict: str) -> None:
    items = list(_items([sys.executable, "-c", code], 10.0 if verdict != "hang" else 1.5))
    assert items[0] == 0
    assert items[-1]["verdict"] == verdict
    assert verdict in FAULTS


def test_the_table_names_the_command_that_repeats_a_fault() -> None:
    tally = Tally()
    tally.add(5, {"verdict": "raw", "call": "f(a=1)", "error": "KeyError: 'x'", "place": "a/b.py:3 f"})
    tally.add(9, {"verdict": "raw", "call": "f(a=2)", "error": "KeyError: 'y'", "place": "a/b.py:3 f"})
    assert "RAW x 2: f(a=1)" in tally.table(3)
    assert "--seed 3 --room trajopt --call 5" in tally.table(3)
