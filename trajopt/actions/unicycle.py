"""Unicycle that drives to the origin."""

from __future__ import annotations

import casadi as ca
import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.actions.discrete import ActionModelDiscrete
from trajopt.checks import check_array, check_positive
from trajopt.constraints.constraint_stack import ConstraintStack
from trajopt.states.state_vector import StateVector


class ActionModelUnicycle(ActionModelDiscrete):
    """Unicycle x⁺ = (x + v cos θ dt, y + v sin θ dt, θ + ω dt), u = (v, ω), with cost ½ |w₀ x|² + ½ |w₁ u|².

    The weights multiply the residuals, so they enter squared, as in Crocoddyl. The cost is not multiplied by dt.

    Args:
        weights: Weights (w₀, w₁) of state and control [√cost / unit]. Run-time parameter `weights`.
        dt: Time step [s]. Run-time parameter `dt`.
        lower: Lower limits of (v, ω) (2,) [m/s, rad/s], enforced by SolverBoxDDP and SolverBoxFDDP; none by default.
        upper: Upper limits of (v, ω) (2,) [m/s, rad/s]; none by default.
        constraints: Constraints of the knot, of a StateVector(3) with the same names; none by default.
    """

    def __init__(
        self,
        weights: npt.ArrayLike = (10.0, 1.0),
        dt: float = 0.1,
        *,
        lower: npt.ArrayLike | None = None,
        upper: npt.ArrayLike | None = None,
        constraints: ConstraintStack | None = None,
    ) -> None:
        state = StateVector(3, names=["x", "y", "theta"], units=["m", "m", "rad"])
        names = {"control_names": ["v", "omega"], "control_units": ["m/s", "rad/s"]}
        super().__init__(state, 2, lower=lower, upper=upper, constraints=constraints, **names)
        self.weights = self.parameter(
            "weights",
            check_array("weights", weights, (2,), cure="of the state and of the control"),
            unit="√cost / unit",
        )
        self.dt = self.parameter("dt", dt, unit="s", convert=_time_step)

    def next_state(self, x: SX, u: SX) -> SX:
        return x + self.dt * ca.vertcat(u[0] * ca.cos(x[2]), u[0] * ca.sin(x[2]), u[1])

    def running_cost(self, x: SX, u: SX) -> SX:
        return self.terminal_cost(x) + 0.5 * ca.sumsqr(self.weights[1] * u)

    def terminal_cost(self, x: SX) -> SX:
        return 0.5 * ca.sumsqr(self.weights[0] * x)


def _time_step(argument: str, value: object) -> npt.NDArray[np.float64]:
    return np.array(check_positive(argument, value, unit="s"))
