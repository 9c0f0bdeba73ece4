"""Conventions of twists, wrenches and joints' velocities, against Pinocchio and by their power."""

import itertools

import numpy as np
import pinocchio as pin
import pytest

import trajopt
from tests.articulations.built import built_tree, motions
from trajopt.articulations import (
    ArticulationBuilder,
    apply_free_joint_wrench,
    body_names,
    effort_convert,
    generalized_to_maximal,
    twist_convert,
    velocity_convert,
    wrench_convert,
)
from trajopt.articulations.conventions import NAMED
from trajopt.errors import InvalidArgumentError

FRAMES = {"pinocchio": pin.LOCAL, "pinocchio-world": pin.WORLD, "pinocchio-aligned": pin.LOCAL_WORLD_ALIGNED}


def bodies(count: int = 50) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random poses, twists and centres of mass."""
    rng = np.random.default_rng(0)
    poses = rng.standard_normal((count, 7))
    poses[:, 3:] /= np.linalg.norm(poses[:, 3:], axis=1)[:, None]
    return poses, rng.standard_normal((count, 6)), rng.standard_normal((count, 3))


def test_twists_are_those_of_pinocchio_and_of_the_conversions() -> None:
    """Pinocchio's three frames, from Newton's velocity of the centre of mass and its world axes."""
    robot = built_tree(0)
    (q,), (v,) = motions(robot, 1)
    poses, newton = generalized_to_maximal(robot, q, v)
    model, data = robot.model, robot.model.createData()
    pin.forwardKinematics(model, data, q, v)
    pin.updateFramePlacements(model, data)
    frames = [robot.frame_id(name) for name in body_names(robot)]
    coms = [model.frames[f].placement.actInv(model.inertias[i].lever) for i, f in enumerate(frames, start=1)]
    for name, frame in FRAMES.items():
        wanted = [pin.getFrameVelocity(model, data, f, frame).vector for f in frames]
        found = twist_convert(newton, poses, source="newton", target=name, com=coms)
        np.testing.assert_allclose(found, wanted, atol=1e-12)


@pytest.mark.parametrize(("source", "target"), list(itertools.permutations(NAMED, 2)))
def test_power_is_the_same_in_all_conventions(source: str, target: str) -> None:
    """Reference: wrenchᵀ twist; and back again."""
    poses, twists, coms = bodies()
    wrenches = np.random.default_rng(1).standard_normal(twists.shape)
    options = {"source": source, "target": target, "com": coms}
    t, w = twist_convert(twists, poses, **options), wrench_convert(wrenches, poses, **options)
    np.testing.assert_allclose(np.sum(t * w, axis=1), np.sum(twists * wrenches, axis=1), atol=1e-12)
    back = {"source": target, "target": source, "com": coms}
    np.testing.assert_allclose(twist_convert(t, poses, **back), twists, atol=1e-12)
    np.testing.assert_allclose(wrench_convert(w, poses, **back), wrenches, atol=1e-12)


def test_conventions_in_parts() -> None:
    poses, twists, coms = bodies(3)
    found = twist_convert(twists[0], poses[0], source="newton", target=("world", "com", "angular"), com=coms[0])
    np.testing.assert_array_equal(found, np.roll(twists[0], 3))
    many = twist_convert(
        np.stack([twists] * 2), np.stack([poses] * 2), source="newton", target="pinocchio", com=coms[0]
    )
    assert many.shape == (2, 3, 6)


def test_joint_velocities_are_newtons() -> None:
    """Newton: ω of a ball in the parent's axes; of a floating base the twist at the centre of mass in the world."""
    robot = floating()
    q, v = motions(robot, 20)
    poses, twists = generalized_to_maximal(robot, q, v)
    found = velocity_convert(robot, q, v, source="pinocchio", target="newton")
    np.testing.assert_allclose(found[:, :6], twists[:, 0], atol=1e-12)
    relative = twists[:, 1, 3:] - twists[:, 0, 3:]
    for i in range(20):
        parent = pin.XYZQUATToSE3(poses[i, 0]).rotation
        np.testing.assert_allclose(parent @ found[i, 6:9], relative[i], atol=1e-12)
    np.testing.assert_array_equal(found[:, 9:], v[:, 9:])
    np.testing.assert_allclose(velocity_convert(robot, q, found, source="newton", target="pinocchio"), v, atol=1e-12)


@pytest.mark.parametrize("seed", range(2))
def test_joint_power_is_the_same(seed: int) -> None:
    """Reference: τᵀ v, on trees of all types of joints."""
    robot = built_tree(seed)
    q, v = motions(robot, 30)
    tau = np.random.default_rng(2).standard_normal(v.shape)
    kinds = {"source": "pinocchio", "target": "newton"}
    power = np.sum(velocity_convert(robot, q, v, **kinds) * effort_convert(robot, q, tau, **kinds), axis=1)
    np.testing.assert_allclose(power, np.sum(tau * v, axis=1), atol=1e-11)
    back = effort_convert(robot, q, effort_convert(robot, q, tau, **kinds), source="newton", target="pinocchio")
    np.testing.assert_allclose(back, tau, atol=1e-12)


def test_a_wrench_on_a_floating_base() -> None:
    """Newton's joint_f of a free joint is a world wrench at the centre of mass: τ = Jᵀ w, with Pinocchio's Jacobian."""
    robot = floating()
    (q,), (v,) = motions(robot, 1)
    wrench = np.array([1.0, -2.0, 3.0, 0.3, 0.2, -0.1])
    tau = apply_free_joint_wrench(robot, q, wrench)
    model, data = robot.model, robot.model.createData()
    com = pin.SE3(np.eye(3), np.array(model.inertias[1].lever))
    index = model.addFrame(pin.Frame("com", 1, 0, com, pin.FrameType.OP_FRAME))
    data = model.createData()
    jacobian = pin.computeFrameJacobian(model, data, q, index, pin.LOCAL_WORLD_ALIGNED)
    np.testing.assert_allclose(tau, jacobian.T @ wrench, atol=1e-12)
    assert not np.allclose(tau[:6], wrench)  # no copy
    _, twists = generalized_to_maximal(robot, q, v)
    assert tau @ v == pytest.approx(wrench @ twists[0], abs=1e-12)
    many = apply_free_joint_wrench(robot, np.stack([q, q]), np.stack([wrench, 2 * wrench]), "base_joint")
    np.testing.assert_allclose(many, [tau, 2 * tau], atol=1e-12)


def floating() -> trajopt.Robot:
    """A base whose origin is beside its centre of mass, a ball joint and a hinge."""
    builder = ArticulationBuilder()
    for link in ("base", "arm", "hand"):
        builder.add_box(builder.add_link(link), (0.1, 0.2, 0.3), placement=(0.1, -0.2, 0.3))
    builder.add_free("world", "base")
    builder.add_ball("base", "arm", X_p=(0.1, 0, 0))
    builder.add_revolute("arm", "hand", X_p=(0.2, 0, 0))
    return builder.build("floating")


def test_wrong_arguments_are_refused_with_the_expected_value() -> None:
    poses, twists, coms = bodies(3)
    robot = floating()
    (q,), (v,) = motions(robot, 1)
    kinds = {"source": "newton", "target": "pinocchio"}
    for call, wanted in [
        (lambda: twist_convert(twists[:, :5], poses, **kinds), r"twists: expected shape \(3, 6\), got \(3, 5\)"),
        (lambda: wrench_convert(twists, poses[:2], **kinds), r"poses: expected shape \(3, 7\), got \(2, 7\)"),
        (lambda: twist_convert(twists, 2 * poses, **kinds), "poses: expected quaternions of norm 1"),
        (lambda: twist_convert(np.inf * twists, poses, **kinds), "twists: expected finite numbers"),
        (lambda: twist_convert(twists, poses, com=coms[:2], **kinds), "com: expected shape"),
        (
            lambda: twist_convert(twists, poses, source=("world", "com"), target="newton"),
            "source: expected .axes, point",
        ),
        (lambda: twist_convert(twists, poses, source=3, target="newton"), "source: expected a list of strings, got 3"),
        (lambda: velocity_convert(robot, q, v[:3], **kinds), "v: expected shape"),
        (lambda: effort_convert(robot, q, v[:3], **kinds), "tau: expected shape"),
        (lambda: effort_convert(None, q, v, **kinds), "robot: expected a Robot"),
        (lambda: apply_free_joint_wrench(robot, q, [1, 2]), "wrench: expected shape"),
        (lambda: apply_free_joint_wrench(robot, q, twists), "wrench: expected shape"),
        (
            lambda: apply_free_joint_wrench(robot, q, twists[0], "arm_joint"),
            "joint: expected a free joint, got 'arm_jo",
        ),
        (lambda: apply_free_joint_wrench(trajopt.load_robot("planar-2r"), q[:2], twists[0]), "joint: expected a free"),
    ]:
        with pytest.raises(InvalidArgumentError, match=wanted):
            call()
    with pytest.raises(KeyError, match="source: convention 'drak'"):
        twist_convert(twists, poses, source="drak", target="newton")
    with pytest.raises(KeyError, match="target: point 'centre'"):
        twist_convert(twists, poses, source="newton", target=("world", "centre", "linear"))
    with pytest.raises(KeyError, match="target: convention"):
        velocity_convert(robot, q, v, source="newton", target="drake")
