"""Action models along a path: the squared speed b = (dτ/dt)² as state, and the time of an interval as cost.

With b as a function of τ, a joint with the path q(τ) has

    dq/dt = q' √b,  d²q/dt² = q'' b + ½ q' b',  d³q/dt³ = (q''' b + 3/2 q'' b' + ½ q' b'') √b

so that limits of velocity, acceleration and torque are linear in b and b', and the time ∫ dτ / √b is convex.

Source: Verscheure et al., Time-optimal path tracking for robots: a convex optimization approach, 2009.
"""

from __future__ import annotations

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.actions.discrete import ActionModelDiscrete
from trajopt.actions.terminal import ActionModelTerminal
from trajopt.constraints import ConstraintStack
from trajopt.costs import CostStack
from trajopt.residuals import ResidualModelSymbolic
from trajopt.states import StateAbstract, StateVector

CALM = 1e-3  # weight of (Δ² b'')²: without it slopes alternate from knot to knot where the speed is at its limit [-]
LEAST = 1e-8  # squared speed, relative to that of the guess, below which the path counts as standing still [-]


class PathSpeed(ActionModelDiscrete):
    """Squared speed b with a slope that changes linearly from u₀ to u₁: b⁺ = b + ½ Δ (u₀ + u₁); cost by Simpson's rule.

    With a constant slope the limits would hold with equality at one end of an interval only, which loses time in
    proportion to its length.

    Args:
        step: Length Δ of the interval in τ [-].
        rows: Number of rows A (b, u₀, u₁) within limits.
    """

    def __init__(self, step: float, rows: int) -> None:
        state = StateVector(1)
        linear = ResidualModelSymbolic(state, _of_slopes, parameters={"A": np.zeros((rows, 3))})
        constraints = _limits(state, linear, rows)
        middle = ResidualModelSymbolic(state, _middle, parameters={"step": step})
        constraints.add("middle", middle, lower=-np.inf, upper=np.inf)
        between = ResidualModelSymbolic(state, _between, parameters={"step": step})
        constraints.add("positive", between, lower=LEAST, upper=np.inf)
        super().__init__(state, 2, constraints=constraints)
        self.step = self.parameter("step", step)

    def next_state(self, x: SX, u: SX) -> SX:
        return x + 0.5 * self.step * (u[0] + u[1])

    def running_cost(self, x: SX, u: SX) -> SX:
        paces = [1.0 / ca.sqrt(b) for b in (x, _middle(x, u, self.step), self.next_state(x, u))]
        return self.step / 6.0 * (paces[0] + 4.0 * paces[1] + paces[2])

    def terminal_cost(self, x: SX) -> SX:
        return SX(0)


class PathJerk(ActionModelDiscrete):
    """Squared speed b and its slope b': b⁺ = b + Δ b' + ½ Δ² u, b'⁺ = b' + Δ u; cost ∫ dτ / √b by Simpson's rule.

    Args:
        step: Length Δ of the interval in τ [-].
        rows: Number of rows A (b, b') within limits.
        joints: Number of joints, whose jerk, divided by its limit, is J (b, b', u) √b at both ends of the interval.
    """

    def __init__(self, step: float, rows: int, joints: int) -> None:
        state = StateVector(2)
        linear = ResidualModelSymbolic(state, _of_state, parameters={"A": np.zeros((rows, 2))})
        constraints = _limits(state, linear, rows)
        own = {"first": np.zeros((joints, 3)), "last": np.zeros((joints, 3)), "step": step}
        constraints.add("jerk", ResidualModelSymbolic(state, _jerk, parameters=own), lower=-1.0, upper=1.0)
        super().__init__(state, 1, constraints=constraints)
        self.step = self.parameter("step", step)

    def next_state(self, x: SX, u: SX) -> SX:
        return _behind(x, u, self.step)

    def running_cost(self, x: SX, u: SX) -> SX:
        paces = [1.0 / ca.sqrt(_behind(x, u, part * self.step)[0]) for part in (0.0, 0.5, 1.0)]
        return self.step / 6.0 * (paces[0] + 4.0 * paces[1] + paces[2]) + CALM * self.step * (self.step**2 * u) ** 2

    def terminal_cost(self, x: SX) -> SX:
        return SX(0)


def end_of(model: PathSpeed | PathJerk) -> ActionModelTerminal:
    """The end of a path, with the limit of its speed; rows of `PathJerk` hold there as well, and b' is 0."""
    state, rows = model.state, model.constraints
    if isinstance(model, PathSpeed):
        end = ConstraintStack(state).add("speed", ResidualModelSymbolic(state, _speed), lower=LEAST, upper=np.inf)
        return ActionModelTerminal(CostStack(state), constraints=end)
    count = rows.sizes(1)["limits"]
    end = _limits(state, ResidualModelSymbolic(state, _of_state, parameters={"A": np.zeros((count, 2))}), count)
    end.add("slope", ResidualModelSymbolic(state, _slope), equals=0.0)
    return ActionModelTerminal(CostStack(state), constraints=end)


def _limits(state: StateAbstract, residual: ResidualModelSymbolic, rows: int) -> ConstraintStack:
    stack = ConstraintStack(state).add("limits", residual, lower=-np.ones(rows), upper=np.ones(rows))
    return stack.add("speed", ResidualModelSymbolic(state, _speed), lower=LEAST, upper=np.inf)


def _speed(x: SX) -> SX:
    return x[0]


def _slope(x: SX) -> SX:
    return x[1]


def _middle(x: SX, u: SX, step: SX) -> SX:
    """Squared speed in the middle of an interval of `PathSpeed`."""
    return x + step * (3.0 * u[0] + u[1]) / 8.0


def _between(x: SX, u: SX, step: SX) -> SX:
    """Bernstein coefficient of b in an interval of `PathSpeed`; b is positive if it and both ends are.

    A robot that a limit of the velocity alone makes slow would leave rest at a speed that falls below 0 between knots.
    """
    return x + 0.5 * step * u[0]


def _behind(x: SX, u: SX, d: SX) -> SX:
    """b and b' behind a part d of an interval of `PathJerk`."""
    return SX(ca.vertcat(x[0] + d * x[1] + 0.5 * d**2 * u, x[1] + d * u))


def _jerk(x: SX, u: SX, first: SX, last: SX, step: SX) -> SX:
    ends = ((first, x), (last, _behind(x, u, step)))
    return SX(ca.vertcat(*(ca.sqrt(at[0]) * (J @ ca.vertcat(at, u)) for J, at in ends)))


def _of_state(x: SX, A: SX) -> SX:
    return SX(A @ x)


def _of_slopes(x: SX, u: SX, A: SX) -> SX:
    return SX(A @ ca.vertcat(x, u))
