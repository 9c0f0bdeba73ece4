"""Flights: the distance of the centre of mass from its parabola in closed form, and the levels on which feet end."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pytest

from tests.support.unsolved import solution_of, trot
from trajopt import problems
from trajopt.analysis import legged_motion, motion_report
from trajopt.analysis.flight import flight_words, off_parabola
from trajopt.solution import Solution, SolverStatus

GRAVITY = 9.81


@functools.cache
def thrown(*, euler: bool) -> tuple[Solution, float]:
    """A quadruped that flies in one posture, on a parabola or by steps of Euler's method, and its time of flight."""
    problem = problems.load("quadruped-jump", "small-quadruped").problem
    xs, us = np.tile(problem.x0, (problem.T + 1, 1)), np.zeros((problem.T, problem.nu))
    (flight,) = [phase for phase in legged_motion(solution_of(problem, xs, us)).phases if not phase.feet]
    nq, times = problem.state.nq, problem.times  # type: ignore[attr-defined]
    t = times[flight.first : flight.last + 1] - times[flight.first]
    knots = slice(flight.first, flight.last + 1)
    late = np.diff(t, prepend=t[0]) if euler else 0.0  # of the fall
    xs[knots, 2] += 1.5 * t - 0.5 * GRAVITY * t * (t + late)
    xs[knots, nq + 2] = 1.5 - GRAVITY * t
    return solution_of(problem, xs, us), float(t[-1])


def test_a_parabola_is_one() -> None:
    solution, _ = thrown(euler=False)
    assert off_parabola(solution, legged_motion(solution)) == pytest.approx(0.0, abs=1e-9)


def test_steps_of_euler_leave_the_parabola_by_half_a_step() -> None:
    solution, time = thrown(euler=True)
    assert solution.times is not None
    off = 0.5 * GRAVITY * float(np.diff(solution.times).max()) * time
    motion = legged_motion(solution)
    assert off_parabola(solution, motion) == pytest.approx(off, rel=1e-6)
    words = f"the centre of mass is within {1e3 * off:.2g} mm of its parabola"
    assert flight_words(solution, motion) == {"flight": words}
    assert f"  flight: {words}" in dataclasses.replace(solution, status=SolverStatus.UNSOLVED).explain().splitlines()


def test_feet_that_end_on_two_levels_are_named_with_their_heights() -> None:
    solution, _ = thrown(euler=False)
    motion, feet = legged_motion(solution), []
    for foot, height in zip(motion.feet, (0.15, 0.0, 0.16, 0.005)):
        positions = foot.positions.copy()
        positions[-1, 2] = height
        feet.append(dataclasses.replace(foot, positions=positions))
    a, b, c, d = (foot.name for foot in feet)
    words = flight_words(solution, dataclasses.replace(motion, feet=tuple(feet)))
    assert words["feet"] == f"{a}, {c} end at 0.155 m; {b}, {d} end at 0.003 m"


def test_a_large_distance_is_a_plain_number() -> None:
    solution, _ = thrown(euler=False)
    (flight,) = [phase for phase in legged_motion(solution).phases if not phase.feet]
    xs = solution.xs.copy()
    xs[flight.last, 2] += 0.2876  # [m]
    moved = dataclasses.replace(solution, xs=xs)
    words = {"flight": "the centre of mass is within 290 mm of its parabola"}
    assert flight_words(moved, legged_motion(moved)) == words


def test_a_gait_without_flight_has_no_parabola() -> None:
    assert flight_words(trot(), legged_motion(trot())) == {}
    assert not {"flight", "feet"} & set(motion_report(trot()))
