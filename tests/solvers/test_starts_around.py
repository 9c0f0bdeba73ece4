"""Starts of a solve that lead around circles in the plane."""

from __future__ import annotations

import numpy as np
import pytest
from casadi import SX

import trajopt
from tests.support.posts import BODY, GOAL, MARGIN, POSTS, drive
from trajopt import problems
from trajopt.solvers import SolverSQP
from trajopt.solvers.ways import states_around
from trajopt.types import Reals


class Point(trajopt.DifferentialActionModelSymbolic):
    """A mass of 1 kg in the plane, pushed by two forces [N]."""

    def acceleration(self, x: SX, u: SX) -> SX:
        return u


def apart(xs: Reals) -> float:
    """Least distance of the body from a post at the knots [m]."""
    return float((np.linalg.norm(xs[:, None, :2] - POSTS[:, :2], axis=2) - POSTS[:, 2]).min()) - BODY


@pytest.mark.slow
def test_the_second_start_leads_around_circles() -> None:
    problem = drive()
    way = states_around(problem, np.tile(problem.x0, (problem.T + 1, 1)))
    assert way is not None
    assert apart(way) > MARGIN - 1e-3
    np.testing.assert_allclose(way[[0, -1], :2], [problem.x0[:2], GOAL[:2]], atol=1e-9)
    rest = np.tile(problem.x0, (problem.T + 1, 1))
    assert not SolverSQP(problem).solve(rest).converged
    best = SolverSQP(problem).solve(rest, starts=2)
    assert best.converged
    assert apart(best.xs) > MARGIN - 1e-6


def test_without_a_guess_a_solve_begins_with_that_way() -> None:
    """A batch, too."""
    problem = drive()
    alone = SolverSQP(problem).solve()
    assert alone.converged
    assert alone.iterations < 50
    assert apart(alone.xs) > MARGIN - 1e-6
    rows = SolverSQP(problem).solve_batch(problem.x0[None], progress=False)
    assert rows.iterations[0] == alone.iterations
    assert rows.cost[0] == alone.cost


def test_a_point_with_velocities_gets_the_positions_of_a_way() -> None:
    """From the end of the guess, as there is no equation on the end."""
    state = trajopt.StateVector(4, names=["x", "y", "vx", "vy"], units=["m", "m", "m/s", "m/s"])
    rows = trajopt.ConstraintStack(state).add("posts", trajopt.ResidualModelObstacleDistance(state, POSTS, BODY))
    costs = trajopt.CostStack(state).add("effort", trajopt.ResidualModelControl(state), 1.0)
    point = Point(state, nu=2, costs=costs, constraints=rows)
    end = trajopt.CostStack(state)
    problem = trajopt.ShootingProblem(np.zeros(4), [trajopt.IntegratedActionModelEuler(point, dt=0.1)] * 50, end)
    xs = np.linspace(np.zeros(4), [6.0, 0.0, 0.5, 0.0], 51)
    way = states_around(problem, xs)
    assert way is not None
    assert apart(way) > -1e-3
    np.testing.assert_array_equal(way[:, 2:], xs[:, 2:])


@pytest.mark.parametrize("circle", [[6.0, 0.0, 0.5], [0.0, 0.0, 0.1]])
def test_there_is_no_way_from_or_to_the_inside_of_a_circle(circle: list[float]) -> None:
    problem = drive(np.array([circle]))
    assert states_around(problem, np.tile(problem.x0, (problem.T + 1, 1))) is None


def test_problems_without_circles_keep_their_starts() -> None:
    problem = problems.load("parking-wheels").problem
    assert states_around(problem, np.tile(problem.x0, (problem.T + 1, 1))) is None
