"""Contact expressions at one configuration that all modes share, with their derivatives."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import pinocchio as pin
from casadi import SX

from trajopt.dynamics.falling import falling_derivatives
from trajopt.dynamics.robot_expressions import RobotExpressions
from trajopt.kernels.derivatives import jacobian
from trajopt.simulator.interior_point import Barrier
from trajopt.simulator.model import SimulatorModel


class ContactEquations:
    """Contacts of a simulator with impulses p = √μ C w over a duration; p are forces if the duration is 1.

    Args:
        model: The simulator's model.
        robot: The robot at (q, c).
        q: Symbol of q (nq,).
        duration: Time during which the forces act [s]; 1 if p are forces or instantaneous impulses.
        weight: Weight μ of the barrier.

    Attributes:
        jacobian: Jacobian J (D, nv) of all contacts.
        impulse: Symbol of p (D,).
        laws: Law of each contact.
    """

    def __init__(self, model: SimulatorModel, robot: RobotExpressions, q: SX, duration: SX, weight: SX) -> None:
        self._model, self._robot, self._q = model, robot, q
        self._duration, self._root = duration, ca.sqrt(weight)
        self._touches = model.touches(robot)
        self.laws = [contact.law for contact in model.contacts]
        self.jacobian = SX(ca.sparsify(stacked([t.jacobian for t in self._touches], model.nv)))
        self.impulse = SX.sym("impulse", sum(law.size for law in self.laws))
        self._barrier = Barrier(self.laws)

    @property
    def scaled_law(self) -> SX:
        """Values of all laws, one below the other, scaled for impulses divided by √μ."""
        scale = self._duration / self._root
        return stacked([law.scaled(t.law, scale) for law, t in zip(self.laws, self._touches)], 1)

    def scaled(self, velocity: SX) -> SX:
        """Returns a velocity (n,) divided by √μ."""
        return velocity / self._root

    @property
    def weights(self) -> tuple[SX, SX]:
        """Symbols of the weights w of all rays, and of `scaled_law`, which are inputs of the other expressions."""
        return self._barrier.w, self._barrier.law

    @property
    def impulses(self) -> SX:
        """Impulses p (D,) from w and the scaled values of the laws."""
        return self._root * self._barrier.impulse

    @property
    def forces(self) -> SX:
        """Reported forces of all contacts for impulses p, one below the other [N; N s for instantaneous impulses]."""
        parts = zip(self._touches, self._barrier.of_impulses(self.impulse / self._duration))
        return stacked([t.force(p) for t, p in parts], 1)

    def wrenches(self) -> dict[str, SX]:
        """Wrench (6,) on each frame that the impulses p cause over the duration, in the axes of the frame."""
        wrenches: dict[str, SX] = {}
        for touch, p in zip(self._touches, self._barrier.of_impulses(self.impulse / self._duration)):
            for frame, wrench in touch.wrenches(p).items():
                wrenches[frame] = wrenches[frame] + wrench if frame in wrenches else wrench
        return wrenches

    def balance_derivatives(self, a: SX, drift: tuple[SX, SX] | None = None) -> tuple[SX, SX]:
        """∂/∂q and ∂/∂c of H (a - x) + C(q, c) - Jᵀ p / duration at fixed a (nv,) and p, (nv, nv) each.

        Args:
            a: Acceleration (nv,).
            drift: x (nv,) and its derivative by c (nv, nv), see `WorldAxesStep.drift`; None for 0.
        """
        robot, wrenches = self._robot, self.wrenches()
        shift, (shift_q, shift_v) = robot.shift(), robot.shift_derivatives()
        if drift is not None:
            shift, shift_v = shift - drift[0], ca.sparsify(shift_v - drift[1])
        dq, dv = falling_derivatives(robot, a + shift, wrenches)
        mass = robot.crba()
        dq, dv = dq + ca.mtimes(mass, shift_q), dv + ca.mtimes(mass, shift_v)
        for frame, wrench in wrenches.items():
            dq = dq - ca.mtimes(robot.frame_jacobian(frame, pin.ReferenceFrame.LOCAL).T, self._by_tangent(wrench))
        for touch, p in zip(self._touches, self._barrier.of_impulses(self.impulse / self._duration)):
            if touch.within_joints:
                dq = dq - self._by_tangent(ca.densify(touch.jacobian.T @ p))
        return dq, dv

    def law_results(self, velocity: SX) -> dict[str, SX]:
        """√μ ∂(J v / √μ) at a fixed velocity v, ∂(scaled values of the laws), and ∂(√μ C) w, all by (q, θ)."""
        by_law = self.by_q(self.scaled_law)
        push = jacobian(self.impulses, self._barrier.law)
        push = ca.substitute(push, self._barrier.law, self.scaled_law)
        results = {
            "velocity_by_q": self.by_q(ca.mtimes(self.jacobian, velocity)),
            "law_by_q": by_law,
            "push_by_q": ca.mtimes(push, by_law),
        }
        if self._model.unknowns.numel():
            root, still = self.by_q(self._root), ca.substitute(self.impulses, self._barrier.law, self.scaled_law)
            results["velocity_by_q"] -= ca.mtimes(ca.mtimes(self.jacobian, velocity) / self._root, root)
            results["push_by_q"] += ca.mtimes(still / self._root, root)
        return results

    def force_derivatives(self) -> tuple[SX, SX]:
        """Derivatives of the reported forces by p, and by q at fixed p."""
        return jacobian(self.forces, self.impulse), self.by_q(self.forces)

    def by_q(self, expression: SX) -> SX:
        """Returns the derivative (n, nv + k) of an expression (n,) by the tangent of q and by the unknowns."""
        return SX(ca.horzcat(self._by_tangent(expression), jacobian(expression, self._model.unknowns)))

    def _by_tangent(self, expression: SX) -> SX:
        """Derivative (n, nv) by q, in the tangent space of the configuration."""
        return SX(ca.sparsify(ca.mtimes(jacobian(expression, self._q), self._model.basis(self._q))))


def stacked(parts: Sequence[SX], columns: int) -> SX:
    """Stacks matrices of `columns` columns; without matrices the result has no rows."""
    return SX(ca.vertcat(SX(0, columns), *parts))
