"""Inverse dynamics at one instant: torques from accelerations and contact forces, and their equality constraints.

The control is u = (a, f), where f are the reported forces. The multipliers of the contacts are λ = Tᵀ f, the joint
torques

    τ = M a + h - Jᵀ λ,

The motors' torques are B⁺ τ. The equations are Nᵀ τ = 0, where N spans the torques that no motor provides, and

    s (J a + J̇ v + kd J v + kp e + μ λ) + (1 - s) f = 0

for each contact: it holds if s = 1, and has no force if s = 0.

Source: Mastalli et al., "Inverse-dynamics MPC via nullspace resolution", T-RO 2023, eqs. 5 and 6; derivatives of τ as
in `trajopt.dynamics.falling`.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

import casadi as ca
from casadi import SX

from trajopt.contacts.holding import held_acceleration, held_derivative, with_turning_pushes
from trajopt.contacts.stack import ContactStack
from trajopt.dynamics.falling import FrameMotion, falling_derivatives, falling_torques, frame_motions
from trajopt.dynamics.friction import SmoothFriction
from trajopt.dynamics.robot_expressions import RobotExpressions
from trajopt.instant import Instant
from trajopt.types import Reals

UNACTUATED = "unactuated"


def equation_name(contact: str) -> str:
    """Name under which the equations of a contact appear among constraints: "CONTACT_contact"."""
    return f"{contact}_contact"


class InverseNode:
    """Torques and equations of a control (a, f), and the costs and constraints as functions of it.

    Costs and constraints are evaluated at another instant, `seen`. Its control is the motors' torques, and
    accelerations, forces and equations are symbols; `insert` and `chain_rows` map the results back to (x, a, f).

    Args:
        instant: State and control (a, f) as symbols.
        contacts: The contacts.
        motors: B⁺ (nu, nv), which maps joint torques to motor torques [-].
        idle: Nᵀ (nv - nu, nv), combinations of joint torques that no motor provides [-].
        friction: Friction of the joints, or None.
        damping: μ [1/kg].

    Attributes:
        seen: Instant at which costs and constraints are evaluated.
    """

    def __init__(
        self,
        instant: Instant,
        contacts: ContactStack,
        motors: Reals,
        idle: Reals,
        *,
        friction: SmoothFriction | None,
        damping: SX,
    ) -> None:
        self._contacts, self._damping = contacts, damping
        self._motors, self._idle = (SX(ca.sparsify(ca.DM(matrix))) for matrix in (motors, idle))
        equations = {UNACTUATED: len(idle)} if len(idle) else {}
        equations |= {equation_name(name): size for name, size in contacts.sizes.items()}
        self.seen = Instant(
            instant.state,
            len(motors),
            derivatives=instant.derivatives,
            forces=contacts.sizes,
            motion="acceleration",
            equations=equations,
            x=instant.x,
        )
        nv = contacts.state.nv
        self._instant, self._a, self._f = instant, instant.u[:nv], instant.u[nv:]
        self._friction = friction
        self._falling, self._multipliers = SX.sym("falling", nv), SX.sym("multipliers", contacts.nc)

    @functools.cached_property
    def _robot(self) -> RobotExpressions:
        return self.seen.robot_with(self._friction)

    @functools.cached_property
    def _motions(self) -> dict[str, FrameMotion]:
        return frame_motions(self._robot, self._falling, self._contacts.frames)

    # Values

    @functools.cached_property
    def torque(self) -> SX:
        """Torques of the motors B⁺ τ (nu,), with the joint torques τ (nv,), as an expression of (x, a, f) [N m, N]."""
        return self._placed(self._motors @ self._joint_torque)

    @functools.cached_property
    def equations(self) -> SX:
        """Left-hand sides of all equations (n,) [N m, N; of contacts m/s², rad/s² or N, N m]."""
        parts = [self._idle @ self._joint_torque, self._held]
        return self._placed(ca.vertcat(*parts))

    def insert(self, expressions: Mapping[str, SX]) -> dict[str, SX]:
        """Replaces the symbols of `seen` in named expressions by expressions of (x, a, f)."""
        if not expressions:
            return {}
        seen = self.seen
        symbols, values = [seen.u, *seen.forces.values(), *seen.equations.values()], [self.torque]
        values += [self._f, self.equations]
        if seen.solved_motion.numel():
            symbols, values = [seen.solved_motion, *symbols], [self._a, *values]
        replaced = ca.substitute(list(expressions.values()), [ca.vertcat(*symbols)], [ca.vertcat(*values)])
        return dict(zip(expressions, map(SX, replaced)))

    @functools.cached_property
    def forces(self) -> dict[str, SX]:
        """Reported force of each contact [N, N m]; zero if it is inactive."""
        return self._contacts.split(self._contacts.switches() * self._f)

    @functools.cached_property
    def _joint_torque(self) -> SX:
        """Joint torques τ (nv,) as an expression of a' and λ."""
        return falling_torques(self._robot, self._falling, self._wrenches)

    @functools.cached_property
    def _held(self) -> SX:
        """Left-hand sides of the contacts' equations (nc,) as an expression of a' and λ."""
        s, acceleration = self._contacts.switches(), held_acceleration(self._contacts, self._motions)
        return s * (acceleration + self._damping * self._multipliers) + (1 - s) * self._f

    @functools.cached_property
    def _wrenches(self) -> dict[str, SX]:
        return self._contacts.wrenches(self._motions, self._multipliers)

    @functools.cached_property
    def _turn(self) -> SX:
        """Matrix T (nc, nc)."""
        turn = self._contacts.force_map(self._motions)
        return SX.eye(self._contacts.nc) if turn is None else turn

    def _placed(self, expression: SX) -> SX:
        """Replaces a' and λ in an expression, which gives one of (x, a, f)."""
        symbols = ca.vertcat(self._falling, self._multipliers)
        values = ca.vertcat(self._a + self._robot.shift(), ca.mtimes(self._turn.T, self._f))
        return SX(ca.substitute(expression, symbols, values))

    # Derivatives

    def chain_rows(self) -> dict[str, SX]:
        """Sparse derivatives by (x, a, f) of the motors' torques (nu, n) and of the equations (ne, n)."""
        rows = {
            "torque_rows": self._motors @ self._torque_derivative,
            "equation_rows": ca.vertcat(self._idle @ self._torque_derivative, self._held_derivative),
        }
        return {name: SX(ca.sparsify(self._placed(each))) for name, each in rows.items()}

    @functools.cached_property
    def _torque_derivative(self) -> SX:
        """∂τ/∂(x, a, f) (nv, ndx + nv + nc) as an expression of a' and λ."""
        robot, jacobian = self._robot, self._contacts.jacobian(self._motions)
        dq, dv = falling_derivatives(robot, self._falling, self._wrenches)
        dq = with_turning_pushes(self._instant, self._motions, dq, self._wrenches)
        dq = dq - ca.mtimes(jacobian.T, self._turning)
        mass, (shift_q, shift_v) = robot.crba(), robot.shift_derivatives()
        by_force = -ca.mtimes(jacobian.T, self._turn.T)
        return ca.horzcat(dq + ca.mtimes(mass, shift_q), dv + ca.mtimes(mass, shift_v), mass, by_force)

    @functools.cached_property
    def _held_derivative(self) -> SX:
        """Derivative of the contacts' equations by (x, a, f), as an expression of a' and λ."""
        contacts, jacobian, nv = self._contacts, self._contacts.jacobian(self._motions), self._a.numel()
        by_x = held_derivative(self._instant, contacts, self._motions)
        by_x = by_x + ca.mtimes(jacobian, ca.horzcat(*self._robot.shift_derivatives()))
        by_x = by_x + self._damping * ca.horzcat(self._turning, SX(contacts.nc, nv))
        whole = ca.horzcat(by_x, jacobian, self._damping * self._turn.T)
        s = contacts.switches()
        free = ca.horzcat(SX(contacts.nc, by_x.shape[1] + nv), ca.diag(1 - s))
        return SX(ca.repmat(s, 1, whole.shape[1]) * whole + free)

    @functools.cached_property
    def _turning(self) -> SX:
        """Derivative ∂(Tᵀ f)/∂q = -Tᵀ ∂(T λ)/∂q (nc, nv)."""
        return -ca.mtimes(self._turn.T, self._contacts.force_map_derivative(self._motions, self._multipliers))
