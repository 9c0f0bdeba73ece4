"""Named constraints: residuals within bounds."""

from __future__ import annotations

from typing import Any, Self

import casadi as ca
import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.actuation.base import ActuationModelAbstract
from trajopt.constraints.bounds import first_bounds
from trajopt.constraints.constraint import Constraint
from trajopt.constraints.robot_limits import robot_limits
from trajopt.constraints.softness import first_softness
from trajopt.costs.cost_stack import CostStack
from trajopt.errors import DuplicateNameError, InvalidArgumentError
from trajopt.instant import Instant
from trajopt.model.parameters import ParameterLayout
from trajopt.residuals.base import ResidualModelAbstract
from trajopt.residuals.stack import ResidualStackAbstract
from trajopt.states.base import StateAbstract
from trajopt.types import Reals


class ConstraintStack(ResidualStackAbstract[Constraint]):
    """Named constraints lower <= r(x, u) <= upper of a knot, one row for each element of their residuals.

    Bounds are run-time parameters named "constraint.lower" and "constraint.upper"; ±inf switches a row off, equal
    bounds make it an equation. Residuals may depend on what the dynamics solve for: contact forces, accelerations. Rows
    are those at the knot itself, whatever the integrator, and are not multiplied by the time step. Rows that are free
    of the control are not enforced at knot 0 if x0 is given. A stack is fixed once a model uses it; several models may
    use one.

    Args:
        state: The state's manifold.
    """

    kind = "constraint"

    def add(
        self,
        name: str,
        residual: ResidualModelAbstract,
        *,
        lower: npt.ArrayLike | None = None,
        upper: npt.ArrayLike | None = None,
        equals: npt.ArrayLike | None = None,
        soft: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    ) -> Self:
        """Adds a constraint; its residual gets parameters of its own, also if a cost has the same residual.

        Args:
            name: Its name, an identifier, used once.
            residual: What is to be within bounds. Cones of contact forces, joint efforts and distances have bounds of
                their own, which hold if none are given.
            lower: Lower bounds: one of all rows, or one a row; -inf, the default, for none [unit of the residual].
            upper: Upper bounds; inf, the default, for none.
            equals: What the residual is to be, in place of bounds.
            soft: Weights (linear, quadratic), each one of all rows, or one a row: a row may be beyond its bounds by a
                slack s >= 0, which costs linear · s + ½ quadratic · s², whatever the time step
                [cost / unit of the residual, cost / unit²]. Run-time parameters "name.linear" and "name.quadratic".
                None, the default, for hard rows.

        Returns:
            The stack, so that calls can be chained.

        Raises:
            DuplicateNameError: The name is taken.
            InvalidArgumentError: Bounds or weights do not fit, or a model uses this stack already.
        """
        self.check_new(name, residual)
        if lower is None and upper is None and equals is None and residual.own_bounds is not None:
            lower, upper = residual.own_bounds
        try:
            bounds, weights = first_bounds(lower, upper, equals), first_softness(soft)
        except InvalidArgumentError as error:
            raise InvalidArgumentError(f"constraint {name!r}: {error}") from error
        constraint = Constraint(name, residual.clone(), *bounds, weights)
        self.take(constraint, constraint.own_parameters, constraint.residual.parameters())
        return self

    @classmethod
    def of_robot(
        cls,
        state: StateAbstract,
        actuation: ActuationModelAbstract | None = None,
        *,
        positions: bool = True,
        velocities: bool = True,
        torques: bool = True,
    ) -> Self:
        """The robot's own limits, as constraints "positions", "velocities" and "torques" of its joints.

        Distance joints have "distances", with the positions. A floating base is not limited. Infinite limits, and those
        of a file's zeros, are switched off; what has no other limits is left out. More constraints can be added to the
        stack.

        Args:
            state: State of the robot, whose bounds are those of positions and velocities.
            actuation: Map from controls to joint torques, which have the robot's effort limits; that of the model.
                Without one, as for the end of a horizon, torques are left out.
            positions: Whether to limit positions [rad, m].
            velocities: Whether to limit velocities [rad/s, m/s].
            torques: Whether to limit torques and forces of the joints that are driven [N m, N].

        Raises:
            InvalidArgumentError: The state is no robot's, or the actuation is of another state.
        """
        stack = cls(state)
        for name, (residual, lower, upper) in robot_limits(
            state, actuation, positions=positions, velocities=velocities, torques=torques
        ).items():
            stack.add(name, residual, lower=lower, upper=upper)
        return stack

    @staticmethod
    def of(
        constraints: ConstraintStack | None, user: str, state: StateAbstract, nu: int, costs: CostStack | None = None
    ) -> ConstraintStack:
        """The stack that a model was given, or an empty one; it is fixed from here on.

        Args:
            constraints: What the model was given.
            user: The model, for messages.
            state: Its state.
            nu: Its number of controls [-].
            costs: Its costs, if they are a stack.

        Raises:
            InvalidArgumentError: It is no stack, or of another state, or bounds do not fit `nu` controls.
            DuplicateNameError: A constraint has the name of a cost term.
        """
        stack = ConstraintStack(state) if constraints is None else constraints
        if not isinstance(stack, ConstraintStack):
            raise InvalidArgumentError(f"constraints: expected a ConstraintStack or None, got {stack!r}")
        if stack.state != state:
            raise InvalidArgumentError(
                f"constraints: they are of {stack.state!r}, the model of {state!r}; make both from one state"
            )
        stack.freeze(user, nu)
        twice = [name for name in stack.names if costs is not None and name in costs.names]
        if twice:
            raise DuplicateNameError(
                f"constraints: {twice[0]!r} is a constraint and a cost term of one model, and parameters such as "
                f"'{twice[0]}.reference' would be of both; give one of them another name"
            )
        return stack

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The constraints, in the order in which they were added."""
        return self.items

    def sizes(self, nu: int) -> dict[str, int]:
        """Number of rows of each constraint where there are `nu` controls [-]."""
        return {c.name: c.residual.size(nu) for c in self.constraints}

    def row_names(self, nu: int) -> list[str]:
        """Name of each row: "tool[2]", or "height" of a constraint that has one row."""
        return [name if size == 1 else f"{name}[{i}]" for name, size in self.sizes(nu).items() for i in range(size)]

    def row_bounds(self, nu: int, layout: ParameterLayout, values: Reals) -> tuple[Reals, Reals]:
        """Lower and upper bounds of all rows, (..., nc) each.

        Args:
            nu: Number of controls [-].
            layout: Where the parameters are in a row of values.
            values: Rows of values (..., layout.size).
        """
        return self._of_rows(nu, layout, values, "lower", -np.inf), self._of_rows(nu, layout, values, "upper", np.inf)

    def row_softness(self, nu: int, layout: ParameterLayout, values: Reals) -> tuple[Reals, Reals]:
        """Linear and quadratic weights of the slacks of all rows, (..., nc) each; inf and 0 of hard rows.

        Arguments are those of `row_bounds`.
        """
        linear = self._of_rows(nu, layout, values, "linear", np.inf)
        return linear, self._of_rows(nu, layout, values, "quadratic", 0.0)

    def _of_rows(self, nu: int, layout: ParameterLayout, values: Reals, key: str, otherwise: float) -> Reals:
        """Values of the constraints' own parameter of this name, or another value where it has none, (..., nc)."""
        shape, columns = values.shape[:-1], [np.zeros((*values.shape[:-1], 0))]
        for name, size in self.sizes(nu).items():
            where = layout.slices.get(f"{name}.{key}")
            columns.append(np.full((*shape, size), otherwise) if where is None else values[..., where])
        return np.concatenate(columns, axis=-1)

    def rows(self, instant: Instant) -> SX:
        """All rows (nc,)."""
        return SX(ca.vertcat(SX(0, 1), *(c.residual.evaluate(instant) for c in self.constraints)))

    def derivative(self, instant: Instant) -> SX:
        """Derivative of all rows along (x, u, z), z = `Instant.solved`, at independent x, u and z, (nc, ndx + nu + nz).

        Call `rows`, and evaluate whatever else may ask for the motion, before.
        """
        n = self.state.ndx + instant.nu + instant.solved.numel()
        return SX(ca.vertcat(SX(0, n), *(c.residual.whole_derivative(instant) for c in self.constraints)))

    def arguments_of(self, item: Constraint) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return (item.name, item.residual), {"lower": item.lower, "upper": item.upper, "soft": item.soft}
