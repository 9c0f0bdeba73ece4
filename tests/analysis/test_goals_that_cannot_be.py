"""Goals that no motion can meet: out of reach of an arm, and two bounds of one quantity that exclude each other."""

from __future__ import annotations

import numpy as np
import pytest

import trajopt
from trajopt.analysis.places import out_of_reach_for_sure
from trajopt.constraints import ConstraintStack
from trajopt.costs import CostStack
from trajopt.residuals import ResidualModelControl, ResidualModelFrameTranslation
from trajopt.robots import load_robot
from trajopt.shooting import ShootingProblem
from trajopt.solution import SolverStatus
from trajopt.solvers import SolverSQP, SQPOptions

INF = np.inf


def reach(goal: list[float], **bounds: tuple[float, float]) -> ShootingProblem:
    """A planar arm of 2 m moves its tip to a goal; bounds of its x at knot 10 by name of the constraint."""
    robot = load_robot("planar-2r")
    state = trajopt.StateMultibody(robot)
    motors, costs, rows = trajopt.ActuationModelFull(state), CostStack(state), ConstraintStack(state)
    costs.add("torque", ResidualModelControl(state), weight=1e-2)
    for name in bounds:
        rows.add(name, ResidualModelFrameTranslation(state, "tool"), lower=[-INF] * 3, upper=[INF] * 3)
    place = ResidualModelFrameTranslation(state, "tool", np.array(goal))
    end = ConstraintStack(state).add("goal", place, equals=0.0)
    dynamics = trajopt.DifferentialActionModelFreeFwdDynamics(state, motors, costs, constraints=rows)
    knot = trajopt.IntegratedActionModelEuler(dynamics, dt=0.02)
    last = trajopt.ActionModelTerminal(CostStack(state), constraints=end)
    problem = ShootingProblem(state.at_rest([0.3, 0.5]), [knot] * 20, last)
    for name, (lower, upper) in bounds.items():
        problem.set_parameter(f"{name}.lower", [lower, -INF, -INF], knots=[10])
        problem.set_parameter(f"{name}.upper", [upper, INF, INF], knots=[10])
    return problem


def test_the_headline_of_a_goal_out_of_reach_says_so() -> None:
    solution = SolverSQP(reach([3.0, 0.0, 0.0])).solve()
    assert not solution.converged
    lines = solution.explain().splitlines()
    assert lines[0].endswith(": a goal is out of reach (below).")
    assert "it is out of reach, 3 m from the first joint" in next(line for line in lines if line.startswith("->"))


@pytest.mark.parametrize("goal", [[3.0, 0.0, 0.0], [0.0, 0.0, 1.1], [-2.0, 0.0, 2.0], [3000.0, 0.0, 500.0]])
@pytest.mark.parametrize("most", [3, 300])
def test_a_goal_out_of_reach_is_infeasible_however_the_attempts_end(goal: list[float], most: int) -> None:
    """The proof ends the solve at the first dead end; where iterations run out before, it is a proof all the same."""
    solution = SolverSQP(reach(goal), SQPOptions(max_iterations=most)).solve()
    assert solution.status is SolverStatus.INFEASIBLE
    assert solution.iterations <= min(most, 60)
    assert ": a goal is out of reach (below).\n" in solution.explain()


@pytest.mark.parametrize(("width", "proved"), [(0.0, True), (0.05, True), (0.09, False)])
def test_a_tolerance_of_a_goal_that_is_within_reach_is_no_proof(width: float, proved: bool) -> None:
    """A goal 0.08 m beyond the arm, to be met within a width: only a smaller one is out of reach in any posture."""
    problem = reach([1.08, 0.0, 0.0])
    problem.set_parameter("goal.lower", [-width, 0.0, 0.0])
    problem.set_parameter("goal.upper", [width, 0.0, 0.0])
    solution = trajopt.solution.solution.motion_solution(
        problem, np.tile(problem.x0, (21, 1)), np.zeros((20, 2)), solver=""
    )
    assert out_of_reach_for_sure(solution) == proved
    if not proved:
        assert SolverSQP(problem, SQPOptions(max_iterations=3)).solve().status is SolverStatus.MAX_ITERATIONS


@pytest.mark.parametrize(("elbow", "singular"), [(0.0, True), (0.3, False)])
def test_a_goal_at_full_reach_is_called_singular(elbow: float, singular: bool) -> None:
    """The violation is less than 1e-6 m, and would never get much less."""
    goal = load_robot("planar-2r").placement([0.6, elbow], "tool")[:3, 3].tolist()
    solution = SolverSQP(reach(goal), SQPOptions(max_iterations=40)).solve()
    words = "-> the derivative of 'goal' is singular at the end"
    assert solution.converged or singular
    assert (words in solution.explain()) == singular


def test_two_bounds_of_one_quantity() -> None:
    """It is proved at the first end of the solve, without attempts from other guesses."""
    goal = load_robot("planar-2r").placement([0.6, 0.4], "tool")[:3, 3].tolist()
    far, near = (-INF, 0.3), (0.5, INF)
    solution = SolverSQP(reach(goal, low=far, high=near)).solve()
    assert solution.status is SolverStatus.INFEASIBLE
    assert solution.iterations < 30
    (sentence,) = solution.description.contradictions
    assert "low[x]" in sentence
    assert "high[x]" in sentence
    assert "both are the same quantity, which should be >= 0.5 m and <= 0.3 m; widen one of them" in sentence


@pytest.mark.parametrize("near", [(0.3, INF), (0.2, INF), (0.3 + 1e-8, INF)])
def test_bounds_that_meet_are_no_contradiction(near: tuple[float, float]) -> None:
    problem = reach([3.0, 0.0, 0.0], low=(-INF, 0.3), high=near)
    solution = trajopt.solution.solution.motion_solution(
        problem, np.tile(problem.x0, (21, 1)), np.zeros((20, 2)), solver=""
    )
    assert solution.violations()["low"].max() > 0.1
    assert solution.description.contradictions == ()
