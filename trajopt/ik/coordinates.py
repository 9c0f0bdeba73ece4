"""Coordinates that may have limits: lengths and angles of joints, also of those that turn without end."""

from __future__ import annotations

import casadi as ca
import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.errors import InvalidArgumentError, UnsupportedOperationError
from trajopt.states.joint_spaces import JointSpace, joint_spaces
from trajopt.states.spaces import CircleSpace, VectorSpace
from trajopt.states.state_multibody import StateMultibody
from trajopt.types import Reals

SIMPLE = (VectorSpace, CircleSpace)
"""Spaces whose coordinates may have limits."""


def limited(state: StateMultibody) -> npt.NDArray[np.bool_]:
    """Whether each tangent coordinate may have limits (nv,)."""
    mask = np.zeros(state.nv, np.bool_)
    for joint in joint_spaces(state.model):
        mask[joint.v] = isinstance(joint.space, SIMPLE)
    return mask


def limits(state: StateMultibody) -> tuple[Reals, Reals]:
    """Lower and upper limits of q ⊖ neutral, (nv,) each, ±inf for no limit [rad, m].

    A continuous joint with one limit has ±π as the other, because its angle is in (-π, π].

    Raises:
        InvalidArgumentError: A limit of a continuous joint is not between -π and π.
        UnsupportedOperationError: Limits on coordinates other than lengths and angles, which form no box.
    """
    low, high = state.lower[: state.nv].copy(), state.upper[: state.nv].copy()
    for joint in joint_spaces(state.model):
        bounds = np.r_[low[joint.v], high[joint.v]]
        if not np.isfinite(bounds).any():
            continue
        if not isinstance(joint.space, SIMPLE):
            raise UnsupportedOperationError(
                f"limits: expected no limits of joint {joint.label!r}, which is not a simple coordinate, got some in "
                "the state's bounds; add ResidualModelState as a constraint instead"
            )
        if isinstance(joint.space, CircleSpace):
            if np.any(np.isfinite(bounds) & (np.abs(bounds) > np.pi)):
                raise InvalidArgumentError(
                    f"limits: expected angles from -π to π for the continuous joint {joint.label!r}, got {bounds[0]:g} "
                    f"and {bounds[1]:g} in the state's bounds; measure them from its neutral configuration"
                )
            low[joint.v], high[joint.v] = np.clip(bounds, -np.pi, np.pi)
    return low, high


def coordinate(joint: JointSpace, q: SX) -> SX:
    """q ⊖ neutral of a joint that may have limits, as an expression of a configuration (nq,); an angle in (-π, π]."""
    own = q[joint.q]
    return SX(ca.atan2(own[1], own[0])) if isinstance(joint.space, CircleSpace) else SX(own)


def coordinates(state: StateMultibody, q: Reals) -> Reals:
    """q ⊖ neutral (n, nv) of configurations (n, nq), 0 where there are no limits."""
    result = np.zeros((len(q), state.nv))
    for joint in joint_spaces(state.model):
        own = q[:, joint.q]
        if isinstance(joint.space, CircleSpace):
            result[:, joint.v] = np.arctan2(own[:, 1:], own[:, :1])
        elif isinstance(joint.space, VectorSpace):
            result[:, joint.v] = own
    return result


def clipped(joint: JointSpace, q: SX, step: SX, low: SX, high: SX) -> SX:
    """Coordinates q ⊕ step of a joint (nq,), exactly within limits.

    Args:
        joint: The joint.
        q: Its coordinates (nq,) before.
        step: The step (nv,).
        low: Its lower limits (nv,); -inf for no limit.
        high: Its upper limits (nv,); inf for no limit.
    """
    moved = joint.space.integrate(q, step)
    if isinstance(joint.space, VectorSpace):
        return SX(ca.fmin(ca.fmax(moved, low), high))
    if isinstance(joint.space, CircleSpace):
        angle = ca.atan2(q[1], q[0]) + step
        inside = ca.fmin(ca.fmax(angle, low), high)
        return SX(ca.if_else(angle == inside, moved, ca.vertcat(ca.cos(inside), ca.sin(inside))))
    return SX(moved)


def placed(joint: JointSpace, angle: Reals) -> Reals:
    """Coordinates (n, nq) of a joint that may have limits, from q ⊖ neutral (n, nv)."""
    if isinstance(joint.space, CircleSpace):
        return np.hstack([np.cos(angle), np.sin(angle)])
    return angle
