"""A robot as a single rigid body."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from trajopt.checks import check_array, check_instance
from trajopt.errors import InvalidArgumentError
from trajopt.robots.robot import Robot
from trajopt.types import Reals


def single_rigid_body(robot: Robot, q: npt.ArrayLike | None = None) -> Robot:
    """Robot that is a free body with the mass, centre of mass and inertia of another robot in one configuration.

    Its state is that of the base: q[:7] and v[:6] of the robot. Its frame "body" is that of the base, and the
    configuration "standing" is the base's in `q`.

    Args:
        robot: Robot with a floating base.
        q: Configuration (nq,); by default "standing" or "half_sitting".

    Raises:
        InvalidArgumentError: The robot has no floating base, `q` has another size, or it is missing.
    """
    check_instance("robot", robot, Robot, "use load_robot(...)")
    if not robot.floating_base or robot.model.joints[1].nq != 7:
        raise InvalidArgumentError(
            f"robot: expected a robot with a floating base, got {robot.name!r}; load it with "
            "load_robot(..., floating_base=True)"
        )
    posture = _posture(robot) if q is None else check_array("q", q, (robot.nq,))
    data = robot.model.createData()
    pin.ccrba(robot.model, data, posture, np.zeros(robot.nv))
    base = data.oMi[1]
    inertia = base.rotation.T @ data.Ig.inertia @ base.rotation
    own = pin.Inertia(data.Ig.mass, base.actInv(data.com[0]), inertia)
    model = pin.Model()
    model.name = f"{robot.name}-body"
    joint = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root_joint")
    model.appendBodyToJoint(joint, own, pin.SE3.Identity())
    model.addJointFrame(joint)
    model.addBodyFrame("body", joint, pin.SE3.Identity(), 0)
    model.gravity = robot.model.gravity
    model.referenceConfigurations["standing"] = posture[:7]
    return Robot(model, name=model.name)


def _posture(robot: Robot) -> Reals:
    for name in ("standing", "half_sitting"):
        if name in robot.configurations:
            return robot.configurations[name]
    raise InvalidArgumentError(
        f"q: expected a configuration ({robot.nq},), because {robot.name} has none named standing or half_sitting"
    )
