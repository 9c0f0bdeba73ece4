"""Proofs that rows exclude each other along linear dynamics, and where the equations of a knot hold."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from casadi import SX

from tests.support.infeasible_problems import KINDS, Mass, mass
from trajopt.actions import ActionModelTerminal
from trajopt.actions.differential import DifferentialActionModelSymbolic
from trajopt.actions.integrated import IntegratedActionModelRK4
from trajopt.actions.integrated.control import ControlParametrizationPolyTwoRK
from trajopt.constraints import ConstraintStack
from trajopt.costs import CostStack
from trajopt.problems.runge_kutta import ActionModelRungeKutta
from trajopt.residuals import ResidualModelControl, ResidualModelState, ResidualModelSymbolic
from trajopt.shooting import ShootingProblem
from trajopt.solution import SolverStatus
from trajopt.solution.solution import motion_solution
from trajopt.solvers import SolverSQP
from trajopt.states import StateVector

INF = np.inf
HALT = {"lower": np.array([-INF, 0.0]), "upper": np.array([INF, 0.0])}


def proofs(problem: ShootingProblem, *, seed: int = 0) -> tuple[str, ...]:
    """What is said at a random trajectory, with gaps."""
    rng = np.random.default_rng(seed)
    xs = np.array([problem.state.rand(seed * 100 + t) for t in range(problem.T + 1)])
    return motion_solution(problem, xs, rng.normal(size=(problem.T, problem.nu)), solver="").description.contradictions


@pytest.mark.parametrize("name", ["brakes", "start_outside", "two_knots", "end_beyond", "start_too_late"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_proof_does_not_depend_on_the_trajectory(name: str, seed: int) -> None:
    for value in KINDS[name].infeasible:
        assert len(proofs(KINDS[name].build(value)[0], seed=seed)) == 1


@pytest.mark.parametrize("name", list(KINDS))
@pytest.mark.parametrize("seed", [0, 1])
def test_there_is_no_proof_for_neighbours_with_a_solution(name: str, seed: int) -> None:
    for value in (*KINDS[name].feasible, *KINDS[name].hard):
        assert proofs(KINDS[name].build(value)[0], seed=seed) == ()


def test_the_least_distance_that_a_bound_has_to_be_moved_by() -> None:
    """A jump of 1 m within 0.1 s at no more than 2 m/s."""
    problem = KINDS["two_knots"].build(1.0)[0]
    (sentence,) = proofs(problem)
    assert "path[v] at knots 10-11" in sentence
    assert "the lower bound of path[x] by 0.8 m, or the upper bound of path[x] by 0.8 m" in sentence
    problem.set_parameter("path.lower", [0.201, -2.0], knots=[11])
    assert len(proofs(problem)) == 1
    problem.set_parameter("path.lower", [0.199, -2.0], knots=[11])
    assert proofs(problem) == ()
    assert SolverSQP(problem).solve().converged


def test_bounds_that_can_just_be_met() -> None:
    """A car that needs 25 m, and 24.999 m of them."""
    for wall, number in ((25.001, 0), (24.999, 1)):
        problem = mass(np.array([0.0, 20.0]), 40, 0.1, 8.0, HALT, upper=np.array([wall, INF]))
        assert len(proofs(problem)) == number


class Rubbed(Mass):
    """ẍ = u - 3 sign(v): linear on each side of v = 0."""

    def rate(self, x: SX, u: SX) -> SX:
        return SX(ca.vertcat(x[1], u - 3.0 * ca.sign(x[1])))


class Pushed(Mass):
    """ẍ = u + 5 to the right of 1 m, where a wind blows."""

    def rate(self, x: SX, u: SX) -> SX:
        return SX(ca.vertcat(x[1], u + ca.if_else(x[0] > 1.0, 5.0, 0.0)))


@pytest.mark.parametrize("model", [Rubbed, Pushed])
@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_dynamics_with_a_kink_are_not_linear(model: type[ActionModelRungeKutta], seed: int) -> None:
    state = StateVector(2)
    rows = ConstraintStack(state).add("motor", ResidualModelControl(state), lower=-2.0, upper=2.0)
    last = ConstraintStack(state).add("end", ResidualModelState(state, [8.0, 0.0]), equals=0.0)
    knot = model(1, rows, dt=0.1, goal=np.zeros(2), weight=0.0, effort=1.0)
    problem = ShootingProblem([0.5, 0.0], [knot] * 20, ActionModelTerminal(CostStack(state), constraints=last))
    xs = np.tile([0.5, 0.1], (21, 1))
    solution = motion_solution(problem, xs, np.zeros((20, 1)), solver="")
    assert solution.description.contradictions == ()
    assert proofs(problem, seed=seed) == ()


def end(goal: list[float], elements: range, clearance: Any) -> ShootingProblem:
    """A mass in the plane, x = (position, velocity), that ends at a goal outside of a disk of 1 m."""
    state = StateVector(4)

    class Puck(ActionModelRungeKutta):
        def rate(self, x: SX, u: SX) -> SX:
            return SX(ca.vertcat(x[2:], u))

    last = ConstraintStack(state).add("goal", ResidualModelState(state, elements=elements), equals=np.array(goal))
    last.add("disk", ResidualModelSymbolic(state, clearance, unit="m²"), lower=1.0)
    model = Puck(2, ConstraintStack(state), dt=0.1, goal=np.zeros(4), weight=0.0, effort=1.0)
    return ShootingProblem([3.0, 1.0, 0.0, 0.0], [model] * 10, ActionModelTerminal(CostStack(state), constraints=last))


def within(x: SX) -> SX:
    return ca.sumsqr(x[:2])


def test_a_goal_within_an_obstacle() -> None:
    problem = end([0.3, 0.4], range(2), within)
    solution = SolverSQP(problem).solve()
    assert solution.status is SolverStatus.INFEASIBLE
    assert solution.description.contradictions == (
        "constraints goal and disk at knot 10: they exclude each other, disk is 0.25 m² wherever goal holds there, and "
        "should be >= 1 m²; move one of them with problem.set_parameter",
    )
    first = solution.explain().splitlines()[0]
    assert (
        first
        == "SolverSQP: no small step reduces the constraint violation: constraints exclude each other (proof below)."
    )
    assert SolverSQP(end([0.8, 0.7], range(2), within)).solve().converged


def test_a_row_that_the_equations_leave_free_is_no_contradiction() -> None:
    """The goal has no y; or the disk gets smaller with speed."""
    for problem in (
        end([0.3], range(1), within),
        end([0.3, 0.4], range(2), lambda x: ca.sumsqr(x[:2]) + x[2] ** 2),
    ):
        at_rest = motion_solution(problem, np.zeros((11, 4)), np.zeros((10, 2)), solver="")
        assert at_rest.violations()["disk"].max() == 1.0  # and it is violated where the equations hold next to there
        assert at_rest.description.contradictions == ()


class Walk(ActionModelRungeKutta):
    """ẋ = u."""

    def rate(self, x: SX, u: SX) -> SX:
        return SX(u)


def walk(start: list[float], goal: ConstraintStack, rows: ConstraintStack) -> ShootingProblem:
    """A point with at most 2 m/s, for 5 s."""
    state, n = rows.state, len(start)
    rows.add("speed", ResidualModelControl(state), lower=-2.0, upper=2.0)
    model = Walk(n, rows, dt=0.25, goal=np.zeros(n), weight=0.0, effort=1.0)
    return ShootingProblem(start, [model] * 20, ActionModelTerminal(CostStack(state), constraints=goal))


def test_a_row_that_is_a_coordinate_along_a_line_alone_is_no_proof() -> None:
    """Right of a disc the distance from its centre is x - 1 along the axis; there is a way round it."""
    state = StateVector(2)
    rows = ConstraintStack(state).add("disc", ResidualModelSymbolic(state, lambda x: ca.norm_2(x)), lower=1.0)
    goal = ConstraintStack(state).add("goal", ResidualModelState(state, [-2.0, 0.0]), equals=0.0)
    problem = walk([2.0, 0.0], goal, rows)
    xs = np.stack([np.linspace(2.0, 0.3, 21), np.zeros(21)], axis=1)
    assert motion_solution(problem, xs, np.zeros((20, 2)), solver="").description.contradictions == ()
    assert SolverSQP(problem).solve().converged


def test_a_proof_names_the_rows_that_it_needs() -> None:
    """A goal 1 mm inside of a disc, which excludes no motion alone; a place that is too far away for any goal."""
    state = StateVector(2)

    def proof(centre: float, radius: float, goal: float) -> str:
        rows = ConstraintStack(state).add("goal", ResidualModelState(state), lower=[goal, 0.0], upper=[goal, 0.0])
        disc = ResidualModelSymbolic(state, lambda x: ca.norm_2(x - ca.DM([centre, 0.0])) - radius)
        end, path = rows.add("clear", disc, lower=0.0), ConstraintStack(state).add("clear", disc, lower=0.0)
        (sentence,) = proofs(walk([0.0, 0.0], end, path))
        return sentence

    assert proof(5.0, 1.0, goal=4.001).startswith("constraints clear at knot 20, goal and x0: they exclude each other")
    assert proof(0.0, 3.0, goal=9.0).startswith("constraints clear at knot 1 and x0: they exclude each other")


def test_a_bound_beside_an_unknown_is_no_proof() -> None:
    state = StateVector(1)
    rows = ConstraintStack(state).add("path", ResidualModelState(state, [0.2]), upper=0.0)
    goal = ConstraintStack(state).add("end", ResidualModelState(state, [1.0]), equals=0.0)
    problem = walk([0.0], goal, rows)
    problem.free("path.reference", -5.0, 5.0)
    solution = motion_solution(problem, np.zeros((21, 1)), np.zeros((20, 1)), solver="")
    assert solution.description.contradictions == ()
    assert SolverSQP(problem).solve().converged
    problem.free("path.reference", -5.0, 0.4)
    assert SolverSQP(problem).solve().status is SolverStatus.INFEASIBLE


def test_a_dead_end_that_can_not_leave_its_start_is_proved() -> None:
    state = StateVector(1)
    goal = ConstraintStack(state).add("away", ResidualModelSymbolic(state, lambda x: ca.sumsqr(x)), lower=121.0)
    solution = SolverSQP(walk([0.0], goal, ConstraintStack(state))).solve()
    assert solution.status is SolverStatus.INFEASIBLE
    assert solution.iterations <= 10
    assert "away is at most 100 there" in solution.explain()


class Cart(DifferentialActionModelSymbolic):
    """ẍ = u."""

    def acceleration(self, x: SX, u: SX) -> SX:
        return u


def test_controls_between_knots_have_more_numbers_than_rows() -> None:
    state = StateVector(2)
    rows = ConstraintStack(state).add("motor", ResidualModelControl(state), lower=-1.0, upper=1.0)
    goal = ConstraintStack(state).add("end", ResidualModelState(state, [9.0, 0.0]), equals=0.0)
    costs = CostStack(state).add("effort", ResidualModelControl(state), weight=1.0)
    control = ControlParametrizationPolyTwoRK(1)
    knot = IntegratedActionModelRK4(Cart(state, 1, costs, constraints=rows), dt=0.1, control=control)
    problem = ShootingProblem(np.zeros(2), [knot] * 20, ActionModelTerminal(CostStack(state), constraints=goal))
    solution = motion_solution(problem, np.zeros((21, 2)), np.zeros((20, 3)), solver="")
    assert solution.description.contradictions == ()
    assert SolverSQP(problem).solve().converged  # between knots nothing limits the motor
