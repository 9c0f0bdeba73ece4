"""Unknowns of phases: optima by closed forms, and by CasADi's Opti with IPOPT on the same transcription."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import casadi as ca
import numpy as np
import numpy.typing as npt
import pytest

import trajopt
from tests.support import free_problems
from tests.support.free_problems import Mass, posed
from trajopt.solvers import SolverFatrop, SolverIpopt, SolverSQP

Reals = npt.NDArray[np.float64]
PUSH, BRAKE, WAY = 2.0, 1.0, 1.5  # [m/s²], [m/s²], [m]


class Pushed(trajopt.DifferentialActionModelSymbolic):
    """dv/dt = u."""

    def acceleration(self, x: ca.SX, u: ca.SX) -> ca.SX:
        return u


def push_and_brake() -> trajopt.ShootingProblem:
    """A phase of 7 knots may only push, and one of 13 only brake, so that each duration has one best value."""
    problem = posed(trajopt.IntegratedActionModelRK4(Mass(2, (-BRAKE, 0.0)), dt=0.1), [0.0, 0.0], 20, [WAY, 0.0])
    problem.set_parameter("limit.lower", 0.0, knots=range(7))
    problem.set_parameter("limit.upper", PUSH, knots=range(7))
    problem.free("dt", 0.001, 1.0, knots=[range(7), range(7, 20)])
    return problem


@pytest.mark.parametrize("solver", [SolverSQP, SolverIpopt, SolverFatrop])
def test_durations_of_two_phases_are_those_of_the_closed_form(solver: type, tmp_path: Path) -> None:
    """Rest to rest takes T = sqrt(2 d (a + b) / (a b)), of which the push takes b / (a + b)."""
    problem = push_and_brake()
    solution = solver(problem).solve()
    time = np.sqrt(2.0 * WAY * (PUSH + BRAKE) / (PUSH * BRAKE))
    best = time / (PUSH + BRAKE) * np.array([BRAKE / 7, PUSH / 13])
    assert solution.converged
    assert solution.times is not None
    np.testing.assert_allclose(solution.unknowns["dt"], best, rtol=1e-6)
    assert solution.times[-1] == pytest.approx(time, rel=1e-6)
    assert solution.times[7] == pytest.approx(time * BRAKE / (PUSH + BRAKE), rel=1e-6)
    np.testing.assert_allclose(solution.us.ravel(), [PUSH] * 7 + [-BRAKE] * 13, atol=1e-5)
    assert np.abs(solution.gaps()).max() < 1e-9
    loaded = trajopt.Solution.load(solution.save(tmp_path / "solution.npz"), problem)
    np.testing.assert_array_equal(loaded.unknowns["dt"], solution.unknowns["dt"])
    assert "unknown 'dt[1]': 0.108786 s, within its bounds" in loaded.explain()
    if solver is SolverSQP:
        assert solver(problem).solve(loaded).iterations <= 3


def test_three_knots_of_free_durations_keep_a_speed_limit() -> None:
    """Speed up, keep 1 m/s and slow down, d = 1.5 m and a = 2 m/s²: 0.5, 1 and 0.5 s."""
    model = Mass(2, (-2.0, 2.0), speed=1.0)
    problem = posed(trajopt.IntegratedActionModelRK4(model, dt=0.3), [0.0, 0.0], 3, [1.5, 0.0])
    problem.free("dt", 0.001, 2.0, knots=[[0], [1], [2]])
    solution = SolverSQP(problem).solve()
    np.testing.assert_allclose(solution.unknowns["dt"], [0.5, 1.0, 0.5], rtol=1e-6)


def test_one_phase_is_free_and_the_others_keep_their_times() -> None:
    """A push of 0.5 s, a coast of any length, a brake of 0.5 s: 1.5 m take 1 m of coast at 1 m/s."""
    problem = posed(trajopt.IntegratedActionModelRK4(Mass(2, (-2.0, 2.0)), dt=0.1), [0.0, 0.0], 15, [1.5, 0.0])
    problem.set_parameter("limit.lower", 0.0, knots=range(5, 10))
    problem.set_parameter("limit.upper", 0.0, knots=range(5, 10))
    problem.free("dt", 0.001, 1.0, knots=range(5, 10))
    solution = SolverSQP(problem).solve()
    assert solution.unknowns["dt"].shape == ()
    assert solution.unknowns["dt"] == pytest.approx(0.2, rel=1e-6)
    np.testing.assert_allclose(solution.parameters["dt"], [0.1] * 5 + [0.2] * 5 + [0.1] * 5, rtol=1e-6)


def test_rows_that_a_fixed_x0_determines_are_not_enforced_before_a_phase() -> None:
    """The row of knot 0 has the parameter of the problem, as no phase with an unknown contains the knot."""
    state = trajopt.StateVector(2)
    rows = trajopt.ConstraintStack(state)
    rows.add("near", trajopt.ResidualModelState(state, [0.0, 0.0]), lower=[-0.5, -9.0], upper=[0.5, 9.0])
    costs = trajopt.CostStack(state).add("force", trajopt.ResidualModelControl(state), 1.0)
    problem = posed(
        trajopt.IntegratedActionModelRK4(Pushed(state, 1, costs, constraints=rows), 0.1), [1.0, 0.0], 20, [0.3, 0.0]
    )
    problem.set_parameter("near.lower", [-9.0, -9.0], knots=range(1, 8))
    problem.set_parameter("near.upper", [9.0, 9.0], knots=range(1, 8))
    fixed = SolverSQP(problem).solve()
    problem.free("near.reference", [-0.1, 0.0], [0.1, 0.0], knots=range(8, 20))
    for solver in (SolverSQP, SolverIpopt):
        solution = solver(problem).solve()
        assert solution.converged
        assert solution.cost < fixed.cost
        assert solution.violations()["near"][0, 0] == pytest.approx(0.5)


def test_bound_of_a_phase_and_its_price() -> None:
    """The multiplier of each phase is the derivative of the cost by its bound."""
    solutions = []
    for move in (0.0, -1e-5, 1e-5):
        problem = push_and_brake()
        problem.set_parameter("limit.lower", -BRAKE)
        problem.set_parameter("limit.upper", PUSH)
        problem.free("dt", [0.09, 0.12 + move], [0.09, 1.0], knots=[range(7), range(7, 20)], guess=[0.09, 0.13])
        solutions.append(SolverSQP(problem).solve())
    solution, shorter, longer = solutions
    assert solution.unknowns["dt"][1] == pytest.approx(0.12, rel=1e-8)
    slope = (longer.cost - shorter.cost) / 2e-5
    assert solution.multipliers["unknowns"].shape == (21, 2)
    assert solution.multipliers["unknowns"][0, 1] == pytest.approx(slope, rel=1e-5)


def opti(
    xdot: Callable[[ca.MX, ca.MX], ca.MX],
    x0: Sequence[float],
    sizes: Sequence[int],
    steps: Sequence[float],
    us: Reals,
    pose: Callable[[ca.Opti, ca.MX, ca.MX, ca.MX], ca.MX],
) -> tuple[float, Reals]:
    """Optimum and time steps with RK4 in CasADi's Opti; `pose` adds constraints and returns the cost."""
    problem, N = ca.Opti(), sum(sizes)
    X, U, dt = problem.variable(len(x0), N + 1), problem.variable(1, N), problem.variable(len(sizes))
    problem.subject_to(X[:, 0] == x0)
    for t, phase in enumerate(np.repeat(range(len(sizes)), sizes)):
        x, u, h = X[:, t], U[:, t], dt[int(phase)]
        k1 = xdot(x, u)
        k2 = xdot(x + h / 2 * k1, u)
        k3 = xdot(x + h / 2 * k2, u)
        k4 = xdot(x + h * k3, u)
        problem.subject_to(X[:, t + 1] == x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4))
    problem.minimize(pose(problem, X, U, dt))
    problem.set_initial(X, np.tile(np.array(x0)[:, None], N + 1))
    problem.set_initial(U, us.T)
    problem.set_initial(dt, steps)
    problem.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes", "tol": 1e-10})
    found = problem.solve()
    return float(found.value(problem.f)), np.atleast_1d(found.value(dt))


def test_zermelo_in_three_phases_as_opti() -> None:
    """Any durations of the same sum are as good to 1e-8, so that only this is compared."""
    sizes = [5, 25, 10]
    problem, us, _ = free_problems.zermelo()
    assert us is not None
    problem.free("dt", 0.001, 0.25, knots=[range(5), range(5, 30), range(30, 40)])

    def pose(o: ca.Opti, X: ca.MX, U: ca.MX, dt: ca.MX) -> ca.MX:
        o.subject_to(X[:, -1] == [0.0, 1.0])
        o.subject_to(o.bounded(0.001, dt, 0.25))
        return ca.dot(ca.DM(sizes), dt)

    def xdot(x: ca.MX, u: ca.MX) -> ca.MX:
        return ca.vertcat(ca.cos(u) + 0.6 * x[1] * (1.0 - x[1]), ca.sin(u))

    cost, _ = opti(xdot, [0.0, 0.0], sizes, [1.5 / 40] * 3, us, pose)
    solution = SolverSQP(problem).solve(us=us)
    assert solution.converged
    assert solution.cost == pytest.approx(cost, rel=1e-8)
    assert np.dot(sizes, solution.unknowns["dt"]) == pytest.approx(cost, rel=1e-8)


@pytest.mark.slow
def test_goddard_with_burn_arc_and_coast_as_opti() -> None:
    """Full thrust, an arc of any thrust, and a coast, the known structure of the optimum, with a duration each."""
    sizes, N = [20, 40, 20], 80
    problem, us, _ = free_problems.goddard(N)
    assert us is not None
    knots = [range(20), range(20, 60), range(60, 80)]
    problem.set_parameter("limit.lower", 3.5, knots=knots[0])
    problem.set_parameter("limit.upper", 0.0, knots=knots[2])
    us = np.repeat([3.5, 1.5, 0.0], sizes)[:, None]
    steps = [0.02 / 20, 0.06 / 40, 0.12 / 20]
    problem.free("dt", 1e-4, 0.05, knots=knots, guess=steps)

    def pose(o: ca.Opti, X: ca.MX, U: ca.MX, dt: ca.MX) -> ca.MX:
        o.subject_to(X[2, -1] == 0.6)
        o.subject_to(U[:20] == 3.5)
        o.subject_to(o.bounded(0.0, U[20:60], 3.5))
        o.subject_to(U[60:] == 0.0)
        o.subject_to(o.bounded(1e-4, dt, 0.05))
        return 50.0 * (X[0, -1] - 2.0) ** 2

    def xdot(x: ca.MX, u: ca.MX) -> ca.MX:
        drag = 310.0 * x[1] ** 2 * ca.exp(-500.0 * (x[0] - 1.0))
        return ca.vertcat(x[1], (u - drag) / x[2] - 1.0 / x[0] ** 2, -2.0 * u)

    cost, best = opti(xdot, [1.0, 0.0, 1.0], sizes, steps, us, pose)
    solution = SolverSQP(problem).solve(us=us)
    assert solution.converged
    assert solution.cost == pytest.approx(cost, rel=1e-8)
    full, arc, coast = np.array(sizes) * solution.unknowns["dt"]
    others = np.array(sizes) * best  # an arc may begin with full thrust: only its end is unique, up to the grid
    np.testing.assert_allclose([full + arc, coast], [others[:2].sum(), others[2]], rtol=1e-3)
    assert solution.xs[-1, 0] == pytest.approx(1.012837, abs=1e-6)  # COPS, with five times as many knots
