"""Two small legged robots defined in code: a quadruped with point feet and a biped with flat soles.

x points forward, y left, z up; the base is a free flyer. All bodies are boxes, rods and spheres of uniform density.
Both robots are symmetric with respect to the x-z plane, joint by joint.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin

from trajopt.robots.bodies import add_body, add_tip, floating_base

_JOINTS = {"x": pin.JointModelRX, "y": pin.JointModelRY, "z": pin.JointModelRZ}


@dataclass(frozen=True, kw_only=True)
class _Link:
    """A body on a revolute joint.

    Attributes:
        name: Name of the joint without the prefix of its leg; the frame of the body appends "_link" to it.
        axis: Axis of the joint.
        offset: Vector from the parent joint to this one (3,) [m].
        body: Inertia of the body about its centre of mass.
        lever: Vector from the joint to the centre of mass (3,) [m].
        limits: Smallest and largest angle [rad].
        effort: Largest torque [N m].
        speed: Largest velocity [rad/s].
    """

    name: str
    axis: str
    offset: tuple[float, float, float]
    body: pin.Inertia
    lever: tuple[float, float, float] = (0.0, 0.0, 0.0)
    limits: tuple[float, float]
    effort: float
    speed: float


def small_quadruped() -> pin.Model:
    """Model of a quadruped of 12 kg with hips 0.36 m apart along x and feet 0.28 m apart along y.

    Each of the legs "lf", "rf", "lh", "rh" (left or right, front or hind) has the joints "lf_haa" (about x), "lf_hfe"
    and "lf_kfe" (about y), thigh and shank of 0.2 m, and the frame "lf_foot" at its end. Front knees bend backwards,
    hind knees forwards.

    In the configuration "standing" the feet are at z = 0, each below its hfe joint.
    """
    model = floating_base("small-quadruped", pin.Inertia.FromBox(6.0, 0.40, 0.20, 0.10))
    rest = []
    for name, side, end in (("lf", 1, 1), ("lh", 1, -1), ("rf", -1, 1), ("rh", -1, -1)):
        foot = _add_leg(model, 1, name, _quadruped_leg(side, end))
        add_tip(model, foot, f"{name}_foot", (0.0, 0.0, -_QUADRUPED_LIMB))
        rest += [0.0, end * _QUADRUPED_BEND, -2 * end * _QUADRUPED_BEND]
    height = 2 * _QUADRUPED_LIMB * np.cos(_QUADRUPED_BEND)
    model.referenceConfigurations["standing"] = np.array([0.0, 0.0, height, 0.0, 0.0, 0.0, 1.0, *rest])
    return model


_QUADRUPED_LIMB = 0.20  # length of thigh and shank [m]
_QUADRUPED_BEND = 0.75  # angle of the thigh from the vertical [rad]


def _quadruped_leg(side: int, end: int) -> list[_Link]:
    """Links of a leg: `side` is 1 for left and -1 for right, `end` is 1 for front and -1 for hind."""
    limb, swing, fold = _QUADRUPED_LIMB, (-1.2, 2.6), (-2.6, -0.3)  # [m], [rad], [rad]
    hip = pin.Inertia.FromSphere(0.6, 0.04)
    thigh, shank = _rod(0.7, 0.03, limb), _rod(0.2, 0.015, limb)
    half = (0.0, 0.0, -limb / 2)
    return [
        _Link(name="haa", axis="x", offset=(0.18 * end, 0.06 * side, 0.0), body=hip, limits=(-0.8, 0.8), effort=30.0,
              speed=20.0),
        _Link(name="hfe", axis="y", offset=(0.0, 0.08 * side, 0.0), body=thigh, lever=half, limits=_turned(swing, end),
              effort=30.0, speed=20.0),
        _Link(name="kfe", axis="y", offset=(0.0, 0.0, -limb), body=shank, lever=half, limits=_turned(fold, end),
              effort=45.0, speed=15.0),
    ]  # fmt: skip


def small_biped() -> pin.Model:
    """Model of a biped of 16 kg without arms, with hips 0.16 m apart.

    Each of the legs "left", "right" has the joints "left_hip_yaw" (about z), "left_hip_roll" (x), "left_hip_pitch"
    (y), "left_knee" (y), "left_ankle_pitch" (y) and "left_ankle_roll" (x), thigh and shank of 0.25 m, and the frame
    "left_sole" in the middle of its sole of 0.16 m x 0.08 m, z up.

    In the configuration "half_sitting" the soles are flat on z = 0 and the knees are bent by 0.8 rad.
    """
    model = floating_base("small-biped", pin.Inertia.FromBox(8.4, 0.15, 0.22, 0.30), above=0.14)
    for name, side in (("left", 1), ("right", -1)):
        foot = _add_leg(model, 1, name, _biped_leg(side))
        add_tip(model, foot, f"{name}_sole", (_BIPED_TOE, 0.0, -_BIPED_ANKLE))
    height = 2 * _BIPED_LIMB * np.cos(_BIPED_BEND) + _BIPED_ANKLE
    leg = [0.0, 0.0, -_BIPED_BEND, 2 * _BIPED_BEND, -_BIPED_BEND, 0.0]
    model.referenceConfigurations["half_sitting"] = np.array([0.0, 0.0, height, 0.0, 0.0, 0.0, 1.0, *leg, *leg])
    return model


SMALL_BIPED_SOLE = (0.16, 0.08)
"""Length and width of the biped's soles [m]."""

_BIPED_LIMB = 0.25  # length of thigh and shank [m]
_BIPED_BEND = 0.4  # angle of the thigh from the vertical [rad]
_BIPED_ANKLE = 0.05  # height of the ankle above the sole [m]
_BIPED_TOE = 0.02  # distance of the middle of the sole in front of the ankle [m]


def _biped_leg(side: int) -> list[_Link]:
    """Links of a leg: `side` is 1 for left and -1 for right."""
    limb, small = _BIPED_LIMB, pin.Inertia.FromSphere(0.3, 0.03)
    thigh, shank = _rod(1.5, 0.04, limb), _rod(0.9, 0.03, limb)
    foot = pin.Inertia.FromBox(0.5, *SMALL_BIPED_SOLE, 0.03)
    half, outwards = (0.0, 0.0, -limb / 2), _turned((-0.4, 0.8), side)
    return [
        _Link(name="hip_yaw", axis="z", offset=(0.0, 0.08 * side, 0.0), body=small, limits=outwards, effort=40.0,
              speed=8.0),
        _Link(name="hip_roll", axis="x", offset=(0.0, 0.0, 0.0), body=small, limits=outwards, effort=60.0, speed=8.0),
        _Link(name="hip_pitch", axis="y", offset=(0.0, 0.0, 0.0), body=thigh, lever=half, limits=(-2.0, 0.8),
              effort=80.0, speed=10.0),
        _Link(name="knee", axis="y", offset=(0.0, 0.0, -limb), body=shank, lever=half, limits=(0.0, 2.4), effort=100.0,
              speed=10.0),
        _Link(name="ankle_pitch", axis="y", offset=(0.0, 0.0, -limb), body=small, limits=(-1.3, 0.8), effort=60.0,
              speed=10.0),
        _Link(name="ankle_roll", axis="x", offset=(0.0, 0.0, 0.0), body=foot,
              lever=(_BIPED_TOE, 0.0, -_BIPED_ANKLE + 0.015), limits=(-0.6, 0.6), effort=40.0, speed=8.0),
    ]  # fmt: skip


def _rod(mass: float, radius: float, length: float) -> pin.Inertia:
    """Inertia of a vertical cylinder about its centre of mass."""
    return pin.Inertia.FromCylinder(mass, radius, length)


def _turned(limits: tuple[float, float], sign: int) -> tuple[float, float]:
    """Limits of a joint if sign > 0; those of its mirror image, which turns the other way, if sign < 0."""
    return limits if sign > 0 else (-limits[1], -limits[0])


def _add_leg(model: pin.Model, parent: int, leg: str, links: list[_Link]) -> int:
    """Adds the links of a leg as a chain and returns the index of the last joint."""
    for link in links:
        bounds: dict[str, Any] = {"limits": link.limits, "effort": link.effort, "speed": link.speed}
        joint, name = _JOINTS[link.axis](), f"{leg}_{link.name}"
        parent = add_body(model, parent, joint, name, link.body, at=link.offset, lever=link.lever, **bounds)
    return parent
