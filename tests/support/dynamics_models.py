"""Random robots that have every joint type of Pinocchio, for the tests of trajopt.dynamics."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pinocchio as pin

Rng = np.random.Generator


def unit(rng: Rng) -> np.ndarray:
    axis = rng.normal(size=3)
    return axis / np.linalg.norm(axis)


def placement(rng: Rng) -> pin.SE3:
    return pin.SE3(pin.exp3(rng.normal(size=3)), rng.normal(size=3))


def composite(rng: Rng) -> pin.JointModelComposite:
    inner = pin.JointModelComposite(pin.JointModelSphericalZYX(), placement(rng))
    inner.addJoint(pin.JointModelRUBZ(), placement(rng))
    outer = pin.JointModelComposite(pin.JointModelRY(), placement(rng))
    outer.addJoint(pin.JointModelPX(), placement(rng))
    outer.addJoint(inner, placement(rng))
    return outer


def unbounded_unaligned(rng: Rng) -> pin.JointModelRevoluteUnboundedUnaligned:
    """Pinocchio's Python has no constructor with an axis: it comes from a URDF."""
    axis = " ".join(str(c) for c in unit(rng))
    urdf = f"""<robot name="r"><link name="a"/><link name="b"/>
      <joint name="j" type="continuous"><parent link="a"/><child link="b"/><axis xyz="{axis}"/></joint></robot>"""
    return pin.buildModelFromXML(urdf).joints[1].extract()


JOINTS: dict[str, Callable[[Rng], object]] = {
    "RX": lambda _: pin.JointModelRX(),
    "RY": lambda _: pin.JointModelRY(),
    "RZ": lambda _: pin.JointModelRZ(),
    "RevoluteUnaligned": lambda rng: pin.JointModelRevoluteUnaligned(unit(rng)),
    "RevoluteAlongMinusZ": lambda _: pin.JointModelRevoluteUnaligned(np.array([0.0, 0.0, -1.0])),
    "RUBX": lambda _: pin.JointModelRUBX(),
    "RUBY": lambda _: pin.JointModelRUBY(),
    "RUBZ": lambda _: pin.JointModelRUBZ(),
    "RevoluteUnboundedUnaligned": unbounded_unaligned,
    "PX": lambda _: pin.JointModelPX(),
    "PY": lambda _: pin.JointModelPY(),
    "PZ": lambda _: pin.JointModelPZ(),
    "PrismaticUnaligned": lambda rng: pin.JointModelPrismaticUnaligned(unit(rng)),
    "HX": lambda _: pin.JointModelHX(0.3),
    "HY": lambda _: pin.JointModelHY(-0.4),
    "HZ": lambda _: pin.JointModelHZ(0.5),
    "HelicalUnaligned": lambda rng: pin.JointModelHelicalUnaligned(unit(rng), 0.7),
    "Spherical": lambda _: pin.JointModelSpherical(),
    "SphericalZYX": lambda _: pin.JointModelSphericalZYX(),
    "Translation": lambda _: pin.JointModelTranslation(),
    "Planar": lambda _: pin.JointModelPlanar(),
    "FreeFlyer": lambda _: pin.JointModelFreeFlyer(),
    "Universal": lambda _: pin.JointModelUniversal(np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.6, 0.8])),
    "Ellipsoid": lambda _: pin.JointModelEllipsoid(0.3, 0.5, 0.7),
    "Composite": composite,
}


def append(model: pin.Model, parent: int, joint: object, name: str, rng: Rng) -> int:
    """Adds a joint with a random placement, body and frame."""
    joint_id = model.addJoint(parent, joint, placement(rng), name)
    inertia = pin.Inertia(rng.uniform(0.5, 2), rng.normal(size=3) * 0.3, random_rotational(rng))
    model.appendBodyToJoint(joint_id, inertia, placement(rng))
    model.addFrame(pin.Frame(f"{name}_frame", joint_id, 0, placement(rng), pin.FrameType.OP_FRAME))
    return joint_id


def random_rotational(rng: Rng) -> np.ndarray:
    a, b, c = rng.uniform(0.1, 0.5, size=3)
    turned = pin.exp3(rng.normal(size=3))
    return turned @ np.diag([b + c, c + a, a + b]) @ turned.T


def tree(names: Sequence[str], seed: int, *, chain: bool = False) -> pin.Model:
    """A tree of the named joints with random armature, numbered depth first as Pinocchio's CRBA needs.

    Each joint sits on the previous one, or on one of its last ancestors unless a chain is asked for.
    """
    rng = np.random.default_rng(seed)
    model = pin.Model()
    for i, name in enumerate(names):
        parent = i
        for _ in range(0 if chain else int(rng.integers(0, 3))):
            parent = max(model.parents[parent], min(i, 1))
        append(model, parent, JOINTS[name](rng), f"{i}_{name}", rng)
    model.armature = rng.uniform(0.1, 1.0, size=model.nv)
    model.damping = rng.uniform(0.1, 1.0, size=model.nv)
    model.friction = rng.uniform(0.1, 1.0, size=model.nv)
    return model


def mimic_tree(seed: int) -> pin.Model:
    """A tree on a free flyer where joints mimic a revolute, an unbounded and a prismatic one, two of them the same."""
    names = ["FreeFlyer", "RX", "RUBY", "PrismaticUnaligned", "RevoluteUnaligned", "RUBX", "PX", "RZ", "RY"]
    model = tree(names, seed)
    for mimicked, mimicking, scaling, offset in (
        (2, 5, -1.5, 0.3),
        (3, 6, 2.0, -0.4),
        (4, 7, 0.5, 0.2),
        (2, 8, 0.7, 0.0),
    ):
        model = pin.transformJointIntoMimic(model, mimicked, mimicking, scaling, offset)
    model.armature = np.random.default_rng(seed).uniform(0.1, 1.0, size=model.nv)
    return model


def sample(model: pin.Model, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A configuration, a velocity and an acceleration of order 1."""
    rng = np.random.default_rng(seed)
    q = pin.integrate(model, pin.neutral(model), rng.normal(size=model.nv))
    return q, rng.normal(size=model.nv), rng.normal(size=model.nv)
