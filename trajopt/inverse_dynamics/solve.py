"""Inverse dynamics with and without contacts, at single times and over a motion.

Source: functions of Nimble (Werling et al., Fast and feature-complete differentiable physics, RSS 2021). Nimble orders
wrenches as (torque, force); here they are (force, torque).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from trajopt.checks import as_numbers, check_array, check_flag, check_known, check_non_negative, check_positive
from trajopt.errors import InvalidArgumentError, shown
from trajopt.inverse_dynamics.cones import ConeRows, bounded_wrenches, cone_rows
from trajopt.inverse_dynamics.contact import ContactFrame, checked_contacts, columns_of
from trajopt.inverse_dynamics.kinetics import FRAMES, Kinetics, kinetics, motors
from trajopt.inverse_dynamics.least import WrenchCost, least_wrenches
from trajopt.inverse_dynamics.motion import Motion
from trajopt.inverse_dynamics.result import ContactInverseDynamics
from trajopt.robots import Robot
from trajopt.types import Reals

Contacts = str | ContactFrame | Sequence[str | ContactFrame]


def inverse_dynamics(
    robot: Robot,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    a: npt.ArrayLike | None = None,
    *,
    next_velocity: npt.ArrayLike | None = None,
    dt: float | None = None,
) -> Reals:
    """Generalized forces M a + C v + g of given accelerations (nv,) or (N, nv) [N m, N], including a floating base.

    Args:
        robot: The robot.
        q: Configuration (nq,), or configurations (N, nq).
        v: Velocities (nv,) or (N, nv).
        a: Accelerations (nv,) or (N, nv).
        next_velocity: Velocities after a step (nv,) or (N, nv), in place of accelerations a = (next_velocity - v) / dt,
            as in Nimble.
        dt: Time step of `next_velocity` [s].

    Raises:
        InvalidArgumentError: Sizes do not fit, numbers are not finite, or a rotation is not normalized.
    """
    forces = kinetics(_motion(robot, q, v, _accelerations(v, a, next_velocity, dt)), (), "local").h
    return forces if np.ndim(q) == 2 else forces[0]


def contact_inverse_dynamics(
    robot: Robot,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    a: npt.ArrayLike | None = None,
    contact: str | ContactFrame | None = None,
    *,
    next_velocity: npt.ArrayLike | None = None,
    dt: float | None = None,
    axes: str = "local",
) -> ContactInverseDynamics:
    """Torques, and the single contact wrench that supports the base: w = (J_baseᵀ)⁺ h_base, τ = h - Jᵀ w.

    Args:
        robot: Robot with a floating base.
        q: Configuration (nq,), or configurations (N, nq).
        v: Velocities (nv,) or (N, nv).
        a: Accelerations (nv,) or (N, nv).
        contact: Frame that touches the world; a name is a sole.
        next_velocity: Velocities after a step (nv,) or (N, nv), in place of accelerations a = (next_velocity - v) / dt,
            as in Nimble.
        dt: Time step of `next_velocity` [s].
        axes: Axes of the wrench, "local" or "world".

    Raises:
        InvalidArgumentError: As in `inverse_dynamics`, or the robot's base is fixed.
        UnknownNameError: The robot has no frame of this name.
    """
    if contact is None:
        raise InvalidArgumentError("contact: expected the name of a frame or a ContactFrame, got none")
    return multiple_contact_inverse_dynamics(robot, q, v, a, [contact], next_velocity=next_velocity, dt=dt, axes=axes)


def multiple_contact_inverse_dynamics(
    robot: Robot,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    a: npt.ArrayLike | None = None,
    contacts: Contacts = (),
    *,
    next_velocity: npt.ArrayLike | None = None,
    dt: float | None = None,
    stands: npt.ArrayLike | None = None,
    guesses: npt.ArrayLike | None = None,
    moment_weight: float = 1.0,
    force_weight: float = 0.01,
    joint_weight: float = 0.0,
    torque_limits: bool = False,
    axes: str = "local",
) -> ContactInverseDynamics:
    """Torques, and the contact wrenches of least cost that support the base, independently at each time.

    The wrenches minimise joint_weight ‖τ‖² + Σ_j (moment_weight ‖moment_j‖² + force_weight ‖force_j‖²), or with guesses
    joint_weight ‖τ‖² + Σ_j ‖w_j - guess_j‖², subject to Σ_j (J_jᵀ w_j)_base = h_base. Here moments and forces are those
    of the contacts, and τ = h - Σ_j J_jᵀ w_j are the torques of the joints. For the smallest joint torques, pass
    joint_weight=1, moment_weight=0 and a small force_weight such as 1e-9. If this has no solution, as in the air, they
    have the least residual.

    Args:
        robot: Robot with a floating base.
        q: Configuration (nq,), or configurations (N, nq).
        v: Velocities (nv,) or (N, nv).
        a: Accelerations (nv,) or (N, nv).
        contacts: k ContactFrames, or names of frames, which are soles without cones.
        next_velocity: Velocities after a step (nv,) or (N, nv), in place of accelerations a = (next_velocity - v) / dt,
            as in Nimble.
        dt: Time step of `next_velocity` [s].
        stands: Which contacts touch the world (N, k) or (k,); by default all at all times.
        guesses: Target wrenches (N, k, 6) or (k, 6), force before torque in `axes` [N, N m].
        moment_weight: Weight of moments of the contacts, not of torques of the joints [1/(N m)²].
        force_weight: Weight of forces of the contacts [1/N²].
        joint_weight: Weight of torques of the joints [1/(N m)²].
        torque_limits: Whether to keep the robot's torque limits, if possible.
        axes: Axes of wrenches, "local" or "world"; they act at the frame's origin.

    Raises:
        InvalidArgumentError: Sizes do not fit, numbers are not finite, or the robot's base is fixed.
        UnknownNameError: The robot has no frame of this name.
    """
    motion = _motion(robot, q, v, _accelerations(v, a, next_velocity, dt))
    frames = checked_contacts(robot, contacts)
    targets = None if guesses is None else _each_time("guesses", guesses, len(motion), (len(frames), 6))
    W = _weights(frames, moment_weight, force_weight)
    P = np.tile(W if targets is None else np.ones_like(W), (len(motion), 1))
    p = np.zeros_like(P) if targets is None else targets.reshape(len(motion), -1)[:, columns_of(frames)]
    k = _kinetics(motion, frames, axes)
    cost, on = _cost(k, frames, P, p, joint_weight), _stands(stands, motion, frames)
    return _solved(motion, frames, k, axes, on, cost, torque_limits, guesses=targets)


def multiple_contact_inverse_dynamics_over_time(
    motion: Motion,
    contacts: Contacts,
    *,
    stands: npt.ArrayLike | None = None,
    smoothness: float = 1.0,
    least_wrench: float = 1.0,
    velocity_penalty: Callable[[Reals], npt.ArrayLike] | None = None,
    magnitude_costs: npt.ArrayLike | None = None,
    previous_wrenches: npt.ArrayLike | None = None,
    previous_weight: float = 0.0,
    guesses: npt.ArrayLike | None = None,
    guess_weight: float = 1.0,
    moment_weight: float = 1.0,
    force_weight: float = 0.01,
    joint_weight: float = 0.0,
    torque_limits: bool = False,
    axes: str = "local",
) -> ContactInverseDynamics:
    """Finds contact wrenches of a motion that are small and change little over time, and the torques with them.

    minimise Σ_i least_wrench Σ_j (moment_weight ‖moment_ij‖² + force_weight ‖force_ij‖²) + smoothness ‖w_{i+1} - w_i‖²
           + Σ_ij (velocity_penalty(‖v_ij‖²) + magnitude_costs_ij) ‖w_ij‖² + guess_weight ‖w_ij - guess_ij‖²
           + previous_weight ‖w_0 - previous_wrenches‖² + joint_weight Σ_i ‖τ_i‖²
    subject to Σ_j (J_jᵀ w_ij)_base = h_base, and to the cones of the contacts

    w_ij is the wrench of contact j at time i, with its force and moment; v_ij is the velocity of its frame, and J_j the
    frame's Jacobian. h = M a + C v + g are the generalized forces of the motion, and h_base those of the base. The
    torques of the joints τ_i = h_i - Σ_j J_jᵀ w_ij follow from the wrenches; by default they have no weight.

    Time and memory grow linearly with the number of times. If cones or a flight phase make the base equation
    infeasible, `base_residual` is the missing force.

    Args:
        motion: Motion with N times.
        contacts: k ContactFrames; a name stands for a ContactFrame of kind "sole" without a cone.
        stands: Which contacts touch the world (N, k) or (k,), see `find_contacts`; by default all at all times.
        smoothness: Weight of changes [1/N², 1/(N m)²].
        least_wrench: Weight of wrenches [-].
        velocity_penalty: Function that maps the squared speeds of frames [m²/s²], an array of any shape, to weights of
            their wrenches.
        magnitude_costs: Weights of single wrenches (N, k), >= 0.
        previous_wrenches: Wrenches before the first time (k, 6), force before torque in `axes` [N, N m].
        previous_weight: Weight of the distance of the first wrenches to the previous ones.
        guesses: Target wrenches (N, k, 6) or (k, 6) [N, N m].
        guess_weight: Weight of the distance to the target wrenches.
        moment_weight: Weight of moments of the contacts in `least_wrench`, not of torques of the joints [1/(N m)²].
        force_weight: Weight of forces of the contacts in `least_wrench` [1/N²].
        joint_weight: Weight of torques of the joints [1/(N m)²].
        torque_limits: Whether to keep the robot's torque limits, if possible.
        axes: Axes of wrenches, "local" or "world"; they act at the frame's origin.

    Returns:
        Wrenches (N, k, 6) [N, N m], torques (N, nv) [N m, N], and `base_residual` (N, 6) [N, N m].

    Raises:
        InvalidArgumentError: Sizes do not fit, weights are negative or leave wrenches undetermined, numbers are not
            finite, or the robot's base is fixed.
        UnknownNameError: The robot has no frame of this name.
    """
    Motion.check(motion)
    frames = checked_contacts(motion.robot, contacts)
    k, n, columns = _kinetics(motion, frames, axes), len(motion), columns_of(frames)
    P = np.tile(
        check_non_negative("least_wrench", least_wrench) * _weights(frames, moment_weight, force_weight), (n, 1)
    )
    p, of = np.zeros_like(P), columns // 6
    if velocity_penalty is not None:
        P += _penalties("velocity_penalty", _called(velocity_penalty, k.speeds), k.speeds.shape)[:, of]
    if magnitude_costs is not None:
        P += _penalties("magnitude_costs", magnitude_costs, k.speeds.shape)[:, of]
    targets = before = None
    weight = check_non_negative("guess_weight", guess_weight)
    if guesses is not None:
        targets = _each_time("guesses", guesses, n, (len(frames), 6))
        P += weight
        p += weight * targets.reshape(n, -1)[:, columns]
    weight = check_non_negative("previous_weight", previous_weight)
    if weight and previous_wrenches is None:
        raise InvalidArgumentError("previous_wrenches: expected wrenches (k, 6) because of previous_weight, got None")
    if previous_wrenches is not None:
        before = check_array("previous_wrenches", previous_wrenches, (len(frames), 6))
        P[0] += weight
        p[0] += weight * before.ravel()[columns]
    cost = _cost(k, frames, P, p, joint_weight, smoothness)
    on = _stands(stands, motion, frames)
    return _solved(motion, frames, k, axes, on, cost, torque_limits, guesses=targets, previous_wrenches=before)


def _accelerations(v: Any, a: Any, next_velocity: Any, dt: float | None) -> npt.ArrayLike:
    """Accelerations that were passed, or those that lead to the next velocities."""
    if (a is None) == (next_velocity is None) or (next_velocity is None) != (dt is None):
        raise InvalidArgumentError("a, next_velocity: expected accelerations a, or next_velocity= with dt=")
    if a is not None:
        given: npt.ArrayLike = a
        return given
    before, after = as_numbers("v", v), as_numbers("next_velocity", next_velocity)
    if before.shape != after.shape:
        raise InvalidArgumentError(f"next_velocity: expected the shape of v, {before.shape}, got {after.shape}")
    return np.asarray((after - before) / check_positive("dt", dt, unit="s"))


def _motion(robot: Robot, q: npt.ArrayLike, v: npt.ArrayLike, a: npt.ArrayLike) -> Motion:
    """Motion of independent times."""
    rows = [as_numbers(name, value) for name, value in (("q", q), ("v", v), ("a", a))]
    if len({row.ndim for row in rows}) > 1 or rows[0].ndim not in (1, 2):
        shapes = ", ".join(str(row.shape) for row in rows)
        raise InvalidArgumentError(f"q, v, a: expected (nq,), (nv,), (nv,), or rows of each, got shapes {shapes}")
    q2, v2, a2 = (np.atleast_2d(row) for row in rows)
    times = np.arange(float(len(q2)))
    return Motion(robot=robot, times=times, positions=q2, velocities=v2, accelerations=a2)


def _kinetics(motion: Motion, contacts: Sequence[ContactFrame], axes: str) -> Kinetics:
    return kinetics(motion, [contact.frame for contact in contacts], check_known("axes", axes, FRAMES))


def _weights(contacts: Sequence[ContactFrame], moment: float, force: float) -> Reals:
    """Weights of all wrench elements (W,)."""
    each = np.repeat([check_non_negative("force_weight", force), check_non_negative("moment_weight", moment)], 3)
    return np.concatenate([each[: contact.size] for contact in contacts])


def _transposed(k: Kinetics, contacts: Sequence[ContactFrame]) -> Reals:
    """Matrices Jᵀ that map wrench elements to generalized forces (N, nv, W)."""
    n, nv = k.h.shape
    return k.J.reshape(n, -1, nv)[:, columns_of(contacts)].transpose(0, 2, 1)


def _cost(
    k: Kinetics, contacts: Sequence[ContactFrame], P: Reals, p: Reals, joints: float, smoothness: float = 0.0
) -> WrenchCost:
    """Cost of wrench elements with weights P, p (N, W), of torques h - Jᵀ w of the joints, and of changes."""
    JT, weight = _transposed(k, contacts)[:, 6:], check_non_negative("joint_weight", joints)
    full = np.einsum("nw,wv->nwv", P, np.eye(P.shape[1])) + weight * JT.transpose(0, 2, 1) @ JT
    of_torques = weight * np.einsum("nvw,nv->nw", JT, k.h[:, 6:])
    return WrenchCost(full, p + of_torques, check_non_negative("smoothness", smoothness))


def _each_time(name: str, value: npt.ArrayLike, count: int, shape: tuple[int, ...]) -> Reals:
    """Array (count, *shape), either as passed or repeated from one of `shape`."""
    numbers = as_numbers(name, value)
    if numbers.ndim == len(shape):
        return np.tile(check_array(name, numbers, shape), (count, *(1 for _ in shape)))
    return check_array(name, numbers, (count, *shape))


def _called(penalty: Any, speeds: Reals) -> Any:
    words = "velocity_penalty: expected a function of the squared speeds of the frames [m²/s²], an array of any shape"
    if not callable(penalty):
        raise InvalidArgumentError(f"{words}, got {shown(penalty)}")
    try:
        return penalty(speeds)
    except (TypeError, ValueError) as error:  # wrong number of arguments, or not vectorized
        raise InvalidArgumentError(f"{words}; the call raised: {error}") from error


def _penalties(name: str, value: Any, shape: tuple[int, ...]) -> Reals:
    weights = check_array(name, value, shape, cure="one weight for each time and contact")
    if weights.min(initial=0.0) < 0:
        raise InvalidArgumentError(f"{name}: expected weights >= 0, got {weights.min():g}")
    return weights


def _stands(stands: npt.ArrayLike | None, motion: Motion, contacts: Sequence[ContactFrame]) -> npt.NDArray[np.bool_]:
    n, k = len(motion), len(contacts)
    if stands is None:
        return np.ones((n, k), dtype=bool)
    flags = _each_time("stands", as_numbers("stands", stands, "True or False"), n, (k,))
    if not np.isin(flags, (0.0, 1.0)).all():
        raise InvalidArgumentError(
            "stands: expected True if a contact touches the world and False if not, got other numbers"
        )
    return flags.astype(bool)


def _solved(
    motion: Motion,
    contacts: list[ContactFrame],
    k: Kinetics,
    axes: str,
    stands: npt.NDArray[np.bool_],
    cost: WrenchCost,
    torque_limits: bool,
    **fields: Any,
) -> ContactInverseDynamics:
    """Computes the wrenches of least cost and the joint torques."""
    n, columns = len(motion), columns_of(contacts)
    JT = _transposed(k, contacts)
    active, b = stands[:, columns // 6].astype(float), k.h[:, :6]
    cones, optimal = cone_rows(contacts, k), True
    if cones.C.shape[1] or check_flag("torque_limits", torque_limits):
        torques = _torque_rows(motion.robot, k, JT, torque_limits)
        least, optimal = bounded_wrenches(JT[:, :6], b, active, cost, cones, torques, motion.robot.weight)
    else:
        least = least_wrenches(JT[:, :6], b, active, cost)
    wrenches = np.zeros((n, 6 * len(contacts)))
    wrenches[:, columns] = least * active
    torques_left = k.h - np.einsum("nvw,nw->nv", JT, least * active)
    residual = torques_left[:, :6].copy()
    torques_left[:, :6] = 0.0
    return ContactInverseDynamics(
        motion=motion, contacts=tuple(contacts), axes=axes, stands=stands, torques=torques_left,
        wrenches=wrenches.reshape(n, len(contacts), 6), base_residual=residual, optimal=optimal, **fields,
    )  # fmt: skip


def _torque_rows(robot: Robot, k: Kinetics, JT: Reals, wanted: bool) -> ConeRows:
    """Rows h - limit <= Jᵀ w <= h + limit of the joints with limits; empty if they are not wanted."""
    limits = motors(robot).upper
    limited = np.flatnonzero(np.isfinite(limits)) if wanted else np.zeros(0, dtype=int)
    h, limit, limited = k.h[:, 6 + limited], limits[limited], 6 + limited
    return ConeRows(JT[:, limited], h - limit, h + limit)
