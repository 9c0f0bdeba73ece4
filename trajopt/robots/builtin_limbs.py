"""A large robot on four equal limbs, defined in code with its collision geometry."""

from __future__ import annotations

from typing import Any

import coal
import numpy as np
import pinocchio as pin

from trajopt.errors import InvalidArgumentError
from trajopt.robots.bodies import add_body, add_solid, add_tip, floating_base

_LENGTHS = (0.10, 0.15, 0.15, 0.15, 0.15, 0.12, 0.15)  # of the links of a limb, from the hip outwards [m]
_MASSES = (3.0, 3.0, 2.5, 2.5, 2.0, 1.5, 1.0)  # of these links [kg]
_RADIUS = 0.04  # of these links [m]
_AXES = (pin.JointModelRZ, pin.JointModelRY, pin.JointModelRX, pin.JointModelRY, pin.JointModelRX, pin.JointModelRY,
         pin.JointModelRX)  # of these joints  # fmt: skip
_TRUNK = (0.50, 0.40, 0.20)  # sides of the trunk [m]
_TRUNK_MASS = 40.0  # [kg]
_BOUNDS = {"limits": (-np.pi, np.pi), "effort": 300.0, "speed": 4.0}  # of every joint [rad, N m, rad/s]

_HIPS = {"limb1": (1, -1), "limb2": (-1, -1), "limb3": (-1, 1), "limb4": (1, 1)}
"""Corner of the trunk at which each limb is mounted, as signs of x and y."""

_POSTURE = {2: 0.45 * np.pi, 4: -0.5 * np.pi, 6: 0.55 * np.pi}
"""Joint angles of a limb in the configuration "standing", by joint number [rad]; mirrored for limbs 2 and 4."""


def four_limbs() -> pin.Model:
    """Model of a robot of 102 kg: a trunk of 0.5 m x 0.4 m x 0.2 m and four equal limbs of seven joints, 0.97 m long.

    Limb k = 1 ... 4 has the joints "limbk_joint1" ... "limbk_joint7" with the links "limbk_link1" ... "limbk_link7":
    yaw, pitch, roll, pitch, roll, pitch, roll. At q = 0 limbs 1 and 4 point along x, 2 and 3 along -x. Limbs 2, 3 and 4
    are limb 1 after half a turn about y, z and x. The same posture therefore has opposite signs in limbs 2 and 4. The
    frames "limb1_foot" ... are the ends.

    In the configuration "standing" each limb goes down, outwards and down again, and the feet are on z = 0.
    """
    model = floating_base("four-limbs", pin.Inertia.FromBox(_TRUNK_MASS, *_TRUNK), link="trunk")
    for name, corner in _HIPS.items():
        _add_limb(model, 1, name, corner)
    model.referenceConfigurations["standing"] = _standing(model)
    return model


def four_limbs_geometry(model: pin.Model) -> pin.GeometryModel:
    """Collision geometry of the robot or of a model derived from it: a box for the trunk and a cylinder for each link.

    Args:
        model: A model with the frames of the links.
    """
    geometry = pin.GeometryModel()
    _add_shape(geometry, model, "trunk", coal.Box(*_TRUNK), pin.SE3.Identity())
    for limb in _HIPS:
        for number, length in enumerate(_LENGTHS, start=1):
            middle = pin.SE3(_Z_ALONG_X, np.array([length / 2, 0.0, 0.0]))
            _add_shape(geometry, model, f"{limb}_link{number}", coal.Cylinder(_RADIUS, length), middle)
    return geometry


_Z_ALONG_X = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])


def _mount(corner: tuple[int, int]) -> pin.SE3:
    """Placement of a limb at a corner: x outwards along ±x, by half a turn about y, z or x."""
    x, y = corner
    position = np.array([x * _TRUNK[0] / 2, y * _TRUNK[1] / 2, 0.0])
    return pin.SE3(np.diag([float(x), float(-y), float(-x * y)]), position)


def _add_limb(model: pin.Model, base: int, name: str, corner: tuple[int, int]) -> None:
    parent, placement = base, _mount(corner)
    for number, (axis, length, mass) in enumerate(zip(_AXES, _LENGTHS, _MASSES), start=1):
        rod, middle = pin.Inertia.FromCylinder(mass, _RADIUS, length), np.array([length / 2, 0.0, 0.0])
        more: dict[str, Any] = {"lever": pin.SE3(_Z_ALONG_X, middle), "link": f"{name}_link{number}", **_BOUNDS}
        parent = add_body(model, parent, axis(), f"{name}_joint{number}", rod, at=placement, **more)
        placement = pin.SE3(np.eye(3), np.array([length, 0.0, 0.0]))
    add_tip(model, parent, f"{name}_foot", placement)


def _standing(model: pin.Model) -> np.ndarray:
    q = pin.neutral(model)
    for name in _HIPS:
        sign = 1.0 if name in ("limb1", "limb3") else -1.0
        for number, angle in _POSTURE.items():
            q[model.joints[model.getJointId(f"{name}_joint{number}")].idx_q] = sign * angle
    data = model.createData()
    pin.framesForwardKinematics(model, data, q)
    q[2] = -data.oMf[model.getFrameId("limb1_foot")].translation[2]
    return q


def _add_shape(
    geometry: pin.GeometryModel, model: pin.Model, link: str, shape: coal.CollisionGeometry, placement: pin.SE3
) -> None:
    if not model.existFrame(link, pin.FrameType.BODY):
        raise InvalidArgumentError(
            f"model: expected a robot with the link {link!r}, got {model.name!r}; pass the model of 'four-limbs'"
        )
    add_solid(geometry, model, link, 0, placement, shape)
