"""Derivatives of solutions: against closed forms, and against solving again beside them."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest
from casadi import SX

import trajopt
from tests.solvers.test_soft_constraints import pushed
from tests.solvers.test_sqp_start import GOALS, follower
from tests.support.limited_problems import unicycle
from tests.support.numpy_models import PendulumNumpy
from tests.support.own_states import StateTwistedPlane
from trajopt import problems
from trajopt.errors import InvalidArgumentError, ModelEvaluationError, UnknownNameError
from trajopt.shooting import ShootingProblem
from trajopt.shooting.evaluator import Evaluator
from trajopt.shooting.lagrangian import LagrangianHessian
from trajopt.solution import Solution, SolverStatus
from trajopt.solvers import (
    BoxFDDPOptions,
    FDDPOptions,
    Sensitivity,
    SolutionDerivatives,
    SolverBoxFDDP,
    SolverFDDP,
    SolverSQP,
    SQPOptions,
)
from trajopt.solvers.sensitivity.lagrangian import Lagrangian
from trajopt.states import StateVector
from trajopt.types import Reals

TIGHT = SQPOptions(tolerance=1e-12, relative_tolerance=0.0, feasibility=1e-10, max_iterations=60)


@functools.cache
def solved(name: str) -> Solution:
    case = problems.load(name)
    start = case.xs, case.us
    if case.problem.nc == 0:
        near = SolverFDDP(case.problem).solve(*start)
        start = near.xs, near.us
    solution = SolverSQP(case.problem, TIGHT).solve(*start)
    assert solution.converged
    return solution


def again(solution: Solution) -> Solution:
    assert solution.problem is not None
    found = SolverSQP(solution.problem, TIGHT).solve(solution)
    assert found.converged
    return found


def beside(
    solution: Solution, name: str, i: int, step: float, knots: Any, solve: Callable[[Solution], Solution]
) -> tuple[Reals, Reals, float]:
    """Differences of states, controls and cost between two solves, by scalar i of a parameter, or of x0."""
    problem = solution.problem
    assert problem is not None
    x0, table = problem.x0.copy(), problem.table.values.copy()
    found = []
    try:
        for size in (step, -step):
            if name == "x0":
                problem.x0 = problem.state.integrate(x0, size * np.eye(problem.state.ndx)[i])
            else:
                for ts, columns in problem.table.places(name, knots):
                    shape = problem.parameters[name].shape or (1,)
                    place = int(np.arange(np.prod(shape)).reshape(shape, order="F").ravel()[i])
                    problem.table.values[ts, columns.start + place] += size
            found.append(solve(solution))
            problem.x0, problem.table.values[:] = x0, table
    finally:
        problem.x0, problem.table.values[:] = x0, table
    a, b = found
    dxs = np.array([problem.state.difference(x, y) for x, y in zip(b.xs, a.xs)])
    return dxs / (2 * step), (a.us - b.us) / (2 * step), (a.cost - b.cost) / (2 * step)


def agrees(
    s: Sensitivity,
    solution: Solution,
    i: int = 0,
    *,
    step: float = 1e-5,
    knots: Any = None,
    tolerance: float = 1e-6,
    solve: Callable[[Solution], Solution] = again,
) -> None:
    dxs, dus, dcost = beside(solution, s.name, i, step, knots, solve)
    for found, expected in ((s.dxs[..., i], dxs), (s.dus[..., i], dus), (s.dcost[i], dcost)):
        bound = tolerance * max(1e-3, float(np.abs(expected).max()))
        np.testing.assert_allclose(found, expected, rtol=0, atol=bound, err_msg=f"{s.name}[{i}]")


def test_gains_of_a_linear_problem_are_those_of_ddp() -> None:
    case = problems.load("lqr")
    solution = SolverFDDP(case.problem).solve()
    derivatives = SolutionDerivatives(solution)
    assert solution.K is not None
    np.testing.assert_allclose(derivatives.gains, solution.K, rtol=1e-7, atol=1e-8)
    s = derivatives.by("x0")
    np.testing.assert_allclose(s.dus[0], -solution.K[0], rtol=1e-7, atol=1e-8)
    assert solution.Vx is not None
    np.testing.assert_allclose(s.dcost, solution.Vx[0], rtol=1e-7, atol=1e-9)


PENDULUM = ["x0", "mass", "length", "upright.weight", "torque.weight", "torque.reference"]


@pytest.mark.parametrize("name", PENDULUM)
def test_derivatives_of_a_problem_without_constraints(name: str) -> None:
    """Initial state, model parameters, weights and references of a pendulum's swing-up."""
    solution = solved("pendulum")
    s = SolutionDerivatives(solution).by(name)
    assert s.residual < 1e-12
    for i in range(s.dus.shape[2]):
        agrees(s, solution, i)


def test_derivatives_by_the_time_step() -> None:
    solution = solved("pendulum")
    agrees(SolutionDerivatives(solution).by("dt"), solution, step=1e-7)


LIMITED = [("x0", 1e-5), ("mass", 1e-5), ("dt", 1e-7), ("damping", 1e-5), ("weight", 1e-8), ("torque.upper", 1e-6)]


@pytest.mark.parametrize(("name", "step"), LIMITED)
def test_rows_stay_on_their_bounds(name: str, step: float) -> None:
    """A swing-up whose torque is at its limit half of the time, and whose last state is hard."""
    solution = solved("pendulum-limits")
    assert np.count_nonzero(np.abs(solution.prices()["torque"]) > 1e-6) > 10
    derivatives = SolutionDerivatives(solution)
    agrees(derivatives.by(name), solution, step=step, tolerance=1e-5)
    held = np.abs(solution.prices()["torque"][:-1]) > 1e-6
    np.testing.assert_allclose(derivatives.gains[held[:, 0]], 0.0, atol=1e-5)
    np.testing.assert_allclose(derivatives.by("x0").dus[held], 0.0, atol=1e-9)


def test_bounds_that_are_not_active_change_nothing() -> None:
    solution = solved("quadrotor-obstacles")
    derivatives = SolutionDerivatives(solution)
    assert solution.problem is not None
    assert np.all(solution.us - solution.problem.get_parameter("rotors.lower") > 1e-3)
    s = derivatives.by("rotors.lower")
    assert not s.dus.any()
    assert not s.dcost.any()


@pytest.mark.parametrize("i", [0, 4, 10])
def test_on_a_manifold_among_obstacles(i: int) -> None:
    solution = solved("quadrotor-obstacles")
    agrees(SolutionDerivatives(solution).by("x0"), solution, i, tolerance=1e-4)


def test_derivatives_by_the_mass_hold_on_a_manifold() -> None:
    solution = solved("quadrotor-obstacles")
    agrees(SolutionDerivatives(solution).by("mass"), solution, tolerance=1e-5, step=1e-4)


def test_at_some_knots_only() -> None:
    solution = solved("quadrotor-obstacles")
    derivatives = SolutionDerivatives(solution)
    name, knots = "thrust.reference", range(5, 9)
    s = derivatives.by(name, knots)
    agrees(s, solution, 1, knots=knots, tolerance=1e-5, step=1e-4)
    each = [derivatives.by(name, t).dus for t in knots]
    np.testing.assert_allclose(sum(each), s.dus, rtol=0, atol=1e-8 * np.abs(s.dus).max())


def test_robot_in_contact() -> None:
    """A trot with impulses and barriers, whose kinks are a few µm away; no model there has an exact Hessian."""
    case = problems.load("quadruped-trot")
    options = FDDPOptions(tolerance=1e-22, relative_tolerance=0.0)
    found = SolverFDDP(case.problem, options).solve(case.xs, case.us)
    solution = dataclasses.replace(found, status=SolverStatus.CONVERGED)  # or stopped by rounding
    s = SolutionDerivatives(solution).by("x0")

    def solve(at: Solution) -> Solution:
        return SolverFDDP(case.problem, options).solve(at)

    agrees(s, solution, 4, step=1e-6, tolerance=1e-3, solve=solve)


@pytest.mark.parametrize("name", ["pendulum", "quadrotor-obstacles"])
def test_differences_are_the_hessian_of_the_lagrangian(name: str) -> None:
    solution = solved(name)
    assert solution.problem is not None
    e = Evaluator(solution.problem)
    y = solution.multipliers["constraints"]
    lagrangian = Lagrangian(e, solution.xs, solution.us, y, np.zeros((e.T, e.nu, e.state.ndx)))
    H, end = lagrangian.hessians()
    lagrangian.move(0.0, 0.0)
    exact = LagrangianHessian(e)
    exact.lam[:], exact.y[:] = lagrangian.lam, y
    exact()
    size = np.abs(H).max()
    np.testing.assert_allclose(np.tril(H), np.tril(exact.H), rtol=0, atol=1e-9 * size)
    np.testing.assert_allclose(end, exact.terminal_H, rtol=0, atol=1e-9 * max(1.0, np.abs(end).max()))


class Twisted(trajopt.ActionModelDiscrete):
    """Poses whose ⊕ is no exponential map, driven ahead and turned."""

    def __init__(self) -> None:
        super().__init__(StateTwistedPlane(), 2)

    def next_state(self, x: SX, u: SX) -> SX:
        return self.state.sx_integrate(x, 0.2 * ca.vertcat(u[0] + x[0] ** 2, x[1] * u[1], u[1] + ca.sin(x[2])))

    def running_cost(self, x: SX, u: SX) -> SX:
        return ca.sumsqr(x - 1.0) + ca.sumsqr(u) + u[0] * ca.cos(x[2])

    def terminal_cost(self, x: SX) -> SX:
        return 10.0 * ca.sumsqr(ca.sin(x - 1.0))


def test_coordinates_are_those_of_the_state() -> None:
    """Jacobians of ⊕ and ⊖ matter where ⊕ is no exponential map: else what is lost has no symmetric part."""
    model, us = Twisted(), np.random.default_rng(0).normal(size=(6, 2))
    problem = ShootingProblem([0.3, -0.2, 0.4], [model] * 6, model)
    e, xs = Evaluator(problem), problem.rollout(us)
    lagrangian = Lagrangian(e, xs, us, np.zeros((7, 0)), np.zeros((6, 2, 3)))
    H, _ = lagrangian.hessians()
    lagrangian.move(0.0, 0.0)
    exact = LagrangianHessian(e)
    exact.lam[:] = lagrangian.lam
    exact()
    np.testing.assert_allclose(np.tril(H), np.tril(exact.H), rtol=0, atol=1e-8 * np.abs(H).max())


def test_soft_rows() -> None:
    """½ (u - 2)² - 2 with a slack s = u - 1 > 0: u = (2 - l + q) / (1 + q), and the cost with that of the slack."""
    linear, quadratic = 0.25, 2.0
    solution = SolverSQP(pushed((linear, quadratic), upper=1.0), TIGHT).solve()
    derivatives, u = SolutionDerivatives(solution), solution.us[0, 0]
    expected = {
        "push.linear": (-1.0 / (1.0 + quadratic), u - 1.0),
        "push.quadratic": ((1.0 - u) / (1.0 + quadratic), 0.5 * (u - 1.0) ** 2),
        "push.upper": (quadratic / (1.0 + quadratic), -(linear + quadratic * (u - 1.0))),
    }
    for name, (du, cost) in expected.items():
        s = derivatives.by(name)
        np.testing.assert_allclose((s.dus[0, 0, 0], s.dcost[0]), (du, cost), atol=1e-8, err_msg=name)


def test_soft_rows_with_a_linear_price_alone() -> None:
    """u = 2 - l beyond the bound; it does not follow the bound."""
    solution = SolverSQP(pushed((0.5, 0.0), upper=1.0), TIGHT).solve()
    derivatives = SolutionDerivatives(solution)
    np.testing.assert_allclose(derivatives.by("push.linear").dus.ravel(), [-1.0], atol=1e-8)
    np.testing.assert_allclose(derivatives.by("push.upper").dus.ravel(), [0.0], atol=1e-8)


def test_soft_rows_that_hold_are_hard() -> None:
    solution = SolverSQP(pushed((1.5, 0.0), upper=1.0), TIGHT).solve()
    derivatives = SolutionDerivatives(solution)
    np.testing.assert_allclose(derivatives.by("push.linear").dus.ravel(), [0.0], atol=1e-8)
    np.testing.assert_allclose(derivatives.by("push.upper").dus.ravel(), [1.0], atol=1e-8)


def test_start_that_is_chosen() -> None:
    """Limits of the controls hold some of them; the start follows."""
    solution = SolverSQP(follower("free", limit=0.2), TIGHT).solve()
    s = SolutionDerivatives(solution).by("speed.upper")
    agrees(s, solution, tolerance=1e-5)
    assert np.abs(s.dxs[0]).max() > 0.1


def test_start_within_bounds() -> None:
    """One coordinate of the start is on its bound, and stays there."""
    free = SolverSQP(follower("free", limit=0.2), TIGHT).solve().xs[0]
    start = np.array([-5.0, -np.inf]), np.array([free[0] - 0.5, np.inf])
    solution = SolverSQP(follower(start, limit=0.2), TIGHT).solve()
    s = SolutionDerivatives(solution).by("speed.upper")
    agrees(s, solution, tolerance=1e-5)
    np.testing.assert_allclose(s.dxs[0, 0], 0.0, atol=1e-10)
    assert len(GOALS) > 2


def test_controls_that_a_box_solver_holds() -> None:
    problem, options = unicycle(), BoxFDDPOptions(relative_tolerance=1e-16, max_iterations=500)
    solution = SolverBoxFDDP(problem, options).solve()
    assert solution.converged
    held = (solution.us == problem.running[0].lower) | (solution.us == problem.running[0].upper)
    assert 10 < np.count_nonzero(held) < held.size - 10
    s = SolutionDerivatives(solution).by("x0")
    assert not s.dus[held].any()

    def solve(at: Solution) -> Solution:
        return SolverBoxFDDP(problem, options).solve(at)

    agrees(s, solution, 1, solve=solve, tolerance=1e-2, step=1e-4)


def test_models_in_python_have_them() -> None:
    model = PendulumNumpy(StateVector(2))
    problem = ShootingProblem([0.5, 0.0], [model] * 20, model)
    solution = SolverFDDP(problem, FDDPOptions(relative_tolerance=1e-15)).solve()

    def solve(at: Solution) -> Solution:
        return SolverFDDP(problem, FDDPOptions(relative_tolerance=1e-15)).solve(at)

    agrees(SolutionDerivatives(solution).by("x0"), solution, 0, solve=solve, tolerance=1e-4, step=1e-4)


def test_prediction_is_of_first_order() -> None:
    solution = solved("pendulum")
    s, problem = SolutionDerivatives(solution).by("mass"), solution.problem
    assert problem is not None
    mass, misses = problem.get_parameter("mass"), []
    for change in (1e-3, 1e-2):
        xs, us = s.predict(change)
        problem.set_parameter("mass", mass + change)
        exact = again(solution)
        problem.set_parameter("mass", mass)
        misses.append(np.abs(us - exact.us).max() + np.abs(xs - exact.xs).max())
        assert misses[-1] < 0.2 * np.abs(exact.us - solution.us).max()
    assert 50.0 < misses[1] / misses[0] < 200.0


def test_derivatives_belong_to_the_parameters_of_the_solve() -> None:
    """Whatever the problem's parameters are by now; and they stay as they are."""
    solution = solved("pendulum")
    problem = solution.problem
    assert problem is not None
    before = SolutionDerivatives(solution).by("mass")
    mass = problem.get_parameter("mass")
    problem.set_parameter("mass", 2.0 * mass)
    try:
        after = SolutionDerivatives(solution).by("mass")
        assert problem.get_parameter("mass") == 2.0 * mass
    finally:
        problem.set_parameter("mass", mass)
    np.testing.assert_array_equal(before.dus, after.dus)


def test_weakly_active_rows_are_listed() -> None:
    """Two pushes that would both be 2: a bound of 1 holds the first, and the second just reaches its own."""
    state = trajopt.StateVector(1)
    rows = trajopt.ConstraintStack(state).add("push", trajopt.ResidualModelControl(state), upper=[1.0, 2.0])
    node = trajopt.ActionModelLQR([[1.0]], [[1.0, 0.0]], [[0.0]], np.eye(2), r=[-2.0, -2.0], constraints=rows)
    solution = SolverSQP(ShootingProblem([0.0], [node], trajopt.CostStack(state)), TIGHT).solve()
    assert SolutionDerivatives(solution).weakly_active == ("push[1] at knot 0",)


def test_unknown_names_list_near_ones() -> None:
    derivatives = SolutionDerivatives(solved("pendulum"))
    with pytest.raises(UnknownNameError, match=r"upright\.weight"):
        derivatives.by("upright.wieght")
    with pytest.raises(UnknownNameError, match="x0"):
        derivatives.by("x_0")
    with pytest.raises(InvalidArgumentError, match="knots"):
        derivatives.by("mass", 1000)
    with pytest.raises(InvalidArgumentError, match="change"):
        derivatives.by("mass").predict([1.0, 2.0])


def test_a_solve_that_did_not_converge_has_none() -> None:
    case = problems.load("pendulum")
    solution = SolverFDDP(case.problem, FDDPOptions(max_iterations=2)).solve(case.xs, case.us)
    with pytest.raises(InvalidArgumentError, match=r"MAX_ITERATIONS.*approximate=True"):
        SolutionDerivatives(solution)
    assert SolutionDerivatives(solution, approximate=True).hessian in ("exact", "Gauss-Newton")


def test_derivatives_of_a_solution_without_its_problem_are_refused(tmp_path: Any) -> None:
    loaded = Solution.load(solved("pendulum").save(tmp_path / "found.npz"))
    with pytest.raises(InvalidArgumentError, match=r"Solution\.load\(path, problem\)"):
        SolutionDerivatives(loaded)


def test_a_start_that_is_chosen_is_no_parameter() -> None:
    solution = SolverSQP(follower("free"), TIGHT).solve()
    with pytest.raises(InvalidArgumentError, match="start is to be chosen"):
        SolutionDerivatives(solution).by("x0")


def test_a_saddle_is_refused() -> None:
    """The pendulum hangs, and stays there by symmetry though it should be upright."""
    solution = solved("pendulum")
    problem = solution.problem
    assert problem is not None
    still = problem.rollout(np.zeros_like(solution.us))
    standing = dataclasses.replace(solution, xs=still, us=np.zeros_like(solution.us), K=None)
    cure = "no derivative there: give every control a cost, and velocities a small one"
    with pytest.raises(ModelEvaluationError, match=f"not positive definite .*{cure}"):
        SolutionDerivatives(standing)
    assert SolutionDerivatives(standing, approximate=True).hessian == "Gauss-Newton"
