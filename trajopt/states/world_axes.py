"""Euler steps in which the linear velocity of free joints is stepped in world axes.

A free joint has a position p, a rotation R, and a velocity (v, ω) in its own axes. Linear momentum is constant in axes
that do not turn, so a step adds dt (v̇ + ω × v) to v in the axes of R, and then turns it into the axes of R₊:

    w = v + dt (v̇ + ω × v),    R₊ = R exp(dt ω₊),    v₊ = exp(dt ω₊)ᵀ w,    p₊ = p + dt R₊ v₊ = p + dt R w.

With v added in its own axes, the speed of a spinning body would grow as exp(ω² dt t / 2).
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import casadi as ca
from casadi import SX

from trajopt.lie import planar_poses, quaternions, rotations
from trajopt.lie.matrices import skew
from trajopt.states.joint_spaces import JointSpace, joint_spaces
from trajopt.states.spaces import PlanarPoseSpace, PoseSpace
from trajopt.states.state_multibody import StateMultibody


class WorldAxesStep:
    """Parts of an Euler step of a robot whose free flyers and planar joints are stepped in world axes.

    The world of a free joint on a moving link is that link. Displacements d = dt v₊ (nv,) are in the axes of the new
    configuration. Other joints have no drift and do not turn, and move by q ⊕ d.

    Args:
        state: State of the robot.

    Attributes:
        free: Whether the robot has free joints. If not, the step is that of `StateMultibody`.
    """

    def __init__(self, state: StateMultibody) -> None:
        self._nq, self._nv = state.nq, state.nv
        self._free: list[_FreeJointAbstract] = []
        self._others: list[JointSpace] = []
        for joint in joint_spaces(state.model):
            if isinstance(joint.space, PoseSpace):
                self._free.append(_FreeFlyer(joint))
            elif isinstance(joint.space, PlanarPoseSpace):
                self._free.append(_PlanarJoint(joint))
            else:
                self._others.append(joint)
        self.free = bool(self._free)

    def drift(self, v: SX) -> SX:
        """Acceleration ω × v of free joints (nv,) [m/s²], 0 for other joints; v (nv,) are velocities."""
        result = SX(self._nv, 1)
        for joint in self._free:
            result[joint.linear] = joint.spin(v) @ v[joint.linear]
        return result

    def drift_derivative(self, v: SX) -> SX:
        """Derivative (nv, nv) of `drift` by v."""
        result = SX(self._nv, self._nv)
        for joint in self._free:
            result[joint.linear, joint.linear] = joint.spin(v)
            result[joint.linear, joint.angular] = joint.lever(v)
        return SX(ca.sparsify(result))

    def turn(self, v: SX, d: SX) -> SX:
        """Velocity (nv,) in the axes after the rotation exp(d_ω), from v (nv,) in the axes before it."""
        result = SX(v)
        for joint in self._free:
            result[joint.linear] = joint.back(d) @ v[joint.linear]
        return result

    def turn_derivatives(self, v: SX, d: SX) -> tuple[SX, SX]:
        """Derivatives (nv, nv) of `turn` by v and by d; both are 1 and 0 but for free joints."""
        by_v, by_d = SX.eye(self._nv), SX(self._nv, self._nv)
        turned = self.turn(v, d)
        for joint in self._free:
            by_v[joint.linear, joint.linear] = joint.back(d)
            by_d[joint.linear, joint.angular] = -joint.lever(turned) @ joint.right_jacobian(d)
        return ca.sparsify(by_v), ca.sparsify(by_d)

    def move(self, q: SX, d: SX) -> SX:
        """Configuration (nq,) after a displacement d (nv,) from q (nq,)."""
        moved = SX(q)
        for joint in self._others:
            moved[joint.q] = joint.space.integrate(q[joint.q], d[joint.v])
        for free in self._free:
            rotation = free.turned(q, d)
            moved[free.rotation] = rotation
            moved[free.position] = q[free.position] + free.into_world(rotation, d[free.linear])
        return moved

    def move_derivatives(self, q: SX, d: SX) -> tuple[SX, SX]:
        """Derivatives (nv, nv) of `move` by the tangent of q and by d."""
        first, second = SX.eye(self._nv), SX.eye(self._nv)
        for joint in self._others:
            first[joint.v, joint.v], second[joint.v, joint.v] = joint.space.jintegrate(q[joint.q], d[joint.v])
        for free in self._free:
            turned, right = free.back_angular(d), free.right_jacobian(d)
            first[free.linear, free.linear], first[free.angular, free.angular] = free.back(d), turned
            first[free.linear, free.angular] = free.lever(d) @ turned
            second[free.angular, free.angular] = right
            second[free.linear, free.angular] = free.lever(d) @ right
        return ca.sparsify(first), ca.sparsify(second)

    def move_derivative_before(self, d: SX) -> SX:
        """Derivative (nv, nv) of `move` by a displacement in the axes of q; d is that in the new axes."""
        first, second = self.move_derivatives(SX(self._nq, 1), d)
        for free in self._free:
            second[free.linear, free.linear] = first[free.linear, free.linear]
            second[free.linear, free.angular] = SX(*second[free.linear, free.angular].shape)
        return SX(ca.sparsify(second))


class _FreeJointAbstract(ABC):
    """Rotations and levers of a free joint; velocities v and displacements d are those of all joints (nv,).

    Args:
        joint: Space and indices of the joint.

    Attributes:
        linear: Indices of its linear velocity.
        angular: Indices of its angular velocity.
        position: Indices of its position in q.
        rotation: Indices of its rotation in q.
    """

    size: int  # of the linear velocity

    def __init__(self, joint: JointSpace) -> None:
        self.linear = slice(joint.v.start, joint.v.start + self.size)
        self.angular = slice(self.linear.stop, joint.v.stop)
        self.position = slice(joint.q.start, joint.q.start + self.size)
        self.rotation = slice(self.position.stop, joint.q.stop)

    @abstractmethod
    def spin(self, v: SX) -> SX:
        """Matrix [ω] with [ω] x = ω × x."""

    @abstractmethod
    def lever(self, v: SX) -> SX:
        """Matrix L with L ω = ω × v."""

    @abstractmethod
    def back(self, d: SX) -> SX:
        """Rotation matrix exp(d_ω)ᵀ of vectors."""

    @abstractmethod
    def back_angular(self, d: SX) -> SX:
        """Rotation matrix exp(d_ω)ᵀ of angular velocities."""

    @abstractmethod
    def right_jacobian(self, d: SX) -> SX:
        """Derivative of exp(d_ω) by d_ω, in its tangent space."""

    @abstractmethod
    def turned(self, q: SX, d: SX) -> SX:
        """Coordinates of R₊ = R exp(d_ω)."""

    @abstractmethod
    def into_world(self, rotation: SX, x: SX) -> SX:
        """Vector x in the axes of a rotation with these coordinates, in world axes."""


class _FreeFlyer(_FreeJointAbstract):
    """Free joint in space."""

    size = 3

    def spin(self, v: SX) -> SX:
        return skew(v[self.angular])

    def lever(self, v: SX) -> SX:
        return -skew(v[self.linear])

    def back(self, d: SX) -> SX:
        return quaternions.quaternion_to_rotation(rotations.exp_quaternion(-d[self.angular]))

    def back_angular(self, d: SX) -> SX:
        return self.back(d)

    def right_jacobian(self, d: SX) -> SX:
        return rotations.jexp3(d[self.angular])

    def turned(self, q: SX, d: SX) -> SX:
        turn = rotations.exp_quaternion(d[self.angular])
        return quaternions.renormalise(quaternions.multiply(q[self.rotation], turn))

    def into_world(self, rotation: SX, x: SX) -> SX:
        return quaternions.rotate(rotation, x)


class _PlanarJoint(_FreeJointAbstract):
    """Free joint in a plane, whose angular velocity is a number."""

    size = 2

    def spin(self, v: SX) -> SX:
        w = v[self.angular]
        return SX(ca.blockcat([[SX(1, 1), -w], [w, SX(1, 1)]]))

    def lever(self, v: SX) -> SX:
        x, y = ca.vertsplit(v[self.linear])
        return SX(ca.vertcat(-y, x))

    def back(self, d: SX) -> SX:
        cosine, sine = ca.cos(d[self.angular]), ca.sin(d[self.angular])
        return SX(ca.blockcat([[cosine, sine], [-sine, cosine]]))

    def back_angular(self, d: SX) -> SX:
        return SX.eye(1)

    def right_jacobian(self, d: SX) -> SX:
        return SX.eye(1)

    def turned(self, q: SX, d: SX) -> SX:
        angle = d[self.angular]
        return quaternions.renormalise(planar_poses.turn(q[self.rotation], ca.cos(angle), ca.sin(angle)))

    def into_world(self, rotation: SX, x: SX) -> SX:
        return planar_poses.turn(x, rotation[0], rotation[1])
