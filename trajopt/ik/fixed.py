"""Joints that inverse kinematics leave as they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from trajopt.checks import check_mapping, shape_of
from trajopt.errors import InvalidArgumentError, shown, unknown_name
from trajopt.ik.coordinates import SIMPLE, coordinates
from trajopt.states.joint_spaces import joint_spaces
from trajopt.states.state_multibody import StateMultibody
from trajopt.types import Reals


def fixed_joints(
    state: StateMultibody, fixed: Mapping[str, Any] | None, *, limits: bool
) -> dict[str, tuple[float, ...]]:
    """Checked coordinates by joint, in the order of the joints.

    Args:
        state: State of the robot.
        fixed: Coordinates by name of a joint: a length, an angle, or all its coordinates in q [m, rad].
        limits: Whether they must be within the limits of their joints.

    Raises:
        UnknownNameError: The robot has no joint of this name.
        InvalidArgumentError: Coordinates have the wrong size, are not finite, are no configuration, or beyond limits.
    """
    if fixed is None:
        return {}
    given = check_mapping("fixed", fixed, 'pass {"panda_joint4": -2.0}')
    joints = {joint.label: joint for joint in joint_spaces(state.model)}
    for name in given:
        if name not in joints:
            raise unknown_name("fixed: joint", name, list(joints))
    q = state.zero()[: state.nq]
    for name, value in given.items():
        joint = joints[name]
        nq, is_angle = joint.space.nq, (joint.space.nq, joint.space.nv) == (2, 1) and shape_of(value) == ()
        try:
            own = np.asarray(value, dtype=np.float64)
            q[joint.q] = [np.cos(own), np.sin(own)] if is_angle else own.reshape(nq)
        except (TypeError, ValueError):
            expected = "a number" if nq == 1 else f"{nq} coordinates"
            raise InvalidArgumentError(f"fixed[{name!r}]: expected {expected}, got {shown(value)}") from None
    if not np.all(np.isfinite(q)):
        raise InvalidArgumentError(f"fixed: expected finite numbers, got {shown(fixed)}")
    q = state.check(state.at_rest(q), "fixed")
    for name in given if limits else ():
        joint = joints[name]
        low, high = state.lower[joint.v], state.upper[joint.v]
        at = coordinates(state, q[None, : state.nq])[0, joint.v]
        if isinstance(joint.space, SIMPLE) and not np.all((low <= at) & (at <= high)):
            raise InvalidArgumentError(
                f"fixed[{name!r}]: expected {low[0]:g} to {high[0]:g}, the limits of the joint, got {at[0]:g}; or pass "
                "limits=False"
            )
    return {name: tuple(q[joint.q].tolist()) for name, joint in joints.items() if name in given}


def columns(state: StateMultibody, fixed: Iterable[str]) -> list[int]:
    """Indices of the tangent coordinates of these joints."""
    names = set(fixed)
    return [i for j in joint_spaces(state.model) if j.label in names for i in range(j.v.start, j.v.stop)]


def hold(state: StateMultibody, fixed: Mapping[str, tuple[float, ...]], q: Reals) -> Reals:
    """Configurations (..., nq) with these joints where they are held."""
    held = q.copy()
    for joint in joint_spaces(state.model) if fixed else ():
        if joint.label in fixed:
            held[..., joint.q] = fixed[joint.label]
    return held
