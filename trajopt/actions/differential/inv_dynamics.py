"""Base of inverse dynamics: accelerations and contact forces are the controls, and the torques follow from them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.actions.differential.base import DifferentialActionModelAbstract
from trajopt.actions.differential.robot_parts import check_parts
from trajopt.actions.expansion import Stage, StageExpansion
from trajopt.actuation.base import ActuationModelAbstract, check_linear
from trajopt.constraints.constraint_stack import ConstraintStack
from trajopt.contacts.inverse_node import UNACTUATED, InverseNode, equation_name
from trajopt.contacts.stack import ContactStack
from trajopt.costs.cost_stack import CostStack
from trajopt.dynamics.friction import SmoothFriction
from trajopt.errors import InvalidArgumentError
from trajopt.instant import Instant
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.parameters import Parameter
from trajopt.model.parts import Bindings, named_call, symbol_of
from trajopt.residuals.equation import ResidualModelEquation
from trajopt.states.base import StateAbstract
from trajopt.states.state_multibody import StateMultibody
from trajopt.types import Reals


class DifferentialActionModelInvDynamicsAbstract(DifferentialActionModelAbstract):
    """Inverse dynamics dv/dt = a: the control (a, f) holds accelerations and contact forces.

    Costs and constraints read the motor torques as their control, so those of forward dynamics can be used:
    ResidualModelControl is the torques, ResidualModelJointAcceleration the accelerations. The first
    constraints are the equations of the dynamics: "unactuated", and "NAME_contact" for each contact.

    Args:
        state: State of a robot.
        actuation: Maps motor torques to joint torques; the columns of its matrix B must be independent.
        contacts: The contacts; may be empty. The model freezes them.
        costs: Running costs [cost/s]. The model freezes them.
        constraints: Further constraints of each knot; none by default.
        friction: "smooth", a SmoothFriction, or None for no friction.

    Raises:
        InvalidArgumentError: States differ, B has dependent columns, or a term needs a force of another size.
        DuplicateNameError: A constraint has the name of one of the equations.
        UnknownNameError: A term needs the force of a contact that is not in the stack.
    """

    state: StateMultibody

    actuation: ActuationModelAbstract
    contacts: ContactStack

    def __init__(
        self,
        state: StateAbstract,
        actuation: ActuationModelAbstract,
        contacts: ContactStack,
        costs: CostStack,
        *,
        constraints: ConstraintStack | None,
        friction: SmoothFriction | str | None,
    ) -> None:
        robot_state = check_parts(type(self).__name__, state, actuation, contacts)
        check_linear(actuation, type(self).__name__)
        self.actuation, self.contacts = actuation, contacts
        self.friction = SmoothFriction.for_robot(friction, robot_state.robot)
        self._motors, self._idle = _split(actuation.matrix)
        names, units = _control_names(robot_state, contacts)
        super().__init__(
            state,
            robot_state.nv + contacts.nc,
            costs,
            constraints=_with_equations(constraints, robot_state, contacts, len(self._idle)),
            control_names=names,
            control_units=units,
        )

    @property
    @abstractmethod
    def _damping(self) -> SX:
        """Damping μ of the contacts [1/kg]."""

    @property
    def stage_nu(self) -> int:
        return self.actuation.nu

    def parameters(self) -> dict[str, Parameter]:
        return {**super().parameters(), **self.contacts.parameters()}

    def node(self, instant: Instant) -> InverseNode:
        """Torques and equations at an instant; built once for each instant."""
        return instant.once("inverse", lambda: self._node(instant))

    def _node(self, instant: Instant) -> InverseNode:
        parts: dict[str, Any] = {"friction": self.friction, "damping": self._damping}
        return InverseNode(instant, self.contacts, self._motors, self._idle, **parts)

    def seen(self, instant: Instant) -> Instant:
        return self.node(instant).seen

    def dynamics(self, instant: Instant) -> SX:
        return instant.u[: self.state.nv]

    def dynamics_derivative(self, instant: Instant) -> tuple[SX, SX]:
        nv = self.state.nv
        return SX(nv, 2 * nv), ca.horzcat(SX.eye(nv), SX(nv, self.contacts.nc))

    def term_values(self, instant: Instant) -> dict[str, SX]:
        return self.node(instant).insert(self.costs.values(self.seen(instant)))

    def row_values(self, instant: Instant) -> SX:
        return self.node(instant).insert({"rows": self.constraints.rows(self.seen(instant))})["rows"]

    def row_derivative(self) -> SX:
        instant = self.instant()
        node = self.node(instant)
        self.constraints.rows(node.seen)
        motion = bool(node.seen.solved_motion.numel())
        torque, equations = node.chain_rows().values()
        chain = _chain(torque, equations, self.state.ndx, self.contacts.nc, motion=motion)
        return SX(ca.sparsify(self.constraints.derivative(node.seen) @ chain))

    def forces(self, instant: Instant) -> dict[str, SX]:
        """Force of each contact, in its reference frame [N, N m]."""
        return self.node(instant).forces

    def torques(self, instant: Instant) -> dict[str, SX]:
        return self.actuation.by_motor(self.node(instant).torque)

    def _dynamics_values(self, i: Instant) -> dict[str, SX]:
        node, nv = self.node(i), self.state.nv
        return {
            "f": self.dynamics(i),
            "u": node.torque,
            "motion": i.u[:nv],
            "forces": i.u[nv:],
            "equations": node.equations,
        }

    def _dynamics_derivatives(self, i: Instant) -> dict[str, SX]:
        results = self._dynamics_values(i) | {"Df": SX(ca.horzcat(*self.dynamics_derivative(i)))}
        return results | self.node(i).chain_rows()

    def _seen_instant(self, derivatives: bool) -> Instant:
        return self.node(self.instant(derivatives=derivatives)).seen

    def _led_on(
        self,
        program: Program,
        stage: Stage,
        dynamics: Mapping[str, Array],
        costs: Mapping[str, Array],
        rows: Mapping[str, Array],
    ) -> StageExpansion:
        chained = dict(costs) | _chained_costs(program, dynamics, costs)
        return super()._led_on(program, stage, dynamics, chained, dict(rows) | _chained_rows(program, dynamics, rows))

    def quasi_static(self, x: Reals, parameters: Mapping[str, Reals] | None = None) -> Reals:
        """Control (0, f), shape (nu,): zero acceleration, and zero force without contacts."""
        return np.zeros(self.nu)


def _chain(torque: SX, equations: SX, ndx: int, nc: int, *, motion: bool, solved: bool = True) -> SX:
    """Derivative of (x, torques, z) by (x, a, f), from the rows of torques and equations.

    Args:
        torque: Rows of the torques (nu, n).
        equations: Rows of the equations (ne, n).
        ndx: Size of the state's tangent space.
        nc: Number of forces.
        motion: Whether z includes the acceleration.
        solved: Whether the result has rows of z.
    """
    n = torque.shape[1]
    nv = n - ndx - nc
    rows = [ca.horzcat(SX.eye(ndx), SX(ndx, nv + nc)), torque]
    if solved:
        rows += [ca.horzcat(SX(nv, ndx), SX.eye(nv), SX(nv, nc))] if motion else []
        rows += [ca.horzcat(SX(nc, ndx + nv), SX.eye(nc)), equations]
    return SX(ca.sparsify(ca.vertcat(*rows)))


def _chain_symbols(
    program: Program, dynamics: Mapping[str, Array], by: Mapping[str, Array], names: Sequence[str]
) -> tuple[dict[str, SX], Bindings]:
    """Symbols of the chain's rows and of the derivatives that exist, with the array of each symbol."""
    arrays = {name: dynamics[name] for name in ("torque_rows", "equation_rows")}
    arrays |= {name: by[name] for name in names if name in by}
    symbols = {name: symbol_of(program, array) for name, array in arrays.items()}
    return symbols, [(symbols[name], array) for name, array in arrays.items()]


def _chain_between(s: Mapping[str, SX], dynamics: Mapping[str, Array], seen: int, solved: int) -> SX:
    """Derivative of (x, torques, z) by (x, a, f), for `seen` entries of (x, torques) and `solved` entries of z."""
    nc, ne, nu = dynamics["forces"].shape[0], s["equation_rows"].shape[0], s["torque_rows"].shape[0]
    rows = (s["torque_rows"], s["equation_rows"])
    return _chain(*rows, seen - nu, nc, motion=solved > nc + ne, solved=solved > 0)


def _chained_costs(program: Program, dynamics: Mapping[str, Array], costs: Mapping[str, Array]) -> dict[str, Array]:
    """Adds the call that computes g and H by (x, a, f)."""
    s, inputs = _chain_symbols(program, dynamics, costs, ("g", "H", "Lz", "Lzz", "Lzy"))
    gradient, hessian = s["g"], s["H"]
    solved = s["Lz"].shape[0] if "Lz" in s else 0
    if solved:
        gradient = ca.vertcat(gradient, s["Lz"])
        hessian = ca.blockcat([[hessian, s["Lzy"].T], [s["Lzy"], s["Lzz"]]])
    chain = _chain_between(s, dynamics, s["g"].shape[0], solved)
    H = ca.triu2symm(ca.triu(chain.T @ (hessian @ chain)))
    return named_call(program, "costs by accelerations", inputs, {"g": chain.T @ gradient, "H": SX(ca.sparsify(H))})


def _chained_rows(program: Program, dynamics: Mapping[str, Array], rows: Mapping[str, Array]) -> dict[str, Array]:
    """Adds the call that computes C by (x, a, f); empty without rows."""
    if not rows:
        return {}
    s, inputs = _chain_symbols(program, dynamics, rows, ("C", "Rz"))
    solved = s["Rz"].shape[1] if "Rz" in s else 0
    derivative = ca.horzcat(s["C"], s["Rz"]) if solved else s["C"]
    chain = _chain_between(s, dynamics, s["C"].shape[1], solved)
    return named_call(program, "constraints by accelerations", inputs, {"C": SX(ca.sparsify(derivative @ chain))})


def _split(matrix: Reals) -> tuple[Reals, Reals]:
    """B⁺ (nu, nv) and Nᵀ (nv - nu, nv) with Nᵀ B = 0; their rows are unit vectors if the columns of B (nv, nu) are.

    Raises:
        InvalidArgumentError: B has dependent columns.
    """
    nv, nu = matrix.shape
    if np.linalg.matrix_rank(matrix) < nu:
        raise InvalidArgumentError(
            f"actuation: expected independent columns of B, got {nu} columns of rank {np.linalg.matrix_rank(matrix)}; "
            "torques are then not unique, so use forward dynamics"
        )
    if np.array_equal(matrix.T @ matrix, np.eye(nu)) and np.isin(matrix, (0.0, 1.0)).all():
        return matrix.T.copy(), np.eye(nv)[~matrix.any(axis=1)]
    orthogonal, _ = np.linalg.qr(matrix, mode="complete")
    return np.array(np.linalg.pinv(matrix), dtype=np.float64), np.array(orthogonal[:, nu:].T, dtype=np.float64)


def _control_names(state: StateMultibody, contacts: ContactStack) -> tuple[list[str], list[str]]:
    """Name and unit of each control: "a:JOINT", then "f:CONTACT.x" and so on."""
    nv = state.nv
    names = [f"a:{name.split(':', 1)[-1]}" for name in state.tangent_names[nv:]]
    units = [unit.replace("/s", "/s²") for unit in state.tangent_units[nv:]]
    for contact, size in contacts.sizes.items():
        parts = {1: [""], 2: [".x", ".z"], 3: [".x", ".y", ".z"]}.get(size, [".x", ".y", ".z", ".mx", ".my", ".mz"])
        names += [f"f:{contact}{part}" for part in parts]
        units += ["N"] * min(size, 3) + ["N m"] * (size - min(size, 3))
    return names, units


def _with_equations(
    constraints: ConstraintStack | None, state: StateMultibody, contacts: ContactStack, idle: int
) -> ConstraintStack:
    """The equations of the dynamics, followed by the user's constraints."""
    stack = ConstraintStack(state)
    sizes = ({UNACTUATED: idle} if idle else {}) | {equation_name(name): n for name, n in contacts.sizes.items()}
    for name, size in sizes.items():
        stack.add(name, ResidualModelEquation(state, name, size), equals=0.0)
    if constraints is None:
        return stack
    if not isinstance(constraints, ConstraintStack) or constraints.state != state:
        return constraints  # the base class rejects it with a message
    for c in constraints.constraints:
        stack.add(c.name, c.residual, lower=c.lower, upper=c.upper, soft=c.soft)
    return stack
