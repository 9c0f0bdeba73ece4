"""Free durations of phases: optima by scans, schedules of whole time steps, and errors."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import trajopt
from trajopt import gaits
from trajopt.errors import InvalidArgumentError
from trajopt.gaits import ContactSchedule, FreeTime, Stance
from trajopt.shooting import ShootingProblem
from trajopt.solvers import SolverFDDP, SolverSQP

FEET = ["FL_foot", "FR_foot", "RL_foot", "RR_foot"]


@functools.cache
def trot() -> ContactSchedule:
    return gaits.quadruped_trot(Stance.of(trajopt.load_robot("go2"), FEET), step_length=0.1, step_height=0.05)


def problem(**arguments: Any) -> ShootingProblem:
    return gaits.gait_problem(trajopt.load_robot("go2"), trot(), **arguments)


@functools.cache
def solutions() -> tuple[trajopt.Solution, trajopt.Solution]:
    """The trot with the times of its schedule, and with free ones."""
    fixed = problem()
    first = SolverSQP(fixed).solve(*gaits.gait_guess(fixed, trot()))
    return first, SolverSQP(problem(timing=FreeTime(0.02, 1.0))).solve(first)


def test_phases_are_those_of_the_schedule() -> None:
    free = problem(timing=FreeTime([0.01, 0.1, 0.01, 0.1], 1.0)).unknowns["dt"]
    assert free.phases == (tuple(range(2)), tuple(range(2, 27)), (28, 29), tuple(range(30, 55)))
    np.testing.assert_allclose(free.lower, [0.005, 0.004, 0.005, 0.004])
    np.testing.assert_allclose(free.upper, [0.5, 0.04, 0.5, 0.04])


def test_free_durations_are_the_best_of_a_scan_and_better_than_one_time_step() -> None:
    first, solution = solutions()
    assert solution.converged
    one = problem()
    one.free("dt", 0.002, 0.1)
    assert solution.cost < SolverSQP(one).solve(first).cost < first.cost
    assert solution.cost == pytest.approx(142.2234, rel=1e-5)
    fixed = problem()
    phases = problem(timing=FreeTime(0.02, 1.0)).unknowns["dt"].phases
    for i in range(len(phases)):
        for factor in (0.95, 1.05):
            for j, knots in enumerate(phases):
                fixed.set_parameter("dt", solution.unknowns["dt"][j] * (factor if i == j else 1.0), knots=knots)
            assert SolverSQP(fixed).solve(solution).cost > solution.cost


def test_fddp_finds_the_same_durations() -> None:
    first, solution = solutions()
    other = SolverFDDP(problem(timing=FreeTime(0.02, 1.0))).solve(first)
    assert other.converged
    assert other.cost == pytest.approx(solution.cost, rel=1e-8)
    np.testing.assert_allclose(other.unknowns["dt"], solution.unknowns["dt"], rtol=1e-3)


def test_schedule_of_whole_time_steps() -> None:
    _, solution = solutions()
    assert solution.times is not None
    rounded = trot().with_times(solution)
    knots = [phase.knots for phase in rounded.phases]
    assert knots == [9, 18, 6, 22, 1]
    assert rounded.duration == pytest.approx(solution.times[-1], abs=trot().dt)
    for phase, before in zip(rounded.phases, trot().phases):
        assert phase.swings == before.swings
    again = gaits.gait_problem(trajopt.load_robot("go2"), rounded)
    whole = SolverSQP(again).solve(*gaits.gait_guess(again, rounded))
    assert whole.converged
    assert solution.cost < whole.cost < solutions()[0].cost


def test_schedule_with_its_own_times_is_the_same() -> None:
    assert trot().with_times(solutions()[0]) == trot()


def test_phase_of_another_duration_loses_its_velocities() -> None:
    jump = gaits.quadruped_jump(Stance.of(trajopt.load_robot("go2"), FEET), jump_height=0.1)
    own = gaits.gait_problem(trajopt.load_robot("go2"), jump)
    still = SolverSQP(own, trajopt.solvers.SQPOptions(max_iterations=1)).solve()
    assert jump.with_times(still) == jump
    flights = [i for i, phase in enumerate(jump.phases) if phase.com_velocities is not None]
    assert flights
    own.set_parameter("dt", 1.2 * jump.dt, "running")
    longer = jump.with_times(SolverSQP(own, trajopt.solvers.SQPOptions(max_iterations=1)).solve())
    assert longer.duration == pytest.approx(1.2 * jump.duration, abs=jump.dt)
    assert all(longer.phases[i].com_velocities is None for i in flights)


def test_phases_keep_durations_between_equal_bounds() -> None:
    first, _ = solutions()
    durations = [0.02, 0.25, 0.02, 0.25]
    kept = SolverSQP(problem(timing=FreeTime(durations, durations))).solve(first)
    assert kept.converged
    np.testing.assert_allclose(kept.unknowns["dt"], 0.01, rtol=1e-9)
    assert kept.cost == pytest.approx(first.cost, rel=1e-8)
    odd = [0.1 * 0.2, 0.3 - 0.05, 0.1 * 0.2, 0.3 - 0.05]  # off by rounding
    free = problem(timing=FreeTime(odd, odd)).unknowns["dt"]
    np.testing.assert_allclose(free.upper, 0.01, rtol=1e-9)


WRONG: list[tuple[Any, str]] = [
    (FreeTime(0.1, 1.0), r"timing: .*0.1 to 1 s for phase 'support', which lasts 0.02 s; widen them"),
    (FreeTime([0.01, 0.1], 1.0), r"timing: lower: expected one number or 4, one for each phase"),
    (FreeTime(0.0, 1.0), r"time step > 0 \[s\]"),
    (0.5, r"timing: .*use FreeTime"),
]


@pytest.mark.parametrize(("timing", "words"), WRONG)
def test_errors_name_the_cure(timing: Any, words: str) -> None:
    with pytest.raises(InvalidArgumentError, match=words):
        problem(timing=timing)


def test_bounds_are_numbers() -> None:
    with pytest.raises(InvalidArgumentError, match=r"upper: expected one number or one for each phase \[s\], got nan"):
        FreeTime(0.01, np.nan)
    assert FreeTime(np.array([0.1, 0.2]), 1.0) == FreeTime([0.1, 0.2], 1)


def test_times_of_another_schedule() -> None:
    first, _ = solutions()
    with pytest.raises(InvalidArgumentError, match="solution: expected times .* got none; pass"):
        trot().with_times(0.5)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match=r"expected times of the schedule's 113 knots .* got T = 56; pass"):
        (trot().repeated(2)).with_times(first)
