"""Jumps as data: flights that take as long as their heights need, paths that a body can follow."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from tests.support.gait_robots import stance_of
from trajopt import InvalidArgumentError, UnknownNameError, gaits

G = 9.81


@pytest.mark.parametrize(("height", "dt"), [(0.05, 5e-3), (0.15, 5e-3), (0.15, 1e-2), (0.4, 2e-2)])
def test_the_flight_takes_as_long_as_the_height_needs(height: float, dt: float) -> None:
    schedule = gaits.quadruped_jump(stance_of("anymal"), jump_height=height, dt=dt)
    flight = next(phase for phase in schedule.phases if not phase.stance)
    assert abs(flight.knots * dt - np.sqrt(8 * height / G)) <= dt / 2
    top = np.nanmax(schedule.com_references[:, 2])
    assert top - schedule.start.com[2] == pytest.approx(height, abs=G * dt**2 / 7)
    assert flight.rise == height


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"jump_height": 0.1, "dt": 1e-2, "flying_knots": 20},
            r"flying_knots: expected a flight of 0.286 s for a jump 0.1 m high, got 40 knots of 0.01 s = 0.4 s, "
            r"which gives 0.196 m; omit flying_knots, or set jump_height=0.196",
        ),
        (
            {"jump_height": 0.1, "dt": 1e-2, "flying_knots": 13},
            r"flying_knots: expected a flight of 0.286 s .* got 26 knots",
        ),
        ({"jump_height": 0.1, "dt": 5e-2}, r"dt: expected a flight of 0.286 s .* got 6 knots .* use dt <= 0.0071 s"),
        ({"flying_knots": 0}, "flying_knots: expected an integer >= 1"),
        ({"flying_knots": 1.5}, "flying_knots: expected an integer >= 1"),
        ({"ground_knots": -1}, "ground_knots: expected an integer >= 1"),
    ],
)
def test_a_flight_that_does_not_fit_is_refused(given: dict[str, Any], message: str) -> None:
    for jump, robot in ((gaits.quadruped_jump, "anymal"), (gaits.biped_jump, "talos_legs")):
        with pytest.raises(InvalidArgumentError, match=message):
            jump(stance_of(robot), **given)


def test_a_flight_that_fits_is_taken() -> None:
    schedule = gaits.quadruped_jump(stance_of("anymal"), jump_height=0.1, dt=1e-2, flying_knots=14)
    assert next(phase for phase in schedule.phases if not phase.stance).knots == 28


def test_crocoddyl_s_flight_takes_any_time() -> None:
    schedule = gaits.quadruped_jump(stance_of("anymal"), jump_height=0.1, dt=1e-2, flying_knots=20, flight="crocoddyl")
    assert [phase.name for phase in schedule.phases] == ["take-off", "up", "down", "landed"]
    with pytest.raises(UnknownNameError, match="flight: 'free' not found.*ballistic, crocoddyl"):
        gaits.quadruped_jump(stance_of("anymal"), flight="free")


def test_by_default_there_is_no_sideways_motion() -> None:
    for jump, robot in ((gaits.quadruped_jump, "anymal"), (gaits.biped_jump, "talos_legs")):
        schedule = jump(stance_of(robot))
        for name, place in schedule.end.feet.items():
            ahead, left, up = np.subtract(place.position, schedule.start.feet[name].position)
            assert (left, up) == (0.0, 0.0)
            assert ahead > 0.0


@pytest.mark.parametrize("length", [(0.2, 0.0, 0.0), (0.1, -0.2, 0.05), (0.0, 0.0, -0.1)])
def test_a_body_can_follow_the_path(length: tuple[float, float, float]) -> None:
    """Free fall in the air; from rest to rest, without jumps of position or velocity; never more than 3.5 g upwards."""
    schedule = gaits.quadruped_jump(stance_of("anymal"), jump_height=0.2, jump_length=length, dt=2e-3, ground_knots=200)
    timed = ~schedule.touchdowns
    com, dt = schedule.com_references[timed], schedule.dt
    np.testing.assert_allclose(com[0], schedule.start.com, atol=1e-12)
    np.testing.assert_allclose(com[-1], np.add(schedule.start.com, length), atol=1e-4)
    velocity = np.diff(com, axis=0) / dt
    acceleration = np.diff(velocity, axis=0) / dt
    assert np.abs(velocity[[0, -1]]).max() < 0.1
    assert np.abs(acceleration).max() < 2.5 * G
    air = np.flatnonzero(~schedule.active[timed].any(axis=1))
    np.testing.assert_allclose(acceleration[air[1:-1], 2], -G, atol=1e-6)
    np.testing.assert_allclose(acceleration[air[1:-1], :2], 0.0, atol=1e-6)


@pytest.mark.parametrize("ground_knots", [12, 20, 30, 60])
@pytest.mark.parametrize("height", [0.15, 0.3, 0.5, 1.0])
def test_legs_can_follow_a_level_jump_in_any_time(height: float, ground_knots: int) -> None:
    """It crouches at most by half its height, from standing, and rises again; a path with 2 g would be underground."""
    schedule = gaits.quadruped_jump(stance_of("go2"), jump_height=height, dt=1e-2, ground_knots=ground_knots)
    com, start = schedule.com_references[~schedule.touchdowns], np.array(schedule.start.com)
    np.testing.assert_allclose(com[0], start, atol=1e-12)
    np.testing.assert_allclose(com[-1], np.add(start, [0.1, 0.0, 0.0]), atol=5e-3)
    assert com[:, 2].min() > start[2] - 0.55 * (start[2] - schedule.start.height)
    names = [phase.name for phase in schedule.phases]
    assert {"crouch", "push", "brake"} <= {*names}
    speed = max(np.abs(phase.com_velocities).max() for phase in schedule.phases if phase.com_velocities is not None)
    assert np.abs(np.diff(com, axis=0)).max() < 1.01 * speed * schedule.dt


@pytest.mark.parametrize("ground_knots", [1, 2, 3])
def test_jumps_with_few_knots_on_the_ground(ground_knots: int) -> None:
    for length in ((0.1, 0.0, 0.0), (0.1, 0.0, 0.1)):
        schedule = gaits.quadruped_jump(
            stance_of("go2"), jump_height=0.3, jump_length=length, dt=1e-2, ground_knots=ground_knots
        )
        assert np.isfinite(schedule.com_references[~schedule.touchdowns]).all()
        assert sum(phase.knots for phase in schedule.phases if phase.stance) == 2 * ground_knots


def test_the_ground_is_where_each_foot_stands() -> None:
    stance = stance_of("anymal")
    schedule = gaits.quadruped_jump(stance, jump_length=(0.1, 0.0, 0.0))
    for name, place in schedule.end.feet.items():
        assert place.position[2] == stance.feet[name].position[2]
    level = gaits.quadruped_jump(stance, jump_length=(0.1, 0.0, 0.0), ground=0.02)
    assert {place.position[2] for place in level.end.feet.values()} == {0.02}


def test_edits_that_no_body_can_follow_are_refused() -> None:
    jump = gaits.quadruped_jump(stance_of("anymal"), jump_height=0.2)
    with pytest.raises(
        InvalidArgumentError, match=r"phase 'flight': knots: expected a flight of 0.405 s .* got 162 knots"
    ):
        jump.scaled(2.0)
    with pytest.raises(InvalidArgumentError, match="phase 'flight': knots: expected a flight of"):
        dataclasses.replace(jump, dt=1e-2)


def test_a_jump_that_follows_another_is_turned_with_it() -> None:
    jump = gaits.quadruped_jump(stance_of("anymal"))
    turn = gaits.quadruped_trot(stance_of("anymal"), heading=0.5, dt=jump.dt)
    twice = turn + jump.after(turn)
    assert twice.T == turn.T + jump.T + 1
    speeds = [phase.com_velocities for phase in twice.phases if phase.name == "flight"]
    assert speeds[0] is not None
    assert speeds[0][0][2] == pytest.approx(-speeds[0][1][2])


def test_cubic_references_join_positions_and_velocities() -> None:
    start = gaits.Stance({"a": (0, 0, 0)}, (0.0, 0.0, 1.0))
    push = gaits.Phase(
        name="push", knots=50, stance=("a",), com=(0.2, 0.0, 1.1), com_velocities=((0, 0, 0), (0.8, 0, 0.4))
    )
    schedule = gaits.ContactSchedule(start=start, phases=(push, gaits.Phase(name="x", knots=1, stance="a")), dt=0.01)
    com = schedule.com_references[:50]
    t = 0.01 * np.arange(50)
    np.testing.assert_allclose(com, [0, 0, 1] + t[:, None] ** 2 * [0.8, 0, 0.4], atol=1e-12)  # a constant acceleration
