"""Contact schedules as data: arrays, tables, edits, and what is refused."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

import trajopt
from tests.support.gait_robots import FEET, robot_of, stance_of
from trajopt import InvalidArgumentError, UnknownNameError, gaits
from trajopt.gaits import ContactSchedule, Foothold, Phase, Stance, Swing
from trajopt.gaits.profiles import swing_path

HERE, THERE = (0.1, 0.2, 0.0), (0.5, 0.2, 0.0)


def hop(**changes: Any) -> ContactSchedule:
    """Two point feet: support, one swings, support."""
    values: dict[str, Any] = {
        "start": Stance({"left": HERE, "right": (0.1, -0.2, 0.0)}, (0.1, 0.0, 0.8)),
        "phases": (
            Phase(name="support", knots=2, stance=("left", "right")),
            Phase(
                name="step",
                knots=4,
                stance=("right",),
                swings=(Swing("left", THERE, 0.1, "triangle"),),
                com=(0.3, 0.0, 0.8),
            ),
            Phase(name="rest", knots=3, stance=("left", "right")),
        ),
        "dt": 0.02,
    }
    return ContactSchedule(**(values | changes))


def test_arrays() -> None:
    schedule = hop()
    assert schedule.T == 9
    np.testing.assert_array_equal(schedule.phase_of_knot, [0, 0, 1, 1, 1, 1, 1, 2, 2, 2])
    np.testing.assert_array_equal(np.flatnonzero(schedule.touchdowns), [6])
    np.testing.assert_array_equal(schedule.active[:, 0], [1, 1, 0, 0, 0, 0, 1, 1, 1, 1])
    np.testing.assert_array_equal(schedule.active[:, 1], [1, 1, 1, 1, 1, 1, 0, 1, 1, 1])
    np.testing.assert_allclose(schedule.times, 0.02 * np.array([0, 1, 2, 3, 4, 5, 6, 6, 7, 8]))
    np.testing.assert_allclose(schedule.com_references[2:6, 0], [0.15, 0.2, 0.25, 0.3])
    assert np.isnan(schedule.com_references[[0, 1, 6, 7, 8, 9]]).all()
    guided = ~np.isnan(schedule.foot_references[:, :, 0, 0])
    np.testing.assert_array_equal(guided[:, 0], [0, 0, 1, 1, 1, 1, 1, 0, 0, 0])
    assert not guided[:, 1].any()
    np.testing.assert_allclose(schedule.foot_references[2:6, 0, :, 3][:, 2], [0, 0.05, 0.1, 0.05])
    assert schedule.duration == pytest.approx(0.16)
    with pytest.raises(ValueError, match="read-only"):
        schedule.active[0, 0] = False


def test_without_an_impulse_there_is_no_knot_for_the_touch_down() -> None:
    schedule = hop().replace("step", impulse=False)
    assert schedule.T == 8
    assert not schedule.touchdowns.any()
    np.testing.assert_array_equal(schedule.active[:, 0], [1, 1, 0, 0, 0, 0, 1, 1, 1])
    np.testing.assert_allclose(schedule.foot_references[6, 0, :, 3], THERE)  # asked for by the first knot on the ground
    at_once = schedule.replace("rest", stance=("right",), swings=(Swing("left", HERE),), impulse=False)
    np.testing.assert_array_equal(np.argwhere(at_once.references.landing), np.zeros((0, 2)))


def test_a_foot_without_height_is_guided_at_its_touch_down_alone() -> None:
    schedule = hop().replace("step", swings=Swing("left", THERE, None))
    guided = ~np.isnan(schedule.foot_references[:, 0, 0, 0])
    np.testing.assert_array_equal(np.flatnonzero(guided), [6])
    np.testing.assert_allclose(schedule.foot_references[6, 0, :, 3], THERE)


def test_a_sole_turns_along_the_shortest_way_and_keeps_its_orientation_with_a_point() -> None:
    start = Stance({"a": pin.SE3.Identity(), "b": pin.SE3(np.eye(3), np.array([0.0, 0.2, 0.0]))}, (0, 0.1, 0.8))
    turn = pin.SE3(pin.utils.rotate("z", 0.8), np.array([0.2, 0.0, 0.0]))
    phases = (
        Phase(name="turn", knots=4, stance=("b",), swings=(Swing("a", turn, 0.1, "triangle"),)),
        Phase(name="on", knots=4, stance=("b",), swings=(Swing("a", (0.4, 0, 0)),)),
    )
    schedule = ContactSchedule(start=start, phases=phases, dt=0.1)
    for k in range(4):
        np.testing.assert_allclose(
            schedule.foot_references[k, 0, :, :3], pin.utils.rotate("z", 0.2 * (k + 1)), atol=1e-15
        )
        np.testing.assert_allclose(schedule.foot_references[5 + k, 0, :, :3], turn.rotation, atol=1e-15)
    assert schedule.end.feet["a"].sole
    np.testing.assert_allclose(schedule.end.feet["a"].rotation, turn.rotation, atol=1e-15)


def test_the_same_values_are_equal_and_copies_are_too() -> None:
    schedule = hop()
    assert schedule == hop()
    assert schedule != hop(dt=0.01)
    assert schedule.references.active.any()  # what is computed does not count
    for other in (pickle.loads(pickle.dumps(schedule)), copy.deepcopy(schedule), dataclasses.replace(schedule)):
        assert other == schedule


def test_a_schedule_is_printed_as_a_table() -> None:
    lines = str(hop()).splitlines()
    assert lines[0].split() == ["phase", "knots", "time", "[s]", "left", "right", "com", "[m]"]
    assert lines[1].split() == ["support", "2", "0.00–0.04", "█", "█"]
    assert lines[2].startswith("step     4 + 1  0.04–0.12  → (0.500, 0.200, 0.000) ↑0.1  █")
    assert lines[2].endswith("→ (0.300, 0.000, 0.800)")
    assert "2 feet, T = 9 knots and the end, 0.16 s, dt = 0.02 s" in lines[-1]
    assert repr(hop()) == "ContactSchedule(2 feet, T=9, 0.16 s; support, step, rest)"


def test_a_schedule_is_drawn_as_a_chart(tmp_path: Path) -> None:
    schedule = gaits.quadruped_walk(stance_of("anymal"), cycles=2)
    axes = schedule.plot(tmp_path / "walk.png").axes[0]
    assert (tmp_path / "walk.png").stat().st_size > 5000
    from_the_top = sorted(zip(axes.get_yticks(), axes.get_yticklabels()), key=lambda row: -row[0])
    assert [label.get_text() for _, label in from_the_top] == list(FEET["anymal"])
    bars = sum(bar.get_width() for bar in axes.patches)
    continuous = ~schedule.touchdowns[:-1]
    assert bars == pytest.approx(schedule.dt * schedule.active[:-1][continuous].sum())
    triangles = [line for line in axes.lines if line.get_marker() == "v"]
    assert len(triangles) == schedule.touchdowns.sum() == 8


def test_edits_return_another_schedule() -> None:
    schedule = hop()
    longer = schedule.replace("step", knots=8)
    assert (schedule.T, longer.T) == (9, 13)
    assert schedule.replace(-1, name="end").phases[-1].name == "end"
    more = schedule.append(Phase(name="more", knots=5, stance=("left", "right")))
    assert more.T == 14
    assert [p.knots for p in schedule.scaled(2.0).phases] == [4, 8, 6]
    assert [p.knots for p in schedule.scaled(0.1).phases] == [1, 1, 1]
    assert schedule == hop()


def test_concatenation_needs_the_same_feet_in_the_same_places() -> None:
    first, second = gaits.quadruped_walk(stance_of("anymal")), gaits.quadruped_trot(stance_of("anymal"))
    with pytest.raises(
        InvalidArgumentError, match=r"'LF_FOOT' to start .* a distance of 0.25 m; .* first \+ second.after\(first\)"
    ):
        first + second
    both = first + second.after(first)
    assert both.phases[: len(first.phases)] == first.phases
    assert both.T == first.T + second.T + 1
    made_there = first + gaits.quadruped_trot(first.end)
    assert [p.name for p in made_there.phases] == [p.name for p in both.phases]
    with pytest.raises(InvalidArgumentError, match="same feet and time step in both, got LF_FOOT, .* at 0.02 s"):
        first + gaits.quadruped_trot(first.end, dt=0.02)
    with pytest.raises(TypeError):
        first + 1  # type: ignore[operator]


def test_after_moves_a_schedule_as_a_whole() -> None:
    start = Stance({"a": (1.0, 0.0, 0.0), "b": (-1.0, 0.0, 0.0)}, (0, 0, 1))
    swing = Phase(name="a", knots=2, stance=("b",), swings=(Swing("a", (1.5, 0.0, 0.0)),), com=(0.2, 0, 1))
    schedule = ContactSchedule(start=start, phases=(swing,), dt=0.1)
    turned = schedule.after(Stance({"a": (3.0, 1.0, 0.5), "b": (3.0, -1.0, 0.5)}))  # a quarter turn, 3 m ahead, up
    np.testing.assert_allclose(turned.end.feet["a"].position, (3.0, 1.5, 0.5), atol=1e-15)
    np.testing.assert_allclose(turned.end.com, (3.0, 0.2, 1.5), atol=1e-15)
    with pytest.raises(InvalidArgumentError, match="expected a schedule or stance of a, b"):
        schedule.after(stance_of("anymal"))


def test_repeated_steps_go_on() -> None:
    trot = gaits.quadruped_trot(stance_of("anymal"), first_step="full", final_knots=0)
    thrice = trot.repeated(3)
    whole = gaits.quadruped_trot(stance_of("anymal"), first_step="full", final_knots=0, cycles=3)
    np.testing.assert_allclose(thrice.foot_references, whole.foot_references, atol=1e-12)
    np.testing.assert_allclose(thrice.com_references, whole.com_references, atol=1e-12)
    with pytest.raises(InvalidArgumentError, match="times"):
        trot.repeated(0)


STAND = ("left", "right")
REFUSED: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "unknown foot": ({"stance": ("lefft", "right")}, UnknownNameError, "did you mean 'left'.*Known: left, right"),
    "no role": ({"stance": ("left",)}, InvalidArgumentError, "phase 'p': expected a role for right, got none.*free"),
    "both roles": (
        {"stance": STAND, "swings": (Swing("left", THERE),)},
        InvalidArgumentError,
        "'left' is in swings and in stance; remove it",
    ),
    "twice": ({"stance": ("left", "left", "right")}, InvalidArgumentError, "'left' is listed twice"),
    "no duration": ({"knots": 0, "stance": STAND}, InvalidArgumentError, "knots: expected an integer >= 1, got 0"),
    "half a knot": ({"knots": 1.5, "stance": STAND}, InvalidArgumentError, "knots: expected an integer >= 1, got 1.5"),
    "com": ({"stance": STAND, "com": (0, 0)}, InvalidArgumentError, r"com: expected shape \(3,\), got \(2,\)"),
    "not a swing": ({"stance": STAND, "swings": ("left",)}, InvalidArgumentError, "expected Swing"),
    "placement of a point": (
        {"stance": ("right",), "swings": (Swing("left", pin.SE3.Identity()),)},
        InvalidArgumentError,
        "expected a point .3,. for a point foot.*soles=True",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_phase_that_cannot_be_is_refused(name: str) -> None:
    values, error, message = REFUSED[name]
    with pytest.raises(error, match=message):
        hop(phases=(Phase(**({"name": "p", "knots": 3} | values)),))


def test_a_swing_that_cannot_be_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match=r"'left': to: expected shape \(3,\), got \(2,\); pass a point"):
        Swing("left", (0.1, 0.2))  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match=r"height: expected a number >= 0 \[m\], got -0.1"):
        Swing("left", THERE, -0.1)  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="profile 'sine'.*smooth, steep, triangle"):
        Swing("left", THERE, 0.1, "sine")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="expected a height or impulse=True, got neither"):
        Phase(name="p", knots=2, swings=(Swing("left", THERE, None),), impulse=False)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="norm"):
        Foothold((0, 0, 0), (0, 0, 0, 2))


def test_a_schedule_that_cannot_be_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match=r"at least two knots.*got \[\]"):
        hop(phases=())
    with pytest.raises(InvalidArgumentError, match=r"at least two knots.*got \['p'\]"):
        hop(phases=(Phase(name="p", knots=1, stance=STAND),))
    with pytest.raises(InvalidArgumentError, match="dt: expected a number > 0"):
        hop(dt=0.0)
    with pytest.raises(InvalidArgumentError, match="start: expected a Stance"):
        hop(start=[HERE])
    with pytest.raises(InvalidArgumentError, match="feet: expected the foothold of each foot by name"):
        hop(start={})
    with pytest.raises(InvalidArgumentError, match="com: expected a start of the line to com, got none"):
        hop(start={"left": HERE, "right": THERE})
    with pytest.raises(UnknownNameError, match="phase 'stop' not found; did you mean 'step'"):
        hop().replace("stop", knots=3)
    with pytest.raises(UnknownNameError, match="attribute of a phase 'knot'"):
        hop().replace("step", knot=3)
    with pytest.raises(InvalidArgumentError, match=r"unique name, got 'support' of phases \[0, 3\]; pass an index"):
        gaits.quadruped_walk(stance_of("anymal"), final_knots=0).replace("support", knots=3)
    with pytest.raises(InvalidArgumentError, match="index from 0 to 2, got 3"):
        hop().replace(3, knots=3)


def test_a_stance_is_read_from_a_robot() -> None:
    robot, stance = robot_of("talos_legs"), stance_of("talos_legs")
    data = robot.model.createData()
    q = robot.configuration("half_sitting")
    pin.framesForwardKinematics(robot.model, data, q)
    for name in stance.feet:
        placement = data.oMf[robot.frame_id(name)]
        np.testing.assert_array_equal(stance.feet[name].position, placement.translation)
        assert abs(placement.rotation - np.eye(3)).max() > 1e-3  # the soles are tilted a little
        np.testing.assert_allclose(stance.feet[name].rotation, np.eye(3), atol=1e-15)
    np.testing.assert_allclose(stance.com, pin.centerOfMass(robot.model, data, q))
    q[:2], q[3:7] = (1.0, 2.0), pin.Quaternion(pin.utils.rotate("z", 0.3)).coeffs()
    turned = Stance.of(robot, stance.feet, np.concatenate([q, np.ones(robot.nv)]), soles=True)
    np.testing.assert_allclose(turned.feet["left_sole_link"].rotation, pin.utils.rotate("z", 0.3), atol=1e-6)
    ahead = Stance.of(robot, stance.feet, q, soles=True, heading=0.0)
    assert np.array_equal(ahead.feet["left_sole_link"].rotation, np.eye(3))
    assert ahead.feet["left_sole_link"].position == turned.feet["left_sole_link"].position


def test_a_robot_that_cannot_walk_is_refused() -> None:
    with pytest.raises(UnknownNameError, match=r"foot 'LF_FOT' not found; did you mean 'LF_FOOT'.*look like feet: LF_"):
        Stance.of(robot_of("anymal"), ["LF_FOT"])
    with pytest.raises(UnknownNameError, match=r"foot 'wheel' not found. Frames that look like feet: FL_foot, "):
        Stance.of(robot_of("go2"), ["wheel"])
    with pytest.raises(InvalidArgumentError, match="floating base, got 'talos_arm', which is fixed to the world"):
        Stance.of(trajopt.load_robot("talos_arm"), ["gripper_left_joint"])
    with pytest.raises(InvalidArgumentError, match="expected a Robot, got str"):
        Stance.of("anymal", FEET["anymal"])  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match=r"x: expected a state \(37,\) or configuration \(19,\), got"):
        Stance.of(robot_of("anymal"), FEET["anymal"], [0, 0, 0])
    with pytest.raises(InvalidArgumentError, match="x: expected finite numbers, got nan at index 0"):
        Stance.of(robot_of("anymal"), FEET["anymal"], np.full(19, np.nan))
    with pytest.raises(InvalidArgumentError, match="x: expected numbers, got 'standing'"):
        Stance.of(robot_of("anymal"), FEET["anymal"], "standing")
    with pytest.raises(InvalidArgumentError, match="feet: foot 'LF_FOOT' is listed twice; remove one"):
        Stance.of(robot_of("anymal"), ["LF_FOOT", "RF_FOOT", "LF_FOOT"])
    lying = trajopt.Robot(pin.buildSampleModelHumanoidRandom())
    with pytest.raises(InvalidArgumentError, match="no configuration standing or half_sitting"):
        Stance.of(lying, [lying.frame_names[-1]])


@pytest.mark.parametrize("order", [(1, 0, 2, 3), (0, 1, 3, 2), (2, 3, 0, 1), (0, 2, 1, 3)])
def test_feet_in_another_order_are_refused(order: tuple[int, ...]) -> None:
    stance = stance_of("anymal")
    feet = {FEET["anymal"][i]: stance.feet[FEET["anymal"][i]] for i in order}
    with pytest.raises(InvalidArgumentError, match="feet in the order left front, right front, left hind"):
        gaits.quadruped_walk(Stance(feet, stance.com))


def test_other_numbers_of_feet_are_refused() -> None:
    stance = stance_of("anymal")
    with pytest.raises(InvalidArgumentError, match="expected 4 feet in the order"):
        gaits.quadruped_trot(stance_of("bolt"))
    with pytest.raises(InvalidArgumentError, match="expected 2 feet in the order right, left"):
        gaits.biped_walk(stance)
    with pytest.raises(InvalidArgumentError, match="expected a stance with a com"):
        gaits.biped_walk(Stance(stance_of("bolt").feet))
    with pytest.raises(InvalidArgumentError, match=r"expected Stance.of\(robot, feet\)"):
        gaits.biped_walk(FEET["bolt"])  # type: ignore[arg-type]


def test_options_of_generators_are_checked() -> None:
    stance = stance_of("anymal")
    with pytest.raises(UnknownNameError, match="first_step: 'short' not found.*full, half"):
        gaits.quadruped_walk(stance, first_step="short")
    with pytest.raises(InvalidArgumentError, match="cycles: expected an integer >= 1"):
        gaits.quadruped_walk(stance, cycles=0)
    with pytest.raises(InvalidArgumentError, match="height: expected a number >= 0"):
        gaits.quadruped_walk(stance, step_height=-0.1)
    with pytest.raises(InvalidArgumentError, match="support_knots: expected an integer >= 0"):
        gaits.quadruped_walk(stance, support_knots=-1)
    with pytest.raises(InvalidArgumentError, match="final_knots: expected an integer >= 0"):
        gaits.quadruped_walk(stance, final_knots=-1)
    with pytest.raises(TypeError, match="first_step"):  # all steps of a bound are full ones
        gaits.quadruped_bound(stance, first_step="half")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="step_lenght"):
        gaits.quadruped_trot(stance, step_lenght=0.1)  # type: ignore[call-arg]
    with pytest.raises(InvalidArgumentError, match="knots: expected an integer >= 1, got 0"):
        gaits.quadruped_walk(stance, step_knots=0)
    with pytest.raises(InvalidArgumentError, match=r"jump_length: expected shape \(3,\)"):
        gaits.quadruped_jump(stance, jump_length=0.3)
    with pytest.raises(InvalidArgumentError, match="jump_height: expected a number > 0"):
        gaits.quadruped_jump(stance, jump_height=0.0)


def flying(**swing: Any) -> gaits.ContactSchedule:
    """Foot "b" lands, without and then with a touch-down of foot "a" while it is in the air."""
    stance = gaits.Stance({"a": (0.0, 0.1, 0.0), "b": (0.0, -0.1, 0.0)}, com=(0.0, 0.0, 0.5))
    phases = (
        gaits.Phase(name="one", knots=4, stance=("a",), free=("b",)),
        gaits.Phase(name="two", knots=3, free=("b",), swings=(gaits.Swing("a", (0.1, 0.1, 0.0), height=0.05),)),
        gaits.Phase(name="three", knots=5, stance=("a",), swings=(gaits.Swing("b", (0.3, -0.1, 0.0), **swing),)),
        gaits.Phase(name="end", knots=2, stance=("a", "b")),
    )
    return gaits.ContactSchedule(start=stance, phases=phases, dt=0.01)


def test_a_swing_lasts_several_phases() -> None:
    schedule = flying(height=0.08, earlier=2)
    path = schedule.foot_references[:, 1, :, 3]
    knots = [*range(4), *range(4, 7), 7, *range(8, 13), 13]  # 7 and 13 are touch-downs
    moments = [*range(4), *range(4, 7), 7, *range(7, 12), 12]
    expected = swing_path("smooth", 12, np.array([[0.0, -0.1, 0.0], [0.3, -0.1, 0.0]]), 0.08)
    np.testing.assert_allclose(path[knots], expected[moments], atol=1e-15)
    assert np.isnan(path[14:]).all()
    assert np.nanmax(path[:, 2]) == pytest.approx(0.08)
    np.testing.assert_array_equal(flying(height=0.08).foot_references[8:14, 1, 0, 3], swing_path(
        "smooth", 5, np.array([[0.0, -0.1, 0.0], [0.3, -0.1, 0.0]]), 0.08)[:, 0])  # fmt: skip
    assert np.isnan(flying(height=0.08).foot_references[:8, 1]).all()


@pytest.mark.parametrize("earlier", [3, 4])
def test_a_swing_of_several_phases_needs_the_foot_in_the_air(earlier: int) -> None:
    with pytest.raises(InvalidArgumentError, match=r"swing of 'b': earlier: expected .* with 'b' in their free="):
        flying(height=0.08, earlier=earlier)
    late = gaits.Phase(name="late", knots=3, stance=("a",), swings=(gaits.Swing("b", (0.6, -0.1, 0.0), earlier=1),))
    with pytest.raises(InvalidArgumentError, match="got 1 after"):
        flying().append(late)


@pytest.mark.parametrize(
    ("turn", "angle"), [((np.pi, 0.0, 0.0), 180), ((0.0, np.pi / 2, 0.0), 90), ((0.4, 0.0, 0.0), None)]
)
def test_soles_whose_normal_does_not_point_up_are_named(
    turn: tuple[float, float, float], angle: int | None, caplog: pytest.LogCaptureFixture
) -> None:
    model = pin.Model(trajopt.load_robot("small-biped").model)
    for side in ("left", "right"):
        sole = model.frames[model.getFrameId(f"{side}_sole")]
        placement = sole.placement * pin.SE3(pin.exp3(np.array(turn)), np.zeros(3))
        model.addFrame(
            pin.Frame(f"{side}_turned", sole.parentJoint, sole.parentFrame, placement, pin.FrameType.OP_FRAME)
        )
    Stance.of(trajopt.Robot(model), ["left_turned", "right_turned"], soles=True)
    words = [record.getMessage() for record in caplog.records]
    named = f"feet: the z axis of 'left_turned' is {angle}° from the vertical"
    assert [each.startswith(named) for each in words] == ([] if angle is None else [True])
