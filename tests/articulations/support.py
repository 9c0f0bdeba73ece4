"""A random tree with every type of joint."""

import functools

import numpy as np
import pinocchio as pin

import trajopt


def d6(rng: np.random.Generator, linear: int, angular: int) -> pin.JointModelComposite:
    """Sliding axes along some directions of a random frame, then turning ones."""
    joint, axes = pin.JointModelComposite(), frame(rng)
    for i in range(linear):
        joint.addJoint(pin.JointModelPrismaticUnaligned(axes[:, i]))
    for i in range(angular):
        joint.addJoint(pin.JointModelRevoluteUnaligned(axes[:, (i + 1) % 3]))
    return joint


def frame(rng: np.random.Generator) -> np.ndarray:
    """A random rotation, or reflection: axes may be left-handed."""
    return np.linalg.qr(rng.standard_normal((3, 3)))[0]


def unit(rng: np.random.Generator) -> np.ndarray:
    axis = rng.standard_normal(3)
    return axis / np.linalg.norm(axis)


@functools.cache
def tree(seed: int = 0) -> trajopt.Robot:
    """Joints of all types in random order and places; bodies lie beside their joints."""
    rng = np.random.default_rng(seed)
    pin.seed(seed)
    axes = frame(rng)
    joints = [
        pin.JointModelFreeFlyer(), pin.JointModelRX(), pin.JointModelRevoluteUnaligned(unit(rng)), pin.JointModelRUBY(),
        pin.JointModelPZ(), pin.JointModelPrismaticUnaligned(unit(rng)), pin.JointModelSpherical(),
        pin.JointModelTranslation(), pin.JointModelPlanar(), pin.JointModelHX(0.3),
        pin.JointModelUniversal(axes[:, 0], axes[:, 1]), pin.JointModelSphericalZYX(), d6(rng, 3, 0), d6(rng, 0, 3),
        d6(rng, 2, 1), d6(rng, 3, 3), d6(rng, 1, 2),
    ]  # fmt: skip
    model = pin.Model()
    for i, number in enumerate(rng.permutation(len(joints))):
        parent = int(rng.integers(0, model.njoints))
        joint = model.addJoint(parent, joints[number], pin.SE3.Random(), f"joint{i}")
        model.addJointFrame(joint, -1)
        model.appendBodyToJoint(joint, pin.Inertia.Random(), pin.SE3.Identity())
        model.addBodyFrame(f"body{i}", joint, pin.SE3.Random(), -1)
    model.lowerPositionLimit, model.upperPositionLimit = -np.ones(model.nq), np.ones(model.nq)
    return trajopt.Robot(model)


def states(robot: trajopt.Robot, count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Random configurations, angles within 1 rad, and velocities."""
    pin.seed(seed)
    q = np.array([pin.randomConfiguration(robot.model) for _ in range(count)])
    return q, np.random.default_rng(seed).standard_normal((count, robot.nv))
