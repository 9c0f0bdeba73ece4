"""Forward dynamics of a robot in contact."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.actions.differential.base import DifferentialActionModelAbstract
from trajopt.actions.expansion import Stage, StageExpansion
from trajopt.actions.solved import Solved, force_results, solution_steps, visible_forces
from trajopt.actuation.base import ActuationModelAbstract
from trajopt.checks import check_non_negative
from trajopt.contacts.kkt import ContactSystem
from trajopt.contacts.redundancy import check_independent, statics
from trajopt.contacts.stack import ContactStack
from trajopt.costs.cost_stack import CostStack
from trajopt.dynamics.falling import FrameMotion, falling_derivatives, frame_motions
from trajopt.dynamics.friction import SmoothFriction
from trajopt.errors import InvalidArgumentError
from trajopt.instant import Instant
from trajopt.kernels.program import Program
from trajopt.model.parameters import Parameter
from trajopt.states.base import StateAbstract
from trajopt.states.state_multibody import StateMultibody, check_robot_state
from trajopt.types import Reals


class DifferentialActionModelContactFwdDynamics(DifferentialActionModelAbstract):
    """M dv/dt + h = B u + Jᵀ λ with J dv/dt + J̇ v + kd J v + kp e = -μ λ: motion and contact forces at once.

    Costs may depend on the forces: ResidualModelContactForce, ResidualModelContactFrictionCone and others. Which
    contacts are active is the run-time parameter "contacts.NAME.active" of a knot; without any it is free dynamics.

    Args:
        state: A robot's state.
        actuation: How controls become torques.
        contacts: The contacts; frozen from here on.
        costs: What each instant costs; frozen from here on.
        damping: μ [1/kg], >= 0: above 0 redundant contacts have a solution, and contacts give way a little. Run-time
            parameter `damping`.
        friction: As in DifferentialActionModelFreeFwdDynamics.

    Raises:
        InvalidArgumentError: States differ, a term needs a force of another size, or the contacts that are active at
            first are redundant, without damping.
        UnknownNameError: A term needs the force of a contact that is not in the stack.

    Source: Mastalli et al., Crocoddyl (ICRA 2020), eqs. 6-9; derivatives by the implicit function theorem.
    """

    state: StateMultibody

    def __init__(
        self,
        state: StateAbstract,
        actuation: ActuationModelAbstract,
        contacts: ContactStack,
        costs: CostStack,
        *,
        damping: float = 0.0,
        friction: SmoothFriction | str | None = None,
    ) -> None:
        check_robot_state(type(self).__name__, state)
        if not isinstance(actuation, ActuationModelAbstract):
            raise InvalidArgumentError(f"actuation: expected an actuation model, got {actuation!r}")
        if not isinstance(contacts, ContactStack):
            raise InvalidArgumentError(f"contacts: expected a ContactStack, got {contacts!r}")
        for name, part in (("actuation", actuation), ("contacts", contacts)):
            if part.state != state:
                raise InvalidArgumentError(
                    f"{name}: it is of {part.state!r}, the model of {state!r}; make both from one state"
                )
        contacts.freeze(type(self).__name__)
        self.actuation, self.contacts = actuation, contacts
        self.friction = SmoothFriction.of(friction)
        super().__init__(
            state, actuation.nu, costs, lower=actuation.lower, upper=actuation.upper, control_names=actuation.names
        )
        self.damping = self.parameter(
            "damping", damping, unit="1/kg", convert=lambda name, value: np.array(check_non_negative(name, value))
        )
        if not damping > 0:
            check_independent(self, contacts, "damping")

    def parameters(self) -> dict[str, Parameter]:
        return {**super().parameters(), **self.contacts.parameters()}

    def instant(self, *, derivatives: bool = False) -> Instant:
        return Instant(self.state, self.nu, derivatives=derivatives, forces=self.contacts.sizes, motion="acceleration")

    def dynamics(self, instant: Instant) -> SX:
        solved = self._solved(instant)[0]
        return solved.insert(instant, [solved.motion])[0]

    def term_values(self, instant: Instant) -> dict[str, SX]:
        terms = self.costs.values(instant)
        return dict(zip(terms, self._solved(instant)[0].insert(instant, list(terms.values())))) if terms else {}

    def forces(self, instant: Instant) -> dict[str, SX]:
        """Force of each contact as an expression of (x, u), in its reference frame [N, N m]."""
        solved = self._solved(instant)[0]
        values = solved.insert(instant, list(solved.forces.values())) if solved.forces else []
        return dict(zip(solved.forces, values))

    def _solved(self, instant: Instant) -> tuple[Solved, ContactSystem, dict[str, FrameMotion]]:
        """The solution of the system at an instant; built once for it."""
        return instant.once("contacts", lambda: self._solve(instant))

    def _solve(self, instant: Instant) -> tuple[Solved, ContactSystem, dict[str, FrameMotion]]:
        robot = instant.robot_with(self.friction)
        a, multipliers = SX.sym("a", self.state.nv), SX.sym("multipliers", self.contacts.nc)
        motions = frame_motions(robot, a, self.contacts.frames)
        system = ContactSystem(robot, self.contacts.jacobian(motions), self.contacts.switches(), self.damping)
        free = robot.falling_acceleration(self.actuation.torque(instant.u))
        at_rest = _with_gravity([self.contacts.acceleration(motions)], motions)[0]
        drift = ca.substitute(at_rest, a, free)
        values = ca.vertcat(*system.solve(free, drift))
        forces = visible_forces(self.contacts, motions, multipliers)
        solved = Solved(ca.vertcat(a, multipliers), values, a - robot.shift(), forces)
        return solved, system, motions

    def expansion(self, program: Program, stage: Stage) -> StageExpansion:
        instant, w = self.instant(derivatives=True), SX.sym("weight")
        q = self.costs.quadratic(instant)
        results = self._expressions(instant) | {"cost": w * q.cost, "g": w * q.Ly, "H": w * q.Lyy}
        if q.Lz.nnz():
            solved, _, motions = self._solved(instant)
            multipliers = solved.symbols[self.state.nv :]
            results |= {"Lz": w * q.Lz, "Lzz": w * q.Lzz, "Lzy": w * q.Lzy}
            results |= force_results(self.contacts, motions, q, multipliers)
        inserted = self._solved(instant)[0].insert(instant, list(results.values()))
        r = self._call(program, stage, instant, w, dict(zip(results, map(ca.sparsify, inserted))))
        Df = solution_steps(program, r, q, self.contacts.sizes.values())
        return StageExpansion(f=r["f"], Df=Df, cost=r["cost"], g=r["g"], H=r["H"])

    def _expressions(self, instant: Instant) -> dict[str, SX]:
        """f, and what its derivatives are made of."""
        solved, system, motions = self._solved(instant)
        robot, nv = instant.robot_with(self.friction), self.state.nv
        a, multipliers = solved.symbols[:nv], solved.symbols[nv:]
        wrenches = self.contacts.wrenches(motions, multipliers)
        dq, dv = falling_derivatives(robot, a, wrenches)
        for frame, wrench in wrenches.items():  # a push that turns against the frame
            dq = dq - ca.mtimes(motions[frame].jacobian.T, instant.derivative(wrench)[0][:, :nv])
        shift_q, shift_v = robot.shift_derivatives()
        by_u = SX(ca.sparsify(ca.DM(self.actuation.matrix)))
        inverse, spread, schur_inverse = system.inverses()
        return {
            "f": solved.motion,
            "mass_inverse": inverse,
            "spread": spread,
            "schur_inverse": schur_inverse,
            "motion": ca.sparsify(ca.horzcat(dq, dv, -by_u)),
            "constraint": self._constraint_derivative(instant, motions),
            "offset": ca.sparsify(ca.horzcat(-shift_q, -shift_v, SX(nv, self.nu))),
            "active": self.contacts.switches(),
        }

    def _constraint_derivative(self, instant: Instant, motions: dict[str, FrameMotion]) -> SX:
        """Derivative of the contacts' accelerations by (x, u) at fixed a', zero for those that are not active."""
        rows = self.contacts.acceleration(motions)
        by_x, _ = instant.derivative(rows)
        for motion in motions.values():
            by_fall = ca.jacobian(rows, motion.fall)
            by_x = by_x + ca.horzcat(by_fall @ motion.gravity_derivative(), SX(self.contacts.nc, self.state.nv))
        by_x = _with_gravity([by_x], motions)[0]
        switched = ca.repmat(self.contacts.switches(), 1, by_x.shape[1]) * by_x
        return ca.sparsify(ca.horzcat(switched, SX(self.contacts.nc, self.nu)))

    def quasi_static(self, x: Reals, parameters: Mapping[str, Reals] | None = None) -> Reals:
        """u of the smallest (u, λ) with B u + Jᵀ λ = g(q), for the active contacts, shape (nu,) [N m, N]."""
        values = {name: p.default for name, p in self.contacts.parameters().items()} | dict(parameters or {})
        active = [float(values[f"contacts.{name}.active"]) for name in self.contacts.names]
        gravity, jacobian = statics(self, self.contacts).evaluate(x, active)
        columns = np.hstack([self.actuation.matrix, jacobian.T])
        return np.asarray((np.linalg.pinv(columns) @ gravity.ravel())[: self.nu], dtype=np.float64)


def _with_gravity(expressions: list[SX], motions: dict[str, FrameMotion]) -> list[SX]:
    """Expressions in which frames fall with gravity."""
    if not motions:
        return expressions
    symbols, values = zip(*((m.fall, m.gravity) for m in motions.values()))
    return [SX(e) for e in ca.substitute(expressions, [ca.vertcat(*symbols)], [ca.vertcat(*values)])]
