"""The interface of continuous-time action models: dynamics and costs, before an integrator discretises them."""

from __future__ import annotations

import functools
from abc import abstractmethod

import casadi as ca
import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.actions.base import check_names
from trajopt.actions.data import ActionData
from trajopt.costs.cost_stack import CostStack
from trajopt.errors import InvalidArgumentError, check_array, check_bounds, check_count
from trajopt.expressions import Instant, function_of
from trajopt.model import Model, Parameter, parameter_vector
from trajopt.states.base import StateAbstract

Reals = npt.NDArray[np.float64]


class DifferentialActionModelAbstract(Model):
    """Dynamics and running cost per second.

    Second-order systems have a state (q, v) and give the acceleration dv/dt, shape (ndx / 2,); first-order systems give
    dx/dt in the tangent space, shape (ndx,).

    Args:
        state: The state's manifold.
        nu: Number of controls [-].
        costs: Costs of each instant [cost/s]; frozen from here on.
        lower: Lower limits of the controls (nu,), for plots; none by default.
        upper: Upper limits of the controls (nu,).
        control_names: Name of each control, for plots.
    """

    second_order = True

    def __init__(
        self,
        state: StateAbstract,
        nu: int,
        costs: CostStack,
        *,
        lower: npt.ArrayLike | None = None,
        upper: npt.ArrayLike | None = None,
        control_names: list[str] | None = None,
    ) -> None:
        if not isinstance(costs, CostStack):
            raise InvalidArgumentError(f"costs: expected a CostStack, got {costs!r}")
        if costs.state != state:
            raise InvalidArgumentError(
                f"costs: they are of {costs.state!r}, the model of {state!r}; make both from one state"
            )
        self.state = state
        self.nu = check_count("nu", nu)
        costs.freeze(type(self).__name__, self.nu)
        self.costs = costs
        self.lower = np.full(nu, -np.inf) if lower is None else check_bounds("lower", lower, nu)
        self.upper = np.full(nu, np.inf) if upper is None else check_bounds("upper", upper, nu)
        self.control_names = check_names("control_names", control_names, self.nu)

    @abstractmethod
    def dynamics(self, instant: Instant) -> SX:
        """Acceleration (ndx / 2,) of a second-order system, rate of the state (ndx,) of a first-order one."""

    def dynamics_derivative(self, instant: Instant) -> tuple[SX, SX]:
        """Its derivatives along the tangent space, (n, ndx), and the control, (n, nu)."""
        return instant.derivative(self.dynamics(instant))

    def rate(self, instant: Instant) -> SX:
        """Velocity of the state in the tangent space, (ndx,): (v, dv/dt), or dx/dt of a first-order system."""
        f = self.dynamics(instant)
        return ca.vertcat(self._velocity(instant), f) if self.second_order else f

    def rate_derivative(self, instant: Instant) -> tuple[SX, SX]:
        """Derivatives of `rate`: (ndx, ndx) and (ndx, nu)."""
        fx, fu = self.dynamics_derivative(instant)
        if not self.second_order:
            return fx, fu
        half = self.state.ndx // 2
        return ca.vertcat(ca.horzcat(SX(half, half), SX.eye(half)), fx), ca.vertcat(SX(half, self.nu), fu)

    def _velocity(self, instant: Instant) -> SX:
        return instant.x[self.state.nx - self.state.ndx // 2 :]

    def parameters(self) -> dict[str, Parameter]:
        return {**super().parameters(), **self.costs.parameters(self.nu)}

    def create_data(self) -> ActionData:
        """Arrays for one evaluation; `xnext` holds the rate of the state in the tangent space (ndx,)."""
        return ActionData(self.state.ndx, self.state.ndx, self.nu)

    def calc(self, data: ActionData, x: Reals, u: Reals) -> None:
        """Sets `data.xnext`, the rate of the state (ndx,) per second, and `data.cost` [cost/s]; for inspection."""
        rate, cost = self._evaluate(self._values, x, u)
        data.xnext, data.cost = rate.ravel(), cost

    def calc_diff(self, data: ActionData, x: Reals, u: Reals) -> None:
        """Sets the derivatives of the rate and of the cost; for inspection."""
        data.Fx, data.Fu, Lx, Lu, data.Lxx, data.Lxu, data.Luu = self._evaluate(self._derivatives, x, u)
        data.Lx, data.Lu = Lx.ravel(), Lu.ravel()

    @functools.cached_property
    def _values(self) -> ca.Function:
        instant = Instant(self.state, self.nu)
        return self._function(instant, [self.rate(instant), self.costs.value(instant)])

    @functools.cached_property
    def _derivatives(self) -> ca.Function:
        instant = Instant(self.state, self.nu, derivatives=True)
        fx, fu = self.rate_derivative(instant)
        q = self.costs.quadratic(instant)
        return self._function(instant, [fx, fu, q.Lx, q.Lu, q.Lxx, q.Lxu, q.Luu])

    def _function(self, instant: Instant, expressions: list[SX]) -> ca.Function:
        symbols = [instant.x, instant.u, parameter_vector(self.parameters())]
        return function_of(type(self).__name__, symbols, expressions)

    def _evaluate(self, function: ca.Function, x: Reals, u: Reals) -> list[Reals]:
        values = [p.flat(p.default) for p in self.parameters().values()]
        flat = np.concatenate(values) if values else np.zeros(0)
        inputs = [self.state.check(x, "x"), check_array("u", u, (self.nu,)), flat]
        return [np.array(r.full()) for r in function.call(inputs)]

    def quasi_static(self, x: Reals) -> Reals | None:
        """Control that balances the system at rest, if there is a closed form; None if not."""
        return None
