"""Rigid-body quantities of a robot as expressions, each built once."""

from __future__ import annotations

import copy
from collections.abc import Mapping

import casadi as ca
import numpy as np
import pinocchio as pin
from casadi import SX

from trajopt.dynamics import frame_kinematics
from trajopt.dynamics.coordinates import VelocityMap
from trajopt.dynamics.expression_cache import ExpressionCache, checked_column
from trajopt.dynamics.friction import SmoothFriction
from trajopt.dynamics.motion import gravity_in_links
from trajopt.dynamics.sparse_ltdl import SparseLTDL
from trajopt.dynamics.spatial import Placement, Spatial
from trajopt.dynamics.tree import Tree, constant_placement
from trajopt.dynamics.tree_dynamics import TreeDynamics
from trajopt.dynamics.variable_bodies import Parameters, joint_numbers
from trajopt.errors import InvalidArgumentError, unknown_name
from trajopt.robots.frame_index import frame_index
from trajopt.robots.masses import check_masses
from trajopt.robots.placements import check_reference_frame


class RobotExpressions:
    """Kinematics and dynamics of a model at (q, v), as expressions that share subexpressions.

    Every method returns SX; calling it twice returns the same expression. Conventions are Pinocchio's: spatial
    vectors have their linear part first, free-flyer and planar velocities are local twists, quaternions are
    (x, y, z, w) and must be normalised. Joint torques include the armature of the model. Derivatives in q are
    taken in the tangent space: d/dδ at δ = 0 of f(q ⊕ δ).

    Args:
        model: Pinocchio's model with any joint types; it is read once.
        q: Configuration, SX (nq,) [rad, m].
        v: Velocity, SX (nv,) [rad/s, m/s]; None if no quantity needs it.
        friction: Friction to add to the joint torques of rnea and its derivatives: None (default, as in Pinocchio and
            Crocoddyl), "smooth" for the model's damping and friction with the default width, or a SmoothFriction.
        parameters: Run-time parameters of the robot, `robot.parameters`; by default the model's numbers are constants.
        with_derivatives: Whether derivatives are needed too. Coriolis forces are then computed as ½ ∂τ/∂v v, which
            saves a recursion: forward_dynamics with its derivatives takes 5,710 operations instead of 6,091
            (talos_arm). Without derivatives, False gives shorter expressions.

    Frames are selected by index or by name.

    Raises:
        InvalidArgumentError: A size does not fit the model, a quantity needs a velocity and `v` is None, or the mass
            matrix is singular and a quantity needs its inverse.
        UnknownNameError: The model has no frame of this name.
        UnsupportedOperationError: The type of a joint is unknown.
    """

    def __init__(
        self,
        model: pin.Model,
        q: SX,
        v: SX | None = None,
        *,
        friction: SmoothFriction | str | None = None,
        parameters: Parameters | None = None,
        with_derivatives: bool = False,
    ) -> None:
        self.model = model
        self.q = checked_column("q", q, model.nq)
        self.v = None if v is None else checked_column("v", v, model.nv)
        self.parameters = dict(parameters or {})
        self._rubbing = [joint_numbers(model, self.parameters, name) for name in ("damping", "friction")]
        self.tree = Tree(model, self.q, self.parameters)
        self.coordinates = VelocityMap(model, self.tree, self.q, self.v)
        self.friction = SmoothFriction.of(friction)
        self.with_derivatives = with_derivatives
        self._gravity = np.array(model.gravity.linear)
        self._cache = ExpressionCache()

    def __repr__(self) -> str:
        sizes = f"nq={self.model.nq}, nv={self.model.nv}"
        return f"RobotExpressions({self.model.name!r}, {sizes}, friction={self.friction})"

    def branch(self, *, friction: SmoothFriction | None, with_derivatives: bool) -> RobotExpressions:
        """Returns the expressions with other options; both share all that depends on q and v alone."""
        other = copy.copy(self)
        other.friction, other.with_derivatives, other._cache = friction, with_derivatives, self._cache.branch()
        return other

    # Kinematics

    def joint_placement(self, joint_id: int) -> tuple[SX, SX]:
        """Rotation R (3, 3) [-] and position p (3,) [m] of a joint's frame in the world, as data.oMi."""
        link, offset = self.tree.attachment[self._check("joint_id", joint_id, self.model.njoints)]
        placement = self._placement(link, offset)
        return placement.rotation, placement.translation

    def frame_placement(self, frame_id: int | str) -> tuple[SX, SX]:
        """Rotation R (3, 3) [-] and position p (3,) [m] of a frame in the world, as data.oMf."""
        placement = self._placement(*self.attachment(frame_id))
        return placement.rotation, placement.translation

    def frame_velocity(self, frame_id: int | str, reference: pin.ReferenceFrame | str) -> SX:
        """Spatial velocity (6,) [m/s, rad/s] of a frame, as pin.getFrameVelocity."""
        local = self.local_velocity(frame_id)
        return frame_kinematics.seen_as(local, lambda: self._placement(*self.attachment(frame_id)), reference)

    def frame_acceleration(self, frame_id: int | str, reference: pin.ReferenceFrame | str, a: SX) -> SX:
        """Spatial acceleration (6,) [m/s², rad/s²] of a frame for joint accelerations a (nv,), without gravity.

        As pin.getFrameAcceleration. It is the classical acceleration minus (ω × v, 0); the classical one is cheaper.
        """
        classical, velocity = self._local_classical(frame_id, a), self.local_velocity(frame_id)
        local = Spatial(classical.linear - ca.cross(velocity.angular, velocity.linear), classical.angular)
        return frame_kinematics.seen_as(local, lambda: self._placement(*self.attachment(frame_id)), reference)

    def frame_classical_acceleration(self, frame_id: int | str, reference: pin.ReferenceFrame | str, a: SX) -> SX:
        """Classical acceleration (6,) of a frame: spatial + (ω × v, 0), as pin.getFrameClassicalAcceleration."""
        if reference in (pin.ReferenceFrame.WORLD, "world"):  # ω × v of the twist at the world's origin
            velocity = self.frame_velocity(frame_id, reference)
            acceleration = self.frame_acceleration(frame_id, reference, a)
            return acceleration + ca.vertcat(ca.cross(velocity[3:], velocity[:3]), SX(np.zeros(3)))
        local = self._local_classical(frame_id, a)
        return frame_kinematics.seen_as(local, lambda: self._placement(*self.attachment(frame_id)), reference)

    def frame_jacobian(self, frame_id: int | str, reference: pin.ReferenceFrame | str) -> SX:
        """Jacobian (6, nv) of a frame's velocity, as pin.getFrameJacobian: "local", "world", "local_world_aligned"."""
        axes = check_reference_frame("reference", reference)

        def build() -> SX:
            link, offset = self.attachment(frame_id)
            if axes == pin.ReferenceFrame.LOCAL:
                return frame_kinematics.local_jacobian(self.tree, link, offset, self.model.nv)
            origin = SX(np.zeros(3)) if axes == pin.ReferenceFrame.WORLD else self._placement(link, offset).translation
            return frame_kinematics.world_jacobian(self.tree, link, self._worlds(), origin, self.model.nv)

        return self._cache.once(("frame_jacobian", frame_id, str(axes)), build)

    # Dynamics

    def rnea(self, a: SX) -> SX:
        """Joint torques τ (nv,) [N m, N] of inverse dynamics for accelerations a (nv,), as pin.rnea."""

        def build() -> SX:
            torques = self.tree_dynamics().newton_euler(self._relative(a))[1]
            return self.coordinates.torques(torques) + self.armature() * a + self.friction_torque()

        return self._cache.own(("rnea", self._cache.key_of(a)), build)

    def rnea_derivatives(self, a: SX) -> tuple[SX, SX]:
        """Derivatives ∂τ/∂q (nv, nv) in tangent space and ∂τ/∂v (nv, nv), as pin.computeRNEADerivatives.

        For joints whose motion subspace moves (spherical ZYX, universal, ellipsoid, composite), Pinocchio's derivatives
        are wrong and differ from these.
        """

        def build() -> tuple[SX, SX]:
            dq, dv = self._relative_derivatives(a)
            shift_q, shift_v = self.shift_derivatives()
            mass = self._rigid_mass_matrix()
            return dq + ca.mtimes(mass, shift_q), dv + ca.mtimes(mass, shift_v)

        return self._cache.own(("rnea_derivatives", self._cache.key_of(a)), build)

    def gravity(self) -> SX:
        """Torques (nv,) that hold the robot at rest [N m, N], as pin.computeGeneralizedGravity."""

        def build() -> SX:
            dynamics = TreeDynamics(self.tree, SX(np.zeros(len(self.tree.rates))), self._gravity)
            return self.coordinates.torques(dynamics.newton_euler(dynamics.shift().value)[1])

        return self._cache.once("gravity", build)

    def nonlinear_effects(self) -> SX:
        """Torques (nv,) at a = 0 [N m, N]: Coriolis, centrifugal, gravity, and friction if enabled."""
        if not self.with_derivatives:
            return self.rnea(SX(np.zeros(self.model.nv)))

        def build() -> SX:
            return self._relative_effects() + ca.mtimes(self._rigid_mass_matrix(), self.shift())

        return self._cache.own("nonlinear_effects", build)

    def crba(self) -> SX:
        """Mass matrix M (nv, nv), symmetric, including armature; zeros between branches are structural."""
        return self._cache.once("crba", lambda: self._rigid_mass_matrix() + ca.diag(self.armature()))

    def solve_mass_matrix(self, b: SX) -> SX:
        """Solution M⁻¹ b for b (nv,) or (nv, m), by the sparse LᵀDL factorisation of M."""
        return self._factorisation().solve(b)

    def inverse_mass_matrix(self) -> SX:
        """Inverse mass matrix M⁻¹ (nv, nv), symmetric."""
        return self._cache.once("inverse", lambda: self._factorisation().inverse())

    def forward_dynamics(self, tau: SX) -> SX:
        """Accelerations a (nv,) = M⁻¹ (τ - nonlinear effects) for joint torques τ (nv,), as pin.aba."""
        tau = checked_column("tau", tau, self.model.nv)

        def build() -> SX:
            return self.falling_acceleration(tau) - self.shift()

        return self._cache.own(("forward", self._cache.key_of(tau)), build)

    def falling_acceleration(self, tau: SX) -> SX:
        """Relative acceleration a + c (nv,) for joint torques τ (nv,), with c = `shift()`."""
        return self.solve_mass_matrix(tau - self._relative_effects() + self.armature() * self.shift())

    def forward_dynamics_derivatives(self, tau: SX) -> tuple[SX, SX, SX]:
        """Derivatives ∂a/∂q (tangent), ∂a/∂v and ∂a/∂τ = M⁻¹, (nv, nv) each, as pin.computeABADerivatives.

        ∂a/∂q = -M⁻¹ ∂τ/∂q and ∂a/∂v = -M⁻¹ ∂τ/∂v, with the derivatives of rnea at a = forward_dynamics(τ).
        """

        def build() -> tuple[SX, SX, SX]:
            dq, dv = self._relative_derivatives(self.forward_dynamics(tau))
            shift_q, shift_v = self.shift_derivatives()
            armature = ca.diag(self.armature())
            by_q = self._factorisation().solve(dq - ca.mtimes(armature, shift_q), negative=True) - shift_q
            by_v = self._factorisation().solve(dv - ca.mtimes(armature, shift_v), negative=True) - shift_v
            return by_q, by_v, self.inverse_mass_matrix()

        return self._cache.own(("forward_derivatives", self._cache.key_of(tau)), build)

    # Centre of mass and momentum

    def com_position(self) -> SX:
        """Centre of mass (3,) in the world [m], as pin.centerOfMass."""

        def build() -> SX:
            moment = self.tree.grounded
            for link, inertia in zip(self.tree.links, self._shape().inertias(), strict=True):
                if link.parent < 0:
                    placement = link.placement
                    turned = ca.mtimes(placement.rotation, inertia.moment)
                    moment = moment + turned + inertia.mass * placement.translation
            return moment / self._mass()

        return self._cache.once("com", build)

    def com_velocity(self) -> SX:
        """Velocity (3,) of the centre of mass in the world [m/s]: linear momentum over mass."""
        return self._cache.once("com_velocity", lambda: self.tree_dynamics().momentum().linear / self._mass())

    def com_jacobian(self) -> SX:
        """Jacobian (3, nv) of the centre of mass in tangent space, as pin.jacobianCenterOfMass."""

        def build() -> SX:
            jacobian = SX(3, self.model.nv)
            for link, inertia, world in zip(self.tree.links, self._shape().inertias(), self._worlds(), strict=True):
                for k, s in enumerate(link.columns):
                    linear = inertia.times(s).linear
                    for index, coefficient in self.tree.rates[link.first + k].items():
                        jacobian[:, index] += coefficient * ca.mtimes(world.rotation, linear) / self._mass()
            return jacobian

        return self._cache.once("com_jacobian", build)

    def centroidal_momentum(self) -> SX:
        """Momentum (6,) [kg m/s, kg m²/s] about the centre of mass in the world's axes.

        As pin.computeCentroidalMomentum.
        """

        def build() -> SX:
            momentum = self.tree_dynamics().momentum()
            angular = momentum.angular - ca.cross(self.com_position(), momentum.linear)
            return ca.vertcat(momentum.linear, angular)

        return self._cache.once("centroidal_momentum", build)

    # Shared by the methods above

    def tree_dynamics(self) -> TreeDynamics:
        """Dynamics in the rates of the tree."""

        def build() -> TreeDynamics:
            if self.v is None:
                raise InvalidArgumentError("v: expected the velocity SX (nv,), got None; this quantity depends on it")
            return TreeDynamics(self.tree, self.coordinates.rates(self.v), self._gravity)

        return self._cache.own("dynamics", lambda: self._cache.once("dynamics", build).branch())

    def _shape(self) -> TreeDynamics:
        """Dynamics for quantities that depend on q only."""
        return TreeDynamics(self.tree, SX(0, 1), self._gravity) if self.v is None else self.tree_dynamics()

    def _relative(self, a: SX) -> SX:
        """Relative accelerations ÿ + c of the tree for the accelerations a (nv,)."""
        a = checked_column("a", a, self.model.nv)
        # Built once: equal sums are different graph nodes, and the recursions are cached by their input nodes.
        return self._cache.own(
            ("relative", self._cache.key_of(a)),
            lambda: self.coordinates.accelerations(a) + self.tree_dynamics().shift().value,
        )

    def _relative_effects(self) -> SX:
        """Torques (nv,) at a + c = 0, friction included."""

        def build() -> SX:
            bias = self.coordinates.accelerations(SX(np.zeros(self.model.nv)))
            if self.with_derivatives:
                mass = self.tree_dynamics().mass_columns().matrix
                torques = self.tree_dynamics().quadratic_torques() + ca.mtimes(mass, bias)
            else:
                torques = self.tree_dynamics().newton_euler(bias)[1]
            return self.coordinates.torques(torques) + self.friction_torque()

        return self._cache.own("relative_effects", build)

    def _relative_derivatives(self, a: SX) -> tuple[SX, SX]:
        """Derivatives ∂τ/∂q and ∂τ/∂v at fixed a + c, (nv, nv) each, friction included."""
        key = ("relative_derivatives", self._cache.key_of(a))
        return self._cache.own(key, lambda: self.torque_derivatives(self._relative(a), a))

    def torque_derivatives(self, relative: SX, a: SX, external: Mapping[int, Spatial] | None = None) -> tuple[SX, SX]:
        """∂τ/∂q and ∂τ/∂v at fixed accelerations `relative` of the tree, (nv, nv) each, friction but no armature."""
        dynamics = self.tree_dynamics()
        torques = dynamics.newton_euler(relative, external)[1]
        dq, dv = dynamics.configuration_derivative(relative, external), dynamics.velocity_derivative().dv
        dq, dv = self.coordinates.torque_derivatives(torques, dq, dv, dynamics.mass_columns().matrix, a)
        if self.friction is not None and self.v is not None:
            dv = dv + ca.diag(self.friction.slope(self._rubbing, self.v))
        return dq, dv

    def shift(self) -> SX:
        """Shift c (nv,) due to free-flyer roots; their linear velocity and gravity enter the dynamics through it."""
        return self._cache.once("shift", lambda: self.coordinates.torques(self.tree_dynamics().shift().value))

    def shift_derivatives(self) -> tuple[SX, SX]:
        """Derivatives ∂c/∂q in tangent space and ∂c/∂v, (nv, nv) each."""
        shift = self.tree_dynamics().shift()
        return self.coordinates.mass_matrix(shift.dq), self.coordinates.mass_matrix(shift.dv)

    def _rigid_mass_matrix(self) -> SX:
        return self._cache.once("mass", lambda: self.coordinates.mass_matrix(self._shape().mass_columns().matrix))

    def _factorisation(self) -> SparseLTDL:
        def build() -> SparseLTDL:
            check_masses(self.model)
            return SparseLTDL(self.crba())

        return self._cache.once("factorisation", build)

    def armature(self) -> SX:
        """Rotor inertias (nv,) that the model adds to the diagonal of the mass matrix [kg m², kg]."""
        return joint_numbers(self.model, self.parameters, "armature")

    def friction_torque(self) -> SX:
        """Torques (nv,) that overcome the friction of the joints [N m, N], with the sign of v."""
        if self.friction is None or self.v is None:
            return SX(np.zeros(self.model.nv))
        return self.friction.torque(self._rubbing, self.v)

    def _check(self, name: str, number: int, size: int) -> int:
        if not 0 <= number < size:
            raise InvalidArgumentError(f"{name}: expected 0 <= {name} < {size}, got {number}; see model.names, frames")
        return int(number)

    def attachment(self, frame_id: int | str) -> tuple[int, pin.SE3]:
        """Index of the link that carries a frame, -1 for the world, and the frame's constant placement in it."""
        if isinstance(frame_id, str):
            names = [frame.name for frame in self.model.frames]
            if frame_id not in names:
                raise unknown_name("frame", frame_id, names)
            frame_id = frame_index(self.model, frame_id)
        frame = self.model.frames[self._check("frame_id", frame_id, self.model.nframes)]
        return self.tree.carrier(int(frame_id), frame)

    def _worlds(self) -> list[Placement]:
        return self._cache.once("worlds", lambda: frame_kinematics.world_placements(self.tree))

    def _placement(self, link: int, offset: pin.SE3) -> Placement:
        constant = constant_placement(offset)
        key = ("placement", link, offset.homogeneous.tobytes())
        return self._cache.once(key, lambda: self._worlds()[link].compose(constant) if link >= 0 else constant)

    def local_velocity(self, frame_id: int | str) -> Spatial:
        """Twist of a frame in its own axes."""

        def build() -> Spatial:
            link, offset = self.attachment(frame_id)
            return frame_kinematics.frame_twist(self.tree_dynamics().velocities(), link, offset)

        return self._cache.once(("velocity", frame_id), build)

    def _local_classical(self, frame_id: int | str, a: SX) -> Spatial:
        def build() -> Spatial:
            link, offset = self.attachment(frame_id)
            gravity = self._cache.once("falling", lambda: gravity_in_links(self.tree, self._gravity))
            accelerations = self.tree_dynamics().accelerations(self._relative(a))
            return frame_kinematics.frame_classical(accelerations, gravity, link, offset)

        return self._cache.own(("classical", frame_id, self._cache.key_of(a)), build)

    def _mass(self) -> SX:
        if self.tree.mass.is_constant() and float(self.tree.mass) <= 0:
            raise InvalidArgumentError(
                "model: expected a positive total mass for the centre of mass, got 0; add masses"
            )
        return self.tree.mass
