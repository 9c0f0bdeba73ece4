"""Poses and twists of bodies against Pinocchio, back again, and bodies that violate their joints."""

import numpy as np
import pinocchio as pin
import pytest

import trajopt
from tests.articulations.support import d6, states, tree
from trajopt.articulations import body_names, generalized_to_maximal, maximal_to_generalized
from trajopt.errors import InvalidArgumentError, UnsupportedOperationError


@pytest.mark.parametrize("seed", range(3))
def test_bodies_are_where_pinocchio_has_them(seed: int) -> None:
    robot = tree(seed)
    model, data = robot.model, robot.model.createData()
    qs, vs = states(robot, 20)
    poses, twists = generalized_to_maximal(robot, qs, vs)
    _, local = generalized_to_maximal(robot, qs, vs, convention="pinocchio")
    for i, (q, v) in enumerate(zip(qs, vs)):
        pin.forwardKinematics(model, data, q, v)
        pin.updateFramePlacements(model, data)
        for j, name in enumerate(body_names(robot)):
            frame = model.getFrameId(name)
            place = data.oMf[frame]
            np.testing.assert_allclose(poses[i, j, :3], place.translation, atol=1e-12)
            np.testing.assert_allclose(pin.Quaternion(poses[i, j, 3:]).matrix(), place.rotation, atol=1e-12)
            moving = pin.getFrameVelocity(model, data, frame, pin.LOCAL_WORLD_ALIGNED)
            com = place.rotation @ model.frames[frame].placement.actInv(model.inertias[j + 1].lever)
            np.testing.assert_allclose(twists[i, j, :3], moving.linear + np.cross(moving.angular, com), atol=1e-12)
            np.testing.assert_allclose(twists[i, j, 3:], moving.angular, atol=1e-12)
            own = pin.getFrameVelocity(model, data, frame, pin.LOCAL).vector
            np.testing.assert_allclose(local[i, j], own, atol=1e-12)


@pytest.mark.parametrize("convention", ["newton", "pinocchio"])
@pytest.mark.parametrize("seed", range(4))
def test_coordinates_come_back(seed: int, convention: str) -> None:
    """All types of joints; quaternions up to their sign. 1,500 states are more than go side by side."""
    robot = tree(seed)
    qs, vs = states(robot, 1500, seed)
    bodies = generalized_to_maximal(robot, qs, vs, convention=convention)
    q, v, residual = maximal_to_generalized(robot, *bodies, convention=convention)
    assert max(np.abs(pin.difference(robot.model, a, b)).max() for a, b in zip(q, qs)) < 1e-12
    np.testing.assert_allclose(v, vs, atol=1e-12)
    assert residual.largest() < 1e-12


def test_one_state_is_a_row_of_many() -> None:
    robot = tree()
    qs, vs = states(robot, 3)
    many = generalized_to_maximal(robot, qs, vs)
    one = generalized_to_maximal(robot, qs[1], vs[1])
    np.testing.assert_allclose(one[0], many[0][1], atol=1e-14)
    np.testing.assert_allclose(one[1], many[1][1], atol=1e-14)
    q, v, residual = maximal_to_generalized(robot, *one)
    assert q.shape == (robot.nq,)
    assert v.shape == (robot.nv,)
    assert residual.position.shape == (len(body_names(robot)),)


def test_twists_are_rates_of_poses() -> None:
    """Central differences of the poses of the bodies' origins along the motion."""
    robot = tree()
    (q,), (v,) = states(robot, 1)
    h = 1e-6
    ahead, behind = (generalized_to_maximal(robot, pin.integrate(robot.model, q, s * h * v), v) for s in (1, -1))
    poses, twists = generalized_to_maximal(robot, q, v, convention="pinocchio")
    for j in range(len(poses)):
        R = pin.Quaternion(poses[j, 3:]).matrix()
        rate = (ahead[0][j, :3] - behind[0][j, :3]) / (2 * h)
        np.testing.assert_allclose(R.T @ rate, twists[j, :3], atol=1e-7)
        turn = pin.Quaternion(behind[0][j, 3:]).matrix().T @ pin.Quaternion(ahead[0][j, 3:]).matrix()
        np.testing.assert_allclose(pin.log3(turn) / (2 * h), twists[j, 3:], atol=1e-7)


def test_numbers_of_newtons_documentation() -> None:
    """A revolute joint at 0.5 with 10 rad/s; a free body at (1, 2, 3), turned by 90 degrees about z."""
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelRZ(), pin.SE3.Identity(), "hinge")
    model.appendBodyToJoint(joint, pin.Inertia.Random(), pin.SE3.Identity())
    hinge = trajopt.Robot(model)
    poses, twists = generalized_to_maximal(hinge, [0.5], [10.0])
    np.testing.assert_allclose(poses[0], [0, 0, 0, 0, 0, np.sin(0.25), np.cos(0.25)], atol=1e-15)
    np.testing.assert_allclose(twists[0, 3:], [0, 0, 10])
    model = pin.Model()
    model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "free")
    pose = [[1.0, 2.0, 3.0, 0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)]]
    q, _, _ = maximal_to_generalized(trajopt.Robot(model), pose, np.zeros((1, 6)))
    np.testing.assert_allclose(q, pose[0])


def test_sliding_axes_on_a_turning_parent() -> None:
    """Rates of sliding axes are relative to the parent, which turns: v - ω × x of what has slid out counts."""
    rng, model = np.random.default_rng(0), pin.Model()
    hinge = model.addJoint(0, pin.JointModelRX(), pin.SE3.Identity(), "hinge")
    model.addJoint(hinge, d6(rng, 2, 0), pin.SE3.Identity(), "slides")
    robot = trajopt.Robot(model)
    q, v = np.array([0.3, 0.4, -0.7]), np.array([2.0, 0.1, 0.2])
    back = maximal_to_generalized(robot, *generalized_to_maximal(robot, q, v), tolerance=1e-12)
    np.testing.assert_allclose(back[1], v, atol=1e-13)


def test_the_residual_reports_bodies_that_violate_their_joints() -> None:
    robot = trajopt.load_robot("ur5")
    q, v = np.array([0.1, -1.2, 1.0, 0.3, 0.2, -0.4]), np.arange(6.0)
    poses, twists = generalized_to_maximal(robot, q, v)
    poses[3, :3] += [0.0, 0.003, 0.004]
    twists[5, 0] += 0.1
    found, _, residual = maximal_to_generalized(robot, poses, twists)
    np.testing.assert_allclose(found, q, atol=1e-9)  # rotations are untouched
    np.testing.assert_allclose(residual.position, [0, 0, 0, 0.005, 0.005, 0], atol=1e-12)
    assert residual.linear[5] > 0.09
    assert residual.angular.max() < 1e-12
    with pytest.raises(InvalidArgumentError, match="off by 0.1"):
        maximal_to_generalized(robot, poses, twists, tolerance=1e-3)
    name = "|".join(body_names(robot)[3:5])
    with pytest.raises(InvalidArgumentError, match=f"({name}) of state 0 off by 0.005 m"):
        maximal_to_generalized(robot, poses, generalized_to_maximal(robot, q, 0 * v)[1], tolerance=1e-3)


def test_wrong_arguments_are_refused_with_the_expected_value() -> None:
    robot = tree()
    qs, vs = states(robot, 2)
    poses, twists = generalized_to_maximal(robot, qs, vs)
    for call, wanted in [
        (lambda: generalized_to_maximal(robot, qs[:, :3], vs), "q: expected shape"),
        (lambda: generalized_to_maximal(robot, [[0.0], [0.0, 1.0]], vs), "q: expected"),
        (lambda: maximal_to_generalized(robot, [[0.0], [0.0, 1.0]], twists), "poses: expected"),
        (lambda: generalized_to_maximal(robot, qs, vs[0]), "v: expected shape"),
        (lambda: generalized_to_maximal(robot, 2 * qs, vs), "rotations of norm 1"),
        (lambda: generalized_to_maximal(robot, np.nan * qs, vs), "q: expected finite"),
        (lambda: maximal_to_generalized(robot, poses[:, :2], twists), "poses: expected shape"),
        (lambda: maximal_to_generalized(robot, poses, twists[0]), "twists: expected shape"),
        (lambda: maximal_to_generalized(robot, 2 * poses, twists), "rotations of norm 1"),
        (lambda: maximal_to_generalized(robot, poses, twists, tolerance=-1), "tolerance"),
        (lambda: generalized_to_maximal(None, qs, vs), "robot: expected"),
    ]:
        with pytest.raises(InvalidArgumentError, match=wanted):
            call()
    with pytest.raises(KeyError, match="newton, pinocchio"):
        generalized_to_maximal(robot, qs, vs, convention="drake")
    model, joint = pin.Model(), pin.JointModelComposite()
    joint.addJoint(pin.JointModelRX())
    joint.addJoint(pin.JointModelRevoluteUnaligned(np.array([0.6, 0.8, 0.0])))
    model.addJoint(0, joint, pin.SE3.Identity(), "skewed")
    with pytest.raises(UnsupportedOperationError, match="skewed"):
        generalized_to_maximal(trajopt.Robot(model), [0.0, 0.0], [0.0, 0.0])
