"""Each part of the benchmark runs and prints its table, with the smallest counts; its figures mean nothing here."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import trajopt
from tests.benchmarks import (
    __main__,
    articulations,
    code_generation,
    convergence,
    edits,
    exact,
    extensibility,
    gaits,
    identification,
    inside,
    inverse_dynamics,
    inverse_kinematics,
    limits,
    linear_steps,
    memory,
    mpc_steps,
    planning,
    profiles,
    quadratic,
    retiming,
    robustness,
    server,
    simulator,
    speed,
    startup,
    sweep,
    threads,
    track,
    unknowns,
)
from tests.benchmarks.cases import CASES
from tests.support.gait_robots import FEET
from trajopt.kernels import machine

UNICYCLE = "the problem (unicycle)"
ONE = {"unicycle_t20": CASES["unicycle_t20"]}
BRIEF: dict[Any, tuple[Callable[[], Any], dict[str, Any]]] = {
    speed: (lambda: {name: speed.compare(case, None, rounds=1, seconds=0.0) for name, case in ONE.items()}, {}),
    inside: (lambda: inside.measure(ONE, rounds=1), {}),
    threads: (lambda: threads.measure(ONE, rounds=1, seconds=0.0), {}),
    quadratic: (
        lambda: quadratic.measure(None, rounds=1),
        {
            "EXAMPLES": {"ur5": quadratic.EXAMPLES["ur5"]},
            "PROGRAMS": {"arm N 40, bounds": quadratic.PROGRAMS["arm N 40, bounds"]},
        },
    ),
    linear_steps: (lambda: linear_steps.measure(rounds=1), {}),
    unknowns: (lambda: unknowns.measure(rounds=1), {"CASES": {"pendulum, RK4": unknowns.CASES["pendulum, RK4"]}}),
    extensibility: (lambda: extensibility.measure(rounds=1, seconds=0.0), {}),
    convergence: (lambda: convergence.measure(None, count=1), {}),
    profiles: (
        lambda: profiles.measure(None, count=1),
        {"FEET": {"bolt": FEET["bolt"]}, "_all_ready": lambda: iter([profiles._ready("unicycle")])},
    ),
    exact: (lambda: exact.measure(rounds=1), {"ARMS": ("ur5",)}),
    memory: (lambda: memory.measure((1, 2)), {"KINDS": {UNICYCLE: memory.KINDS[UNICYCLE]}}),
    gaits: (lambda: gaits.measure([("quadruped-trot", "small-quadruped")]), {}),
    limits: (lambda: limits.measure([("quadruped-jump", "small-quadruped")]), {}),
    simulator: (lambda: simulator.measure(None, rounds=1), {"CALLS": 1, "START": {"cold": 20.0}}),
    inverse_kinematics: (
        lambda: inverse_kinematics.measure(poses=8, rounds=1),
        {"ARMS": ("panda",), "OBSTACLE_POSES": 2},
    ),
    track: (track.measure, {"DURATIONS": (0.1, 0.2)}),
    planning: (lambda: planning.measure(2, alone=0), {"ROBOTS": ("ur5",), "SCENES": {"slot": planning.SCENES["slot"]}}),
    retiming: (retiming.measure, {"PATHS": 1, "INTERVALS": (20, 20), "ROBOTS": ("ur5",)}),
    identification: (identification.measure, {"LOGS": 2, "STEPS": 40, "LINKS": (6, 7)}),
    inverse_dynamics: (inverse_dynamics.measure, {"FRAMES": (4, 8)}),
    articulations: (articulations.measure, {"STATES": 1000, "ROUNDS": 1}),
    mpc_steps: (
        lambda: mpc_steps.measure(memory=False, duration=0.1),
        {"CASES": {"arm-tracking": (1.0, 0.5)}, "PROCESSOR": 10},
    ),
    server: (lambda: server.measure(count=10, chased=10), {"WARM": 1}),
    robustness: (
        lambda: robustness.measure(None, count=1, samples=1),
        {"MEDIANS": {"pendulum": 40}, "FAMILIES": {"double-pendulum": robustness.FAMILIES["double-pendulum"]}},
    ),
    sweep: (lambda: sweep.measure(count=20), {"KILLS": 1}),
    startup: (lambda: startup.measure({}), {"RUNS": 1, "REACH": ("arm-reach --plot",), "_BYTECODE": {}}),
    edits: (lambda: edits.measure(1, ("pendulum",)), {"KINDS": {"pendulum": (edits.FIRST, "own term", edits.FORMULA)}}),
    code_generation: (lambda: code_generation.measure(1, ("pendulum",)), {}),
}
"""How each section is measured, and constants of its module that are replaced meanwhile; `display` needs a browser."""


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    before = trajopt.get_num_threads()
    trajopt.set_num_threads(1)
    yield
    trajopt.set_num_threads(before)


@pytest.mark.slow
@pytest.mark.parametrize("section", BRIEF, ids=lambda section: section.__name__.rpartition(".")[2])
def test_a_section_prints_its_table(section: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    measure, constants = BRIEF[section]
    for name, value in constants.items():
        monkeypatch.setattr(section, name, value)
    text = section.report(measure())
    assert "-----" in text
    assert len(text.splitlines()) > 4


@pytest.mark.parametrize("kind", [kind for kind in memory.KINDS if kind != UNICYCLE])
def test_other_kinds_of_the_section_on_memory_solve(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine._kept, "limit", machine._kept.limit)
    solve = memory.KINDS[kind][0]()
    assert isinstance(solve(), trajopt.Solution)


def test_the_command_prints_the_sections_that_are_chosen(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["-o", "unicycle_t20", "-o", "speed", "--rounds", "1", "--seconds", "0"]
    monkeypatch.setattr(sys, "argv", ["benchmarks", *asked])
    assert __main__.main() == 0
    printed = capsys.readouterr().out
    assert "unicycle_t20" in printed
    assert speed.TITLE in printed
    assert inside.TITLE not in printed
