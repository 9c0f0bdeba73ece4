"""Checks of rotations, placements, twists and reference frames that users pass."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from trajopt.checks import check_array, check_known, shape_of
from trajopt.errors import InvalidArgumentError
from trajopt.types import Reals

NORM_TOLERANCE = 1e-6
"""Tolerance for norms of quaternions and points on the unit circle, and for RᵀR - I [-]."""


class Workspace(threading.local):
    """Data of Pinocchio, one for each thread: making them takes up to 400 times as long as kinematics.

    Args:
        model: The model.

    Attributes:
        data: Data of the model.
    """

    def __init__(self, model: pin.Model) -> None:
        self.data: pin.Data = model.createData()


def check_quaternion(argument: str, value: Any) -> Reals:
    """Returns a quaternion xyzw (4,) with norm 1 up to rounding; raises InvalidArgumentError for any other value."""
    quaternion = check_array(argument, value, (4,))
    norm = float(np.linalg.norm(quaternion))
    if abs(norm - 1.0) > NORM_TOLERANCE:
        raise InvalidArgumentError(
            f"{argument}: expected a quaternion xyzw of norm 1, got norm {norm:.6g}; divide it by its norm"
        )
    return quaternion / norm


def check_rotation(argument: str, value: Any) -> Reals:
    """Returns a rotation matrix (3, 3), from a matrix or a unit quaternion xyzw (4,); else InvalidArgumentError."""
    if isinstance(value, pin.Quaternion):
        value = value.coeffs()
    if shape_of(value) == (4,):
        return np.array(pin.Quaternion(check_quaternion(argument, value)).toRotationMatrix())
    rotation = check_array(argument, value, (3, 3), cure="pass a rotation matrix (3, 3) or a quaternion xyzw (4,)")
    if np.abs(rotation.T @ rotation - np.eye(3)).max() > NORM_TOLERANCE or np.linalg.det(rotation) < 0:
        raise InvalidArgumentError(
            f"{argument}: expected a rotation matrix (RᵀR = I, det R = 1), got {rotation.tolist()}; compute one with "
            "pinocchio.exp3 or pinocchio.rpy.rpyToMatrix, or pass a unit quaternion xyzw (4,)"
        )
    return rotation


def check_placement(argument: str, value: Any) -> Reals:
    """Returns a placement as a matrix (3, 4): rotation (3, 3) and position (3,) [-, m].

    Args:
        argument: Name of the argument, for the message.
        value: A pinocchio.SE3, a homogeneous matrix (4, 4) or (3, 4), or position and quaternion xyzw (7,).

    Raises:
        InvalidArgumentError: `value` is none of these.
    """
    if isinstance(value, pin.SE3):
        value = value.homogeneous
    shape = shape_of(value)
    if shape == (7,):
        array = check_array(argument, value, (7,))
        return np.column_stack([check_rotation(argument, array[3:]), array[:3]])
    if shape not in ((4, 4), (3, 4)):
        raise InvalidArgumentError(
            f"{argument}: expected a pinocchio.SE3, a matrix (4, 4), or position and quaternion xyzw (7,), got "
            f"{type(value).__name__} of shape {shape}"
        )
    array = check_array(argument, value, shape)
    placement = np.column_stack([check_rotation(argument, array[:3, :3]), array[:3, 3]])
    if not has_last_row(array):
        raise InvalidArgumentError(
            f"{argument}: expected a matrix (4, 4) with the last row (0, 0, 0, 1), got {array[3].tolist()}; its "
            "position belongs in the last column"
        )
    return placement


def has_last_row(matrices: Reals) -> bool:
    """Whether the last rows of all matrices (..., 4, 4) are (0, 0, 0, 1); True for matrices (..., 3, 4)."""
    return bool(np.all(np.abs(matrices[..., 3:, :] - [0.0, 0.0, 0.0, 1.0]) <= NORM_TOLERANCE))


def check_twist(argument: str, value: Any) -> Reals:
    """Returns a spatial velocity (6,) [m/s, rad/s], linear part first, from an array or a pinocchio.Motion."""
    return check_array(argument, value, (6,), cure="pass a pinocchio.Motion or (linear, angular) velocity")


def check_reference_frame(argument: str, value: Any) -> pin.ReferenceFrame:
    """Returns a pinocchio.ReferenceFrame, from itself or its name in lower case; raises UnknownNameError otherwise."""
    names = {
        "local": pin.ReferenceFrame.LOCAL,
        "world": pin.ReferenceFrame.WORLD,
        "local_world_aligned": pin.ReferenceFrame.LOCAL_WORLD_ALIGNED,
    }
    if isinstance(value, pin.ReferenceFrame):
        return value
    return names[check_known(f"{argument}: reference frame", value, names)]


def check_configuration(model: pin.Model, argument: str, q: npt.ArrayLike) -> Reals:
    """Returns a configuration (nq,); raises InvalidArgumentError for another size or rotations without norm 1."""
    cure = f"a configuration of {model.name} is x[:{model.nq}] of a state x"
    checked = check_array(argument, q, (model.nq,), cure=cure)
    if not pin.isNormalized(model, checked, NORM_TOLERANCE):
        raise InvalidArgumentError(
            f"{argument}: expected rotations with coordinates of norm 1 (within {NORM_TOLERANCE}), got {checked}; "
            "use pinocchio.normalize(robot.model, q)"
        )
    return checked


def check_configurations(model: pin.Model, q: npt.ArrayLike) -> Reals:
    """Returns configurations (n, nq) of one (nq,) or several (n, nq); raises as `check_configuration`."""
    rows = np.asarray(q, dtype=object)
    if rows.ndim != 2:
        return check_configuration(model, "q", q)[None]
    checked = [check_configuration(model, f"q[{i}]", row) for i, row in enumerate(rows)]
    return np.array(checked).reshape(-1, model.nq)
