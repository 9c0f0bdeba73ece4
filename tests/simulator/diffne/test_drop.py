"""A robot falls on a floor: where it starts, what its gains are, and that it stands in the end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin
import pytest

from trajopt.errors import InvalidArgumentError, UnknownNameError
from trajopt.simulator import Rollout, SimulatorMode
from trajopt.simulator.diffne import DiffNERobotModel
from trajopt.simulator.diffne.drop import Drop, ends_of, stepping_mode


def lowest(m: DiffNERobotModel, x: np.ndarray) -> float:
    """Height of the lowest point of the ends [m]."""
    spheres = [end.on(m.body) for end in ends_of(m)]
    return min((m.robot.placement(x[: m.robot.nq], s.frame) @ [*s.offset, 1.0])[2] - s.radius for s in spheres)


def dropped(name: str, base: str | None = None, **options: Any) -> tuple[DiffNERobotModel, Rollout]:
    m = DiffNERobotModel(None, name, base=base)
    m.create_simulator()
    return m, Drop(**options).run(m)


@pytest.mark.parametrize(
    ("name", "base"),
    [("small-quadruped", None), ("small-quadruped", "euler"), ("small-quadruped", "planar"), ("four-limbs", None)],
)
def test_the_robot_lands_and_comes_to_rest(name: str, base: str | None) -> None:
    m, rollout = dropped(name, base, height=0.05, duration=1.2)
    assert lowest(m, rollout.xs[0]) == pytest.approx(0.05, abs=1e-12)
    assert -5e-3 < lowest(m, rollout.xs[-1]) < 0.0
    weight = 9.81 * pin.computeTotalMass(m.robot.model)
    carried = sum(forces[-1, 2] for forces in rollout.forces.values())
    assert carried == pytest.approx(weight, rel=0.05)
    flat = [np.abs(forces[:, :2]).max() for forces in rollout.forces.values()]
    assert max(flat) > 0.0
    assert len(rollout.forces) == 4


def test_ends_without_shapes_are_frames_at_the_ends() -> None:
    m = DiffNERobotModel(None, "small-quadruped")
    for end in ends_of(m):
        np.testing.assert_allclose(end.localPos, [0.0, 0.0, -0.2])
        assert end.phi0 == 0.0


def test_ends_of_links_with_shapes_are_fitted_at_the_end_away_from_the_joint() -> None:
    m = DiffNERobotModel(None, "four-limbs")
    for end in ends_of(m):
        np.testing.assert_allclose(end.localPos, [0.15, 0.0, 0.0], atol=1e-15)
        assert end.phi0 == pytest.approx(0.04)


def test_an_arm_stays_where_it_is_and_gets_a_floor_below() -> None:
    m, rollout = dropped("planar-2r", configuration="stretched", height=0.2, duration=1e-3)
    np.testing.assert_array_equal(rollout.xs[0], 0.0)
    (contact,) = rollout.contacts
    np.testing.assert_allclose(contact.surface.coefficients, [0, 0, 1, -lowest(m, rollout.xs[0]) + 0.2], atol=1e-12)


def test_default_gains_are_within_what_the_time_step_allows() -> None:
    """kd dt < inertia / 4, kp dt² < inertia / 4; given gains are taken as they are."""
    m = DiffNERobotModel(None, "solo12")
    for dt in (1e-3, 1e-2):
        kp, kd = (np.asarray(gain) for gain in Drop(dt=dt).gains(m))
        model = m.robot.model
        inertia = 1.0 / np.diag(pin.computeMinverse(model, model.createData(), m.qdq[: model.nq]))
        assert kp.shape == kd.shape == (18,)
        assert np.all(kp <= 0.2500001 * inertia / dt**2)
        assert np.all(kd <= 0.2500001 * inertia / dt)
        assert np.all(kp > 0)
    assert Drop(kp=7.0, kd=0.0).gains(m) == (7.0, 0.0)


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
