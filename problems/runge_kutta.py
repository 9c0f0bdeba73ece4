"""Models whose cost is evaluated at the knots only, as in benchmarks of trajectory optimization."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import casadi as ca
import numpy.typing as npt
from casadi import SX

from trajopt.actions import ActionModelDiscrete, ActionModelTerminal
from trajopt.actions.integrated import Tableau
from trajopt.actions.integrated.runge_kutta import RungeKutta, call_expression
from trajopt.checks import check_array, check_non_negative, check_positive
from trajopt.constraints import ConstraintStack
from trajopt.costs import CostStack
from trajopt.residuals import ResidualModelState
from trajopt.states import StateAbstract
from trajopt.types import Reals


class ActionModelRungeKutta(ActionModelDiscrete):
    """One Runge-Kutta step of order 4 of ẋ = rate(x, u) with constant u; cost dt ½ (w |x - goal|² + w_u |u|²).

    The cost is evaluated at the knot, whereas `IntegratedActionModelRK4` integrates it over the step. There is no
    terminal cost.

    Args:
        nu: Number of controls [-].
        constraints: Constraints of the knot; their state, a vector, is that of the model.
        dt: Time step, > 0 [s]. Run-time parameter `dt`.
        goal: Goal of the state (nx,). Run-time parameter `goal`.
        weight: Weight w of the state, >= 0 [cost/s per squared unit]. Run-time parameter `weight`.
        effort: Weight w_u of the controls, > 0 [cost/s per squared unit]. Run-time parameter `effort`.
        names: Further arguments of ActionModelExpression: limits, names and units of the controls.
    """

    def __init__(
        self,
        nu: int,
        constraints: ConstraintStack,
        *,
        dt: float,
        goal: npt.ArrayLike,
        weight: float,
        effort: float,
        **names: Any,
    ) -> None:
        super().__init__(constraints.state, nu, constraints=constraints, **names)
        self.dt = self.parameter("dt", check_positive("dt", dt, unit="s"), unit="s")
        self.goal = self.parameter("goal", check_array("goal", goal, (constraints.state.nx,)))
        self.weight = self.parameter("weight", check_non_negative("weight", weight))
        self.effort = self.parameter("effort", check_positive("effort", effort))

    @abstractmethod
    def rate(self, x: SX, u: SX) -> SX:
        """Rate ẋ (nx,) of a state (nx,) and a control (nu,)."""

    def next_state(self, x: SX, u: SX) -> SX:
        method = RungeKutta(Tableau.CLASSICAL, self.state, self.dt, curved=False)
        return SX(method.step(call_expression, x, self.dt, lambda _, y: (self.rate(y, u),)))

    def running_cost(self, x: SX, u: SX) -> SX:
        error = x - self.goal
        return SX(self.dt / 2 * (self.weight * ca.dot(error, error) + self.effort * ca.dot(u, u)))

    def terminal_cost(self, x: SX) -> SX:
        return SX(0)


def ends_at(state: StateAbstract, goal: Reals) -> ActionModelTerminal:
    """Terminal model without a cost, with the constraint that the state is `goal` (nx,)."""
    last = ConstraintStack(state).add("goal", ResidualModelState(state, goal), equals=0.0)
    return ActionModelTerminal(CostStack(state), constraints=last)
