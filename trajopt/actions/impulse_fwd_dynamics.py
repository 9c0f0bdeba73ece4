"""What a touch-down does to velocities."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.actions.end import end_expansion, end_values
from trajopt.actions.expansion import Expansion, Multipliers, Point, Values
from trajopt.actions.expression import ActionModelExpression
from trajopt.actions.lift import still_lift
from trajopt.actions.solved import Solved, force_results, solution_steps, visible_forces
from trajopt.checks import check_non_negative
from trajopt.contacts.impulse_stack import ImpulseStack
from trajopt.contacts.kkt import ContactSystem
from trajopt.contacts.redundancy import check_independent
from trajopt.costs.cost_stack import CostStack
from trajopt.dynamics.falling import FrameMotion, falling_derivatives, frame_motions
from trajopt.dynamics.robot_expressions import RobotExpressions
from trajopt.errors import InvalidArgumentError
from trajopt.instant import Instant
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.functions import named_call
from trajopt.model.parameters import Parameter
from trajopt.states.base import StateAbstract
from trajopt.states.state_multibody import StateMultibody, check_robot_state
from trajopt.types import Reals


class ActionModelImpulseFwdDynamics(ActionModelExpression):
    """M (v⁺ - v) = Jᵀ Λ with J (v⁺ + e v) = -μ Λ, x⁺ = (q, v⁺): contacts are made in no time, with no control.

    The cost is one of x, before the impulse, and of Λ and v⁺; it is not multiplied by a time. Which impulses are
    active is the run-time parameter "impulses.NAME.active" of a knot.

    Args:
        state: A robot's state.
        impulses: The impulses; frozen from here on.
        costs: What the knot costs; frozen from here on.
        restitution: e, from 0 (frames stop) to 1 (they bounce) [-]. Run-time parameter `restitution`.
        damping: μ [1/kg], >= 0: above 0 redundant impulses have a solution. Run-time parameter `damping`.

    Raises:
        InvalidArgumentError: States differ, a term needs what an impulse does not give, or the impulses that are active
            at first are redundant, without damping.

    Source: Mastalli et al., Crocoddyl (ICRA 2020), eq. 8.
    """

    state: StateMultibody
    instantaneous = True

    def __init__(
        self,
        state: StateAbstract,
        impulses: ImpulseStack,
        costs: CostStack,
        *,
        restitution: float = 0.0,
        damping: float = 0.0,
    ) -> None:
        super().__init__(check_robot_state(type(self).__name__, state), 0)
        if not isinstance(impulses, ImpulseStack):
            raise InvalidArgumentError(f"impulses: expected an ImpulseStack, got {impulses!r}")
        if not isinstance(costs, CostStack):
            raise InvalidArgumentError(f"costs: expected a CostStack, got {costs!r}")
        for name, part in (("impulses", impulses), ("costs", costs)):
            if part.state != state:
                raise InvalidArgumentError(
                    f"{name}: they are of {part.state!r}, the model of {state!r}; make both from one state"
                )
        impulses.freeze(type(self).__name__)
        costs.freeze(type(self).__name__, 0)
        self.impulses, self.costs = impulses, costs
        costs.check_solution(self.instant())
        self.restitution = self.parameter("restitution", restitution, convert=_restitution)
        self.damping = self.parameter(
            "damping", damping, unit="1/kg", convert=lambda name, value: np.array(check_non_negative(name, value))
        )
        if not damping > 0:
            check_independent(self, impulses, "damping")

    def time_step(self) -> float:
        """An impulse takes no time [s]."""
        return 0.0

    def parameters(self) -> dict[str, Parameter]:
        return {**super().parameters(), **self.costs.parameters(0), **self.impulses.parameters()}

    def instant(self) -> Instant:
        return Instant(self.state, 0, forces=self.impulses.sizes, motion="velocity_after")

    def _solved(self, instant: Instant) -> tuple[Solved, ContactSystem, dict[str, FrameMotion], SX]:
        """The solution of the system at an instant; built once for it."""
        return instant.once("impulses", lambda: self._solve(instant))

    def _solve(self, instant: Instant) -> tuple[Solved, ContactSystem, dict[str, FrameMotion], SX]:
        """w = v⁺ - v; the frames move with the symbol of v⁺ + e v, which comes last."""
        nq, nv = self.state.nq, self.state.nv
        q, v = instant.x[:nq], instant.x[nq:]
        change, multipliers, seen = SX.sym("change", nv), SX.sym("multipliers", self.impulses.nc), SX.sym("seen", nv)
        moving = RobotExpressions(self.state.model, q, seen)
        motions = frame_motions(moving, SX(np.zeros(nv)), self.impulses.frames)
        jacobian = self.impulses.jacobian(motions)
        system = ContactSystem(instant.robot, jacobian, self.impulses.switches(), self.damping)
        values = ca.vertcat(*system.solve(SX(np.zeros(nv)), ca.mtimes(jacobian, (1 + self.restitution) * v)))
        forces = visible_forces(self.impulses, motions, multipliers)
        solved = Solved(ca.vertcat(change, multipliers), values, v + change, forces)
        return solved, system, motions, seen

    def _insert(self, instant: Instant, expressions: list[SX]) -> list[SX]:
        """Expressions of x, what the dynamics solve for, and its symbols, as such of x."""
        solved, _, _, seen = self._solved(instant)
        v = instant.x[self.state.nq :]
        moved = ca.substitute(expressions, [seen], [solved.symbols[: v.numel()] + (1 + self.restitution) * v])
        return solved.insert(instant, moved)

    @property
    def lift_size(self) -> int:
        """Positions stay: blocks of any size are the identity."""
        return 0

    def values(self, program: Program, point: Point) -> Values:
        if point.u is None:
            return end_values(self, self.costs, program, point)
        instant = self.instant()
        cost = sum(self.term_expressions(instant, terminal=False).values(), SX(0))
        results = {"xnext": self._next_state(instant), "cost": cost}
        return Values.of(self._call(program, point, instant, results))

    def expansion(
        self, program: Program, point: Point, multipliers: Multipliers | None = None, *, lift: int | None = None
    ) -> Expansion:
        self._refuse(multipliers)
        if point.u is None:
            return end_expansion(self, self.costs, program, point)
        self._check_lift(lift)
        instant = self.instant()
        q = self.costs.quadratic(instant)
        results = self._expressions(instant) | {"cost": q.cost, "g": q.Ly, "H": q.Lyy}
        if q.Lz.nnz():
            solved, _, motions, _ = self._solved(instant)
            results |= {"Lz": q.Lz, "Lzz": q.Lzz, "Lzy": q.Lzy}
            results |= force_results(self.impulses, motions, q, solved.symbols[self.state.nv :])
        results = dict(zip(results, map(ca.sparsify, self._insert(instant, list(results.values())))))
        results |= {"xnext": ca.sparsify(self._next_state(instant))}
        r = self._call(program, point, instant, results)
        change = solution_steps(program, r, q, self.impulses.sizes.values())
        if lift is not None:
            return Expansion.of(r, lift=still_lift(program, change, lift))
        return Expansion.of(r, F=program.call(self._jacobian(), change)[0])

    def _call(self, program: Program, point: Point, instant: Instant, results: dict[str, SX]) -> dict[str, Array]:
        inputs = [(instant.x, point.x), (self.layout.symbols, point.parameters)]
        return named_call(program, type(self).__name__, inputs, results)

    def _next_state(self, instant: Instant) -> SX:
        return SX(ca.vertcat(instant.x[: self.state.nq], self._insert(instant, [self._solved(instant)[0].motion])[0]))

    def _jacobian(self) -> ca.Function:
        """(∂q⁺; ∂v⁺) = ((1, 0); dv⁺)."""
        nv, n = self.state.nv, self.state.ndx
        change = SX.sym("change", nv, n)
        return ca.Function("jacobian", [change], [ca.vertcat(ca.horzcat(SX.eye(nv), SX(nv, nv)), change)])

    def _expressions(self, instant: Instant) -> dict[str, SX]:
        """What the derivatives of v⁺ and Λ are made of."""
        solved, system, motions, _ = self._solved(instant)
        nv = self.state.nv
        change, multipliers = solved.symbols[:nv], solved.symbols[nv:]
        wrenches = self.impulses.wrenches(motions, multipliers)
        dq, _ = falling_derivatives(self._weightless(instant), change, wrenches)
        for frame, wrench in wrenches.items():
            dq = dq - ca.mtimes(motions[frame].jacobian.T, instant.derivative(wrench)[0][:, :nv])
        by_q = instant.derivative(self.impulses.impact(motions))[0][:, :nv]
        rows = ca.horzcat(by_q, (1 + self.restitution) * self.impulses.jacobian(motions))
        inverse, spread, schur_inverse = system.inverses()
        return {
            "mass_inverse": inverse,
            "spread": spread,
            "schur_inverse": schur_inverse,
            "motion": ca.sparsify(ca.horzcat(dq, SX(nv, nv))),
            "constraint": ca.sparsify(ca.repmat(self.impulses.switches(), 1, 2 * nv) * rows),
            "offset": SX(ca.horzcat(SX(nv, nv), SX.eye(nv))),
            "active": self.impulses.switches(),
        }

    def _weightless(self, instant: Instant) -> RobotExpressions:
        """The robot at rest and without gravity: what is left of its dynamics is M(q) w."""
        model = self.state.model.copy()
        model.gravity.setZero()
        q, still = instant.x[: self.state.nq], SX(np.zeros(self.state.nv))
        return RobotExpressions(model, q, still, with_derivatives=True)

    def term_expressions(self, instant: Instant, *, terminal: bool) -> dict[str, SX]:
        terms = self.costs.values(instant)
        return terms if terminal or not terms else dict(zip(terms, self._insert(instant, list(terms.values()))))

    def forces(self, instant: Instant) -> dict[str, SX]:
        """Impulse of each contact as an expression of x, in its reference frame [N s, N m s]."""
        solved = self._solved(instant)[0]
        values = self._insert(instant, list(solved.forces.values())) if solved.forces else []
        return dict(zip(solved.forces, values))

    def quasi_static(self, x: Reals, parameters: Any = None) -> Reals:
        return np.zeros(0)


def _restitution(argument: str, value: Any) -> Reals:
    number = check_non_negative(argument, value)
    if number > 1:
        raise InvalidArgumentError(f"{argument}: expected a number from 0 to 1, got {value!r}")
    return np.array(number)
