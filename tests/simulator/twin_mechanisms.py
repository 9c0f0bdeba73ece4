"""Mechanisms of the simulator's twin: point mass, free box and planar chain in any numbers, and robots in Pinocchio.

Each has kinematics and dynamics H(q) dv/dt + C(q, v) = τ + Jᵀ f of the model that `model()` builds, by other formulas.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import pinocchio as pin

from tests.simulator.twin_numbers import HALF_DIGITS, Numbers, atan2, cos, cross, is_exact, like, sin, skew, solve, sqrt
from trajopt.robots.builtin import planar_arm

GRAVITY = 9.81  # [m/s²]
UP = np.array([0.0, 0.0, 1.0])


class Mechanism(Protocol):
    """Kinematics and dynamics of a mechanism, of any numbers.

    Attributes:
        nq, nv: Sizes of q and v.
        mass: Total mass [kg].
    """

    nq: int
    nv: int
    mass: float

    def mass_matrix(self, q: Numbers) -> Numbers:
        """H(q) (nv, nv)."""

    def bias(self, q: Numbers, v: Numbers) -> Numbers:
        """C(q, v) (nv,), gravity included."""

    def place(self, q: Numbers, frame: str) -> tuple[Numbers, Numbers]:
        """Rotation (3, 3) and position (3,) of a frame in the world."""

    def jacobian(self, q: Numbers, frame: str, point: Numbers) -> Numbers:
        """Velocity of the material point that is at `point` in the world, as (3, nv) times v."""

    def integrate(self, q: Numbers, dv: Numbers) -> Numbers:
        """q ⊕ dv."""

    def difference(self, q: Numbers, other: Numbers) -> Numbers:
        """The dv with q ⊕ dv = other, for `other` near q."""

    def seen_from(self, q: Numbers, y: Numbers, v: Numbers) -> Numbers:
        """A velocity v at y as a rate of y ⊖ q: ∂(y ⊖ q)/∂y v."""

    def axes(self, q: Numbers) -> Numbers:
        """Matrix (nv, nv) that turns linear velocities of free joints from their own axes into world axes."""

    def drift(self, v: Numbers) -> Numbers:
        """ω × v in the linear rows of free joints (nv,), which is what world axes add to the rate of v."""

    def moved(self, q: Numbers, dw: Numbers) -> Numbers:
        """q after a displacement of free joints along world axes, beside a local rotation and that of other joints."""


class WithoutFreeJoints:
    """Axes of mechanisms without free joints."""

    def axes(self, q: Numbers) -> Numbers:
        return like(np.eye(len(q)), q)

    def drift(self, v: Numbers) -> Numbers:
        return 0 * v

    def moved(self, q: Numbers, dw: Numbers) -> Numbers:
        return q + dw


class PointMass(WithoutFreeJoints):
    """A point mass on three prismatic joints along x, y, z."""

    nq = nv = 3

    def __init__(self, mass: float = 1.0) -> None:
        self.mass = mass

    def model(self) -> pin.Model:
        """The same in Pinocchio; the frame is "body"."""
        model, parent = pin.Model(), 0
        for joint, name in ((pin.JointModelPX(), "x"), (pin.JointModelPY(), "y"), (pin.JointModelPZ(), "z")):
            parent = model.addJoint(parent, joint, pin.SE3.Identity(), name)
        model.appendBodyToJoint(parent, pin.Inertia(self.mass, np.zeros(3), np.zeros((3, 3))), pin.SE3.Identity())
        return _named(model, "point-mass", parent)

    def mass_matrix(self, q: Numbers) -> Numbers:
        return like(self.mass * np.eye(3), q)

    def bias(self, q: Numbers, v: Numbers) -> Numbers:
        return like([0.0, 0.0, self.mass], q) * like(GRAVITY, q)

    def place(self, q: Numbers, frame: str) -> tuple[Numbers, Numbers]:
        return like(np.eye(3), q), q

    def jacobian(self, q: Numbers, frame: str, point: Numbers) -> Numbers:
        return like(np.eye(3), q)

    def integrate(self, q: Numbers, dv: Numbers) -> Numbers:
        return q + dv

    def difference(self, q: Numbers, other: Numbers) -> Numbers:
        return other - q

    def seen_from(self, q: Numbers, y: Numbers, v: Numbers) -> Numbers:
        return v


class PlanarChain(WithoutFreeJoints):
    """Uniform rods on revolute joints in the x-z plane, the first at the origin; angles turn from x to z."""

    def __init__(self, lengths: tuple[float, ...], masses: tuple[float, ...]) -> None:
        self.lengths, self.masses = lengths, masses
        self.nq = self.nv = len(lengths)
        self.mass = sum(masses)

    def model(self) -> pin.Model:
        """The same in Pinocchio, with the frames "link_i" and "tool"."""
        return planar_arm(lengths=self.lengths, masses=self.masses)

    def _along(self, q: Numbers) -> Numbers:
        """Directions (n, 3) of the rods."""
        angles = np.cumsum(q)
        return np.array([[cos(a), 0 * a, sin(a)] for a in angles])

    def _joints(self, q: Numbers) -> Numbers:
        """Positions (n + 1, 3) of the joints and of the tool."""
        steps = like(self.lengths, q)[:, None] * self._along(q)
        return np.concatenate([like(np.zeros((1, 3)), q), np.cumsum(steps, axis=0)])

    def _column(self, lever: Numbers) -> Numbers:
        return np.array([-lever[2], 0 * lever[0], lever[0]])

    def _point_jacobian(self, q: Numbers, link: int, point: Numbers) -> Numbers:
        joints, zero = self._joints(q), like(np.zeros(3), q)
        return np.array([self._column(point - joints[j]) if j <= link else zero for j in range(self.nv)]).T

    def _centres(self, q: Numbers) -> Numbers:
        joints = self._joints(q)
        return (joints[1:] + joints[:-1]) / 2

    def mass_matrix(self, q: Numbers) -> Numbers:
        total, centres = like(np.zeros((self.nv, self.nv)), q), self._centres(q)
        for i, (mass, length) in enumerate(zip(like(self.masses, q), like(self.lengths, q))):
            J, turning = self._point_jacobian(q, i, centres[i]), like(np.arange(self.nv) <= i, q)
            total = total + J.T @ J * mass + np.outer(turning, turning) * (mass * length**2 / 12)
        return total

    def bias(self, q: Numbers, v: Numbers) -> Numbers:
        along, rates, centres = self._along(q), np.cumsum(v), self._centres(q)
        joint, total = like(np.zeros(3), q), like(np.zeros(self.nv), q)
        gravity = like(GRAVITY, q) * like(UP, q)
        for i, (mass, length) in enumerate(zip(like(self.masses, q), like(self.lengths, q))):
            inward = along[i] * (-length * rates[i] ** 2)  # acceleration of the rod's end relative to its start
            J = self._point_jacobian(q, i, centres[i])
            total = total + J.T @ (joint + inward / 2 + gravity) * mass
            joint = joint + inward
        return total

    def _link(self, frame: str) -> int:
        return self.nv - 1 if frame == "tool" else int(frame.removeprefix("link_")) - 1

    def place(self, q: Numbers, frame: str) -> tuple[Numbers, Numbers]:
        link, joints = self._link(frame), self._joints(q)
        x = self._along(q)[link]
        y = np.array([-x[2], 0 * x[0], x[0]])
        z = like([0.0, -1.0, 0.0], q)
        return np.array([x, y, z]).T, joints[link + 1 if frame == "tool" else link]

    def jacobian(self, q: Numbers, frame: str, point: Numbers) -> Numbers:
        return self._point_jacobian(q, self._link(frame), point)

    def integrate(self, q: Numbers, dv: Numbers) -> Numbers:
        return q + dv

    def difference(self, q: Numbers, other: Numbers) -> Numbers:
        return other - q

    def seen_from(self, q: Numbers, y: Numbers, v: Numbers) -> Numbers:
        return v


class FreeBox:
    """A box on a free flyer: q = (position, quaternion xyzw), v in the body's axes, centre of mass at the origin."""

    nq, nv = 7, 6

    def __init__(self, mass: float = 2.0, inertia: tuple[float, float, float] = (0.02, 0.03, 0.04)) -> None:
        self.mass, self.inertia = mass, inertia

    def model(self) -> pin.Model:
        """The same in Pinocchio; the frame is "body"."""
        model = pin.Model()
        joint = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "base")
        model.appendBodyToJoint(joint, pin.Inertia(self.mass, np.zeros(3), np.diag(self.inertia)), pin.SE3.Identity())
        return _named(model, "free-box", joint)

    def mass_matrix(self, q: Numbers) -> Numbers:
        return like(np.diag([self.mass] * 3 + list(self.inertia)), q)

    def bias(self, q: Numbers, v: Numbers) -> Numbers:
        weight = like(self.mass * UP, q) * like(GRAVITY, q)
        force = like(self.mass, q) * cross(v[3:], v[:3]) + self._rotation(q).T @ weight
        return np.concatenate([force, cross(v[3:], like(self.inertia, q) * v[3:])])

    def _rotation(self, q: Numbers) -> Numbers:
        x, w = q[3:6], q[6]
        one = like(np.eye(3), q)
        return one * (w * w - x @ x) + np.outer(x, x) * 2 + skew(x) * (2 * w)

    def place(self, q: Numbers, frame: str) -> tuple[Numbers, Numbers]:
        return self._rotation(q), q[:3]

    def jacobian(self, q: Numbers, frame: str, point: Numbers) -> Numbers:
        R = self._rotation(q)
        return np.concatenate([R, -skew(point - q[:3]) @ R], axis=1)

    def integrate(self, q: Numbers, dv: Numbers) -> Numbers:
        angle, left = dv[3:], _left_matrix(dv[3:])
        position = q[:3] + self._rotation(q) @ left @ dv[:3]
        half, scale = _half_angle(angle)
        x, w = q[3:6], q[6]
        turned = np.concatenate(
            [angle * (w * scale) + x * half + cross(x, angle) * scale, [w * half - scale * (x @ angle)]]
        )
        return np.concatenate([position, turned])

    def difference(self, q: Numbers, other: Numbers) -> Numbers:
        R, x, w = self._rotation(q), q[3:6], q[6]
        y, s = other[3:6], other[6]
        vector, real = y * w - x * s - cross(x, y), w * s + x @ y  # conj(q) other
        sine = sqrt(vector @ vector)
        angle = vector * 2 if sine == 0 else vector * (2 * atan2(sine, real) / sine)
        return np.concatenate([solve(_left_matrix(angle), R.T @ (other[:3] - q[:3])), angle])

    def seen_from(self, q: Numbers, y: Numbers, v: Numbers) -> Numbers:
        h = HALF_DIGITS if is_exact(q) else 6e-6  # central differences leave 40 or 10 digits
        there, back = (self.difference(q, self.integrate(y, v * (side * h))) for side in (1, -1))
        return (there - back) / (2 * h)

    def axes(self, q: Numbers) -> Numbers:
        result = like(np.eye(6), q)
        result[:3, :3] = self._rotation(q)
        return result

    def drift(self, v: Numbers) -> Numbers:
        return np.concatenate([cross(v[3:], v[:3]), 0 * v[3:]])

    def moved(self, q: Numbers, dw: Numbers) -> Numbers:
        turned = self.integrate(q, np.concatenate([0 * dw[:3], dw[3:]]))
        return np.concatenate([turned[:3] + dw[:3], turned[3:]])


def _half_angle(angle: Numbers) -> tuple[Any, Any]:
    """cos(|a|/2) and sin(|a|/2)/|a| of a rotation vector."""
    size = sqrt(angle @ angle)
    if size == 0:
        return 1 + 0 * size, like(0.5, angle)[()] + 0 * size
    return cos(size / 2), sin(size / 2) / size


def _left_matrix(angle: Numbers) -> Numbers:
    """∫ exp(s [a]×) ds over s in (0, 1); below 1e-3 by its series, 1/(n+1)! [a]×ⁿ."""
    A, one = skew(angle), like(np.eye(3), angle)
    size = sqrt(angle @ angle)
    if size > 1e-3:
        return one + A * ((1 - cos(size)) / size**2) + A @ A * ((size - sin(size)) / size**3)
    total, power = one, one
    for n in range(2, 26):
        power = power @ A / n
        total = total + power
    return total


class Robot:
    """Any model, in doubles, by Pinocchio's algorithms."""

    def __init__(self, model: pin.Model) -> None:
        self._model, self._data = model, model.createData()
        self.nq, self.nv = model.nq, model.nv
        self.mass = float(pin.computeTotalMass(model))

    def model(self) -> pin.Model:
        """The model."""
        return self._model

    def mass_matrix(self, q: Numbers) -> Numbers:
        upper = np.triu(pin.crba(self._model, self._data, q))
        return np.array(upper + np.triu(upper, 1).T)

    def bias(self, q: Numbers, v: Numbers) -> Numbers:
        return np.array(pin.rnea(self._model, self._data, q, v, np.zeros(self.nv)))

    def place(self, q: Numbers, frame: str) -> tuple[Numbers, Numbers]:
        pin.framesForwardKinematics(self._model, self._data, q)
        placement = self._data.oMf[self._model.getFrameId(frame)]
        return placement.rotation.copy(), placement.translation.copy()

    def jacobian(self, q: Numbers, frame: str, point: Numbers) -> Numbers:
        axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        J = pin.computeFrameJacobian(self._model, self._data, q, self._model.getFrameId(frame), axes)
        _, origin = self.place(q, frame)
        return np.array(J[:3] - skew(point - origin) @ J[3:])

    def integrate(self, q: Numbers, dv: Numbers) -> Numbers:
        return np.array(pin.integrate(self._model, q, dv))

    def difference(self, q: Numbers, other: Numbers) -> Numbers:
        return np.array(pin.difference(self._model, q, other))

    def seen_from(self, q: Numbers, y: Numbers, v: Numbers) -> Numbers:
        return np.array(pin.dDifference(self._model, q, y, pin.ArgumentPosition.ARG1) @ v)

    def _free(self) -> list[tuple[int, int, int]]:
        """First index in q and in v, and number of linear velocities, of each free joint."""
        sizes = {"JointModelFreeFlyer": 3, "JointModelPlanar": 2}
        joints = [joint for joint in self._model.joints if joint.shortname() in sizes]
        return [(joint.idx_q, joint.idx_v, sizes[joint.shortname()]) for joint in joints]

    def axes(self, q: Numbers) -> Numbers:
        result = np.eye(self.nv)
        for at, i, n in self._free():
            if n == 3:
                result[i : i + n, i : i + n] = pin.Quaternion(q[at + 3 : at + 7]).matrix()
            else:
                result[i : i + n, i : i + n] = [[q[at + 2], -q[at + 3]], [q[at + 3], q[at + 2]]]
        return result

    def drift(self, v: Numbers) -> Numbers:
        result = np.zeros(self.nv)
        for _, i, n in self._free():
            if n == 3:
                result[i : i + n] = np.cross(v[i + 3 : i + 6], v[i : i + n])
            else:
                result[i : i + n] = v[i + 2] * np.array([-v[i + 1], v[i]])
        return result

    def moved(self, q: Numbers, dw: Numbers) -> Numbers:
        turn = np.array(dw)
        for _, i, n in self._free():
            turn[i : i + n] = 0.0
        result = self.integrate(q, turn)
        for at, i, n in self._free():
            result[at : at + n] += dw[i : i + n]
        return result


def _named(model: pin.Model, name: str, joint: int) -> pin.Model:
    model.name = name
    model.addFrame(pin.Frame("body", joint, 0, pin.SE3.Identity(), pin.FrameType.OP_FRAME))
    return model
