"""A robot falls on a floor: where it starts, what its gains are, and that it stands in the end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin
import pytest

from trajopt.errors import InvalidArgumentError, UnknownNameError
from trajopt.robots.on_base import load_on_base
from trajopt.simulator import Rollout, Simulator, SimulatorMode
from trajopt.simulator.drop import Drop, stepping_mode
from trajopt.simulator.end_spheres import ends_of


def lowest(name: str, rollout: Rollout, knot: int) -> float:
    """Height of the lowest point of the ends [m]."""
    robot, q = rollout.robot, rollout.xs[knot, : rollout.robot.nq]
    return min((robot.placement(q, s.frame) @ [*s.offset, 1.0])[2] - s.radius for s in ends_of(robot, name))


def dropped(name: str, base: str | None = None, **options: Any) -> Rollout:
    simulator = Simulator(load_on_base(name, base))
    return Drop(**options).run(simulator, ends_of(simulator.robot, name))


@pytest.mark.parametrize(
    ("name", "base"),
    [("small-quadruped", None), ("small-quadruped", "euler"), ("small-quadruped", "planar"), ("four-limbs", None)],
)
def test_the_robot_lands_and_comes_to_rest(name: str, base: str | None) -> None:
    rollout = dropped(name, base, height=0.05, duration=1.2)
    assert lowest(name, rollout, 0) == pytest.approx(0.05, abs=1e-12)
    assert -5e-3 < lowest(name, rollout, -1) < 0.0
    weight = 9.81 * pin.computeTotalMass(rollout.robot.model)
    carried = sum(forces[-1, 2] for forces in rollout.forces.values())
    assert carried == pytest.approx(weight, rel=0.05)
    flat = [np.abs(forces[:, :2]).max() for forces in rollout.forces.values()]
    assert max(flat) > 0.0
    assert len(rollout.forces) == 4


def test_ends_without_shapes_are_frames_at_the_ends() -> None:
    for end in ends_of(load_on_base("small-quadruped"), "small-quadruped"):
        np.testing.assert_allclose(end.offset, [0.0, 0.0, -0.2])
        assert end.radius == 0.0


def test_ends_of_links_with_shapes_are_fitted_at_the_end_away_from_the_joint() -> None:
    for end in ends_of(load_on_base("four-limbs"), "four-limbs"):
        np.testing.assert_allclose(end.offset, [0.15, 0.0, 0.0], atol=1e-15)
        assert end.radius == pytest.approx(0.04)


def test_an_arm_stays_where_it_is_and_gets_a_floor_below() -> None:
    rollout = dropped("planar-2r", configuration="stretched", height=0.2, duration=1e-3)
    np.testing.assert_array_equal(rollout.xs[0], 0.0)
    (contact,) = rollout.contacts
    floor = lowest("planar-2r", rollout, 0) - 0.2
    np.testing.assert_allclose(contact.surface.coefficients, [0, 0, 1, -floor], atol=1e-12)


def test_default_gains_are_within_what_the_time_step_allows() -> None:
    """kd dt < inertia / 4, kp dt² < inertia / 4; given gains are taken as they are."""
    robot = load_on_base("solo12")
    model, q = robot.model, pin.neutral(robot.model)
    for dt in (1e-3, 1e-2):
        kp, kd = (np.asarray(gain) for gain in Drop(dt=dt).gains(robot, q))
        inertia = 1.0 / np.diag(pin.computeMinverse(model, model.createData(), q))
        assert kp.shape == kd.shape == (18,)
        assert np.all(kp <= 0.2500001 * inertia / dt**2)
        assert np.all(kd <= 0.2500001 * inertia / dt)
        assert np.all(kp > 0)
    assert Drop(kp=7.0, kd=0.0).gains(robot, q) == (7.0, 0.0)


def test_modes_by_short_names() -> None:
    assert stepping_mode("RK1F") is stepping_mode("forward_rk1f") is SimulatorMode.FORWARD_RK1F
    assert stepping_mode("rk4i") is SimulatorMode.FORWARD_RK4I
    assert stepping_mode("backward_rk1f") is SimulatorMode.BACKWARD_RK1F
    with pytest.raises(UnknownNameError, match="mode 'INVERSE_BACKWARD_RK1F' not found.*RK1F"):
        stepping_mode("inverse_backward_rk1f")


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"duration": 0.0}, r"duration: expected a number > 0 \[s\]"),
        ({"dt": -1e-3}, r"dt: expected a number > 0 \[s\]"),
        ({"duration": 1e9}, r"duration: expected duration / dt from 1 to 1000000 steps"),
        ({"duration": 1e-4}, r"duration: expected duration / dt from 1 to 1000000 steps, got 0.1"),
        ({"height": np.inf}, "height: expected"),
        ({"height": -1e-3}, r"height: expected a number >= 0 \[m\], got -0.001"),
        ({"kp": -1.0}, "kp: expected"),
        ({"kd": np.nan}, "kd: expected"),
    ],
)
def test_messages(wrong: dict[str, float], match: str) -> None:
    with pytest.raises(InvalidArgumentError, match=match):
        Drop(**wrong)  # type: ignore[arg-type]


def test_an_unknown_configuration_lists_the_valid_ones() -> None:
    with pytest.raises(UnknownNameError, match="configuration 'sitting' not found.*standing"):
        dropped("small-quadruped", configuration="sitting")
