"""SolverSQP on a road by arc length, whose clock stands still in the guess."""

from __future__ import annotations

import casadi as ca
import pytest
from casadi import SX

import trajopt
from trajopt import ShootingProblem
from trajopt.solvers import SolverSQP

RADIUS, HALF_WIDTH, GRIP, LENGTH = 15.0, 3.0, 9.0, 60  # [m], [m], [m/s²], [m]


class _PointOnARoad(trajopt.DifferentialActionModelSymbolic):
    """A point mass by arc length [m]: x = (offset, heading, speed, clock), u = accelerations across and along."""

    def __init__(self, costs: trajopt.CostStack, constraints: trajopt.ConstraintStack) -> None:
        super().__init__(costs.state, 2, costs, constraints=constraints)
        self.curvature = self.parameter("curvature", 0.0)

    def xdot(self, x: SX, u: SX) -> SX:
        """Derivative of the state by the arc length, shape (4,)."""
        pace = (1.0 - x[0] * self.curvature) / (x[2] * ca.cos(x[1]))  # [s/m]
        return ca.vertcat(x[2] * ca.sin(x[1]) * pace, u[0] / x[2] * pace - self.curvature, u[1] * pace, pace)


def corner(speed: float, *, limited: bool) -> ShootingProblem:
    """Least time round a corner, from a speed [m/s], with the clock at the end as the only cost."""
    state = trajopt.StateVector(4)
    rows = trajopt.ConstraintStack(state)
    rows.add("road", trajopt.ResidualModelState(state, elements=[0]), lower=-HALF_WIDTH, upper=HALF_WIDTH)
    if limited:
        rows.add("motors", trajopt.ResidualModelControl(state), lower=-GRIP, upper=[GRIP, 4.0])
    circle = trajopt.ResidualModelSymbolic(state, lambda x, u: (u[0] ** 2 + u[1] ** 2) / GRIP**2)
    rows.add("grip", circle, upper=1.0)
    rows.add("slow", trajopt.ResidualModelState(state, elements=[2]), lower=3.0)
    clock = trajopt.ResidualModelSymbolic(state, lambda x: ca.sqrt(2.0 * x[3] + 1e-6))
    end = trajopt.ActionModelTerminal(trajopt.CostStack(state).add("time", clock, weight=1.0))
    knot = trajopt.IntegratedActionModelRK4(_PointOnARoad(trajopt.CostStack(state), rows), dt=1.0)
    problem = ShootingProblem([0.0, 0.0, speed, 0.0], [knot] * LENGTH, end, step_unit="m")
    problem.set_parameter("curvature", 1.0 / RADIUS, knots=range(20, 44))
    return problem


@pytest.mark.parametrize(("speed", "time"), [(8, 3.970948), (12, 3.667323), (15, 3.546085), (18, 3.484587)])
def test_a_clock_that_stands_still_in_the_guess_misleads_no_solve(speed: float, time: float) -> None:
    # the times are those of SolverIpopt; with the cost of the guess, 5e-7, as the typical one two of these never end
    solution = SolverSQP(corner(speed, limited=True)).solve()
    assert solution.converged
    assert solution.iterations < 100
    assert solution.xs[-1, 3] == pytest.approx(time, abs=1e-5)


@pytest.mark.parametrize(("speed", "time"), [(10, 3.793785), (16, 3.520320)])
def test_a_friction_circle_at_rest_is_no_steep_wall(speed: float, time: float) -> None:
    # its gradient is 0 there, so multipliers of 1 / size cost 1000 times the typical step
    solution = SolverSQP(corner(speed, limited=True)).solve()
    assert solution.converged
    assert solution.iterations < 125
    assert solution.xs[-1, 3] == pytest.approx(time, abs=1e-5)


def test_controls_without_cost_and_limits_break_no_units() -> None:
    # the first program of a random attempt is singular to the last bit, which raised numpy's LinAlgError
    assert SolverSQP(corner(15.0, limited=False)).solve().status is not None
