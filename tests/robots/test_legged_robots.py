"""Legged robots: the two small ones, and what is known of all for gaits."""

from __future__ import annotations

import itertools

import numpy as np
import pinocchio as pin
import pytest

from trajopt.errors import InvalidArgumentError, UnknownNameError
from trajopt.robots import Robot, configuration_on_ground, legged_robot, load_robot
from trajopt.robots.legged import LEGGED_ROBOTS

SMALL = {"small-quadruped": 12.0, "small-biped": 16.0}  # [kg]
MIRROR = np.diag([1.0, -1.0, 1.0])
BIPEDS_THAT_SWAY = {"bolt"}
"""Two point feet carry nobody at rest."""


def place(robot: Robot, frame: str, q: np.ndarray) -> pin.SE3:
    data = robot.model.createData()
    pin.framesForwardKinematics(robot.model, data, q)
    return data.oMf[robot.frame_id(frame)]


def mirrored(robot: Robot, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The state seen in a mirror that is the x-z plane: legs change sides, turns about x and z change sign."""
    model, swapped = robot.model, {"lf": "rf", "rf": "lf", "lh": "rh", "rh": "lh", "left": "right", "right": "left"}
    q2, v2 = q.copy(), v.copy()
    q2[[1, 3, 5]] *= -1.0
    v2[[1, 3, 5]] *= -1.0
    for name in robot.joint_names[1:]:
        side, rest = name.split("_", 1)
        joint, other = (model.joints[robot.joint_id(n)] for n in (name, f"{swapped[side]}_{rest}"))
        sign = 1.0 if joint.shortname() == "JointModelRY" else -1.0
        q2[joint.idx_q], v2[joint.idx_v] = sign * q[other.idx_q], sign * v[other.idx_v]
    return q2, v2


@pytest.mark.parametrize("name", SMALL)
def test_small_robots_are_their_own_mirror_image(name: str) -> None:
    """Centre of mass, kinetic energy and limits, at random states."""
    robot, rng = load_robot(name), np.random.default_rng(0)
    model = robot.model
    first, second = model.createData(), model.createData()
    for _ in range(10):
        q, v = pin.randomConfiguration(model), rng.normal(size=robot.nv)
        q2, v2 = mirrored(robot, q, v)
        com, com2 = pin.centerOfMass(model, first, q), pin.centerOfMass(model, second, q2)
        np.testing.assert_allclose(com2, MIRROR @ com, atol=1e-14)
        energy = pin.computeKineticEnergy(model, first, q, v)
        assert pin.computeKineticEnergy(model, second, q2, v2) == pytest.approx(energy, rel=1e-13)
        within = np.clip(q[7:], model.lowerPositionLimit[7:], model.upperPositionLimit[7:])
        assert np.all(within == q[7:])
        assert np.all(q2[7:] >= model.lowerPositionLimit[7:])
        assert np.all(q2[7:] <= model.upperPositionLimit[7:])


@pytest.mark.parametrize(("name", "mass"), SMALL.items())
def test_small_robots_are_physical(name: str, mass: float) -> None:
    model = load_robot(name).model
    assert pin.computeTotalMass(model) == pytest.approx(mass, rel=1e-12)
    assert model.name == name
    for inertia in model.inertias[1:]:
        principal = np.sort(np.linalg.eigvalsh(inertia.inertia))
        assert principal[0] > 0
        assert principal[2] <= principal[0] + principal[1] + 1e-12, "no body has such moments of inertia"
    assert np.all(model.effortLimit[6:] > 0)
    assert np.all(model.velocityLimit[6:] > 0)


@pytest.mark.parametrize("name", SMALL)
def test_motors_of_small_robots_hold_twice_their_weight(name: str) -> None:
    """Torques of the legs while the feet carry twice the weight, in equal parts."""
    robot, about = load_robot(name), legged_robot(name)
    model, q = robot.model, configuration_on_ground(robot, about.feet, about.configuration)
    data = model.createData()
    torque = pin.computeGeneralizedGravity(model, data, q)
    weight = pin.computeTotalMass(model) * 9.81
    for foot in about.feet:
        jacobian = pin.computeFrameJacobian(
            model, data, q, robot.frame_id(foot), pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        )
        torque -= jacobian.T @ np.array([0, 0, 2 * weight / len(about.feet), 0, 0, 0])
    assert np.all(np.abs(torque[6:]) < model.effortLimit[6:])


def test_feet_of_the_small_quadruped_are_below_its_hips() -> None:
    robot = load_robot("small-quadruped")
    q = robot.configuration("standing")
    for leg, x, y in (("lf", 0.18, 0.14), ("rf", 0.18, -0.14), ("lh", -0.18, 0.14), ("rh", -0.18, -0.14)):
        np.testing.assert_allclose(place(robot, f"{leg}_foot", q).translation, [x, y, 0.0], atol=1e-15)
        np.testing.assert_allclose(place(robot, f"{leg}_hfe", q).translation[:2], [x, y], atol=1e-15)


@pytest.mark.parametrize("name", LEGGED_ROBOTS)
def test_legged_robots_stand(name: str) -> None:
    """Feet at z = 0, soles flat, joints within their limits, and the centre of mass above the support polygon."""
    robot, about = load_robot(name), legged_robot(name)
    q = configuration_on_ground(robot, about.feet, about.configuration)
    model = robot.model
    assert robot.floating_base
    assert np.all(q[7:] >= model.lowerPositionLimit[7:] - 1e-12)
    assert np.all(q[7:] <= model.upperPositionLimit[7:] + 1e-12)
    corners = []
    for foot in about.feet:
        placement = place(robot, foot, q)
        assert abs(placement.translation[2]) < 1e-3
        length, width = about.sole or (0.0, 0.0)
        if about.sole:
            assert np.degrees(np.arccos(placement.rotation[2, 2])) < 0.5
        corners += [placement.act(np.array([sx * length / 2, sy * width / 2, 0.0])) for sx in (-1, 1) for sy in (-1, 1)]
    if name not in BIPEDS_THAT_SWAY:
        com = pin.centerOfMass(model, model.createData(), q)[:2]
        assert margin(np.array(corners)[:, :2], com) > 0.01, "at least 1 cm from the edge"


def margin(points: np.ndarray, inside: np.ndarray) -> float:
    """How far a point (2,) is within the convex hull of points (n, 2) [m]; negative outside."""
    distances = []
    for a, b in itertools.permutations(points, 2):
        along = b - a
        length = np.linalg.norm(along)
        if length > 1e-9:
            normal = np.array([-along[1], along[0]]) / length
            if np.all((points - a) @ normal >= -1e-12):
                distances.append(float((inside - a) @ normal))
    return min(distances)


def test_margin_of_a_square() -> None:
    square = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0], [1.0, 1.0]])
    assert margin(square, np.array([0.5, 1.0])) == pytest.approx(0.5)
    assert margin(square, np.array([-0.5, 1.0])) == pytest.approx(-0.5)


@pytest.mark.parametrize("name", LEGGED_ROBOTS)
def test_feet_are_in_their_places(name: str) -> None:
    """Of four: left before right, front before hind; of two: right before left. As the gaits take them."""
    robot, about = load_robot(name), legged_robot(name)
    feet = [place(robot, foot, robot.configuration(about.configuration)).translation for foot in about.feet]
    assert len(feet) in (2, 4)
    for left, right in zip(feet[::2], feet[1::2]) if len(feet) == 4 else [feet[::-1]]:
        assert left[1] > 0 > right[1]
        np.testing.assert_allclose(left[[0, 2]], right[[0, 2]], atol=2e-3)
    if len(feet) == 4:
        assert feet[0][0] > 0 > feet[2][0]
        assert about.sole is None


def test_a_stored_posture_on_the_ground_is_kept() -> None:
    for name in ("anymal", "hyq", "talos_legs"):
        robot, about = load_robot(name), legged_robot(name)
        stored = robot.configuration(about.configuration)
        np.testing.assert_array_equal(configuration_on_ground(robot, about.feet, about.configuration), stored)


def test_unknown_legged_robot() -> None:
    with pytest.raises(UnknownNameError, match=r"legged robot 'anymall' not found; did you mean 'anymal'.*hyq"):
        legged_robot("anymall")


def test_a_posture_without_a_name_is_put_on_the_ground() -> None:
    robot, about = load_robot("go2"), legged_robot("go2")
    q = robot.configuration("standing")
    q[7:] += 0.1
    q[2] = 1.0
    low = configuration_on_ground(robot, list(about.feet), q)
    assert np.mean([place(robot, foot, low).translation[2] for foot in about.feet]) == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_array_equal(np.delete(low, 2), np.delete(q, 2))
    assert q[2] == 1.0
    with pytest.raises(InvalidArgumentError, match=r"configuration: expected shape \(19,\), got \(12,\)"):
        configuration_on_ground(robot, about.feet, q[7:])
    arm = load_robot("panda")
    with pytest.raises(InvalidArgumentError, match="expected a floating base, got 'panda', which is fixed"):
        configuration_on_ground(arm, ["panda_hand"], "default")
