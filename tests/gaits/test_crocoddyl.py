"""Schedules knot by knot against Crocoddyl's gait builders, and against formulas of their own."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.gait_robots import CROCODDYL, FEET, crocoddyl_of, schedule_of, stance_of
from trajopt import gaits

EXACT = 1e-15


@pytest.mark.parametrize(("robot", "gait"), CROCODDYL)
def test_the_same_nodes_as_crocoddyl(robot: str, gait: str) -> None:
    schedule, nodes = schedule_of(robot, gait), crocoddyl_of(robot)["gaits"][gait]["nodes"]
    assert len(nodes) == schedule.T + 1
    assert schedule.feet == tuple(crocoddyl_of(robot)["feet"])
    for t, (kind, active, com, places) in enumerate(nodes):
        assert schedule.touchdowns[t] == (kind == "impulse"), t
        assert np.flatnonzero(schedule.active[t]).tolist() == active, t
        np.testing.assert_allclose(schedule.com_references[t], np.nan if com is None else com, rtol=0, atol=EXACT)
        for i in range(len(FEET[robot])):
            expected = np.full((3, 4), np.nan)
            if str(i) in places:
                expected = np.column_stack([np.eye(3), places[str(i)]])
            np.testing.assert_allclose(schedule.foot_references[t, i], expected, rtol=0, atol=EXACT)


@pytest.mark.parametrize("knots", [1, 2, 3, 10, 25])
def test_a_swing_rises_and_falls_as_a_triangle(knots: int) -> None:
    """With N even or odd: at knot k the height is 2 h min(k, N - k) / N, at touch-down as at the last knot."""
    start = gaits.Stance({"a": (0, 0, 0), "b": (0, 1, 0)})
    swing = gaits.Phase(
        name="a", knots=knots, stance=("b",), swings=(gaits.Swing("a", (0.3, 0.1, 0.05), 0.2, "triangle"),)
    )
    schedule = gaits.ContactSchedule(start=start, phases=(swing,), dt=0.01)
    positions = schedule.foot_references[:, 0, :, 3]
    for k in range(knots):
        expected = np.array([0.3, 0.1, 0.05]) * (k + 1) / knots + [0, 0, 0.2 * min(k, knots - k) * 2 / knots]
        np.testing.assert_allclose(positions[k], expected, atol=EXACT)
    np.testing.assert_array_equal(positions[-1], positions[-2])


def test_a_smooth_swing_leaves_and_lands_at_rest_on_its_foothold() -> None:
    start, knots = gaits.Stance({"a": (0, 0, 0), "b": (0, 1, 0)}), 400
    swing = gaits.Swing("a", (0.3, 0.1, 0.05), 0.2, "smooth")
    phase = gaits.Phase(name="a", knots=knots, stance=("b",), swings=(swing,))
    path = gaits.ContactSchedule(start=start, phases=(phase,), dt=0.01).foot_references[:, 0, :, 3]
    np.testing.assert_allclose(path[0], 0.0, atol=EXACT)
    np.testing.assert_allclose(path[-1], [0.3, 0.1, 0.05], atol=EXACT)
    np.testing.assert_allclose(path[knots // 2], [0.15, 0.05, 0.025 + 0.2], atol=EXACT)
    speed = np.abs(np.diff(path, axis=0)).max(axis=1)
    assert max(speed[0], speed[-1]) < 0.03 * speed.max()


def test_further_cycles_take_full_steps() -> None:
    stance = stance_of("anymal")
    once, twice = (gaits.quadruped_trot(stance, cycles=n) for n in (1, 2))
    assert [p.name for p in twice.phases] == [p.name for p in once.phases[:-1]] * 2 + ["support"]
    right = [stance.feet["RF_FOOT"].position[0], once.end.feet["RF_FOOT"].position[0]]
    assert np.diff([*right, twice.end.feet["RF_FOOT"].position[0]]) == pytest.approx([0.075, 0.15])
    other = gaits.quadruped_trot(once.end, first_step="full")
    np.testing.assert_allclose(twice.foot_references[-20:], other.foot_references[-20:], atol=1e-12)
    np.testing.assert_allclose(twice.com_references[-20:], other.com_references[-20:], atol=1e-12)


@pytest.mark.parametrize("gait", ["walk", "trot", "pace", "bound"])
def test_crocoddyl_s_centre_of_mass_stays_above_the_mean_of_the_feet(gait: str) -> None:
    generate, options = getattr(gaits, f"quadruped_{gait}"), {"cycles": 3, "heading": 0.4, "step_length": -0.1}
    schedule = generate(stance_of("hyq"), profile="triangle", **options)
    for stance in schedule.stances:
        np.testing.assert_allclose(stance.com[:2], stance.centre[:2], atol=1e-12)
    moved = schedule.end.centre - schedule.start.centre
    assert np.arctan2(-moved[1], -moved[0]) == pytest.approx(0.4)


@pytest.mark.parametrize("gait", ["walk", "trot", "pace", "bound", "jump"])
@pytest.mark.parametrize("robot", ["go2", "hyq"])
def test_the_centre_of_mass_keeps_its_place_above_the_feet(robot: str, gait: str) -> None:
    """Go2 stands with its centre of mass 19 mm ahead of the middle of its feet, HyQ 39 mm."""
    begin = stance_of(robot)
    schedule = getattr(gaits, f"quadruped_{gait}")(begin)
    away = np.array(begin.com) - begin.centre
    assert away[0] > 0.019
    for stance in (schedule.start, schedule.end):
        np.testing.assert_allclose(np.array(stance.com) - stance.centre, away, atol=1e-8)
    first = schedule.com_references[np.isfinite(schedule.com_references[:, 0])][0]
    np.testing.assert_allclose(first, begin.com, atol=0.01)  # one knot ahead on its line


@pytest.mark.parametrize("gait", ["walk", "trot", "pace", "bound"])
def test_the_place_of_the_centre_of_mass_turns_with_the_feet(gait: str) -> None:
    begin, turn = stance_of("hyq"), 0.6
    schedule = getattr(gaits, f"quadruped_{gait}")(begin, step_length=0.0, turn=turn, cycles=2)
    rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    away = (np.array(begin.com) - begin.centre)[:2]
    np.testing.assert_allclose((np.array(schedule.end.com) - schedule.end.centre)[:2], rotation @ away, atol=1e-3)


@pytest.mark.parametrize("knots", [2, 3, 10, 25])
@pytest.mark.parametrize("profile", ["smooth", "steep"])
def test_a_swing_has_its_height_at_a_knot(profile: str, knots: int) -> None:
    """With N odd the peak is between two knots."""
    swing = gaits.Swing("a", (0.3, 0.1, 0.0), 0.08, profile)
    phase = gaits.Phase(name="a", knots=knots, stance=("b",), swings=(swing,))
    start = gaits.Stance({"a": (0, 0, 0), "b": (0, 1, 0)})
    heights = gaits.ContactSchedule(start=start, phases=(phase,), dt=0.01).foot_references[:, 0, 2, 3]
    assert heights.max() == pytest.approx(0.08, abs=1e-15)
    assert heights[0] == heights[-1] == 0.0


def test_a_jump_lands_where_the_feet_stood_above_the_ground() -> None:
    """Feet of Bolt have their frames 3 cm above the ground."""
    stance = stance_of("bolt")
    schedule = gaits.biped_jump(stance, jump_length=(0.2, 0.0, 0.1))
    for name, place in schedule.end.feet.items():
        np.testing.assert_allclose(np.subtract(place.position, stance.feet[name].position), [0.2, 0, 0.1], atol=1e-8)
    low = gaits.biped_jump(stance, jump_length=(0.2, 0.0, 0.1), ground=0.0)
    assert {place.position[2] for place in low.end.feet.values()} == {0.1}
    assert low.end.com[2] == pytest.approx(stance.com[2] + 0.1 - stance.feet["FR_FOOT"].position[2])
