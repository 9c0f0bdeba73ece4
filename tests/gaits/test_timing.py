"""Free durations of phases: optima by scans, schedules of whole time steps, and errors."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np
import pytest

import trajopt
from tests.support.a1_jumps import drawn
from trajopt import gaits
from trajopt.analysis import friction_use, legged_motion, replay
from trajopt.errors import InvalidArgumentError
from trajopt.gaits import ContactSchedule, FreeTime, Stance
from trajopt.shooting import ShootingProblem
from trajopt.simulator import MDPContact, Plane, Simulator
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


@pytest.mark.slow
def test_free_durations_are_the_best_of_a_scan_and_better_than_one_time_step() -> None:
    first, solution = solutions()
    assert solution.converged
    one = problem()
    one.free("dt", 0.002, 0.1)
    assert solution.cost < SolverSQP(one).solve(first).cost < first.cost
    assert solution.cost == pytest.approx(141.87535, rel=1e-6)
    fixed = problem()
    solver, phases = SolverSQP(fixed), problem(timing=FreeTime(0.02, 1.0)).unknowns["dt"].phases
    for i in range(len(phases)):
        for factor in (0.95, 1.05):
            for j, knots in enumerate(phases):
                fixed.set_parameter("dt", solution.unknowns["dt"][j] * (factor if i == j else 1.0), knots=knots)
            assert solver.solve(solution).cost > solution.cost


def test_fddp_finds_the_same_durations() -> None:
    first, solution = solutions()
    other = SolverFDDP(problem(timing=FreeTime(0.02, 1.0))).solve(first)
    assert other.converged
    assert other.cost == pytest.approx(solution.cost, rel=1e-8)
    np.testing.assert_allclose(other.unknowns["dt"], solution.unknowns["dt"], rtol=1e-3)


def test_free_durations_at_equal_total_time_are_the_best_of_a_scan() -> None:
    """148.190 with the durations of the schedule, 141.875 without a total, which ends earlier."""
    first, _ = solutions()
    timing = FreeTime(0.02, 1.0, total=trot().duration)
    found = [solver(problem(timing=timing)).solve(first) for solver in (SolverFDDP, SolverSQP)]
    for solution in found:
        assert solution.converged
        assert solution.times is not None
        assert solution.times[-1] == pytest.approx(trot().duration, abs=1e-10)
        assert solution.cost == pytest.approx(142.98606, rel=1e-6)
    fixed = problem()
    solver, phases = SolverFDDP(fixed), problem(timing=timing).unknowns["dt"].phases
    best = found[0].unknowns["dt"] * [2, 25, 2, 25]
    for i, j in itertools.permutations(range(4), 2):
        durations = best + 0.004 * (np.eye(4)[i] - np.eye(4)[j])
        for knots, duration in zip(phases, durations):
            fixed.set_parameter("dt", duration / len(knots), knots=knots)
        assert solver.solve(found[0]).cost > found[0].cost


@pytest.mark.slow
def test_free_durations_at_equal_total_time_with_limits() -> None:
    """Friction cones and limits of joints are constraints; the motion without them is the guess."""
    first, _ = solutions()
    timing = FreeTime(0.02, 1.0, total=trot().duration)
    limited = SolverSQP(problem(limits=True, timing=timing)).solve(first.xs, first.us)
    assert limited.converged
    assert limited.times is not None
    assert limited.times[-1] == pytest.approx(trot().duration, abs=1e-8)
    assert limited.cost == pytest.approx(143.0189, rel=1e-5)  # 148.235 with fixed times


@pytest.mark.slow
def test_motion_with_impulses_and_free_times_replays_in_the_simulator() -> None:
    """Supports of 94 and 57 ms, swings of 175 and 214 ms; touch-downs are knots without duration."""
    robot = trajopt.load_robot("go2")
    own = gaits.quadruped_trot(
        Stance.of(robot, FEET), step_length=0.1, step_height=0.05, support_knots=4, step_knots=23
    )
    fixed = gaits.gait_problem(robot, own)
    first = SolverFDDP(fixed).solve(*gaits.gait_guess(fixed, own))
    timing = FreeTime(0.02, 1.0, total=own.duration)
    solution = SolverFDDP(gaits.gait_problem(robot, own, timing=timing)).solve(first)
    assert solution.converged
    ground = Plane((0.0, 0.0, 1.0, -own.start.feet["FL_foot"].position[2]))
    feet = [MDPContact(foot, surface=ground) for foot in FEET]
    motion = replay(solution, 20, plant=Simulator(robot, feet), feedback="springs")
    assert np.linalg.norm(motion.xs[:, :3] - solution.xs[:, :3], axis=1).max() < 0.01
    places = [robot.placement(x[: robot.nq], "FR_foot")[:2, 3] for x in (motion.xs[0], motion.xs[-1])]
    np.testing.assert_allclose(places[1] - places[0], [0.05, 0.0], atol=0.01)  # a first step of half the length


@pytest.mark.slow
def test_jumps_within_torque_limits_need_free_durations() -> None:
    """Two of the forty that `python -m tests.benchmarks -o free-times` counts; feet of one pull, if times are fixed."""
    far, high = drawn(5, 1)[1], drawn(3, 1)[2]
    fixed = far.fixed()
    assert fixed.converged
    assert not far.solved(fixed)
    assert friction_use(legged_motion(fixed)) == np.inf
    assert far.solved(free := far.free())
    assert np.abs(far.unlimited.us).max() > 2.0 * np.abs(free.us).max()
    assert high.solved(fixed := high.fixed())
    assert high.solved(free := high.free())
    assert free.cost < 0.8 * fixed.cost


def test_schedule_of_whole_time_steps() -> None:
    _, solution = solutions()
    assert solution.times is not None
    rounded = trot().with_times(solution)
    knots = [phase.knots for phase in rounded.phases]
    assert knots == [5, 18, 4, 20, 1]
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
    (FreeTime(0.01, 1.0, total=5.0), r"total: expected a sum of dt between .*, got 5; widen the bounds"),
    (0.5, r"timing: .*use FreeTime"),
]


@pytest.mark.parametrize(("timing", "words"), WRONG)
def test_errors_name_the_cure(timing: Any, words: str) -> None:
    with pytest.raises(InvalidArgumentError, match=words):
        problem(timing=timing)


def test_bounds_are_numbers() -> None:
    with pytest.raises(InvalidArgumentError, match=r"upper: expected one number or one for each phase \[s\], got nan"):
        FreeTime(0.01, np.nan)
    for wrong in (0.0, -0.1, [0.1, 0.0]):
        with pytest.raises(
            InvalidArgumentError, match=r"lower: expected durations > 0 \[s\], got .*FreeTime\(0.05, 1.0\)"
        ):
            FreeTime(wrong, 1.0)
    for crossed in ((1.0, 0.1), ([0.1, 0.5], 0.2), ([0.1, 0.5], [0.2, 0.4])):
        with pytest.raises(InvalidArgumentError, match=r"lower: expected lower <= upper \[s\], got .*; swap the two"):
            FreeTime(*crossed)
    with pytest.raises(InvalidArgumentError, match="total"):
        FreeTime(0.01, 1.0, total=-1.0)
    assert FreeTime(np.array([0.1, 0.2]), 1.0) == FreeTime([0.1, 0.2], 1)


def test_times_of_another_schedule() -> None:
    first, _ = solutions()
    with pytest.raises(InvalidArgumentError, match="solution: expected times .* got none; pass"):
        trot().with_times(0.5)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match=r"expected times of the schedule's 113 knots .* got T = 56; pass"):
        (trot().repeated(2)).with_times(first)
