"""Equations of an impact for changes of velocity and impulses."""

from __future__ import annotations

import functools

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.contacts.holding import with_turning_pushes
from trajopt.contacts.implicit_node import ImplicitNode
from trajopt.contacts.impulse_stack import ImpulseStack
from trajopt.dynamics.falling import falling_derivatives, falling_torques, frame_motions
from trajopt.dynamics.robot_expressions import RobotExpressions
from trajopt.instant import Instant


class ImpulseNode(ImplicitNode):
    """Impact equations M w = Jᵀ Λ and J (w + (1 + e) v) + μ Λ = 0, with w = v⁺ - v.

    A symbol for v⁺ + e v is the velocity with which the frames move.

    Args:
        instant: State as symbols.
        impulses: The impulses.
        restitution: e [-].
        damping: μ [1/kg].
    """

    stack: ImpulseStack

    def __init__(self, instant: Instant, impulses: ImpulseStack, *, restitution: SX, damping: SX) -> None:
        state = impulses.state
        self._q, self._v, self._restitution = instant.x[: state.nq], instant.x[state.nq :], restitution
        self._damping = damping
        self._model, self._parameters = state.model, state.robot.parameters
        self._seen = SX.sym("seen", state.nv)
        moving = RobotExpressions(state.model, self._q, self._seen, parameters=self._parameters)
        motions = frame_motions(moving, SX(np.zeros(state.nv)), impulses.frames)
        super().__init__(instant, impulses, instant.robot, motions, SX.sym("change", state.nv), damping)

    @functools.cached_property
    def motion(self) -> SX:
        """Velocity after the impact v⁺ (nv,) as an expression of the symbol w [m/s, rad/s]."""
        return self._v + self.w

    def _placed(self, expressions: list[SX]) -> list[SX]:
        return list(ca.substitute(expressions, [self._seen], [self.w + (1 + self._restitution) * self._v]))

    def _solve(self) -> tuple[SX, SX]:
        drift = ca.mtimes(self.stack.jacobian(self.motions), (1 + self._restitution) * self._v)
        return self._system.solve(SX(np.zeros(self.w.numel())), drift)

    def _residual(self) -> tuple[SX, SX]:
        s, wrenches = self.stack.switches(), self.stack.wrenches(self.motions, self.multipliers)
        rows = self.stack.impact(self.motions)
        return (
            falling_torques(self._weightless(), self.w, wrenches),
            s * rows + (1 - s + self._damping) * self.multipliers,
        )

    def _residual_derivatives(self) -> tuple[SX, SX, SX]:
        nv = self.w.numel()
        wrenches = self.stack.wrenches(self.motions, self.multipliers)
        dq, _ = falling_derivatives(self._weightless(), self.w, wrenches)
        dq = with_turning_pushes(self.instant, self.motions, dq, wrenches)
        by_q = self.instant.derivative(self.stack.impact(self.motions))[0][:, :nv]
        rows = ca.horzcat(by_q, (1 + self._restitution) * self.stack.jacobian(self.motions))
        return (
            ca.sparsify(ca.horzcat(dq, SX(nv, nv))),
            ca.sparsify(ca.repmat(self.stack.switches(), 1, 2 * nv) * rows),
            SX(ca.horzcat(SX(nv, nv), SX.eye(nv))),
        )

    def _weightless(self) -> RobotExpressions:
        """The robot at rest and without gravity, whose dynamics are M(q) w."""
        model = self._model.copy()
        model.gravity.setZero()
        still = SX(np.zeros(self.w.numel()))
        return RobotExpressions(model, self._q, still, parameters=self._parameters, with_derivatives=True)
