"""Joints of a model as maps from coordinates to placements, and back from a placement to its nearest coordinates."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin
from casadi import SX

from trajopt.articulations.rigid import (
    NOWHERE,
    Placements,
    about_z,
    cross,
    from_quaternions,
    product,
    rotated,
    seen_from_child,
    to_quaternions,
)
from trajopt.dynamics.joint_table import ElementaryJoint, expand_joint
from trajopt.errors import UnsupportedOperationError
from trajopt.types import Reals

SIZES = {"spherical": 4, "translation": 3, "planar": 4, "free_flyer": 7}
STRAIGHT = 1e-9  # two axes count as perpendicular below this cosine
LOCKED = 1e-12  # the first and last of three axes count as parallel below this sine of their angle


@dataclass(frozen=True, eq=False)
class ChainJoint:
    """An elementary joint of a chain.

    Attributes:
        kind: "revolute", "unbounded" (cos, sin), "prismatic", "helical", "spherical", "translation", "planar",
            "free_flyer"; the first four are about or along z.
        before: Constant placement in the frame of the previous part.
        q: Indices of its coordinates.
        v: Indices of its velocities.
        S: Motion subspace (6, k): its twist is S v[self.v].
    """

    kind: str
    before: Placements
    q: slice
    v: slice
    S: Reals

    def motion(self, q: Reals) -> Placements:
        """Placements of the child frame at configurations (nq, N)."""
        y, n = q[self.q], q.shape[1]
        if self.kind in ("revolute", "helical"):
            slide = 0.0 if self.kind == "revolute" else self.S[2, 0]
            return Placements(about_z(np.cos(y[0]), np.sin(y[0])), _along_z(slide * y[0]))
        if self.kind == "unbounded":
            return Placements(about_z(y[0], y[1]), NOWHERE.p)
        if self.kind == "planar":
            return Placements(about_z(y[2], y[3]), np.concatenate([y[:2], np.zeros((1, n))]))
        if self.kind in ("spherical", "free_flyer"):
            return Placements(from_quaternions(y[-4:]), NOWHERE.p if self.kind == "spherical" else y[:3])
        return Placements(NOWHERE.R, y if self.kind == "translation" else _along_z(y[0]))

    def read(self, motion: Placements) -> Reals:
        """Nearest coordinates to given placements, (nq of this part, N); angles are in (-π, π]."""
        R, p = motion
        if self.kind == "prismatic":
            return p[2:]
        if self.kind == "translation":
            return p
        if self.kind == "helical":
            return np.asarray(p[2:] / self.S[2, 0])
        if self.kind in ("spherical", "free_flyer"):
            turned = to_quaternions(R)
            return turned if self.kind == "spherical" else np.concatenate([p, turned])
        cosine, sine = R[0, 0] + R[1, 1], R[1, 0] - R[0, 1]
        if self.kind == "revolute":
            return np.arctan2(sine, cosine)[None]
        turn = np.stack([cosine, sine]) / np.hypot(cosine, sine)
        return turn if self.kind == "unbounded" else np.concatenate([p[:2], turn])


def _along_z(length: Reals) -> Reals:
    p = np.zeros((3, len(length)))
    p[2] = length
    return p


class Joint(ABC):
    """A joint between two bodies.

    Args:
        parts: Elementary joints, in order.
        after: Constant placement behind the last part.
    """

    def __init__(self, parts: list[ChainJoint], after: Placements) -> None:
        self.parts, self.after = parts, after

    def motion(self, q: Reals, v: Reals) -> tuple[Placements, Reals]:
        """Placements of the child in the joint's frame, and its twists in its own axes (6, N), at (nq, N), (nv, N)."""
        place, twist = NOWHERE, np.zeros((6, 1))
        for part in self.parts:
            step = part.before.then(part.motion(q))
            twist = seen_from_child(step, twist) + part.S @ v[part.v]
            place = place.then(step)
        return place.then(self.after), seen_from_child(self.after, twist)

    @abstractmethod
    def read(self, motion: Placements, twist: Reals, q: Reals, v: Reals) -> None:
        """Writes the nearest coordinates and rates for a placement and a twist (6, N) into q (nq, N) and v (nv, N)."""


class SimpleJoint(Joint):
    """A joint with one part, whose twist S v remains constant in the child's frame."""

    def __init__(self, parts: list[ChainJoint], after: Placements) -> None:
        super().__init__(parts, after)
        S = parts[0].S
        self._S = np.hstack([seen_from_child(after, S[:, [i]]) for i in range(S.shape[1])])
        self._inverse = np.linalg.pinv(self._S)
        self._straight = bool(np.array_equal(after.R, NOWHERE.R)) and not after.p.any()

    def motion(self, q: Reals, v: Reals) -> tuple[Placements, Reals]:
        part = self.parts[0]
        place = part.before.then(part.motion(q))
        return place if self._straight else place.then(self.after), self._S @ v[part.v]

    def read(self, motion: Placements, twist: Reals, q: Reals, v: Reals) -> None:
        part = self.parts[0]
        inner = part.before.inverse().then(motion)
        q[part.q] = part.read(inner if self._straight else inner.then(self.after.inverse()))
        v[part.v] = self._inverse @ twist


class AxesJoint(Joint):
    """Up to three sliding axes, then up to three rotation axes: D6 joints, universal joints, Euler angles.

    p = Σ a_i q_i and R = R(b_0, q_0) R(b_1, q_1) R(b_2, q_2), with b_1 perpendicular to b_0 and b_2.
    """

    def __init__(self, parts: list[ChainJoint], after: Placements) -> None:
        super().__init__(parts, after)
        turned, axes = np.eye(3), []
        for part in parts:
            turned = turned @ part.before.R[:, :, 0]
            axes.append(turned[:, 2].copy())
        self.sliding = [part for part in parts if part.kind == "prismatic"]
        self.turning = [part for part in parts if part.kind == "revolute"]
        self.slides = np.array(axes[: len(self.sliding)]).reshape(-1, 3)
        self.turns = np.array(axes[len(self.sliding) :]).reshape(-1, 3)
        self._along = np.linalg.pinv(self.slides.T)
        self._end = turned @ after.R[:, :, 0]  # rotation at zero angles

    @staticmethod
    def fits(parts: list[ChainJoint], after: Placements) -> bool:
        """True if these parts form a joint of this kind: axes through one point."""
        kinds = [part.kind for part in parts]
        order = sorted(kinds) == kinds and set(kinds) <= {"prismatic", "revolute"}
        points = all(not part.before.p.any() for part in parts) and not after.p.any()
        if not (order and points and kinds.count("revolute") <= 3 and kinds.count("prismatic") <= 3):
            return False
        turns = AxesJoint(parts, after).turns
        return all(abs(turns[i] @ turns[i + 1]) < STRAIGHT for i in range(len(turns) - 1))

    def read(self, motion: Placements, twist: Reals, q: Reals, v: Reals) -> None:
        for part, value in zip(self.sliding, self._along @ motion.p):
            q[part.q] = value
        if self.sliding:
            for part, value in zip(self.sliding, self._along @ rotated(motion.R, twist[:3])):
                v[part.v] = value
        if self.turning:
            R, omega = product(motion.R, self._end.T[:, :, None]), rotated(motion.R, twist[3:])
            read = (self._one_turn, self._two_turns, self._three_turns)[len(self.turning) - 1]
            angles, rates = read(R, omega)
            for part, angle, rate in zip(self.turning, angles, rates):
                q[part.q], v[part.v] = angle, rate

    def _one_turn(self, R: Reals, omega: Reals) -> tuple[list[Reals], list[Reals]]:
        """Angle about the axis that gives the nearest rotation, and its rate, (N,) each."""
        a = self.turns[0]
        sine = a @ np.stack([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
        cosine = np.trace(R) - np.einsum("i,ijn,j->n", a, R, a)
        return [np.arctan2(sine, cosine)], [a @ omega]

    def _two_turns(self, R: Reals, omega: Reals) -> tuple[list[Reals], list[Reals]]:
        """Angles about two axes and their rates, (N,) each; R b_1 gives the first angle and R b_0 the second one."""
        b0, b1 = self.turns
        c = np.cross(b0, b1)
        w = rotated(R, b1[:, None])
        first = np.arctan2(c @ w, b1 @ w)
        a = b1[:, None] * np.cos(first) + c[:, None] * np.sin(first)  # second axis, rotated by the first angle
        w = rotated(R, b0[:, None])
        second = np.arctan2(-np.sum(cross(b0[:, None], a) * w, axis=0), b0 @ w)
        return [first, second], [b0 @ omega, np.sum(a * omega, axis=0)]

    def _three_turns(self, R: Reals, omega: Reals) -> tuple[list[Reals], list[Reals]]:
        """Angles about three axes, and their rates, (N,) each.

        With c = b_0 × b_1 and b_2 = R(b_1, λ) b_0, the vector R b_2 does not depend on q_2:

            R b_2 = cos φ b_0 + sin φ sin q_0 b_1 - sin φ cos q_0 c,     φ = q_1 + λ

        and φ has the sign of λ, so that φ = λ at q_1 = 0. At gimbal lock, sin φ = 0, q_0 and its rate are set to 0.
        """
        b0, b1, last = self.turns
        c = np.cross(b0, b1)
        shift = np.arctan2(-last @ c, last @ b0)
        sign = 1.0 if shift > -STRAIGHT else -1.0
        w = rotated(R, last[:, None])
        cosine, along, across = b0 @ w, b1 @ w, c @ w
        sine = np.hypot(along, across)
        first = np.where(sine > LOCKED, np.arctan2(sign * along, -sign * across), 0.0)
        a = b1[:, None] * np.cos(first) + c[:, None] * np.sin(first)  # second axis, rotated by the first angle
        turned = rotated(R, b1[:, None])
        third = np.arctan2(np.sum(turned * cross(w, a), axis=0), np.sum(turned * a, axis=0))
        own, about = b0 @ omega, np.sum(w * omega, axis=0)
        free = np.where(sine > LOCKED, sine, np.inf) ** 2
        rates = [(own - cosine * about) / free, np.sum(a * omega, axis=0), np.where(sine > LOCKED, 0.0, about)]
        rates[2] += (about - cosine * own) / free
        return [first, np.arctan2(sign * sine, cosine) - shift, third], rates


@functools.lru_cache(maxsize=64)
def joints_of(model: pin.Model) -> tuple[Joint, ...]:
    """Returns the joints of a model, without the universe.

    Raises:
        UnsupportedOperationError: The type of a joint is not supported.
    """
    return tuple(_joint(model, i) for i in range(1, model.njoints))


def _joint(model: pin.Model, number: int) -> Joint:
    chain, after = expand_joint(model, number, SX.sym("q", model.nq))
    iq, iv = model.joints[number].idx_q, model.joints[number].idx_v
    parts = []
    for each in chain:
        part = _part(each, iq, iv)
        iq, iv = part.q.stop, part.v.stop
        parts.append(part)
    end = Placements.of(after)
    contiguous = iq == model.joints[number].idx_q + model.joints[number].nq and model.joints[number].nv > 0
    if contiguous and len(parts) == 1:
        return SimpleJoint(parts, end)
    if contiguous and AxesJoint.fits(parts, end):
        return AxesJoint(parts, end)
    raise UnsupportedOperationError(
        f"joint {model.names[number]!r}: expected one of Pinocchio's joints, or sliding axes and then rotation axes "
        f"that are perpendicular to each other, got {model.joints[number].shortname()}; lock it (Robot.lock_joints)"
    )


def _part(joint: ElementaryJoint, iq: int, iv: int) -> ChainJoint:
    kind: Any = joint.kind
    if kind == "revolute" and joint.angle is not None and joint.angle[0].is_symbolic():
        kind = "unbounded"
    size = SIZES.get(kind, 2 if kind == "unbounded" else 1)
    k = joint.subspace.shape[1]
    return ChainJoint(kind, Placements.of(joint.before), slice(iq, iq + size), slice(iv, iv + k), joint.subspace)
