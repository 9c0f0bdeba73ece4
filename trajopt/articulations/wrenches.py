"""Velocities and forces of joints in Newton's and in Pinocchio's convention.

The two conventions differ only for ball and free joints.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from trajopt.articulations.joints import ChainJoint, joints_of
from trajopt.articulations.maximal import CONVENTIONS, states_of
from trajopt.articulations.rigid import cross, from_quaternions, rotated
from trajopt.checks import check_array, check_instance, check_known, shape_of
from trajopt.errors import InvalidArgumentError
from trajopt.robots import Robot
from trajopt.types import Reals


def velocity_convert(robot: Robot, q: npt.ArrayLike, v: npt.ArrayLike, *, source: str, target: str) -> Reals:
    """Converts joint velocities (nv,) or (N, nv) between Newton's joint_qd and Pinocchio's v.

        ball   Newton: ω in the axes of the joint's frame on the parent; Pinocchio: Rᵀ ω, in the child's axes
        free   Newton: (v_com, ω) in the axes of the parent; Pinocchio: (Rᵀ v_o, Rᵀ ω), v_o = v_com - ω × R c

    Args:
        robot: The robot.
        q: Configurations (nq,) or (N, nq).
        v: Velocities (nv,) or (N, nv).
        source: Convention of `v`: "newton" or "pinocchio".
        target: Convention of the result.

    Raises:
        InvalidArgumentError: Sizes do not fit, or numbers are not finite.
        UnknownNameError: The convention does not exist.
        UnsupportedOperationError: The type of a joint is not supported.
    """
    return _converted(robot, q, v, source, target, forces=False)


def effort_convert(robot: Robot, q: npt.ArrayLike, tau: npt.ArrayLike, *, source: str, target: str) -> Reals:
    """Converts generalised forces (nv,) or (N, nv) between Newton's joint_f and Pinocchio's τ.

    τᵀ v is the power in either convention. Newton's force of a free joint is a wrench at the centre of mass, in the
    axes of the parent (the world for a floating base).

    Args:
        robot: The robot.
        q: Configurations (nq,) or (N, nq).
        tau: Forces and torques (nv,) or (N, nv) [N, N m].
        source: Convention of `tau`: "newton" or "pinocchio".
        target: Convention of the result.

    Raises:
        InvalidArgumentError: Sizes do not fit, or numbers are not finite.
        UnknownNameError: The convention does not exist.
        UnsupportedOperationError: The type of a joint is not supported.
    """
    return _converted(robot, q, tau, source, target, forces=True)


def apply_free_joint_wrench(robot: Robot, q: npt.ArrayLike, wrench: npt.ArrayLike, joint: str | None = None) -> Reals:
    """Generalised forces τ = Jᵀ w, (nv,) or (N, nv), from a wrench at the centre of mass of a body on a free joint.

    Args:
        robot: The robot.
        q: Configurations (nq,) or (N, nq).
        wrench: Force and moment about the centre of mass, (6,) or (N, 6), in the axes of the joint's frame on the
            parent, which are the world's for a floating base [N, N m].
        joint: Name of the free joint; by default the first one.

    Raises:
        InvalidArgumentError: Sizes do not fit, numbers are not finite, or the joint is not free.
        UnknownNameError: The joint does not exist.
        UnsupportedOperationError: The type of a joint is not supported.
    """
    check_instance("robot", robot, Robot, "load_robot returns one")
    model = robot.model
    free = [i for i in range(1, model.njoints) if model.joints[i].shortname() == "JointModelFreeFlyer"]
    if not free or (joint is not None and robot.joint_id(joint) not in free):
        names = ", ".join(repr(model.names[i]) for i in free) or "none"
        got = "none" if joint is None else repr(joint)
        raise InvalidArgumentError(f"joint: expected a free joint, got {got}; those of {robot.name!r} are {names}")
    chosen = model.joints[free[0] if joint is None else robot.joint_id(joint)]
    many = shape_of(q)[:-1]
    wrenches = check_array("wrench", wrench, (*many, 6), cure="force and moment of each configuration")
    tau = np.zeros((*many, robot.nv))
    tau[..., chosen.idx_v : chosen.idx_v + 6] = wrenches
    return _converted(robot, q, tau, "newton", "pinocchio", forces=True)


def _converted(robot: Robot, q: npt.ArrayLike, x: npt.ArrayLike, source: str, target: str, *, forces: bool) -> Reals:
    check_instance("robot", robot, Robot, "load_robot returns one")
    check_known("source: convention", source, CONVENTIONS)
    check_known("target: convention", target, CONVENTIONS)
    qs, xs = states_of(robot, q, x, "tau" if forces else "v")
    if source != target:
        for i, joint in enumerate(joints_of(robot.model), start=1):
            part = joint.parts[0]
            if part.kind in ("spherical", "free_flyer"):
                own = _turned(part, robot.model.inertias[i], qs.T, xs[:, part.v].T, target, forces)
                xs[:, part.v] = own.T
    return xs if np.ndim(q) == 2 else xs[0]


def _turned(part: ChainJoint, inertia: pin.Inertia, q: Reals, x: Reals, target: str, forces: bool) -> Reals:
    """Converts velocities or forces (3 or 6, N) of a ball or free joint to the other convention."""
    R = from_quaternions(q[part.q][-4:])
    if target == "pinocchio":
        R = R.transpose(1, 0, 2)
    if part.kind == "spherical":
        return rotated(R, x)
    com = np.array(inertia.lever)[:, None]
    if target == "newton":  # to the centre of mass, then to the parent's axes
        return np.concatenate([rotated(R, part) for part in _shifted(x[:3], x[3:], com, forces)])
    return np.concatenate(_shifted(rotated(R, x[:3]), rotated(R, x[3:]), -com, forces))


def _shifted(first: Reals, second: Reals, arm: Reals, forces: bool) -> tuple[Reals, Reals]:
    """Wrench (force, moment), or twist (linear, angular), at a point moved by `arm`."""
    return (first, second - cross(arm, first)) if forces else (first + cross(second, arm), second)
