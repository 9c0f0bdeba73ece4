"""What gaits refuse, and what they warn of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import trajopt
from trajopt import gaits
from trajopt.errors import InvalidArgumentError, UnknownNameError

ROBOT = trajopt.load_robot("small-quadruped")
PENDULUM = gaits.LinearInvertedPendulum(1.0)
FEET = ("lf_foot", "rf_foot", "lh_foot", "rh_foot")


@pytest.fixture(scope="module")
def stance() -> gaits.Stance:
    return gaits.Stance.of(trajopt.load_robot("small-quadruped"), FEET)


@pytest.fixture(scope="module")
def trot(stance: gaits.Stance) -> gaits.ContactSchedule:
    return gaits.quadruped_trot(stance, step_length=0.05, step_knots=3)


@pytest.mark.parametrize(("length", "warns"), [(0.15, False), (5.0, True), (-5.0, True)])
def test_steps_of_metres_warn(
    stance: gaits.Stance, length: float, warns: bool, caplog: pytest.LogCaptureFixture
) -> None:
    gaits.quadruped_trot(stance, step_length=length)
    assert ("is it in metres?" in caplog.text) == warns


@pytest.mark.parametrize(("lift", "warns"), [(0.0, False), (0.005, False), (0.05, True), (-0.05, True)])
def test_a_start_beside_the_footholds_warns(
    trot: gaits.ContactSchedule, lift: float, warns: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """A robot 5 cm up in the air was pulled down by its contacts within some steps, and the solver converged."""
    q = ROBOT.configuration("standing")
    q[2] += lift
    gaits.gait_problem(ROBOT, trot, q)
    assert ("stands 0.05 m away from its foothold at the start" in caplog.text) == warns


@pytest.mark.parametrize(("soles", "warns"), [(None, True), (False, False), (True, False)])
def test_feet_named_sole_without_a_sole_warn(soles: bool | None, warns: bool, caplog: pytest.LogCaptureFixture) -> None:
    biped = trajopt.load_robot("small-biped")
    stance = gaits.Stance.of(biped, ["right_sole", "left_sole"], soles=soles)
    assert ("the name 'right_sole' says sole, but the foot becomes a point" in caplog.text) == warns
    assert [foot.sole for foot in stance.feet.values()] == [bool(soles)] * 2
    caplog.clear()
    gaits.Stance.of(ROBOT, FEET)
    assert not caplog.text


@pytest.mark.parametrize(("quaternion", "warns"), [((0.0, 0.0, 0.0, 1.0), False), ((1.0, 0.0, 0.0, 0.0), True)])
def test_feet_above_the_centre_of_mass_warn_of_the_order_of_the_quaternion(
    quaternion: tuple[float, ...], warns: bool, caplog: pytest.LogCaptureFixture
) -> None:
    q = ROBOT.configurations["standing"].copy()
    q[3:7] = quaternion
    gaits.Stance.of(ROBOT, FEET, q)
    assert ("the order of its quaternion x[3:7] is (x, y, z, w)" in caplog.text) == warns


def test_a_schedule_is_repeated_as_if_it_were_added(trot: gaits.ContactSchedule) -> None:
    by_hand = trot + trot.after(trot)
    by_hand = by_hand + trot.after(by_hand)
    repeated = trot.repeated(3)
    assert repeated == by_hand
    for name in ("active", "touchdowns", "foot_references", "com_references", "times"):
        np.testing.assert_array_equal(getattr(repeated, name), getattr(by_hand, name))


Call = Callable[[Any, Any], Any]
BAD, NO_SCHEDULE = InvalidArgumentError, "schedule: expected a ContactSchedule"
REFUSED: list[tuple[str, Call, type[Exception], str]] = [
    ("repeated", lambda s, t: t.repeated(2**31), BAD, "times: expected an integer <= "),
    ("scaled", lambda s, t: t.scaled(1e9), BAD, "factor: expected a factor for at most 100000 knots"),
    ("knots", lambda s, t: gaits.Phase(name="a", knots=2**31, stance=FEET), BAD, "knots: .* <= 100000"),
    ("cycles", lambda s, t: gaits.quadruped_walk(s, cycles=2**31), BAD, "cycles: expected an integer <="),
    ("dt", lambda s, t: gaits.quadruped_trot(s, dt="0.01"), BAD, "dt: expected a number, got '0.01'"),
    ("length", lambda s, t: gaits.quadruped_walk(s, step_length=None), BAD, "step_length: expected"),
    (
        "degrees",
        lambda s, t: gaits.quadruped_trot(s, heading=90),
        BAD,
        r"heading: .* ±2π \[rad\], got 90; .* np.radians",
    ),
    ("turn", lambda s, t: gaits.quadruped_trot(s, turn=30, cycles=4), BAD, r"turn: .* ±2π .* np.radians\(30\)"),
    ("shift", lambda s, t: gaits.quadruped_com_shift(s, heading=-45), BAD, r"np.radians\(-45\)"),
    (
        "centimetres",
        lambda s, t: gaits.quadruped_trot(s, step_height=8),
        BAD,
        r"step_height: .* at most 0\.\d+ m .* got 8 m; .* so 8 cm are 0.08",
    ),
    ("other centimetres", lambda s, t: gaits.quadruped_trot(s, step_height=6), BAD, r"so 6 cm are 0\.06$"),
    ("millimetres", lambda s, t: gaits.quadruped_trot(s, step_height=80), BAD, r"so 80 mm are 0\.08$"),
    ("height", lambda s, t: gaits.quadruped_walk(s, step_height=None), BAD, "step_height: expected"),
    ("impulse", lambda s, t: gaits.quadruped_walk(s, impulse=np.ones(2)), BAD, "impulse: expected True"),
    ("profile", lambda s, t: gaits.quadruped_walk(s, profile=[]), UnknownNameError, "profile"),
    ("first", lambda s, t: gaits.quadruped_walk(s, first_step=np.ones(2)), UnknownNameError, "first_step"),
    ("swings", lambda s, t: gaits.Phase(name="a", knots=1, swings=3), BAD, "swings: expected a list"),
    ("moved", lambda s, t: gaits.Foothold((0, 0, 0)).moved(3), BAD, "motion: expected a SE3"),
    ("shifted", lambda s, t: gaits.Foothold((0, 0, 0)).shifted([1, 2]), BAD, r"step: expected shape \(3"),
    ("places", lambda s, t: s.stepped(3), BAD, "places: expected a dictionary"),
    ("place", lambda s, t: s.stepped({"tail": (0, 0, 0)}), UnknownNameError, "places: foot 'tail' not found"),
    ("other", lambda s, t: s.motion_to(3), BAD, "other: expected a Stance"),
    ("plan", lambda s, t: gaits.pendulum_plan(3), BAD, NO_SCHEDULE),
    ("com", lambda s, t: gaits.pendulum_plan(t, [1.0, 2.0]), BAD, r"com: expected shape \(3,\)"),
    ("carried", lambda s, t: gaits.carried_postures(ROBOT, 3), BAD, NO_SCHEDULE),
    ("models", lambda s, t: gaits.GaitModels(ROBOT, 3), BAD, "stance: expected a Stance"),
    ("margin", lambda s, t: gaits.GaitModels(ROBOT, s, margin=None), BAD, "margin: expected a number"),
    ("below 0", lambda s, t: gaits.GaitModels(ROBOT, s, margin=-0.01), BAD, r"margin: expected a number >= 0"),
    ("collisions", lambda s, t: gaits.GaitModels(ROBOT, s, collisions=3), BAD, "collisions: expected True, False or"),
    ("problem", lambda s, t: gaits.gait_problem(ROBOT, 3), BAD, NO_SCHEDULE),
    (
        "shapes",
        lambda s, t: PENDULUM.motion([1.0, 2.0], [1.0, 2.0, 3.0], 0.0, 0.0),
        BAD,
        "shapes that broadcast together",
    ),
    ("gains", lambda s, t: gaits.holding_gains(1e-300), BAD, "dt: expected at least 1e-9"),
]


@pytest.mark.parametrize(("call", "kind", "match"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_refused(
    stance: gaits.Stance, trot: gaits.ContactSchedule, call: Call, kind: type[Exception], match: str
) -> None:
    with pytest.raises(kind, match=match):
        call(stance, trot)


def test_a_posture_is_no_name(trot: gaits.ContactSchedule) -> None:
    for name in ("x0", "posture"):
        with pytest.raises(InvalidArgumentError, match=rf"{name}: expected numbers, got 'standing'; pass robot.config"):
            gaits.gait_problem(ROBOT, trot, **{name: "standing"})  # type: ignore[arg-type]
