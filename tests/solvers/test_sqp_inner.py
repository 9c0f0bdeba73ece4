"""SolverSQP with each inner solver and each kind of step, on problems with known answers."""

from __future__ import annotations

import functools
from typing import Any

import casadi as ca
import numpy as np
import pytest
from casadi import SX

import trajopt
from tests.solvers.test_sqp import constrained_lqr, known
from tests.solvers.test_sqp_robots import arm_reach
from tests.support import legged_problems
from trajopt import problems
from trajopt.shooting import ShootingProblem
from trajopt.solution import IterationRecord, Solution, SolverStatus
from trajopt.solvers import SolverFDDP, SolverSQP, SQPOptions
from trajopt.solvers.qp import QPSolution, QPStatus
from trajopt.solvers.sqp.quadratic_model import QuadraticModel

STEPS = ("policy", "linear")
INNER = ("ipm", "osqp")
GUESS = np.zeros((41, 12)), np.zeros((40, 6))


@functools.cache
def arm(*, limited: bool) -> ShootingProblem:
    return arm_reach(limited=limited)


def worst(solution: Solution) -> float:
    """Largest violation, from knot 1 on."""
    return max(float(v[1:].max()) for v in solution.violations().values())


@pytest.mark.parametrize("qp", INNER)
def test_constrained_lqr_in_one_iteration(qp: str) -> None:
    solution = SolverSQP(constrained_lqr(), SQPOptions(steps="linear", qp=qp)).solve()
    assert solution.converged
    assert solution.iterations == 1
    assert solution.cost == pytest.approx(516.3142133, rel=1e-9)
    np.testing.assert_allclose(solution.us[0], [0.4901, 9.80968], atol=1e-4)
    np.testing.assert_allclose(solution.xs[-1], [0.4, -0.0404, 0.0, -0.4808], atol=1e-4)
    assert solution.violations()["walls"].max() < 1e-6


@pytest.mark.parametrize("qp", ["hpipm", "qpoases", "daqp"])
def test_constrained_lqr_with_solvers_of_casadi(qp: str) -> None:
    if not ca.has_conic(qp):
        pytest.skip(f"this build of CasADi has no {qp}")
    solution = SolverSQP(constrained_lqr(), SQPOptions(steps="linear", qp=qp)).solve()
    assert solution.converged
    assert solution.cost == pytest.approx(516.3142133, rel=1e-7)


@pytest.mark.parametrize("qp", INNER)
def test_arm_reach(qp: str) -> None:
    """To a gradient of the Lagrangian below 1e-10 within 28 iterations, as mim-solvers."""
    problem = arm(limited=False)
    tight = SQPOptions(qp=qp, tolerance=1e-20, relative_tolerance=0.0, max_iterations=28)
    solution = SolverSQP(problem, tight).solve(*GUESS)
    assert np.abs(solution.stationarity()).max() < 1e-10
    assert np.abs(solution.gaps()).max() < 1e-10
    assert solution.cost == pytest.approx(0.6653235299, rel=1e-9)


@pytest.mark.parametrize("qp", INNER)
def test_arm_reach_with_a_limited_tool(qp: str) -> None:
    """Within 11 iterations to a gradient below 1e-4, and then to the end."""
    problem = arm(limited=True)
    early = SolverSQP(problem, SQPOptions(qp=qp, max_iterations=11)).solve(*GUESS)
    assert np.abs(early.stationarity()).max() < 1e-4
    assert early.cost == pytest.approx(0.689879167, rel=1e-6)
    assert worst(early) < 1e-6
    assert np.abs(early.gaps()).max() < 1e-6
    solution = SolverSQP(problem, SQPOptions(qp=qp)).solve(*GUESS)
    assert solution.converged
    assert solution.cost == pytest.approx(0.689878879, rel=1e-8)
    assert worst(solution) < 1e-6


@pytest.mark.parametrize("qp", [qp for qp in INNER if qp != "osqp"])  # it takes long here; the arm above has it too
def test_standing_on_friction_cones(qp: str) -> None:
    options = SQPOptions(qp=qp, tolerance=1e-5, feasibility=1e-7, max_iterations=26)
    solution = SolverSQP(problems.load("com-circle", holding=False).problem, options).solve()
    assert solution.converged
    assert solution.cost == pytest.approx(0.4463326572, rel=1e-5)
    assert max(v.max() for v in solution.violations().values()) < 1e-6


@pytest.mark.parametrize("qp_iterations", [6, 20])
def test_few_iterations_of_the_interior_point(qp_iterations: int) -> None:
    """Their result is used as it is, and the solve ends at the same optimum."""
    options = SQPOptions(qp="ipm", qp_iterations=qp_iterations, max_iterations=60, tolerance=1e-6)
    solution = SolverSQP(arm(limited=True), options).solve(*GUESS)
    assert solution.converged
    assert solution.cost == pytest.approx(0.689878879, rel=1e-6)
    assert worst(solution) < 1e-6


def test_rough_steps_are_not_corrected(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second-order correction of a program that was cut short would be cut short too, and thrown away."""
    corrections: list[QPStatus] = []
    corrected = QuadraticModel.corrected

    def counted(self: QuadraticModel, run: Any, step: QPSolution, f: Any, c: Any) -> QPSolution:
        corrections.append(step.status)
        return corrected(self, run, step, f, c)

    monkeypatch.setattr(QuadraticModel, "corrected", counted)
    problem = problems.load("quadrotor-obstacles").problem
    for qp_iterations, iterations in ((None, 1), (5, 10)):
        options = SQPOptions(steps="linear", qp="ipm", qp_iterations=qp_iterations, max_iterations=iterations)
        SolverSQP(problem, options).solve()
    assert corrections
    assert QPStatus.MAX_ITERATIONS not in corrections


@pytest.mark.parametrize("qp", INNER)
def test_linear_steps_of_a_limited_arm(qp: str) -> None:
    """They may end at another local minimum than rollouts."""
    solution = SolverSQP(arm(limited=True), SQPOptions(steps="linear", qp=qp)).solve(*GUESS)
    assert solution.converged
    assert np.abs(solution.stationarity()).max() < 1e-6
    assert np.abs(solution.gaps()).max() < 1e-7
    assert worst(solution) < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("qp", INNER)
def test_a_solver_solves_twice_alike(qp: str) -> None:
    """What an inner solver keeps from solve to solve changes no result beyond its tolerance."""
    case = known("kelly")
    solver = SolverSQP(case.problem, SQPOptions(qp=qp, max_iterations=6))
    first, second = solver.solve(*case.guess), solver.solve(*case.guess)
    np.testing.assert_allclose(first.us, second.us, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["parking", "obstacles", "breakwell", "kelly", "pendulum"])
def test_linear_steps_from_the_stated_guess(name: str) -> None:
    case = known(name)
    solution = SolverSQP(case.problem, SQPOptions(steps="linear")).solve(*case.guess)
    assert solution.converged
    assert solution.iterations <= case.iterations
    optima = (case.cost, 12.04033568) if name == "obstacles" else (case.cost,)  # rounding picks a side of the circles
    assert any(solution.cost == pytest.approx(cost, rel=1e-6) for cost in optima)
    assert np.abs(solution.gaps()).max() < 1e-7
    np.testing.assert_allclose(solution.xs[-1], case.goal, rtol=0, atol=1e-7)


def test_where_linear_steps_get_short_rollouts_go_on() -> None:
    case = known("cart_pole")
    solution = SolverSQP(case.problem, SQPOptions(steps="linear")).solve(*case.guess)
    assert solution.converged
    assert solution.cost == pytest.approx(case.cost, rel=1e-6)
    gaps = [record.gap_norm for record in solution.history]
    assert max(gaps) > 1e-3 > max(gaps[-5:])  # there were linear steps, and there are none at the end


def test_linear_steps_on_a_trot_end_where_fddp_does() -> None:
    problem = legged_problems.problem_of("hyq-trot")
    xs = np.tile(problem.x0, (problem.T + 1, 1))
    us = problem.quasi_static(xs[:-1])
    ours = SolverSQP(problem, SQPOptions(steps="linear", feasibility=1e-8)).solve(xs, us)
    theirs = SolverFDDP(problem).solve(xs, us)
    assert ours.converged
    assert ours.iterations <= theirs.iterations
    assert ours.cost == pytest.approx(theirs.cost, rel=1e-8)
    np.testing.assert_allclose(ours.us, theirs.us, atol=1e-3 * np.abs(theirs.us).max())


@pytest.mark.parametrize("steps", STEPS)
def test_records_tell_feasibility_and_optimality(steps: str) -> None:
    seen: list[IterationRecord] = []
    case = known("parking")
    solution = SolverSQP(case.problem, SQPOptions(steps=steps), [seen.append]).solve(*case.guess)
    assert tuple(seen) == solution.history
    for column in ("stop", "constraint_violation", "complementarity", "gap_norm"):
        assert np.all(np.isfinite([getattr(record, column) for record in seen]))
    assert seen[-1].stop < 1e-7 or seen[-1].expected_decrease < 1e-9
    assert max(seen[-1].constraint_violation, seen[-1].complementarity) < 1e-7 < seen[0].constraint_violation


@pytest.mark.parametrize("qp", INNER)
def test_linear_steps_between_inconsistent_walls_end_as_infeasible(qp: str) -> None:
    """The walls leave no room between them: the program has no solution, and its rows are made proximal."""
    problem = constrained_lqr()
    far = np.inf
    problem.set_parameter("walls.lower", [-far, 0.1, -far, -far], knots=[3])
    problem.set_parameter("walls.upper", [0.4, -0.3, far, far], knots=[4])
    problem.set_parameter("walls.lower", [-far, -far, -far, 0.0], knots=[4])
    solution = SolverSQP(problem, SQPOptions(steps="linear", qp=qp, max_iterations=200)).solve()
    assert solution.status is SolverStatus.INFEASIBLE
    assert "constraint 'walls', row" in solution.explain()
    assert "at knot" in solution.explain()


class Unicycle(trajopt.DifferentialActionModelSymbolic):
    """d(x, y, θ)/dt = (v cos θ, v sin θ, w)."""

    def xdot(self, x: SX, u: SX) -> SX:
        return ca.vertcat(u[0] * ca.cos(x[2]), u[0] * ca.sin(x[2]), u[1])


@pytest.mark.parametrize(
    ("x0", "speed", "cost"),
    [([1.74, 1.263, -3.124], 2.0, 1.82508339), ([0.12864189, 1.25297638, 3.12280777], 1.5, 1.279868165)],
)
def test_programs_of_a_parking_car_are_solved(x0: list[float], speed: float, cost: float) -> None:
    """Interior points went round in circles, with exact and with convex Hessians."""
    state = trajopt.StateVector(3)
    control = trajopt.ResidualModelControl(state)
    costs = trajopt.CostStack(state).add("effort", control, weight=1.0)
    rows = trajopt.ConstraintStack(state).add("speed", control, lower=[-speed, -2.0], upper=[speed, 2.0])
    goal = trajopt.ConstraintStack(state).add("parked", trajopt.ResidualModelState(state, np.zeros(3)), equals=0.0)
    knot = trajopt.IntegratedActionModelRK4(Unicycle(state, 2, costs, constraints=rows), dt=0.1)
    end = trajopt.ActionModelTerminal(trajopt.CostStack(state), constraints=goal)
    solution = SolverSQP(trajopt.ShootingProblem(x0, [knot] * 50, end)).solve()
    assert solution.converged
    assert solution.cost == pytest.approx(cost, rel=1e-4)
    assert solution.iterations <= 30
