"""Equations of sustained contacts for accelerations and forces."""

from __future__ import annotations

import functools

import casadi as ca
from casadi import SX

from trajopt.contacts.holding import held_acceleration, held_derivative, with_turning_pushes
from trajopt.contacts.implicit_node import ImplicitNode
from trajopt.contacts.stack import ContactStack
from trajopt.dynamics.falling import FrameMotion, falling_derivatives, falling_torques, frame_motions
from trajopt.dynamics.friction import SmoothFriction
from trajopt.instant import Instant


class ContactNode(ImplicitNode):
    """Contact equations M a' + e = τ + Jᵀ λ and J a' + c + μ λ = 0, with a' = a + c; see `trajopt.dynamics.falling`.

    Args:
        instant: State and control as symbols.
        contacts: The contacts.
        torque: τ (nv,) as an expression of u [N m, N].
        torque_derivative: Derivative of τ by u (nv, nu).
        friction: Friction of the joints, or None.
        damping: μ [1/kg].
    """

    stack: ContactStack
    motions: dict[str, FrameMotion]

    def __init__(
        self,
        instant: Instant,
        contacts: ContactStack,
        torque: SX,
        torque_derivative: SX,
        *,
        friction: SmoothFriction | None,
        damping: SX,
    ) -> None:
        self._robot, self._torque, self._torque_derivative = instant.robot_with(friction), torque, torque_derivative
        self._damping = damping
        a = SX.sym("a", contacts.state.nv)
        super().__init__(instant, contacts, self._robot, frame_motions(self._robot, a, contacts.frames), a, damping)

    @functools.cached_property
    def motion(self) -> SX:
        """Acceleration a (nv,) of the robot as an expression of the symbol w [m/s², rad/s²]."""
        return self.w - self._robot.shift()

    def _solve(self) -> tuple[SX, SX]:
        free = self._robot.falling_acceleration(self._torque)
        drift = ca.substitute(held_acceleration(self.stack, self.motions), self.w, free)
        return self._system.solve(free, drift)

    def _residual(self) -> tuple[SX, SX]:
        s, wrenches = self.stack.switches(), self.stack.wrenches(self.motions, self.multipliers)
        pushed = falling_torques(self._robot, self.w, wrenches) - self._torque
        return pushed, s * held_acceleration(self.stack, self.motions) + (1 - s + self._damping) * self.multipliers

    def _residual_derivatives(self) -> tuple[SX, SX, SX]:
        nv, nu = self.w.numel(), self.instant.nu
        wrenches = self.stack.wrenches(self.motions, self.multipliers)
        dq, dv = falling_derivatives(self._robot, self.w, wrenches)
        dq = with_turning_pushes(self.instant, self.motions, dq, wrenches)
        shift_q, shift_v = self._robot.shift_derivatives()
        return (
            ca.sparsify(ca.horzcat(dq, dv, -self._torque_derivative)),
            self._constraint_derivative(),
            ca.sparsify(ca.horzcat(-shift_q, -shift_v, SX(nv, nu))),
        )

    def _constraint_derivative(self) -> SX:
        """Derivative of the contacts' accelerations by (x, u) at fixed a'; zero for inactive contacts."""
        nc, by_x = self.stack.nc, held_derivative(self.instant, self.stack, self.motions)
        switched = ca.repmat(self.stack.switches(), 1, by_x.shape[1]) * by_x
        return SX(ca.sparsify(ca.horzcat(switched, SX(nc, self.instant.nu))))
