"""Named constraints: residuals within bounds."""

from __future__ import annotations

from typing import Any, Self

import casadi as ca
import numpy.typing as npt
from casadi import SX

from trajopt.actuation.base import ActuationModelAbstract
from trajopt.constraints.bounds import first_bounds
from trajopt.constraints.collisions import collision_rows
from trajopt.constraints.constraint import Constraint
from trajopt.constraints.robot_limits import robot_limits
from trajopt.constraints.row_block import RowBlock
from trajopt.constraints.softness import first_softness
from trajopt.costs.cost_stack import CostStack
from trajopt.errors import DuplicateNameError, InvalidArgumentError
from trajopt.instant import Instant
from trajopt.residuals.base import ResidualModelAbstract
from trajopt.residuals.stack import ResidualStackAbstract
from trajopt.robots import Scene
from trajopt.states.base import StateAbstract


class ConstraintStack(ResidualStackAbstract[Constraint]):
    """Named constraints lower <= r(x, u) <= upper of a knot, with one row for each element of their residuals.

    Bounds are run-time parameters named "constraint.lower" and "constraint.upper". A bound of ±inf disables a row;
    equal bounds make it an equality. Residuals may depend on contact forces and accelerations that the dynamics solve
    for. Rows are evaluated at the knot itself, and at the stages of integrators with `rows="stages"`. They are not
    multiplied by the time step. If x0 is fixed, rows that do not depend on the control are not enforced at knot 0. A
    model freezes its stack; several models may share one.

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
        """Adds a constraint; its residual gets parameters of its own, even if a cost has the same residual.

        Args:
            name: Name of the constraint, a unique identifier.
            residual: Residual r that is bounded. Cones of contact forces, joint efforts and distances have default
                bounds.
            lower: Lower bounds, one for all rows or one for each [unit of the residual]; -inf, the default, for no
                bound.
            upper: Upper bounds, one for all rows or one for each [unit of the residual]; inf, the default, for no
                bound.
            equals: Value that the residual must have, instead of bounds [unit of the residual].
            soft: Weights (linear, quadratic), each one for all rows or one for each [cost / unit of the residual, cost
                / unit²]. A row may then violate its bounds by a slack s >= 0, which costs linear · s + ½ quadratic ·
                s², whatever the time step. Run-time parameters "name.linear" and "name.quadratic". None, the default,
                for hard rows.

        Returns:
            The stack itself, so that calls can be chained.

        Raises:
            DuplicateNameError: The stack has a constraint of this name.
            InvalidArgumentError: Bounds or weights do not fit, or a model has frozen the stack.
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
        collisions: bool | Scene = False,
        margin: float = 0.01,
        pairs: int = 12,
        obstacles: int = 4,
    ) -> Self:
        """Builds constraints "positions", "velocities" and "torques" from the limits of a robot's joints.

        With the positions, distance joints get a constraint "distances". Limits of the actuation's own, such as those
        of thrusts, are a constraint "motors" on the controls. A floating base has no limits. Infinite limits are
        switched off, and so are pairs of zeros in the robot's file; a constraint without any limit is left out. You can
        add more constraints to the stack.

        Args:
            state: State of the robot; its bounds limit positions and velocities.
            actuation: Actuation of the model; joint torques have the robot's effort limits. Without one, as at the end
                of a horizon, torques are left out.
            positions: Whether to limit positions [rad, m].
            velocities: Whether to limit velocities [rad/s, m/s].
            torques: Whether to limit torques and forces of the driven joints, and motors [N m, N].
            collisions: Whether to keep its links apart from each other, or obstacles from which to keep them apart as
                well: a constraint "collisions", see `ResidualModelCollisions`.
            margin: Least distance from obstacles, and of links from each other, there at most 0.01 m if there are any
                obstacles [m]: collision shapes contain the links, and a wide margin would leave no posture.
            pairs: Largest number of pairs of links that have a row at a knot, the nearest ones [-].
            obstacles: Largest number of rows at a knot for each link and the obstacles nearest to it [-].

        Raises:
            InvalidArgumentError: The state is not that of a robot, the actuation has another state, or the robot has no
                collision geometry.
        """
        stack = cls(state)
        limits = robot_limits(state, actuation, positions=positions, velocities=velocities, torques=torques)
        apart = collision_rows(state, collisions=collisions, margin=margin, pairs=pairs, obstacles=obstacles)
        for name, (residual, lower, upper) in {**limits, **apart}.items():
            stack.add(name, residual, lower=lower, upper=upper)
        return stack

    @staticmethod
    def of(
        constraints: ConstraintStack | None, user: str, state: StateAbstract, nu: int, costs: CostStack | None = None
    ) -> ConstraintStack:
        """Returns the stack of a model, or an empty one for None, and freezes it.

        Args:
            constraints: Argument `constraints` of the model.
            user: The model, for messages.
            state: State of the model.
            nu: Number of controls of the model [-].
            costs: Costs of the model, if they are a stack.

        Raises:
            InvalidArgumentError: The argument is not a stack, has another state, or bounds do not fit `nu` controls.
            DuplicateNameError: A constraint has the name of a cost term.
        """
        stack = ConstraintStack(state) if constraints is None else constraints
        if not isinstance(stack, ConstraintStack):
            raise InvalidArgumentError(f"constraints: expected a ConstraintStack or None, got {stack!r}")
        if stack.state != state:
            raise InvalidArgumentError(
                f"constraints: expected constraints of {state!r}, got constraints of {stack.state!r}; use one state "
                "for both"
            )
        stack.freeze(user, nu)
        twice = [name for name in stack.names if costs is not None and name in costs.names]
        if twice:
            raise DuplicateNameError(
                f"constraints: {twice[0]!r} is the name of a constraint and of a cost term, so parameters such as "
                f"'{twice[0]}.reference' would be ambiguous; rename one of them"
            )
        return stack

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The constraints, in the order in which they were added."""
        return self.items

    def sizes(self, nu: int) -> dict[str, int]:
        """Number of rows of each constraint, for a model with `nu` controls [-]."""
        return {c.name: c.residual.size(nu) for c in self.constraints}

    def blocks(self, nu: int) -> tuple[RowBlock, ...]:
        """Rows of each constraint at an instant, for a model with `nu` controls."""
        return tuple(RowBlock(name, size) for name, size in self.sizes(nu).items())

    def rows(self, instant: Instant) -> SX:
        """Values r of all constraints (nc,), one below the other, as expressions of an instant's symbols."""
        return SX(ca.vertcat(SX(0, 1), *(c.residual.expression(instant) for c in self.constraints)))

    def named_rows(self, instant: Instant) -> dict[str, SX]:
        """The rows as {"rows": c}; empty if the stack has no constraints."""
        return {"rows": self.rows(instant)} if self.constraints else {}

    def derivative(self, instant: Instant) -> SX:
        """Derivative of all rows by x, u and z = `Instant.solved`, as if these were independent (nc, ndx + nu + nz).

        Before this call, call `rows`, and evaluate everything else that reads the accelerations.
        """
        n = self.state.ndx + instant.nu + instant.solved.numel()
        return SX(ca.vertcat(SX(0, n), *(c.residual.whole_derivative(instant) for c in self.constraints)))

    def arguments_of(self, item: Constraint) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return (item.name, item.residual), {"lower": item.lower, "upper": item.upper, "soft": item.soft}
