"""Axes of joints that are declared in code: direction, limits, and checks of axes that one joint combines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from trajopt.checks import check_array, check_finite, check_items, check_non_negative, check_number
from trajopt.errors import InvalidArgumentError, shown
from trajopt.types import Reals

NEARLY = 1e-6  # two of three rotation axes count as perpendicular below this cosine
_NAMED = {sign + name: (1.0, -1.0)[sign == "-"] * np.eye(3)[i] for i, name in enumerate("xyz") for sign in ("", "-")}


@dataclass(frozen=True, eq=False)
class Axis:
    """An axis along which a joint slides or about which it rotates, in the joint's frame on the parent.

    Attributes:
        direction: "x", "y", "z", "-x", "-y", "-z", or a vector (3,) of any length [-].
        lower: Lower limit [m, rad].
        upper: Upper limit [m, rad].
        velocity: Largest speed, > 0 [m/s, rad/s].
        effort: Largest force or torque, > 0 [N, N m].
        armature: Inertia of the motor at the joint, >= 0 [kg, kg m²].
        damping: Force or torque per speed, >= 0 [N s/m, N m s/rad].
        target: Coordinate that a controller aims for; it is in the configuration "target" of the robot [m, rad].
    """

    direction: str | npt.ArrayLike
    _: KW_ONLY
    lower: float = -np.inf
    upper: float = np.inf
    velocity: float = np.inf
    effort: float = np.inf
    armature: float = 0.0
    damping: float = 0.0
    target: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "direction", _direction("direction", self.direction))
        for name in ("lower", "upper"):
            object.__setattr__(self, name, check_number(name, getattr(self, name)))
        if not self.lower <= self.upper:
            raise InvalidArgumentError(f"lower: expected lower <= upper, got {self.lower:g} and {self.upper:g}")
        for name in ("velocity", "effort"):
            object.__setattr__(self, name, check_limit(name, getattr(self, name)))
        for name in ("armature", "damping"):
            object.__setattr__(self, name, check_non_negative(name, getattr(self, name)))
        object.__setattr__(self, "target", check_finite("target", self.target))

    @property
    def vector(self) -> Reals:
        """The direction as a unit vector (3,)."""
        return np.asarray(self.direction)


def check_limit(argument: str, value: Any) -> float:
    """Returns a limit > 0, where inf means no limit; raises InvalidArgumentError for other values."""
    limit = check_number(argument, value)
    if not limit > 0:
        raise InvalidArgumentError(f"{argument}: expected a limit > 0, or inf for no limit, got {limit:g}")
    return limit


def axis_of(argument: str, value: Any) -> Axis:
    """Returns an Axis; a direction becomes an Axis without limits."""
    return value if isinstance(value, Axis) else Axis(_direction(argument, value))


def sliding_axes(argument: str, values: Sequence[Any]) -> list[Axis]:
    """Returns up to three Axis objects; raises InvalidArgumentError unless they are linearly independent."""
    axes = _axes(argument, values)
    if axes and np.linalg.matrix_rank(np.array([axis.vector for axis in axes]), tol=NEARLY) < len(axes):
        raise InvalidArgumentError(f"{argument}: expected axes in independent directions, got {_told(axes)}")
    return axes


def turning_axes(argument: str, values: Sequence[Any]) -> list[Axis]:
    """Returns up to three rotation axes, each perpendicular to the previous one.

    The second of two axes is made perpendicular to the first. Three axes must be perpendicular as passed.
    """
    axes = _axes(argument, values)
    for i in range(1, len(axes)):
        before, own = axes[i - 1].vector, axes[i].vector
        cosine = float(before @ own)
        if abs(cosine) > (1.0 - NEARLY if len(axes) == 2 else NEARLY):
            wanted = "two directions" if len(axes) == 2 else "each axis perpendicular to the previous one"
            raise InvalidArgumentError(f"{argument}: expected {wanted}, got {_told(axes)}")
        square = own - cosine * before
        if np.abs(square - own).max() > 0.0:
            axes[i] = replace(axes[i], direction=square)
    return axes


def _axes(argument: str, values: Any) -> list[Axis]:
    items = check_items(argument, values, "axes", cure='write ["x", "y"]')
    if len(items) > 3:
        raise InvalidArgumentError(f"{argument}: expected at most 3 axes, got {len(items)}")
    return [axis_of(f"{argument}[{i}]", value) for i, value in enumerate(items)]


def _direction(argument: str, value: Any) -> Reals:
    if isinstance(value, str):
        if value not in _NAMED:
            raise InvalidArgumentError(
                f"{argument}: expected one of {', '.join(_NAMED)}, or a vector (3,), got {shown(value)}"
            )
        return _NAMED[value].copy()
    vector = check_array(argument, value, (3,), cure='a direction is "x", "y", "z" or a vector (3,)')
    largest = float(np.abs(vector).max())
    if not largest > 0.0:
        raise InvalidArgumentError(f"{argument}: expected a direction, got a zero vector; pass 'x', 'y' or 'z'")
    vector /= largest  # avoids overflow of the squares
    return np.asarray(vector / np.linalg.norm(vector))


def _told(axes: Sequence[Axis]) -> str:
    return ", ".join(str(np.round(axis.vector, 6).tolist()) for axis in axes)
