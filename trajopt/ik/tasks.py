"""Tasks of inverse kinematics as one model: constraints and costs of a configuration."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.actions.lagrangian import second_derivatives
from trajopt.analysis.obstacles import Obstacle, obstacles_in
from trajopt.analysis.references import Item
from trajopt.checks import check_array
from trajopt.constraints import ConstraintStack
from trajopt.costs import CostStack
from trajopt.errors import InvalidArgumentError
from trajopt.ik.coordinates import limited, limits
from trajopt.ik.fixed import columns
from trajopt.instant import Instant
from trajopt.model import Model, Parameter
from trajopt.residuals import ResidualModelAbstract, ResidualModelCollisions, ResidualModelPairDistance
from trajopt.robots import Robot
from trajopt.shooting.collision_slots import CollisionSlots
from trajopt.states.state_multibody import StateMultibody, check_robot_state
from trajopt.types import Reals


def beyond(rows: SX, lower: SX, upper: SX) -> SX:
    """Distance of each row beyond its bounds, with its sign."""
    return rows - ca.fmin(ca.fmax(rows, lower), upper)


DISTANCES = (ResidualModelCollisions, ResidualModelPairDistance)
"""Residuals whose second derivatives are left out of those of a descent."""


@dataclass(frozen=True)
class TaskExpressions:
    """Tasks at a configuration q with v = 0, as expressions of (q, parameters).

    Attributes:
        q: Symbol of the configuration (nq,).
        rows: Rows of the constraints (nc,).
        jacobian: Derivative of the rows by the tangent of q (nc, nv).
        lower: Lower bounds of the rows (nc,).
        upper: Upper bounds of the rows (nc,).
        linear: Linear weights of slacks (nc,) [cost / unit of the row]; 0 for hard rows.
        quadratic: Quadratic weights of slacks (nc,) [cost / unit²]; 0 for hard rows.
        cost: Value of the costs.
        gradient: Gradient of the costs (nv,).
        hessian: Gauss-Newton Hessian of the costs (nv, nv).
    """

    q: SX
    rows: SX
    jacobian: SX
    lower: SX
    upper: SX
    linear: SX
    quadratic: SX
    cost: SX
    gradient: SX
    hessian: SX


class TaskModel(Model):
    """Constraints and costs of a robot at rest: minimise f(q, 0) subject to lower <= c(q, 0) <= upper.

    Soft rows may be beyond their bounds by a slack s, which adds linear · |s| + ½ quadratic · s² to the costs.

    Args:
        constraints: The constraints; None for none.
        costs: The costs; None for none.
        fixed: Names of joints that do not move.

    Raises:
        InvalidArgumentError: There is no task, a task needs a control, or nothing moves.
    """

    def __init__(
        self, constraints: ConstraintStack | None, costs: CostStack | None, fixed: tuple[str, ...] = ()
    ) -> None:
        self.fixed = fixed
        stacks = [stack for stack in (constraints, costs) if stack is not None]
        if not any(stack.names for stack in stacks):
            raise InvalidArgumentError(
                "tasks: expected at least one task, got none; add a residual to a ConstraintStack or a CostStack"
            )
        self.state: StateMultibody = check_robot_state("tasks", stacks[0].state)
        self.constraints = ConstraintStack.of(constraints, "tasks", self.state, 0, costs)
        self.costs = CostStack(self.state) if costs is None else costs
        if self.costs.state != self.state:
            raise InvalidArgumentError(
                f"tasks: expected one state, got costs of {self.costs.state!r} and constraints of {self.state!r}; "
                "share it"
            )
        for stack in stacks:
            stack.freeze("inverse kinematics", 0)
            if stack.controlled():
                raise InvalidArgumentError(
                    f"tasks: expected residuals of the configuration, got {', '.join(stack.controlled())}, which "
                    "depend on a control or on forces; remove them"
                )
        limits(self.state)  # raises for limits that form no box

    def parameters(self) -> dict[str, Parameter]:
        """Run-time parameters of the robot and of all tasks, such as "tool.reference"."""
        return {**self.state.parameters(), **self.constraints.parameters(0), **self.costs.parameters(0)}

    @functools.cached_property
    def nc(self) -> int:
        """Number of rows of the constraints [-]."""
        return sum(self.constraints.sizes(0).values())

    @property
    def has_costs(self) -> bool:
        """Whether there are costs in addition to the constraints, or slacks of soft rows, which cost something."""
        return bool(self.costs.names or self.soft.any())

    @functools.cached_property
    def soft(self) -> npt.NDArray[np.bool_]:
        """Whether each row of the constraints is soft (nc,)."""
        sizes = self.constraints.sizes(0)
        return np.array([c.soft is not None for c in self.constraints.constraints for _ in range(sizes[c.name])], bool)

    @property
    def bounds(self) -> tuple[Reals, Reals]:
        """Lower and upper limits of q ⊖ neutral, (nv,) each, ±inf for no limit [rad, m]."""
        return limits(self.state)

    @functools.cached_property
    def moving(self) -> npt.NDArray[np.intp]:
        """Indices of the tangent coordinates on which a task depends; fixed and all others keep their values."""
        moving = self._moving(np.ones(self.nc, np.bool_))
        if not moving.size:
            names = ", ".join([*self.constraints.names, *self.costs.names])
            raise InvalidArgumentError(
                f"tasks: expected a task that joints move, got none: {names}; is their frame fixed to the world?"
            )
        return moving

    @functools.cached_property
    def led(self) -> npt.NDArray[np.intp]:
        """Those of `moving` on which more than collision rows depend."""
        sizes, apart = self.constraints.sizes(0), {slots.name for slots in self.collisions}
        return self._moving(np.array([name not in apart for name, size in sizes.items() for _ in range(size)], bool))

    def _moving(self, rows: npt.NDArray[np.bool_]) -> npt.NDArray[np.intp]:
        """Indices of the tangent coordinates on which costs and these rows (nc,) depend."""
        t = self.expressions()
        parts = [ca.sum1(abs(t.jacobian[np.flatnonzero(rows).tolist(), :])), ca.sum1(abs(t.hessian)), t.gradient.T]
        reached = {int(j) for part in parts for j in ca.sparsify(part).sparsity().get_triplet()[1]}
        moving = reached.difference(columns(self.state, self.fixed))
        if reached and not moving:
            raise InvalidArgumentError(
                f"fixed: expected a joint that moves, got all that a task depends on: {', '.join(self.fixed)}"
            )
        return np.array(sorted(moving), int)

    @functools.cached_property
    def limited(self) -> npt.NDArray[np.bool_]:
        """Whether each tangent coordinate may have limits (nv,)."""
        return limited(self.state)

    @functools.cached_property
    def collisions(self) -> tuple[CollisionSlots, ...]:
        """Slots of the constraints that keep bodies apart."""
        return tuple(
            CollisionSlots(self.layout, item.name, item.residual)
            for item in self.constraints.constraints
            if isinstance(item.residual, ResidualModelCollisions)
        )

    def values(self, name: str, p: Reals) -> Reals:
        """Values (n, ...) of a parameter in rows of parameters (n, np)."""
        parameter = self.layout.parameters[name]
        return np.array([parameter.shaped(row) for row in p[:, self.layout.slices[name]]])

    def obstacles(self, p: Reals) -> tuple[Obstacle, ...]:
        """Obstacles of costs and constraints for rows of parameters (n, np)."""
        items: list[Item] = [*self.constraints.constraints, *self.costs.terms]
        return tuple(obstacles_in(items, {name: self.values(name, p) for name in self.layout.parameters}))

    def configuration(self, argument: str, q: npt.ArrayLike) -> Reals:
        """Checks a configuration of the robot (nq,)."""
        state = self.state
        q = check_array(argument, q, (state.nq,), cure=f"pass a configuration of {state.robot.name!r}")
        return state.check(state.at_rest(q), argument)[: state.nq]

    def residuals(self) -> ca.Function:
        """Function (q, parameters) -> rows of the constraints, their bounds, and the residual of each cost."""
        nv = self.state.nv
        instant, t = Instant(self.state, 0), self.expressions()
        at_rest = ca.vertcat(t.q, SX(np.zeros(nv)))
        costs = [ca.substitute(c.residual.expression(instant), instant.x, at_rest) for c in self.costs.terms]
        return ca.Function("residuals", [t.q, self.layout.symbols], [t.rows, t.lower, t.upper, *costs])

    def expressions(self) -> TaskExpressions:
        """Returns expressions of the constraint rows, their Jacobian and bounds, and the cost.

        The cost comes with its gradient and Hessian. All expressions are at v = 0.
        """
        nq, nv = self.state.nq, self.state.nv
        instant = Instant(self.state, 0)
        v = instant.x[nq:]
        rows, derivative = self.constraints.rows(instant), self.constraints.derivative(instant)
        costs = self.costs.quadratic(instant)
        at_rest = [rows, derivative[:, :nv], costs.cost, costs.Ly[:nv], costs.Lyy[:nv, :nv]]
        rows, jacobian, cost, gradient, hessian = ca.substitute(at_rest, [v], [SX(np.zeros(nv))])
        own, sizes = self.constraints.parameters(0), self.constraints.sizes(0)

        def column(key: str) -> SX:
            """Values of a parameter for all rows (nc,); 0 for constraints without it."""
            symbols = [own[f"{n}.{key}"].symbol if f"{n}.{key}" in own else SX.zeros(sizes[n]) for n in sizes]
            return SX(ca.vertcat(SX(0, 1), *symbols))

        lower, upper, linear, quadratic = (column(key) for key in ("lower", "upper", "linear", "quadratic"))
        q = instant.x[:nq]
        return TaskExpressions(q, rows, jacobian, lower, upper, linear, quadratic, cost, gradient, hessian)

    def curvature(self, forces: SX, sigma: SX) -> SX:
        """Second derivatives (nv, nv) of forces · c + σ f that Gauss-Newton leaves out: those of rows and residuals.

        Without those of distances between bodies, which would take four times as many instructions or more, and no
        fewer iterations.

        Args:
            forces: Derivative of Φ by each row of the constraints (nc,).
            sigma: Factor σ of the costs.
        """
        nv, instant, ends = self.state.nv, Instant(self.state, 0), np.cumsum([0, *self.constraints.sizes(0).values()])
        parts: list[tuple[ResidualModelAbstract, SX]] = [
            (c.residual, forces[int(first) : int(end)])
            for c, first, end in zip(self.constraints.constraints, ends, ends[1:])
            if not isinstance(c.residual, DISTANCES)
        ]
        for term in self.costs.terms:
            if isinstance(term.residual, DISTANCES):
                continue
            r = term.residual.expression(instant)
            parts.append((term.residual, sigma * term.weight.symbol * term.activation.gradient(r)))
        hessian, others, slopes = SX(nv, nv), [SX(0, 1)], [SX(0, 1)]
        for residual, slope in parts:
            own = residual.curvature(instant, slope, SX.zeros(slope.shape))
            if own is not None:
                hessian += own[:nv, :nv]
            else:
                others.append(residual.expression(instant))
                slopes.append(slope)
        constant = SX.sym("slopes", sum(each.numel() for each in slopes))
        differentiated = second_derivatives(self.state, instant, ca.dot(constant, ca.vertcat(*others)))[1][:nv, :nv]
        hessian += ca.substitute(differentiated, constant, ca.vertcat(*slopes))
        return SX(ca.substitute(hessian, instant.x[self.state.nq :], SX.zeros(nv)))

    @classmethod
    def of(cls, robot: Robot, tasks: Any) -> TaskModel:
        """Builds the model of a user's tasks.

        Args:
            robot: The robot.
            tasks: A ConstraintStack, a CostStack, or a tuple of both.

        Raises:
            InvalidArgumentError: `tasks` has another type, or another robot.
        """
        if not isinstance(robot, Robot):
            raise InvalidArgumentError(f"robot: expected a Robot such as load_robot('panda'), got {robot!r}")
        stacks = list(tasks) if isinstance(tasks, (tuple, list)) else [tasks]
        by_kind: dict[type, Any] = {}
        for stack in stacks:
            kind = next((k for k in (ConstraintStack, CostStack) if isinstance(stack, k)), None)
            if kind is None or kind in by_kind:
                raise InvalidArgumentError(
                    "tasks: expected a ConstraintStack, a CostStack, or a tuple of one each, got ("
                    f"{', '.join(type(each).__name__ for each in stacks)}); add all residuals to one stack of each "
                    "kind"
                )
            by_kind[kind] = stack
        for stack in stacks:
            state = check_robot_state("tasks", stack.state)
            if state.model is not robot.model and state.model != robot.model:
                raise InvalidArgumentError(
                    f"tasks: expected tasks of {robot.name!r}, got some of {state.robot.name!r}; create the state "
                    "with StateMultibody(robot)"
                )
        return cls(by_kind.get(ConstraintStack), by_kind.get(CostStack))
