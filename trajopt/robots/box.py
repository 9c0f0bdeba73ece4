"""Boxes on frames, for distances between bodies."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trajopt.checks import check_array, check_text
from trajopt.errors import InvalidArgumentError
from trajopt.robots.placements import check_placement
from trajopt.robots.round_bodies import Capsule, Sphere, as_round
from trajopt.robots.shapes import Shape
from trajopt.types import Reals


@dataclass(frozen=True, eq=False)
class Box:
    """A box that is attached to a frame or fixed in the world.

    Attributes:
        size: Its sides along its own axes, > 0 (3,) [m].
        placement: Placement of its centre in the axes of the frame, (3, 4): rotation and position. A pinocchio.SE3, a
            homogeneous matrix (4, 4), or position and quaternion xyzw (7,) is converted; identity by default.
        frame: Name of the frame that carries it; None if it is fixed in the world.
    """

    size: npt.ArrayLike
    _: KW_ONLY
    placement: Any = None
    frame: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", check_size("size", self.size))
        placement = np.eye(4) if self.placement is None else self.placement
        object.__setattr__(self, "placement", check_placement("placement", placement))
        if self.frame is not None:
            check_text("frame", self.frame, such_as="tool0")


def check_size(argument: str, value: Any) -> Reals:
    """Returns the sides of a box (3,); raises InvalidArgumentError unless they are positive numbers [m]."""
    size = check_array(argument, value, (3,), cure="pass its sides along its own x, y and z axes [m]")
    if not np.all(size > 0.0):
        raise InvalidArgumentError(f"{argument}: expected three sides > 0 [m], got {size}")
    return size


def as_body(shape: Sphere | Capsule | Box | Shape) -> Sphere | Capsule | Box:
    """Converts a ball, capsule or box Shape of a robot to a Sphere, Capsule or Box; returns other objects unchanged."""
    if isinstance(shape, Shape) and shape.kind == "box":
        return Box(shape.size, placement=shape.placement, frame=shape.link)
    return shape if isinstance(shape, Box) else as_round(shape)
