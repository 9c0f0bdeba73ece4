"""Dynamics in a frame that falls with gravity and moves with the base, in terms of a' = a + c.

M a' + e(q, v) = τ + Σ Jᵀ f depends neither on the pose of a free-flyer root nor on its linear velocity. Gravity and
linear velocity act through c only, so that whole columns of the derivatives are zero. See `trajopt.dynamics.motion`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np
import pinocchio as pin
from casadi import SX

from trajopt.dynamics import frame_kinematics
from trajopt.dynamics.motion import gravity_in_links
from trajopt.dynamics.robot_expressions import RobotExpressions
from trajopt.dynamics.spatial import Spatial, spatial
from trajopt.dynamics.tree import constant_placement


def falling_derivatives(robot: RobotExpressions, a: SX, wrenches: Mapping[str, SX]) -> tuple[SX, SX]:
    """Derivatives ∂/∂q (tangent) and ∂/∂v of M a' + e - Σ Jᵀ f at fixed a' (nv,), shape (nv, nv) each.

    Args:
        robot: The robot at (q, v).
        a: Relative acceleration a' (nv,).
        wrenches: Wrench f (6,) on each frame, constant in the frame's axes.
    """
    relative, external = robot.coordinates.accelerations(a), _external_forces(robot, wrenches)
    dq, dv = robot.torque_derivatives(relative, a, external)
    shift_q, shift_v = robot.shift_derivatives()
    armature = ca.diag(robot.armature())
    return dq - ca.mtimes(armature, shift_q), dv - ca.mtimes(armature, shift_v)


def falling_torques(robot: RobotExpressions, a: SX, wrenches: Mapping[str, SX]) -> SX:
    """Joint torques M a' + e - Σ Jᵀ f (nv,) [N m, N] that give a' (nv,) under wrenches.

    Args:
        robot: The robot at (q, v).
        a: Relative acceleration a' (nv,).
        wrenches: Wrench f (6,) on each frame in the frame's axes.
    """
    relative = robot.coordinates.accelerations(a)
    torques = robot.tree_dynamics().newton_euler(relative, _external_forces(robot, wrenches))[1]
    return robot.coordinates.torques(torques) + robot.armature() * (a - robot.shift()) + robot.friction_torque()


def _external_forces(robot: RobotExpressions, wrenches: Mapping[str, SX]) -> dict[int, Spatial]:
    external: dict[int, Spatial] = {}
    for frame, wrench in wrenches.items():
        link, offset = robot.attachment(frame)
        if link >= 0:
            force = constant_placement(offset).force_to_parent(spatial(wrench))
            external[link] = external[link] + force if link in external else force
    return external


@dataclass(frozen=True)
class FrameMotion:
    """Motion of a frame, in its own axes.

    Attributes:
        velocity: Twist (v, ω).
        acceleration: Classical acceleration (dv/dt + ω × v, dω/dt) of the frame's origin, which contains the symbol
            `fall` instead of gravity.
        fall: Symbol (3,) for `gravity`.
        gravity: Gravity in the frame's axes (3,) [m/s²]; its derivative is [g] times that of the frame's rotation.
        jacobian: Jacobian (6, nv) of the twist.
        rotation: R (3, 3), from the frame's axes to the world's.
        position: p (3,) in the world [m].
    """

    velocity: Spatial
    acceleration: Spatial
    fall: SX
    gravity: SX
    jacobian: SX
    rotation: SX
    position: SX

    @property
    def spatial_acceleration(self) -> Spatial:
        """Spatial acceleration (dv/dt, dω/dt), as pin.getFrameAcceleration."""
        v = self.velocity
        return Spatial(self.acceleration.linear - ca.cross(v.angular, v.linear), self.acceleration.angular)

    def gravity_derivative(self) -> SX:
        """Derivative of `gravity` by q in tangent space, (3, nv)."""
        return ca.mtimes(ca.skew(self.gravity), self.jacobian[3:, :])


def frame_motions(robot: RobotExpressions, a: SX, frames: list[str]) -> dict[str, FrameMotion]:
    """Motion of frames of a robot, by name, at (q, v) with the relative acceleration a' (nv,)."""
    accelerations = robot.tree_dynamics().accelerations(robot.coordinates.accelerations(a))
    gravity = gravity_in_links(robot.tree, np.array(robot.model.gravity.linear))
    still = [SX(np.zeros(3)) for _ in gravity]
    result = {}
    for name in frames:
        link, offset = robot.attachment(name)
        felt = frame_kinematics.frame_classical(accelerations, still, link, offset)
        fall = SX.sym(f"fall_{name}", 3)
        if link < 0:  # fixed to the world
            fall_here, g = SX(np.zeros(3)), SX(np.zeros(3))
        else:
            fall_here, g = fall, ca.mtimes(SX(offset.rotation.T), gravity[link])
        rotation, position = robot.frame_placement(name)
        result[name] = FrameMotion(
            velocity=robot.local_velocity(name),
            acceleration=Spatial(felt.linear + fall_here, felt.angular),
            fall=fall,
            gravity=g,
            jacobian=robot.frame_jacobian(name, pin.ReferenceFrame.LOCAL),
            rotation=rotation,
            position=position,
        )
    return result
