"""MuJoCo as a judge: it computes the accelerations of every robot that we do, for joints of every kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin
import pytest

from trajopt.errors import InvalidArgumentError, UnsupportedOperationError
from trajopt.plants import MuJoCoPlant
from trajopt.robots import Robot, load_robot
from trajopt.robots.bases import with_base
from trajopt.robots.builtin import BUILTIN_ROBOTS
from trajopt.robots.masses import check_masses
from trajopt.types import Reals

mujoco = pytest.importorskip("mujoco")
data = pytest.importorskip("example_robot_data")

AGREE = 1e-10
"""Largest difference of accelerations, relative to the largest one."""


def differences(robot: Robot, count: int = 3) -> tuple[float, float]:
    """Largest relative difference of accelerations of random states, and of states that went to MuJoCo and back."""
    plant, model, rng = MuJoCoPlant(robot, contacts=()), robot.model, np.random.default_rng(0)
    plant.model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    worst, lost = 0.0, 0.0
    for _ in range(count):
        q = pin.integrate(model, pin.neutral(model), rng.uniform(-0.5, 0.5, model.nv))
        v, tau = rng.uniform(-1.0, 1.0, (2, model.nv))
        x, peer, states = np.concatenate([q, v]), plant.data, plant._map
        peer.qpos[:], peer.qvel[:] = states.to_peer(x)
        lost = max(lost, float(np.abs(states.from_peer(peer.qpos, peer.qvel) - x).max()))
        peer.qfrc_applied[:] = states.force_to_peer(x, tau)
        mujoco.mj_forward(plant.model, peer)
        a = states.force_to_peer(x, turned(model, v, acceleration(model, q, v, tau)))
        worst = max(worst, float(np.abs(a - peer.qacc).max() / max(1.0, np.abs(a).max())))
    return worst, lost


def acceleration(model: pin.Model, q: Reals, v: Reals, tau: Reals) -> Reals:
    """Pinocchio's acceleration (nv,), with the armature of the motors."""
    return np.linalg.solve(inertia(model, q), tau - pin.nonLinearEffects(model, model.createData(), q, v))


def inertia(model: pin.Model, q: Reals) -> Reals:
    """Mass matrix (nv, nv)."""
    upper = np.triu(pin.crba(model, model.createData(), q))
    return np.asarray(upper + np.triu(upper, 1).T)


def turned(model: pin.Model, v: Reals, a: Reals) -> Reals:
    """Rate of the velocity in world axes, in body axes: a + ω × v for free and planar joints."""
    result = a.copy()
    for i in range(1, model.njoints):
        first, name = model.idx_vs[i], model.joints[i].shortname()
        if name == "JointModelFreeFlyer":
            result[first : first + 3] += np.cross(v[first + 3 : first + 6], v[first : first + 3])
        elif name == "JointModelPlanar":
            result[first : first + 2] += v[first + 2] * np.array([-v[first + 1], v[first]])
    return result


@pytest.mark.parametrize("name", [*BUILTIN_ROBOTS, *sorted(data.ROBOTS)])
def test_robots_accelerate_as_in_mujoco(name: str) -> None:
    try:
        robot = load_robot(name)
        check_masses(robot.model)
    except InvalidArgumentError as error:
        pytest.skip(str(error)[:80])
    if np.linalg.eigvalsh(inertia(robot.model, pin.neutral(robot.model)))[0] < 1e-13:
        pytest.skip("its joints move less than the least moment of MuJoCo")
    worst, lost = differences(robot)
    assert worst < AGREE
    assert lost < 1e-14


def skew_continuous() -> pin.JointModelRevoluteUnboundedUnaligned:
    joint = pin.JointModelRevoluteUnboundedUnaligned()
    joint.axis = np.array([0.6, 0.0, 0.8])
    return joint


JOINTS: dict[str, Any] = {
    "free": pin.JointModelFreeFlyer(),
    "planar": pin.JointModelPlanar(),
    "spherical": pin.JointModelSpherical(),
    "zyx": pin.JointModelSphericalZYX(),
    "translation": pin.JointModelTranslation(),
    "continuous": pin.JointModelRUBY(),
    "skew continuous": skew_continuous(),
    "skew revolute": pin.JointModelRevoluteUnaligned(np.array([0.6, 0.0, 0.8])),
    "skew slide": pin.JointModelPrismaticUnaligned(np.array([0.6, 0.8, 0.0])),
    "universal": pin.JointModelUniversal(np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.6, 0.8])),
}


def mechanism(joint: Any, *, moves: bool = True) -> Robot:
    """Two bodies on a joint that is turned and moved away, and a hinge between them."""
    model = pin.Model()
    at = pin.SE3(pin.utils.rotate("x", 0.4), np.array([0.3, -0.2, 0.1]))
    first = model.addJoint(0, joint, at if moves else pin.SE3.Identity(), "first")
    body = pin.Inertia(1.3, np.array([0.1, 0.02, -0.05]), np.diag([0.02, 0.03, 0.025]))
    model.appendBodyToJoint(first, body, pin.SE3.Identity())
    second = model.addJoint(first, pin.JointModelRX(), pin.SE3(pin.utils.rotate("z", 0.7), np.ones(3) * 0.2), "second")
    model.appendBodyToJoint(second, body, pin.SE3(pin.utils.rotate("y", 0.3), np.array([0.0, 0.1, 0.0])))
    return Robot(model, name="mechanism")


@pytest.mark.parametrize("name", JOINTS)
def test_joints_of_every_kind_accelerate_as_in_mujoco(name: str) -> None:
    worst, lost = differences(mechanism(JOINTS[name]))
    assert worst < AGREE
    assert lost < 1e-14


def test_composite_joints_with_placements_between_their_parts() -> None:
    joint = pin.JointModelComposite()
    joint.addJoint(pin.JointModelPX(), pin.SE3(pin.utils.rotate("z", 0.5), np.array([0.1, 0.2, 0.0])))
    joint.addJoint(pin.JointModelRUBY(), pin.SE3(pin.utils.rotate("x", 0.9), np.array([0.0, 0.3, 0.1])))
    joint.addJoint(pin.JointModelRZ(), pin.SE3(pin.utils.rotate("y", 0.2), np.array([0.2, 0.0, 0.0])))
    worst, lost = differences(mechanism(joint))
    assert worst < AGREE
    assert lost < 1e-14


@pytest.mark.parametrize("base", ["euler", "planar"])
def test_bases_without_mass_between_their_joints(base: str) -> None:
    worst, lost = differences(Robot(with_base(load_robot("small-biped").model, base)))
    assert worst < AGREE
    assert lost < 1e-14


def test_what_mujoco_does_not_have_is_refused() -> None:
    with pytest.raises(UnsupportedOperationError, match=r"joint 'first': .* got a hx joint; lock it: robot.lock_join"):
        MuJoCoPlant(mechanism(pin.JointModelHX(0.1)), contacts=())
    model = mechanism(pin.JointModelRX()).model
    free = model.addJoint(1, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "free")
    model.appendBodyToJoint(free, pin.Inertia.Random(), pin.SE3.Identity())
    with pytest.raises(UnsupportedOperationError, match="joint 'free': expected a free joint below the world"):
        MuJoCoPlant(Robot(model), contacts=())
