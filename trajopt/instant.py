"""Instant: symbols of state, control and contact forces at one instant, and the expressions that models share."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeVar

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.dynamics.friction import SmoothFriction
from trajopt.dynamics.robot_expressions import RobotExpressions
from trajopt.dynamics.shared import shared_expressions, state_symbol
from trajopt.errors import InvalidArgumentError, unknown_name
from trajopt.kernels.derivatives import jacobian
from trajopt.objects.attributes import ExplainsAttributes
from trajopt.states.base import StateAbstract
from trajopt.states.state_multibody import check_robot_state

T = TypeVar("T")


class Instant(ExplainsAttributes):
    """Symbols of state and control at one instant, and expressions of them that are built once and shared.

    Attributes:
        state: Manifold of the state.
        x: State symbol (nx,).
        u: Control symbol (nu,); (0,) at a terminal instant.
        derivatives: Whether derivatives of the expressions are needed.
        forces: Symbol of each contact force or impulse, by name.
        equations: Symbol of the left-hand side of each equation of the dynamics, by name.
        signature: Key that distinguishes the kinds of instants of one state.

    Args:
        state: Manifold of the state.
        nu: Number of controls [-].
        derivatives: Whether derivatives of the expressions are needed. If so, dynamics are built such that values and
            derivatives share as many operations as possible.
        forces: Size of the force or impulse of each contact, by name.
        motion: Motion that the dynamics solve for besides the forces: "acceleration", "velocity_after" (an impulse),
            or None.
        equations: Size of the left-hand side of each equation that the control has to satisfy, by name.
        x: State symbol; by default one that all instants with states of this size share.
        applied: Size of each contact force that the control consists of, by name; the forces follow one another.
    """

    def __init__(
        self,
        state: StateAbstract,
        nu: int,
        *,
        derivatives: bool = False,
        forces: Mapping[str, int] | None = None,
        motion: str | None = None,
        equations: Mapping[str, int] | None = None,
        x: SX | None = None,
        applied: Mapping[str, int] | None = None,
    ) -> None:
        self.state = state
        self.derivatives = derivatives
        self.x = state_symbol(state.nx) if x is None else x
        self.u = SX.sym("u", nu)
        self.forces = {name: SX.sym(f"force_{name}", size) for name, size in (forces or {}).items()}
        self.equations = {name: SX.sym(f"equation_{name}", size) for name, size in (equations or {}).items()}
        self._motion, self._asked = motion, list[SX]()
        ends = np.cumsum([0, *(applied or {}).values()]).tolist()
        self._applied = {name: self.u[i:j] for name, i, j in zip(applied or {}, ends, ends[1:])}
        sizes = [tuple((each or {}).items()) for each in (forces, equations, applied)]
        self.signature = (type(state).__name__, nu, derivatives, motion, *sizes)
        self._built: dict[Hashable, Any] = {}

    def attribute_hint(self, name: str) -> str:
        return f"it is one of instant.robot.{name}" if hasattr(RobotExpressions, name) else super().attribute_hint(name)

    def once(self, key: Hashable, build: Callable[[], T]) -> T:
        """Returns the result of `build`, which is called only at the first request for this key."""
        if key not in self._built:
            self._built[key] = build()
        result: T = self._built[key]
        return result

    @property
    def nu(self) -> int:
        """Number of controls."""
        return int(self.u.numel())

    @property
    def robot(self) -> RobotExpressions:
        """Kinematics and dynamics of the robot in this state, without joint friction."""
        return self.robot_with(None)

    def robot_with(self, friction: SmoothFriction | None) -> RobotExpressions:
        """Kinematics and dynamics of the robot in this state, with friction in the joints."""
        return self.once(("robot", friction), lambda: self._robot_with(friction))

    def _robot_with(self, friction: SmoothFriction | None) -> RobotExpressions:
        state = check_robot_state("a robot's expressions", self.state)
        parameters, derivatives = state.robot.parameters, self.derivatives
        return shared_expressions(
            state.model, self.x, friction=friction, derivatives=derivatives, parameters=parameters
        )

    def force(self, name: str) -> SX:
        """Symbol of the force or impulse of a contact (n,), in its reference frame [N, N m; N s, N m s]."""
        if name in self._applied:
            return self._applied[name]
        if self._applied:
            raise unknown_name("contact", name, self._applied)
        if name not in self.forces and not self.forces:
            raise InvalidArgumentError(
                f"{name}: expected a cost with contact forces, got one without; use this residual in the running costs "
                "of DifferentialActionModelContactFwdDynamics or ActionModelImpulseFwdDynamics, not in a terminal cost"
            )
        if name not in self.forces:
            raise unknown_name("contact", name, self.forces)
        return self.forces[name]

    def is_applied(self, name: str) -> bool:
        """Whether a contact force is a part of the control, and not one that the dynamics solve for."""
        return name in self._applied

    def equation(self, name: str) -> SX:
        """Symbol of the left-hand side of an equation of the dynamics (n,); the equation sets it to zero."""
        if name not in self.equations:
            raise unknown_name("equation of the dynamics", name, self.equations)
        return self.equations[name]

    @functools.cached_property
    def acceleration(self) -> SX:
        """Symbol of the joint acceleration (nv,) [rad/s², m/s²]."""
        owner = "DifferentialActionModelContactFwdDynamics (its stack may be empty), or of a model of inverse dynamics"
        return self._solved_motion("acceleration", owner)

    @functools.cached_property
    def velocity_after(self) -> SX:
        """Symbol of the velocity after an impulse (nv,) [rad/s, m/s]."""
        return self._solved_motion("velocity_after", "ActionModelImpulseFwdDynamics")

    def _solved_motion(self, name: str, owner: str) -> SX:
        if self._motion != name:
            raise InvalidArgumentError(
                f"{name}: expected a running cost of {owner}, got another model or a terminal cost; move it there"
            )
        self._asked.append(SX.sym(name, self.state.ndx // 2))
        return self._asked[0]

    @property
    def solved(self) -> SX:
        """Symbols besides x and u, as one column: the motion if an expression uses it, all forces, all equations."""
        return SX(ca.vertcat(SX(0, 1), *self._asked, *self.forces.values(), *self.equations.values()))

    @property
    def solved_motion(self) -> SX:
        """Symbol (nv,) of the motion that the dynamics solve for; (0,) if no expression uses it."""
        return self._asked[0] if self._asked else SX(0, 1)

    @functools.cached_property
    def tangent_basis(self) -> SX:
        """d(x ⊕ dx)/d dx at dx = 0, shape (nx, ndx)."""
        return self.state.sx_tangent_basis(self.x)

    def derivative(self, expression: SX) -> tuple[SX, SX]:
        """Derivatives of an expression (n,) with respect to the state's tangent, (n, ndx), and the control, (n, nu)."""
        both = jacobian(expression, ca.vertcat(self.x, self.u))
        return both[:, : self.state.nx] @ self.tangent_basis, both[:, self.state.nx :]
