"""Robots defined in code: planar arms, a double pendulum, a cart-pole; and a table of all robots defined in code.

The robots of this file move in the world's x-z plane (z up). A positive angle turns from x to z, which is a rotation
about -y: the first joint has its z axis along the world's -y.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pinocchio as pin

from trajopt.checks import check_positive, check_vector
from trajopt.errors import InvalidArgumentError
from trajopt.robots.bodies import add_body, add_tip
from trajopt.robots.builtin_legged import small_biped, small_quadruped
from trajopt.robots.builtin_limbs import four_limbs, four_limbs_geometry

_X_ALONG_WORLD_X = pin.SE3(np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]), np.zeros(3))
"""Placement of a joint with axes (x, y, z) along the world's (x, z, -y): at angle 0 the link is horizontal, along x."""

_X_ALONG_WORLD_DOWN = pin.SE3(np.array([[0.0, 1.0, 0.0], [0.0, 0.0, -1.0], [-1.0, 0.0, 0.0]]), np.zeros(3))
"""Placement of a joint with axes (x, y, z) along the world's (-z, x, -y): at angle 0 the link hangs down."""


def planar_arm(*, lengths: Sequence[float] = (0.5, 0.5), masses: Sequence[float] | None = None) -> pin.Model:
    """Model of an arm of uniform thin rods in the vertical plane: along x at q = 0, raised by positive angles.

    Joints are "joint_1", ...; frames are "link_1", ... at the joints and "tool" at the end of the last rod. A rod of
    mass m and length l has its centre of mass at l/2, and the moment of inertia m l²/12 about it.

    Args:
        lengths: Length of each rod, > 0 [m].
        masses: Mass of each rod, > 0 [kg]; by default 1 each.

    Raises:
        InvalidArgumentError: The numbers of lengths and masses differ, or a value is not positive.
    """
    lengths, masses = _positive_pairs(lengths, masses)
    rods = [mass * length**2 / 12 for length, mass in zip(lengths, masses)]  # [kg m²]
    inertias = [
        pin.Inertia(mass, np.array([length / 2, 0.0, 0.0]), np.diag([0.0, rod, rod]))
        for length, mass, rod in zip(lengths, masses, rods)
    ]
    model = _chain(f"planar-{len(lengths)}r", lengths, inertias, _X_ALONG_WORLD_X, "tool", limits=(-np.pi, np.pi))
    model.referenceConfigurations["stretched"] = np.zeros(model.nq)
    model.referenceConfigurations["elbow_up"] = np.array(
        [np.pi / 2] + [-np.pi / 2 / max(1, model.nq - 1)] * (model.nq - 1)
    )
    return model


def double_pendulum(*, lengths: Sequence[float] = (0.5, 0.5), masses: Sequence[float] = (1.0, 1.0)) -> pin.Model:
    """Model of two point masses on massless rods: (0, 0) hangs down, (π, 0) is upright, the second angle is relative.

    Joints are "joint_1", "joint_2"; frames are "link_1", "link_2", and "tip" at the second mass.

    Args:
        lengths: Length of each rod, > 0 [m].
        masses: Mass at the end of each rod, > 0 [kg].

    Raises:
        InvalidArgumentError: The number of lengths or masses is not two, or a value is not positive.
    """
    lengths, masses = _positive_pairs(lengths, masses)
    if len(lengths) != 2:
        raise InvalidArgumentError(f"lengths: expected 2 rods, got {len(lengths)}; a double pendulum has two")
    inertias = [_point_mass(mass, length) for length, mass in zip(lengths, masses)]
    model = _chain("double-pendulum", lengths, inertias, _X_ALONG_WORLD_DOWN, "tip")
    model.referenceConfigurations["hanging"] = np.zeros(2)
    model.referenceConfigurations["upright"] = np.array([np.pi, 0.0])
    return model


def cart_pole(*, cart_mass: float = 1.0, pole_mass: float = 0.1, pole_length: float = 0.5) -> pin.Model:
    """Model of a cart on a rail along x with a point mass on a massless pole; angle 0 hangs down, π is upright.

    Joints are "cart" (prismatic) and "pole" (revolute); frames are "cart_link", "pole_link", and "tip" at the mass.

    Args:
        cart_mass: Mass of the cart, > 0 [kg].
        pole_mass: Mass at the end of the pole, > 0 [kg].
        pole_length: Length of the pole, > 0 [m].

    Raises:
        InvalidArgumentError: A value is not positive.
    """
    cart_mass = check_positive("cart_mass", cart_mass, unit="kg")
    pole_mass = check_positive("pole_mass", pole_mass, unit="kg")
    pole_length = check_positive("pole_length", pole_length, unit="m")
    model = pin.Model()
    model.name = "cart-pole"
    cart_body = pin.Inertia(cart_mass, np.zeros(3), np.zeros((3, 3)))
    cart = add_body(model, 0, pin.JointModelPX(), "cart", cart_body)
    mass = _point_mass(pole_mass, pole_length)
    pole = add_body(model, cart, pin.JointModelRZ(), "pole", mass, at=_X_ALONG_WORLD_DOWN)
    add_tip(model, pole, "tip", (pole_length, 0.0, 0.0))
    model.referenceConfigurations["hanging"] = np.zeros(2)
    model.referenceConfigurations["upright"] = np.array([0.0, np.pi])
    return model


BUILTIN_ROBOTS: dict[str, Callable[[], pin.Model]] = {
    "planar-2r": planar_arm,
    "planar-3r": lambda: planar_arm(lengths=(0.5, 0.4, 0.2), masses=(1.0, 0.8, 0.4)),
    "double-pendulum": double_pendulum,
    "cart-pole": cart_pole,
    "small-quadruped": small_quadruped,
    "small-biped": small_biped,
    "four-limbs": four_limbs,
}
"""Robots that `load_robot` builds without a file, by name."""

BUILTIN_GEOMETRIES: dict[str, Callable[[pin.Model], pin.GeometryModel]] = {"four-limbs": four_limbs_geometry}
"""Functions that build collision geometry, by robot; robots without any are missing."""


def _positive_pairs(lengths: Sequence[float], masses: Sequence[float] | None) -> tuple[list[float], list[float]]:
    rods = check_vector("lengths", lengths)
    weights = np.ones(len(rods)) if masses is None else check_vector("masses", masses)
    checked_lengths = [check_positive(f"lengths[{i}]", length, unit="m") for i, length in enumerate(rods)]
    checked_masses = [check_positive(f"masses[{i}]", mass, unit="kg") for i, mass in enumerate(weights)]
    if len(checked_lengths) != len(checked_masses) or not checked_lengths:
        raise InvalidArgumentError(
            f"masses: expected one mass for each of the {len(checked_lengths)} lengths (at least one), "
            f"got {len(checked_masses)}"
        )
    for i, (length, mass) in enumerate(zip(checked_lengths, checked_masses)):
        if not np.isfinite(mass * length * length):
            raise InvalidArgumentError(
                f"lengths[{i}]: expected a length [m] with a finite moment of inertia, got {length:g} with {mass:g} kg"
            )
    return checked_lengths, checked_masses


def _chain(
    name: str, lengths: Sequence[float], inertias: Sequence[pin.Inertia], first: pin.SE3, tip: str, **options: Any
) -> pin.Model:
    """Links one after the other along their x axes, which turn about their z axes."""
    model = pin.Model()
    model.name = name
    parent, placement = 0, first
    for i, (length, inertia) in enumerate(zip(lengths, inertias), start=1):
        joint, link = f"joint_{i}", f"link_{i}"
        parent = add_body(model, parent, pin.JointModelRZ(), joint, inertia, at=placement, link=link, **options)
        placement = pin.SE3(np.eye(3), np.array([length, 0.0, 0.0]))
    add_tip(model, parent, tip, placement)
    return model


def _point_mass(mass: float, distance: float) -> pin.Inertia:
    return pin.Inertia(mass, np.array([distance, 0.0, 0.0]), np.zeros((3, 3)))
