"""Generalised and maximal coordinates: joint coordinates, and the pose and twist of every body.

Source: Newton (newton-physics), functions eval_fk and eval_ik; Featherstone, Rigid Body Dynamics Algorithms,
2008, chapter 4.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from trajopt.articulations.joints import joints_of
from trajopt.articulations.rigid import (
    NOWHERE,
    Placements,
    cross,
    from_quaternions,
    product,
    rotated,
    seen_from_child,
    to_quaternions,
    turning_angles,
)
from trajopt.checks import as_numbers, check_array, check_instance, check_known, check_non_negative, shape_of
from trajopt.errors import InvalidArgumentError
from trajopt.robots import Robot
from trajopt.types import Reals

CONVENTIONS = ("newton", "pinocchio")
RESIDUALS = ("position", "rotation", "linear", "angular")
CHUNK = 1024  # states that are processed together
NORM = 1e-6  # tolerance of the norm of a quaternion


Body = tuple[str, Placements, Reals]


@dataclass(frozen=True)
class JointResidual:
    """Parts of the motion of nb bodies that their joints do not allow, for N states.

    Attributes:
        position: Distances from the nearest allowed placements (N, nb) [m].
        rotation: Angles from the nearest allowed placements (N, nb) [rad].
        linear: Linear velocities that the joints do not allow (N, nb) [m/s].
        angular: Angular velocities that the joints do not allow (N, nb) [rad/s].
    """

    position: Reals
    rotation: Reals
    linear: Reals
    angular: Reals

    def largest(self) -> float:
        """Largest value in all arrays of the residual."""
        return max(float(getattr(self, kind).max(initial=0.0)) for kind in RESIDUALS)


def body_names(robot: Robot) -> tuple[str, ...]:
    """Names of a robot's bodies, one per joint: that of the body's first frame, else that of the joint.

    Links on fixed joints belong to the body that carries them; `Robot.placement` gives their placement.
    """
    check_instance("robot", robot, Robot, "load_robot returns one")
    return tuple(name for name, _, _ in _bodies(robot.model))


def generalized_to_maximal(
    robot: Robot, q: npt.ArrayLike, v: npt.ArrayLike, *, convention: str = "newton"
) -> tuple[Reals, Reals]:
    """Poses (nb, 7) and twists (nb, 6) of the bodies at a configuration and velocity; (N, nb, ...) for N states.

    A pose is position and quaternion x, y, z, w in the world. A twist has the linear velocity first:

        "newton"     velocity of the body's centre of mass and angular velocity, both in the world's axes
        "pinocchio"  velocity of the body's origin and angular velocity, both in the body's axes

    Args:
        robot: The robot.
        q: Configurations (nq,) or (N, nq), in Pinocchio's order.
        v: Velocities (nv,) or (N, nv).
        convention: Convention of the twists.

    Raises:
        InvalidArgumentError: Sizes do not fit, numbers are not finite, or a rotation is not normalised.
        UnsupportedOperationError: The type of a joint is not supported.
    """
    check_instance("robot", robot, Robot, "load_robot returns one")
    check_known("convention", convention, CONVENTIONS)
    qs, vs = states_of(robot, q, v)
    many, bodies = np.ndim(q) == 2, _bodies(robot.model)
    poses, twists = np.empty((len(qs), len(bodies), 7)), np.empty((len(qs), len(bodies), 6))
    for part in _chunks(len(qs)):
        results = _forward(robot.model, bodies, qs[part].T.copy(), vs[part].T.copy(), convention)
        poses[part], twists[part] = (each.transpose(2, 0, 1) for each in results)
    return (poses, twists) if many else (poses[0], twists[0])


def _forward(model: pin.Model, bodies: list[Body], q: Reals, v: Reals, convention: str) -> tuple[Reals, Reals]:
    """Poses (nb, 7, N) and twists (nb, 6, N)."""
    places, twists = [NOWHERE], [np.zeros((6, 1))]
    for i, joint in enumerate(joints_of(model), start=1):
        motion, own = joint.motion(q, v)
        step = Placements.of(model.jointPlacements[i]).then(motion)
        places.append(places[model.parents[i]].then(step))
        twists.append(seen_from_child(step, twists[model.parents[i]]) + own)
    poses, body_twists = np.empty((len(bodies), 7, q.shape[1])), np.empty((len(bodies), 6, q.shape[1]))
    for j, (_, offset, com) in enumerate(bodies):
        place = places[j + 1].then(offset)
        poses[j, :3], poses[j, 3:] = place.p, to_quaternions(place.R)
        body_twists[j] = _out(seen_from_child(offset, twists[j + 1]), place.R, com, convention)
    return poses, body_twists


def maximal_to_generalized(
    robot: Robot,
    poses: npt.ArrayLike,
    twists: npt.ArrayLike,
    *,
    convention: str = "newton",
    tolerance: float | None = None,
) -> tuple[Reals, Reals, JointResidual]:
    """Nearest configurations and velocities for poses and twists of bodies, and the remaining violation of the joints.

    Each joint is evaluated separately, in the frame of its parent as passed, even if the parent violates its own joint.
    Angles are in (-π, π], quaternions have w >= 0.

    Args:
        robot: The robot.
        poses: Poses (nb, 7) or (N, nb, 7), see `generalized_to_maximal`.
        twists: Twists (nb, 6) or (N, nb, 6).
        convention: Convention of the twists.
        tolerance: Largest residual [m, rad, m/s, rad/s]; None allows any.

    Returns:
        q (nq,), v (nv,) and the residual; (N, nq), (N, nv) for N states.

    Raises:
        InvalidArgumentError: Sizes do not fit, numbers are not finite, a quaternion is not normalised, or a residual is
            larger than `tolerance`; the message names the body.
        UnsupportedOperationError: The type of a joint is not supported.
    """
    check_instance("robot", robot, Robot, "load_robot returns one")
    check_known("convention", convention, CONVENTIONS)
    model, bodies = robot.model, _bodies(robot.model)
    many = len(shape_of(poses)) == 3
    pose_rows, speeds = _maximal(poses, twists, len(bodies), many)
    q, v = np.zeros((len(pose_rows), robot.nq)), np.zeros((len(pose_rows), robot.nv))
    residual = JointResidual(*np.zeros((4, len(pose_rows), len(bodies))))
    for part in _chunks(len(pose_rows)):
        poses_now, twists_now = pose_rows[part].transpose(1, 2, 0).copy(), speeds[part].transpose(1, 2, 0).copy()
        results = _backward(model, bodies, poses_now, twists_now, convention)
        q[part], v[part] = results[0].T, results[1].T
        for kind, values in zip(RESIDUALS, results[2]):
            getattr(residual, kind)[part] = values.T
    _check(residual, tolerance, body_names(robot))
    if many:
        return q, v, residual
    return q[0], v[0], JointResidual(*(getattr(residual, kind)[0] for kind in RESIDUALS))


def _backward(
    model: pin.Model, bodies: list[Body], poses: Reals, twists: Reals, convention: str
) -> tuple[Reals, Reals, Reals]:
    """q (nq, N), v (nv, N) and residuals of each kind (4, nb, N) for poses (nb, 7, N) and twists (nb, 6, N)."""
    places, moves, n = [NOWHERE], [np.zeros((6, 1))], poses.shape[2]
    for j, (_, offset, com) in enumerate(bodies):
        R = from_quaternions(poses[j, 3:])
        back = offset.inverse()
        places.append(Placements(R, poses[j, :3]).then(back))
        moves.append(seen_from_child(back, _in(twists[j], R, com, convention)))
    q, v, left = np.zeros((model.nq, n)), np.zeros((model.nv, n)), np.empty((4, len(bodies), n))
    for i, joint in enumerate(joints_of(model), start=1):
        parent = model.parents[i]
        step = places[parent].inverse().then(places[i])
        motion = Placements.of(model.jointPlacements[i]).inverse().then(step)
        relative = moves[i] - seen_from_child(step, moves[parent])
        joint.read(motion, relative, q, v)
        near, own = joint.motion(q, v)
        left[0, i - 1] = _norms(near.p - motion.p)
        left[1, i - 1] = turning_angles(product(near.R.transpose(1, 0, 2), motion.R))
        left[2, i - 1], left[3, i - 1] = _norms((relative - own)[:3]), _norms((relative - own)[3:])
    return q, v, left


def _norms(x: Reals) -> Reals:
    """Norms (N,) of vectors (3, N)."""
    return np.sqrt(np.sum(x * x, axis=0))


def _chunks(n: int) -> Iterator[slice]:
    """Slices of n states that fit into the processor's cache."""
    return (slice(first, min(first + CHUNK, n)) for first in range(0, n, CHUNK))


def _bodies(model: pin.Model) -> list[Body]:
    """Name of the body of each joint, its placement in the joint's frame, and its centre of mass in its own axes."""
    first: dict[int, int] = {}
    for number, frame in enumerate(model.frames):
        if frame.type == pin.FrameType.BODY and frame.parentJoint not in first:
            first[frame.parentJoint] = number
    bodies = []
    for i in range(1, model.njoints):
        frame = model.frames[first[i]] if i in first else None
        offset = pin.SE3.Identity() if frame is None else frame.placement
        name = model.names[i] if frame is None else frame.name
        bodies.append((name, Placements.of(offset), offset.actInv(model.inertias[i].lever)))
    return bodies


def _out(twist: Reals, R: Reals, com: Reals, convention: str) -> Reals:
    """Converts a twist (6, N) in the body's axes at its origin to a convention."""
    if convention == "pinocchio":
        return twist
    return np.concatenate([rotated(R, twist[:3] + cross(twist[3:], com[:, None])), rotated(R, twist[3:])])


def _in(twist: Reals, R: Reals, com: Reals, convention: str) -> Reals:
    """Converts a twist (6, N) of a convention to the body's axes at its origin."""
    if convention == "pinocchio":
        return twist
    back = R.transpose(1, 0, 2)
    angular = rotated(back, twist[3:])
    return np.concatenate([rotated(back, twist[:3]) - cross(angular, com[:, None]), angular])


def states_of(robot: Robot, q: npt.ArrayLike, v: npt.ArrayLike, argument: str = "v") -> tuple[Reals, Reals]:
    """Returns checked configurations (N, nq) and vectors (N, nv), which messages call `argument`."""
    array = as_numbers("q", q)
    n = len(array) if array.ndim == 2 else 1
    shape = (n,) if array.ndim == 2 else ()
    qs = check_array("q", array, (*shape, robot.nq)).reshape(n, robot.nq)
    vs = check_array(argument, v, (*shape, robot.nv)).reshape(n, robot.nv)
    for joint in joints_of(robot.model):
        for part in joint.parts:
            size = {"unbounded": 2, "planar": 2, "spherical": 4, "free_flyer": 4}.get(part.kind)
            if size is not None:
                _check_norms("q", qs[:, part.q][:, -size:])
    return qs, vs


def _maximal(poses: npt.ArrayLike, twists: npt.ArrayLike, bodies: int, many: bool) -> tuple[Reals, Reals]:
    array = as_numbers("poses", poses)
    shape = (len(array), bodies) if many else (bodies,)
    placed = check_array("poses", array, (*shape, 7), cure="position and quaternion x, y, z, w of each body")
    moving = check_array("twists", twists, (*shape, 6), cure="linear and angular velocity of each body")
    placed, moving = placed.reshape(-1, bodies, 7), moving.reshape(-1, bodies, 6)
    _check_norms("poses", placed[:, :, 3:].reshape(-1, 4))
    return placed, moving


def _check_norms(argument: str, rotations: Reals) -> None:
    norms = np.linalg.norm(rotations, axis=1)
    if np.abs(norms - 1.0).max(initial=0.0) > NORM:
        worst = norms[np.abs(norms - 1.0).argmax()]
        raise InvalidArgumentError(f"{argument}: expected rotations of norm 1, got {worst:g}; divide by the norm")


def _check(residual: JointResidual, tolerance: float | None, names: tuple[str, ...]) -> None:
    if tolerance is None:
        return
    least = check_non_negative("tolerance", tolerance)
    parts = np.stack([getattr(residual, kind) for kind in RESIDUALS])
    if parts.max(initial=0.0) > least:
        kind, state, body = np.unravel_index(int(parts.argmax()), parts.shape)
        words = ("m", "rad", "m/s", "rad/s")[kind]
        raise InvalidArgumentError(
            f"poses, twists: expected a motion that the joints allow within {least:g}, got {names[body]} of state "
            f"{state} off by {parts.max():.3g} {words}; raise tolerance, or correct this body"
        )
