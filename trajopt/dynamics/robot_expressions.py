"""Rigid-body quantities of a robot as expressions, each built once."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import casadi as ca
import numpy as np
import pinocchio as pin
from casadi import SX

from trajopt.dynamics import kinematics
from trajopt.dynamics.composite import CompositeBody, composite_bodies, composite_inertias
from trajopt.dynamics.coordinates import Coordinates
from trajopt.dynamics.friction import SmoothFriction
from trajopt.dynamics.inverse_dynamics import gravity_torques, newton_euler
from trajopt.dynamics.mass_matrix import MassColumns, mass_columns
from trajopt.dynamics.motion import (
    Accelerations,
    RootShift,
    Velocities,
    gravity_in_links,
    is_free_root,
    link_accelerations,
    link_velocities,
    root_shift,
)
from trajopt.dynamics.rnea_derivatives import VelocityDerivative, configuration_derivative, velocity_derivative
from trajopt.dynamics.sparse_ltdl import SparseLTDL
from trajopt.dynamics.spatial import Inertia, Placement, Spatial, zero
from trajopt.dynamics.tree import Tree, constant_placement
from trajopt.errors import InvalidArgumentError

T = TypeVar("T")


class RobotExpressions:
    """Kinematics and dynamics of a model at (q, v), as expressions that share what they have in common.

    Every method returns SX; calling it twice returns the same expression. Conventions are Pinocchio's: spatial
    vectors have their linear part first, free-flyer and planar velocities are local twists, quaternions are
    (x, y, z, w) and assumed to be normalised. Joint torques include the armature of the model. Derivatives in q are
    taken in the tangent space: d/dδ at δ = 0 of f(q ⊕ δ).

    Args:
        model: Pinocchio's model, any joint type; it is read once.
        q: Configuration, SX (nq,) [rad, m].
        v: Velocity, SX (nv,) [rad/s, m/s]; None if only configurations matter.
        friction: None (default, as Pinocchio and Crocoddyl do), "smooth" for the model's damping and friction with
            the default width, or a SmoothFriction; added to the joint torques of rnea and its derivatives.

    Raises:
        InvalidArgumentError: a size does not fit the model, or a velocity is needed and was not given.
        UnsupportedOperationError: a joint type is unknown.
    """

    def __init__(
        self, model: pin.Model, q: SX, v: SX | None = None, *, friction: SmoothFriction | str | None = None
    ) -> None:
        self.model = model
        self.q = _column("q", q, model.nq)
        self.v = None if v is None else _column("v", v, model.nv)
        self.tree = Tree(model, self.q)
        self.coordinates = Coordinates(model, self.tree, self.q, self.v)
        self.friction = SmoothFriction.of(friction)
        self._cache: dict[Hashable, Any] = {}

    def __repr__(self) -> str:
        sizes = f"nq={self.model.nq}, nv={self.model.nv}"
        return f"RobotExpressions({self.model.name!r}, {sizes}, friction={self.friction})"

    # Kinematics

    def joint_placement(self, joint_id: int) -> tuple[SX, SX]:
        """R (3, 3) [-] and p (3,) [m] of a joint's frame in the world, as data.oMi."""
        link, offset = self.tree.attachment[self._check("joint_id", joint_id, self.model.njoints)]
        placement = self._placement(link, offset)
        return placement.rotation, placement.translation

    def frame_placement(self, frame_id: int) -> tuple[SX, SX]:
        """R (3, 3) [-] and p (3,) [m] of a frame in the world, as data.oMf."""
        placement = self._placement(*self._frame(frame_id))
        return placement.rotation, placement.translation

    def frame_velocity(self, frame_id: int, reference: pin.ReferenceFrame) -> SX:
        """Spatial velocity (6,) [m/s, rad/s] of a frame, as pin.getFrameVelocity."""
        local = self._local_motion(frame_id, self._velocities().total)
        return kinematics.seen_as(local, self._placement(*self._frame(frame_id)), reference)

    def frame_acceleration(self, frame_id: int, reference: pin.ReferenceFrame, a: SX) -> SX:
        """Spatial acceleration (6,) [m/s², rad/s²] of a frame for joint accelerations a (nv,), without gravity.

        As pin.getFrameAcceleration.
        """
        local = self._local_motion(frame_id, self._free_accelerations(a).total)
        return kinematics.seen_as(local, self._placement(*self._frame(frame_id)), reference)

    def frame_classical_acceleration(self, frame_id: int, reference: pin.ReferenceFrame, a: SX) -> SX:
        """Acceleration (6,) of the frame's point: spatial + (ω × v, 0), as pin.getFrameClassicalAcceleration."""
        velocity = self.frame_velocity(frame_id, reference)
        acceleration = self.frame_acceleration(frame_id, reference, a)
        return acceleration + ca.vertcat(ca.cross(velocity[3:], velocity[:3]), SX(np.zeros(3)))

    def frame_jacobian(self, frame_id: int, reference: pin.ReferenceFrame) -> SX:
        """Jacobian (6, nv) of a frame's spatial velocity, as pin.getFrameJacobian."""

        def build() -> SX:
            link, offset = self._frame(frame_id)
            if reference == pin.ReferenceFrame.LOCAL:
                return kinematics.local_jacobian(self.tree, link, offset, self.model.nv)
            world = reference == pin.ReferenceFrame.WORLD
            origin = SX(np.zeros(3)) if world else self._placement(link, offset).translation
            return kinematics.world_jacobian(self.tree, link, self._worlds(), origin, self.model.nv)

        return self._once(("frame_jacobian", frame_id, str(reference)), build)

    # Dynamics

    def rnea(self, a: SX) -> SX:
        """Joint torques τ (nv,) [N m, N] of inverse dynamics for accelerations a (nv,), as pin.rnea."""

        def build() -> SX:
            torques = self.coordinates.torques(self._newton_euler(a)[1]) + self._armature() * a
            return torques if self.friction is None else torques + self.friction.torque(self.model, self._v())

        return self._once(("rnea", _key(a)), build)

    def rnea_derivatives(self, a: SX) -> tuple[SX, SX]:
        """∂τ/∂q (nv, nv) in tangent space and ∂τ/∂v (nv, nv), as pin.computeRNEADerivatives."""

        def build() -> tuple[SX, SX]:
            forces, torques = self._newton_euler(a)
            accelerations = self._accelerations(a)
            dq, dv = rnea_derivatives(
                self.tree, self._velocities(), accelerations, forces, self._bodies(), self._mass_columns()
            )
            dq, dv = self.coordinates.torque_derivatives(torques, dq, dv, self._mass_columns().matrix, a)
            if self.friction is not None:
                dv = dv + ca.diag(self.friction.slope(self.model, self._v()))
            return dq, dv

        return self._once(("rnea_derivatives", _key(a)), build)

    def gravity(self) -> SX:
        """Torques (nv,) that hold the robot at rest, as pin.computeGeneralizedGravity."""

        def build() -> SX:
            rest = SX(np.zeros(len(self.tree.rates)))
            velocities = link_velocities(self.tree, rest)
            accelerations = link_accelerations(self.tree, velocities, rest, gravity_root(self.model.gravity.linear))
            return self.coordinates.torques(newton_euler(self.tree, velocities, accelerations)[1])

        return self._once("gravity", build)

    def nonlinear_effects(self) -> SX:
        """Torques (nv,) at a = 0: Coriolis, centrifugal, gravity (and friction if asked for)."""
        return self.rnea(SX(np.zeros(self.model.nv)))

    def crba(self) -> SX:
        """Mass matrix M (nv, nv), symmetric, with armature on its diagonal; structural zeros are sparse."""

        def build() -> SX:
            matrix = self.coordinates.mass_matrix(self._mass_columns().matrix)
            return matrix + ca.diag(self._armature())

        return self._once("crba", build)

    def solve_mass_matrix(self, b: SX) -> SX:
        """M⁻¹ b for b (nv,) or (nv, m), by the sparse LᵀDL factorisation of M."""
        return self._factorisation().solve(b)

    def inverse_mass_matrix(self) -> SX:
        """M⁻¹ (nv, nv), symmetric."""
        return self._once("inverse", lambda: self._factorisation().inverse())

    def forward_dynamics(self, tau: SX) -> SX:
        """Accelerations a (nv,) = M⁻¹ (τ - nonlinear effects) for joint torques τ (nv,), as pin.aba."""
        tau = _column("tau", tau, self.model.nv)
        return self._once(("forward", _key(tau)), lambda: self.solve_mass_matrix(tau - self.nonlinear_effects()))

    def forward_dynamics_derivatives(self, tau: SX) -> tuple[SX, SX, SX]:
        """∂a/∂q (tangent), ∂a/∂v and ∂a/∂τ = M⁻¹, (nv, nv) each, as pin.computeABADerivatives.

        ∂a/∂q = -M⁻¹ ∂τ/∂q and ∂a/∂v = -M⁻¹ ∂τ/∂v, where ∂τ are those of rnea at a = forward_dynamics(τ).
        """

        def build() -> tuple[SX, SX, SX]:
            dq, dv = self.rnea_derivatives(self.forward_dynamics(tau))
            return self.solve_mass_matrix(-dq), self.solve_mass_matrix(-dv), self.inverse_mass_matrix()

        return self._once(("forward_derivatives", _key(tau)), build)

    # Centre of mass and momentum

    def com_position(self) -> SX:
        """Centre of mass (3,) in the world [m], as pin.centerOfMass."""

        def build() -> SX:
            moment = SX(self.tree.grounded.moment)
            for link, inertia in zip(self.tree.links, self._inertias(), strict=True):
                if link.parent < 0:
                    placement = link.placement
                    turned = ca.mtimes(placement.rotation, inertia.moment)
                    moment = moment + turned + inertia.mass * placement.translation
            return moment / self._mass()

        return self._once("com", build)

    def com_velocity(self) -> SX:
        """Velocity (3,) of the centre of mass in the world [m/s]: linear momentum over mass."""
        return self._once("com_velocity", lambda: self._momentum().linear / self._mass())

    def com_jacobian(self) -> SX:
        """Jacobian (3, nv) of the centre of mass in tangent space, as pin.jacobianCenterOfMass."""

        def build() -> SX:
            jacobian = SX(3, self.model.nv)
            for link, inertia, world in zip(self.tree.links, self._inertias(), self._worlds(), strict=True):
                for k, s in enumerate(link.columns):
                    linear = inertia.times(s).linear
                    for index, coefficient in self.tree.rates[link.first + k].items():
                        jacobian[:, index] += coefficient * ca.mtimes(world.rotation, linear) / self._mass()
            return jacobian

        return self._once("com_jacobian", build)

    def centroidal_momentum(self) -> SX:
        """Momentum (6,) [kg m/s, kg m²/s] about the centre of mass in the world's axes.

        As pin.computeCentroidalMomentum.
        """

        def build() -> SX:
            momentum = self._momentum()
            angular = momentum.angular - ca.cross(self.com_position(), momentum.linear)
            return ca.vertcat(momentum.linear, angular)

        return self._once("centroidal_momentum", build)

    # What the methods above share, built once

    def _once(self, key: Hashable, build: Callable[[], T]) -> T:
        if key not in self._cache:
            self._cache[key] = build()
        result: T = self._cache[key]
        return result

    def _v(self) -> SX:
        if self.v is None:
            raise InvalidArgumentError("v: expected the velocity SX (nv,), got None; this quantity depends on it")
        return self.v

    def _check(self, name: str, number: int, size: int) -> int:
        if not 0 <= number < size:
            raise InvalidArgumentError(f"{name}: expected 0 <= {name} < {size}, got {number}; see model.names, frames")
        return int(number)

    def _frame(self, frame_id: int) -> tuple[int, pin.SE3]:
        frame = self.model.frames[self._check("frame_id", frame_id, self.model.nframes)]
        link, offset = self.tree.attachment[frame.parentJoint]
        return link, offset * frame.placement

    def _worlds(self) -> list[Placement]:
        return self._once("worlds", lambda: kinematics.world_placements(self.tree))

    def _placement(self, link: int, offset: pin.SE3) -> Placement:
        constant = constant_placement(offset)
        key = ("placement", link, offset.homogeneous.tobytes())
        return self._once(key, lambda: self._worlds()[link].compose(constant) if link >= 0 else constant)

    def _local_motion(self, frame_id: int, motions: list[Spatial]) -> Spatial:
        link, offset = self._frame(frame_id)
        return constant_placement(offset).motion_to_child(motions[link]) if link >= 0 else zero()

    def _velocities(self) -> Velocities:
        return self._once("velocities", lambda: link_velocities(self.tree, self.coordinates.rates(self._v())))

    def _accelerations(self, a: SX) -> Accelerations:
        root = gravity_root(self.model.gravity.linear)
        return self._once(("accelerations", _key(a)), lambda: self._link_accelerations(a, root))

    def _free_accelerations(self, a: SX) -> Accelerations:
        return self._once(("free", _key(a)), lambda: self._link_accelerations(a, zero()))

    def _link_accelerations(self, a: SX, root: Spatial) -> Accelerations:
        a = _column("a", a, self.model.nv)
        return link_accelerations(self.tree, self._velocities(), self.coordinates.accelerations(a), root)

    def _newton_euler(self, a: SX) -> tuple[list[Spatial], SX]:
        key = ("newton_euler", _key(a))
        return self._once(key, lambda: newton_euler(self.tree, self._velocities(), self._accelerations(a)))

    def _inertias(self) -> list[Inertia]:
        return self._once("inertias", lambda: composite_inertias(self.tree))

    def _bodies(self) -> list[CompositeBody]:
        return self._once("bodies", lambda: composite_bodies(self.tree, self._velocities(), self._inertias()))

    def _mass_columns(self) -> MassColumns:
        return self._once("mass_columns", lambda: mass_columns(self.tree, self._inertias()))

    def _factorisation(self) -> SparseLTDL:
        return self._once("factorisation", lambda: SparseLTDL(self.crba()))

    def _momentum(self) -> Spatial:
        def build() -> Spatial:
            total = zero()
            for link, body in zip(self.tree.links, self._bodies(), strict=True):
                if link.parent < 0:
                    total = total + link.placement.force_to_parent(body.momentum)
            return total

        return self._once("momentum", build)

    def _mass(self) -> float:
        if self.tree.mass <= 0:
            raise InvalidArgumentError("model: expected a positive total mass for the centre of mass, got 0")
        return self.tree.mass

    def _armature(self) -> SX:
        return SX(np.array(self.model.armature))


def _column(name: str, value: SX, size: int) -> SX:
    value = SX(value)
    if value.shape != (size, 1):
        raise InvalidArgumentError(f"{name}: expected shape ({size},), got {value.shape}; see model.nq, model.nv")
    return ca.densify(value)


def _key(value: SX) -> tuple[int, ...]:
    return tuple(value[i].element_hash() for i in range(value.numel()))
