"""Bases: the same robot moves in the same way, whatever the coordinates of its base are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin
import pytest

from trajopt.errors import UnknownNameError
from trajopt.robots import Robot, load_robot
from trajopt.robots.bases import BASES, floats, with_base
from trajopt.states import StateMultibody

SIZES = {"free_flyer": (19, 18), "euler": (18, 18), "planar": (15, 15), "fixed": (12, 12)}
ANGLES, PLACE = np.array([0.7, -0.4, 1.1]), np.array([0.3, -0.2, 0.9])  # [rad], [m]


def turn(axis: str, angle: float) -> np.ndarray:
    return np.asarray(pin.utils.rotate(axis, angle))


def base_motion(base: str) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates of a base, and the coordinates of the free flyer at the same place."""
    if base == "fixed":
        rotation, place, own = np.eye(3), np.zeros(3), np.zeros(0)
    elif base == "planar":
        rotation, place = turn("y", ANGLES[1]), np.array([PLACE[0], 0.0, PLACE[2]])
        own = np.array([PLACE[0], PLACE[2], ANGLES[1]])
    else:
        rotation = turn("x", ANGLES[0]) @ turn("y", ANGLES[1]) @ turn("z", ANGLES[2])
        place, own = PLACE, np.concatenate([PLACE, ANGLES])
    flyer = np.concatenate([place, pin.Quaternion(rotation).coeffs()])
    return (flyer if base == "free_flyer" else own), flyer


@pytest.mark.parametrize("name", ["hyq", "small-quadruped"])
@pytest.mark.parametrize("base", BASES)
def test_frames_masses_and_energies_are_those_of_the_free_flyer(name: str, base: str, rng: np.random.Generator) -> None:
    flying = load_robot(name).model
    model = with_base(flying, base)
    assert (model.nq, model.nv) == SIZES[base]
    own, flyer = base_motion(base)
    joints, first = rng.normal(size=12), flying.createData()
    q, q_flying = np.concatenate([own, joints]), np.concatenate([flyer, joints])
    data = model.createData()
    pin.framesForwardKinematics(model, data, q)
    pin.framesForwardKinematics(flying, first, q_flying)
    for frame in flying.frames:
        if frame.name not in ("universe", "root_joint"):
            place = data.oMf[model.getFrameId(frame.name)].homogeneous
            expected = first.oMf[flying.getFrameId(frame.name)].homogeneous
            np.testing.assert_allclose(place, expected, atol=2e-15, err_msg=frame.name)
    v = rng.normal(size=model.nv)
    pin.forwardKinematics(model, data, q, v)
    root = pin.getFrameVelocity(model, data, model.getFrameId(flying.frames[2].name), pin.LOCAL)
    v_flying = np.concatenate([root.vector, v[model.nv - 12 :]])
    moving = pin.computeKineticEnergy(flying, first, q_flying, v_flying)
    assert pin.computeKineticEnergy(model, data, q, v) == pytest.approx(moving, rel=1e-13)
    np.testing.assert_array_equal(model.effortLimit[model.nv - 12 :], flying.effortLimit[6:])
    np.testing.assert_array_equal(model.armature[model.nv - 12 :], flying.armature[6:])


def test_rates_of_euler_angles_are_velocities() -> None:
    """v is the rate of q: integrate adds, also where the axes have turned."""
    model = with_base(load_robot("hyq").model, "euler")
    q, v = np.linspace(0.1, 0.9, 18), np.linspace(-1.0, 1.0, 18)
    np.testing.assert_allclose(pin.integrate(model, q, v), q + v, atol=1e-15)


@pytest.mark.parametrize("base", BASES)
def test_reference_configurations_keep_the_angles_of_joints(base: str) -> None:
    flying = load_robot("hyq").model
    robot = Robot(with_base(flying, base), name="hyq")
    np.testing.assert_array_equal(
        robot.configuration("standing")[-12:], load_robot("hyq").configuration("standing")[7:]
    )
    assert StateMultibody(robot).nv == SIZES[base][1]
    assert floats(robot.model) == (base == "free_flyer")


def test_a_fixed_arm_gets_a_base() -> None:
    arm = load_robot("talos_arm").model
    moving = with_base(arm, "free_flyer")
    assert floats(moving)
    assert (moving.nq, moving.nv, moving.name) == (14, 13, arm.name)
    assert pin.computeTotalMass(moving) == pytest.approx(pin.computeTotalMass(arm) + arm.inertias[0].mass)
    assert with_base(arm, "fixed") == arm
    assert with_base(moving, "free_flyer") == moving


@pytest.mark.parametrize("base", ["eulr", "", 3])
def test_an_unknown_base_lists_the_valid_ones(base: Any) -> None:
    with pytest.raises(UnknownNameError, match=r"base .* not found.*free_flyer"):
        with_base(load_robot("hyq").model, base)
