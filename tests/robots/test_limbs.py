"""The robot on four equal limbs: symmetry, masses, and how it stands."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from trajopt.robots import Robot, load_robot
from trajopt.robots.builtin_limbs import four_limbs, four_limbs_geometry

LIMBS = ("limb1", "limb2", "limb3", "limb4")


def test_masses_and_sizes() -> None:
    robot = load_robot("four-limbs")
    assert robot.floating_base
    assert (robot.nq, robot.nv) == (35, 34)
    assert pin.computeTotalMass(robot.model) == pytest.approx(40.0 + 4 * 15.5)
    rest = pin.neutral(robot.model)
    for limb, x in zip(LIMBS, (1.0, -1.0, -1.0, 1.0)):
        hip, foot = (robot.placement(rest, name)[:3, 3] for name in (f"{limb}_link1", f"{limb}_foot"))
        np.testing.assert_allclose(foot - hip, [0.97 * x, 0.0, 0.0], atol=1e-15)


def test_the_four_limbed_robot_stands_on_the_ends_of_its_limbs() -> None:
    robot = load_robot("four-limbs")
    q = robot.configuration("standing")
    places = [robot.placement(q, f"{limb}_foot") for limb in LIMBS]
    np.testing.assert_allclose([place[2, 3] for place in places], 0.0, atol=1e-15)
    np.testing.assert_allclose([place[:3, 0] for place in places], [[0.0, 0.0, -1.0]] * 4, atol=1e-15)
    np.testing.assert_allclose(robot.com(q)[:2], 0.0, atol=1e-15)
    assert 0.4 < q[2] < 0.6
    assert robot.com(q)[2] > 0.3


def test_limbs_are_one_limb_turned() -> None:
    """Angles of limb 1 in all limbs give feet that are images of each other by half turns."""
    robot, rng = load_robot("four-limbs"), np.random.default_rng(0)
    q = pin.neutral(robot.model)
    q[7:] = np.tile(rng.uniform(-1.0, 1.0, 7), 4)
    feet = np.array([robot.placement(q, f"{limb}_foot")[:3, 3] for limb in LIMBS])
    for k, half_turn in enumerate(([1, 1, 1], [-1, 1, -1], [-1, -1, 1], [1, -1, -1])):
        hips = [robot.placement(q, f"{limb}_link1")[:3, 3] for limb in (LIMBS[k], LIMBS[0])]
        np.testing.assert_allclose(feet[k] - hips[0], np.diag(half_turn) @ (feet[0] - hips[1]), atol=1e-15)


def test_its_shapes_lie_on_its_links() -> None:
    """The volume of the links is filled by their inertias: centres of mass are the centres of the shapes."""
    model = four_limbs()
    geometry = four_limbs_geometry(model)
    assert len(geometry.geometryObjects) == 1 + 4 * 7
    for shape in geometry.geometryObjects:
        lever = model.inertias[shape.parentJoint].lever
        np.testing.assert_allclose(shape.placement.translation, lever, atol=1e-15)
    assert Robot(model).name == "four-limbs"
