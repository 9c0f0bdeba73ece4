"""Speeds of gaits over the ground: the formulas of their docstrings, tables, and reports of motions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import trajopt
from tests.gaits.test_timing import FEET
from tests.support.unsolved import solution_of, trot
from trajopt import gaits
from trajopt.analysis import legged_motion, motion_report
from trajopt.analysis.advice.explanation import _gait
from trajopt.gaits import ContactSchedule, Foothold, Stance

PLACES = {"rf": (0.2, -0.1, 0.0), "lf": (0.2, 0.1, 0.0), "lh": (-0.2, 0.1, 0.0), "rh": (-0.2, -0.1, 0.0)}
FOUR = Stance({name: Foothold(PLACES[name]) for name in ("lf", "rf", "lh", "rh")}, (0.0, 0.0, 0.5))
TWO = Stance({"right": Foothold((0.0, -0.1, 0.0)), "left": Foothold((0.0, 0.1, 0.0))}, (0.0, 0.0, 0.8))
GAITS: dict[str, tuple[Callable[..., ContactSchedule], Stance, int, float, float]] = {
    # groups of feet in a cycle [-], default step_length / dt [m/s], knots of a cycle by default [-]
    "biped_walk": (gaits.biped_walk, TWO, 2, 0.4 / 2e-2, 2 * (25 + 6)),
    "quadruped_walk": (gaits.quadruped_walk, FOUR, 4, 0.25 / 1e-2, 4 * 25 + 2 * 2),
    "quadruped_trot": (gaits.quadruped_trot, FOUR, 2, 0.15 / 1e-2, 2 * (25 + 2)),
    "quadruped_pace": (gaits.quadruped_pace, FOUR, 2, 0.1 / 5e-3, 2 * (36 + 10)),
    "quadruped_bound": (gaits.quadruped_bound, FOUR, 2, 0.1 / 5e-3, 2 * (36 + 10)),
}


@pytest.mark.parametrize("name", GAITS)
def test_the_speed_is_that_of_the_formula_whatever_begins_and_ends_the_gait(name: str) -> None:
    gait, stance, groups, rate, count = GAITS[name]
    assert gait(stance, cycles=2).speed == pytest.approx(rate / count, rel=1e-12)
    shown = float(f"{rate / count:.2g}")
    assert f"by default {shown:.2f} m/s" in str(gait.__doc__)
    for own in ({"cycles": 3, "final_knots": 40}, {"cycles": 2, "impulse": False, "heading": 1.0}):
        options: dict[str, Any] = {"step_length": -0.2, "dt": 0.01, "step_knots": 20, "support_knots": 5} | own
        schedule = gait(stance, **options)
        assert schedule.speed == pytest.approx(0.2 / (0.01 * (groups * 20 + 2 * 5)), rel=1e-12)
        assert f"dt = 0.01 s; {schedule.speed:.3f} m/s; " in str(schedule).splitlines()[-1]


def test_a_single_cycle_has_its_mean_speed_and_a_stand_has_none() -> None:
    once = gaits.biped_walk(TWO)  # half a step of the right foot, a whole one of the left
    assert once.speed == pytest.approx(0.3 / once.duration)
    stand = ContactSchedule(start=FOUR, phases=gaits.Phase(name="stand", knots=5, stance=tuple(PLACES)), dt=0.02)
    assert stand.speed == 0.0
    step = gaits.Swing("lf", (0.3, 0.1, 0.0), height=0.1)
    paw = gaits.Phase(name="paw", knots=9, stance=("rf", "lh", "rh"), swings=(step,))
    assert stand.append(paw).speed == 0.0  # no gait
    assert "m/s" not in str(stand)


def test_a_motion_has_the_speed_of_its_centre_of_mass_over_whole_strides() -> None:
    robot = trajopt.load_robot("go2")
    schedule = gaits.quadruped_trot(Stance.of(robot, FEET), step_length=0.1, cycles=2, final_knots=30)
    problem = gaits.gait_problem(robot, schedule)
    xs, us = (np.array(each) for each in gaits.gait_guess(problem, schedule))
    xs[:, 0] = xs[0, 0] + 0.3 * np.minimum(schedule.times, schedule.times[-30])  # at rest at the end
    assert motion_report(solution_of(problem, xs, us))["speed"] == "0.300 m/s from stride to stride"
    assert "  speed: 0.300 m/s from stride to stride" in _gait(solution_of(problem, xs, us))
    assert "speed" not in motion_report(solution_of(problem, np.repeat(xs[:1], len(xs), axis=0), us))


def test_a_motion_of_one_cycle_has_its_mean_speed() -> None:
    moved = np.linalg.norm(np.diff(legged_motion(trot()).com[[0, -1], :2], axis=0))
    times = trot().times
    assert times is not None
    assert motion_report(trot())["speed"] == f"{moved / times[-1]:.3f} m/s on average"
