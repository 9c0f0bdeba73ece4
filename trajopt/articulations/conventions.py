"""Conventions of twists and wrenches: their axes, their reference point, and the order of their parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from trajopt.articulations.maximal import NORM
from trajopt.articulations.rigid import cross, from_quaternions, rotated
from trajopt.checks import as_numbers, check_items, check_known
from trajopt.errors import InvalidArgumentError, shown
from trajopt.types import Reals

Convention = tuple[str, str, str]
AXES, POINTS, ORDERS = ("world", "body"), ("com", "origin", "world"), ("linear", "angular")
NAMED: dict[str, Convention] = {
    "newton": ("world", "com", "linear"),
    "pinocchio": ("body", "origin", "linear"),
    "pinocchio-world": ("world", "world", "linear"),
    "pinocchio-aligned": ("world", "origin", "linear"),
    "mujoco": ("world", "origin", "angular"),
    "drake": ("world", "origin", "angular"),
    "featherstone": ("body", "origin", "angular"),
}
"""Conventions by the name of the software that uses them: (axes, point, part that comes first)."""


def twist_convert(
    twists: npt.ArrayLike,
    poses: npt.ArrayLike,
    *,
    source: str | tuple[str, str, str],
    target: str | tuple[str, str, str],
    com: npt.ArrayLike = (0.0, 0.0, 0.0),
) -> Reals:
    """Converts twists (..., 6) of bodies between conventions: v_b = v_a + ω × (b - a) for points a, b of the body.

    | name                | axes  | point            | first   |
    |---------------------|-------|------------------|---------|
    | "newton"            | world | centre of mass   | linear  |
    | "pinocchio"         | body  | body's origin    | linear  |
    | "pinocchio-world"   | world | world's origin   | linear  |
    | "pinocchio-aligned" | world | body's origin    | linear  |
    | "mujoco", "drake"   | world | body's origin    | angular |
    | "featherstone"      | body  | body's origin    | angular |

    Args:
        twists: Twists (..., 6) [m/s, rad/s].
        poses: Poses of the bodies (..., 7): position and quaternion x, y, z, w in the world.
        source: Convention of `twists`: a name, or (axes, point, first), with axes "world" or "body", point "com",
            "origin" or "world", and "linear" or "angular" first.
        target: Convention of the result.
        com: Centres of mass in the bodies' axes, (3,) or (..., 3) [m].

    Raises:
        InvalidArgumentError: Sizes do not fit, numbers are not finite, or a quaternion is not normalised.
        UnknownNameError: The convention does not exist.
    """
    return _converted("twists", twists, poses, com, source, target)


def wrench_convert(
    wrenches: npt.ArrayLike,
    poses: npt.ArrayLike,
    *,
    source: str | tuple[str, str, str],
    target: str | tuple[str, str, str],
    com: npt.ArrayLike = (0.0, 0.0, 0.0),
) -> Reals:
    """Converts wrenches (..., 6) on bodies between conventions: n_b = n_a + (a - b) × f for points a, b.

    A wrench w and a twist t of the same convention have the power wᵀ t, whatever the convention. Forces have the place
    of linear velocities, moments that of angular velocities.

    Args:
        wrenches: Wrenches (..., 6) [N, N m].
        poses: As in `twist_convert`.
        source: As in `twist_convert`.
        target: As in `twist_convert`.
        com: As in `twist_convert`.

    Raises:
        InvalidArgumentError: As in `twist_convert`.
        UnknownNameError: As in `twist_convert`.
    """
    return _converted("wrenches", wrenches, poses, com, source, target)


def _converted(argument: str, vectors: Any, poses: Any, com: Any, source: Any, target: Any) -> Reals:
    """Converts twists or wrenches. The part that is equal at all points is ω for twists and f for wrenches."""
    start, end = _convention("source", source), _convention("target", target)
    array = _checked(argument, vectors, 6)
    placed = _checked("poses", poses, 7, array.shape[:-1])
    lever = _checked("com", com, 3, array.shape[:-1], one=True).reshape(-1, 3).T
    norms = np.linalg.norm(placed[..., 3:], axis=-1)
    if np.abs(norms - 1.0).max(initial=0.0) > NORM:
        raise InvalidArgumentError("poses: expected quaternions of norm 1, got other norms; divide by their norms")
    flat, pose = array.reshape(-1, 6).T, placed.reshape(-1, 7).T
    R = from_quaternions(pose[3:])
    linear, angular = (flat[:3], flat[3:]) if start[2] == "linear" else (flat[3:], flat[:3])
    if start[0] == "body":
        linear, angular = rotated(R, linear), rotated(R, angular)
    arm = _point(end[1], pose[:3], R, lever) - _point(start[1], pose[:3], R, lever)
    if argument == "twists":
        linear = linear + cross(angular, arm)
    else:
        angular = angular + cross(linear, arm)
    if end[0] == "body":
        back = R.transpose(1, 0, 2)
        linear, angular = rotated(back, linear), rotated(back, angular)
    parts = (linear, angular) if end[2] == "linear" else (angular, linear)
    return np.concatenate(parts).T.reshape(array.shape)


def _point(name: str, origin: Reals, R: Reals, com: Reals) -> Reals:
    """Position of a reference point in the world (3, N)."""
    return {"world": np.zeros((3, 1)), "origin": origin, "com": origin + rotated(R, com)}[name]


def _convention(argument: str, value: Any) -> Convention:
    if isinstance(value, str):
        return NAMED[check_known(f"{argument}: convention", value, NAMED)]
    parts = check_items(argument, value, "strings", cure='write "newton", or ("world", "com", "linear")')
    if len(parts) != 3:
        raise InvalidArgumentError(f"{argument}: expected (axes, point, first), got {shown(value)}")
    for part, valid, what in zip(parts, (AXES, POINTS, ORDERS), ("axes", "point", "first")):
        check_known(f"{argument}: {what}", part, valid)
    return parts[0], parts[1], parts[2]


def _checked(argument: str, value: Any, size: int, lead: tuple[int, ...] | None = None, one: bool = False) -> Reals:
    """Returns finite numbers (lead..., size); with `one`, a single row (size,) is valid for all."""
    array = as_numbers(argument, value)
    if one and array.shape == (size,):
        return array
    wanted = array.shape[:-1] if lead is None else lead
    if array.shape != (*wanted, size) or array.ndim < 1:
        raise InvalidArgumentError(f"{argument}: expected shape {(*wanted, size)}, got {array.shape}")
    if not np.isfinite(array).all():
        raise InvalidArgumentError(f"{argument}: expected finite numbers, got NaN or infinity; remove those states")
    return array
