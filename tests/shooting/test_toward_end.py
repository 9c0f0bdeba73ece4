"""A solve without a guess: from x0 to the end on a straight way where times are unknown, else x0 at each knot."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest
from casadi import SX

import trajopt
from trajopt.shooting.toward_end import states_without_guess
from trajopt.solvers import SolverSQP, SQPOptions

START, GOAL = np.array([0.0, 4.7, 0.0, 0.0, 0.0, 0.0]), np.array([4.0, 4.7, 0.0, 0.0, 0.0, 0.0])
STATE = trajopt.StateVector(6, names=["trolley", "rope", "angle", "dtrolley", "drope", "dangle"])


class Crane(trajopt.DifferentialActionModelSymbolic):
    """A trolley of 300 kg with a load of 200 kg at a rope; u is the force on the trolley and the rope's tension."""

    def acceleration(self, x: SX, u: SX) -> SX:
        rope, angle, speed, turn = x[1], x[2], x[4], x[5]
        trolley = (u[0] + u[1] * ca.sin(angle)) / 300.0
        hoist = rope * turn**2 - trolley * ca.sin(angle) + 9.81 * ca.cos(angle) - u[1] / 200.0
        swing = -(2.0 * speed * turn + trolley * ca.cos(angle) + 9.81 * ca.sin(angle)) / rope
        return ca.vertcat(trolley, hoist, swing)


def wall(x: SX) -> SX:
    """Distance of the load from a wall of 1.5 m half way, below a rail of 5 m [m]: a smooth largest one of two."""
    aside, above = x[0] + x[1] * ca.sin(x[2]), 3.5 - x[1] * ca.cos(x[2])
    a, b = ca.sqrt((aside - 2.0) ** 2 + 1e-6) - 0.15, above
    return 0.5 * (a + b + ca.sqrt((a - b) ** 2 + 1e-4))


def crane(height: Callable[[SX], SX] | None = None) -> trajopt.ShootingProblem:
    """Moves the load by 4 m over a wall in the least time, at a height that is a cost, if given."""
    costs = trajopt.CostStack(STATE).add("time", trajopt.ResidualModelTime(STATE), weight=1.0)
    costs.add("effort", trajopt.ResidualModelControl(STATE, [0.0, 1962.0]), weight=1e-9)
    if height is not None:
        costs.add("height", trajopt.ResidualModelSymbolic(STATE, height), weight=1e-9)
    rows = trajopt.ConstraintStack(STATE)
    rows.add("motors", trajopt.ResidualModelControl(STATE), lower=[-1500.0, 0.0], upper=[1500.0, 3000.0])
    fast = np.array([np.inf, 4.9, np.inf, 1.5, 1.0, np.inf])
    rows.add("speeds", trajopt.ResidualModelState(STATE), lower=np.where(fast == 4.9, 1.0, -fast), upper=fast)
    rows.add("wall", trajopt.ResidualModelSymbolic(STATE, wall, unit="m"), lower=0.27, upper=np.inf)
    goal = trajopt.ConstraintStack(STATE).add("goal", trajopt.ResidualModelState(STATE, GOAL), equals=0.0)
    end = trajopt.ActionModelTerminal(trajopt.CostStack(STATE), constraints=goal)
    knot = trajopt.IntegratedActionModelRK4(Crane(STATE, 2, costs, constraints=rows), dt=0.07)
    return trajopt.ShootingProblem(START, [knot] * 80, end)


@pytest.mark.slow
def test_a_fastest_motion_of_a_crane_needs_no_guess() -> None:
    problem = crane()
    problem.free("dt", 0.02, 0.12)
    np.testing.assert_allclose(states_without_guess(problem), np.linspace(START, GOAL, 81))
    at_rest = SolverSQP(problem, SQPOptions(max_iterations=100)).solve(np.tile(START, (81, 1)))
    assert not at_rest.converged
    solution = SolverSQP(problem).solve()
    assert solution.converged
    assert solution.iterations < 60
    assert solution.times is not None
    assert solution.times[-1] < 3.7


def test_other_problems_begin_at_rest() -> None:
    np.testing.assert_array_equal(states_without_guess(crane()), np.tile(START, (81, 1)))


def test_a_way_through_a_singular_place_is_left_out() -> None:
    """The derivative of the square root is infinite half way."""
    problem = crane(lambda x: ca.sqrt(ca.fabs(x[0] - 2.0)))
    problem.free("dt", 0.02, 0.12)
    np.testing.assert_array_equal(states_without_guess(problem), np.tile(START, (81, 1)))


def test_coordinates_without_an_equation_stay() -> None:
    """An equation offsets its reference; soft equations and bounds say nothing."""
    problem = crane()
    rows = trajopt.ConstraintStack(STATE)
    rows.add("place", trajopt.ResidualModelState(STATE, [3.0, *np.zeros(5)], elements=[0]), equals=0.5)
    rows.add("rope", trajopt.ResidualModelState(STATE, elements=[1]), equals=2.0, soft=(1.0, 1.0))
    rows.add("angle", trajopt.ResidualModelState(STATE, elements=[2]), lower=0.1, upper=0.2)
    end = trajopt.ActionModelTerminal(trajopt.CostStack(STATE), constraints=rows)
    other = trajopt.ShootingProblem(START, problem.running, end)
    other.free("dt", 0.02, 0.12)
    np.testing.assert_allclose(states_without_guess(other)[-1], [3.5, 4.7, 0.0, 0.0, 0.0, 0.0])
