"""Models whose cost is that of the knots alone, as benchmarks of trajectory optimization state it."""

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
    """ẋ = rate(x, u) by one Runge-Kutta step of order 4, u held; cost dt ½ (w |x - goal|² + w_u |u|²) at the knot.

    The cost is that of the knot, where `IntegratedActionModelRK4` integrates it over the step. Nothing is paid at the
    end.

    Args:
        nu: Number of controls [-].
        constraints: What holds at a knot; its state is that of the model, a vector.
        dt: Time step, > 0 [s]. Run-time parameter.
        goal: Where the state is to be (nx,). Run-time parameter.
        weight: w, >= 0 [cost/s per squared unit]. Run-time parameter.
        effort: w_u, > 0 [cost/s per squared unit]. Run-time parameter.
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
        """ẋ (nx,) of a state (nx,) and a control (nu,)."""

    def next_state(self, x: SX, u: SX) -> SX:
        method = RungeKutta(Tableau.CLASSICAL, self.state, self.dt, curved=False)
        return SX(method.step(call_expression, x, self.dt, lambda _, y: (self.rate(y, u),)))

    def running_cost(self, x: SX, u: SX) -> SX:
        error = x - self.goal
        return SX(self.dt / 2 * (self.weight * ca.dot(error, error) + self.effort * ca.dot(u, u)))

    def terminal_cost(self, x: SX) -> SX:
        return SX(0)


def ends_at(state: StateAbstract, goal: Reals) -> ActionModelTerminal:
    """An end without a cost at which the state is `goal` (nx,)."""
    last = ConstraintStack(state).add("goal", ResidualModelState(state, goal), equals=0.0)
    return ActionModelTerminal(CostStack(state), constraints=last)
