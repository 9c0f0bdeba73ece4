"""A legged robot as MuJoCo's XML: the same joints, inertias and feet as in Pinocchio, on a plane."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pinocchio as pin

AXES = {"JointModelRX": "1 0 0", "JointModelRY": "0 1 0", "JointModelRZ": "0 0 1"}


def mjcf(model: pin.Model, feet: dict[str, float], *, friction: float, timestep: float) -> str:
    """XML of a free-flying tree of revolute joints; nothing but feet and plane collide.

    Args:
        model: The robot: a free flyer, then revolute joints about x, y or z.
        feet: Radius of the sphere at each frame [m].
        friction: Sliding friction [-].
        timestep: Time step [s].
    """
    motors = "".join(f'<motor joint="{name}"/>' for name in list(model.names)[2:])
    return (
        f'<mujoco model="{model.name}"><compiler angle="radian" inertiafromgeom="false"/>'
        f'<option timestep="{timestep}" gravity="{_text(model.gravity.linear)}"/><worldbody>'
        f'<geom type="plane" size="0 0 1" contype="1" conaffinity="0" friction="{friction} 0 0"/>'
        f"{_body(model, 1, feet, friction)}</worldbody><actuator>{motors}</actuator></mujoco>"
    )


def _body(model: pin.Model, joint: int, feet: dict[str, float], friction: float) -> str:
    placement, inertia = model.jointPlacements[joint], model.inertias[joint]
    kind, name = model.joints[joint].shortname(), model.names[joint]
    moving = f'<freejoint name="{name}"/>' if joint == 1 else f'<joint name="{name}" axis="{AXES[kind]}"/>'
    full = [inertia.inertia[i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
    mass = f'<inertial pos="{_text(inertia.lever)}" mass="{inertia.mass!r}" fullinertia="{_text(full)}"/>'
    placed = [(model.frames[model.getFrameId(name)], radius) for name, radius in feet.items()]
    geoms = "".join(
        f'<geom type="sphere" size="{radius}" pos="{_text(frame.placement.translation)}" contype="0" conaffinity="1"'
        f' friction="{friction} 0 0"/>'
        for frame, radius in placed
        if frame.parentJoint == joint
    )
    below = "".join(_body(model, child, feet, friction) for child in model.children[joint])
    place = f'pos="{_text(placement.translation)}" quat="{_quaternion(placement.rotation)}"'
    return f'<body name="{name}_link" {place}>{moving}{mass}{geoms}{below}</body>'


def state(model: pin.Model, q: npt.ArrayLike, v: npt.ArrayLike) -> tuple[list[float], list[float]]:
    """(q, v) as MuJoCo has it: the quaternion's w first, the base's linear velocity in the world's axes."""
    q, v = np.asarray(q, dtype=float), np.asarray(v, dtype=float)
    turn = pin.Quaternion(q[6], *q[3:6]).matrix()
    return [*q[:3], q[6], *q[3:6], *q[7:]], [*(turn @ v[:3]), *v[3:]]


def _quaternion(rotation: npt.NDArray[np.float64]) -> str:
    x, y, z, w = pin.Quaternion(rotation).coeffs()
    return _text([w, x, y, z])


def _text(values: npt.ArrayLike) -> str:
    return " ".join(repr(float(value)) for value in np.asarray(values))
