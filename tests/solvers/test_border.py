"""Unknown parameters in DDP, FDDP and the box solvers: closed forms, and the optima of SolverSQP."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from casadi import SX
from scipy.optimize import lsq_linear

import trajopt
from tests.support import free_problems
from trajopt.errors import InvalidArgumentError
from trajopt.solvers import (
    BoxDDPOptions,
    BoxFDDPOptions,
    DDPOptions,
    FDDPOptions,
    SolverAbstract,
    SolverBoxDDP,
    SolverBoxFDDP,
    SolverDDP,
    SolverFatrop,
    SolverFDDP,
    SolverIpopt,
    SolverSQP,
    SQPOptions,
)
from trajopt.solvers.ddp.acceptance import Promise
from trajopt.solvers.ddp.border import FIRST_RADIUS
from trajopt.solvers.ddp.searches import LineStep
from trajopt.solvers.riccati import LinearQuadratic, Riccati
from trajopt.solvers.riccati.bounded_minimum import bounded_minimum

Reals = npt.NDArray[np.float64]
SOLVERS = {
    SolverDDP: DDPOptions,
    SolverFDDP: FDDPOptions,
    SolverBoxDDP: BoxDDPOptions,
    SolverBoxFDDP: BoxFDDPOptions,
}
N, DT, PHASES = 12, 0.1, [range(5), range(5, 12)]


class Windy(trajopt.DifferentialActionModelSymbolic):
    """Unit mass under a force and a wind."""

    def __init__(self, costs: trajopt.CostStack, force: float = np.inf) -> None:
        rows = trajopt.ConstraintStack(costs.state)
        if np.isfinite(force):
            rows.add("limit", trajopt.ResidualModelControl(costs.state), lower=-force, upper=force)
        super().__init__(costs.state, nu=1, costs=costs, constraints=rows)
        self.wind = self.parameter("wind", 0.0, unit="N")

    def acceleration(self, x: SX, u: SX) -> SX:
        return u + self.wind


def windy(lower: float, upper: float, force: float = np.inf) -> trajopt.ShootingProblem:
    """A linear-quadratic problem with a wind for each phase, which costs nothing; the force may have a limit."""
    state = trajopt.StateVector(2)
    costs = trajopt.CostStack(state).add("force", trajopt.ResidualModelControl(state), weight=1.0)
    costs.add("way", trajopt.ResidualModelState(state, [0.3, 0.0]), weight=2.0)
    end = trajopt.CostStack(state).add("goal", trajopt.ResidualModelState(state, [1.0, 0.0]), weight=5.0)
    problem = trajopt.ShootingProblem(
        [0.1, -0.2], [trajopt.IntegratedActionModelEuler(Windy(costs, force), dt=DT)] * N, end
    )
    problem.free("wind", lower, upper, knots=PHASES)
    return problem


def least_squares() -> tuple[Reals, Reals]:
    """The same problem as |A z - b|² / 2, with z the forces and the two winds."""
    unit = np.eye(N + 3)  # the last column is the constant 1
    position, velocity, rows = 0.1 * unit[-1], -0.2 * unit[-1], list[Reals]()
    for t in range(N):
        rows += [np.sqrt(w * DT) * row for w, row in ((1.0, unit[t]), (2.0, position - 0.3 * unit[-1]))]
        rows.append(np.sqrt(2.0 * DT) * velocity)
        velocity = velocity + DT * (unit[t] + unit[N + (t in PHASES[1])])
        position = position + DT * velocity
    rows += [np.sqrt(5.0) * (position - unit[-1]), np.sqrt(5.0) * velocity]
    return np.array(rows)[:, :-1], -np.array(rows)[:, -1]


@pytest.mark.parametrize("solver", SOLVERS)
def test_linear_problem_takes_one_full_step(solver: type[SolverAbstract[Any]]) -> None:
    """From a rollout, and from states with gaps; the second iteration confirms."""
    A, b = least_squares()
    exact = np.linalg.lstsq(A, b)[0]
    for guess in (None, np.linspace([0.1, -0.2], [1.0, 0.0], N + 1)):
        solution = solver(windy(-100.0, 100.0), SOLVERS[solver](initial_regularization=0.0)).solve(
            guess, np.zeros((N, 1))
        )
        assert [record.step_length for record in solution.history] == [1.0, 1.0]
        np.testing.assert_allclose(np.append(solution.us[:, 0], solution.unknowns["wind"]), exact, atol=1e-10)
        assert solution.K is not None
        assert solution.Vx is not None
        assert solution.Vxx is not None
        assert (solution.K.shape, solution.Vx.shape, solution.Vxx.shape) == ((N, 1, 2), (N + 1, 2), (N + 1, 2, 2))
        np.testing.assert_allclose(solution.multipliers["unknowns"][0], 0.0, atol=1e-8)


@pytest.mark.parametrize("solver", SOLVERS)
def test_bound_of_an_unknown_and_its_multiplier(solver: type[SolverAbstract[Any]]) -> None:
    A, b = least_squares()
    bound = np.repeat([np.inf, 1.0], [N, 2])
    exact = lsq_linear(A, b, (-bound, bound), tol=1e-14)
    slope = (A.T @ (A @ exact.x - b))[N:]
    assert slope[0] < -0.3  # the first wind is at its bound, the second is not
    assert abs(exact.x[-1]) < 0.8
    solution = solver(windy(-1.0, 1.0), SOLVERS[solver](initial_regularization=0.0)).solve()
    assert solution.converged
    assert solution.unknowns["wind"][0] == 1.0
    np.testing.assert_allclose(np.append(solution.us[:, 0], solution.unknowns["wind"]), exact.x, atol=1e-7)
    np.testing.assert_allclose(solution.multipliers["unknowns"][0], slope, atol=1e-6)
    assert "unknown 'wind[0]': 1 N, at its upper bound; to raise it by 1 % would save about" in solution.explain()


def test_solution_beyond_the_bounds_is_a_guess() -> None:
    far = SolverFDDP(windy(-100.0, 100.0)).solve()
    problem = windy(-0.5, 0.5)
    assert np.abs(far.unknowns["wind"]).min() > 1.0
    found, own = SolverFDDP(problem).solve(far), SolverFDDP(problem).solve()
    assert found.converged
    assert found.cost == pytest.approx(own.cost, rel=1e-8)
    np.testing.assert_allclose(found.unknowns["wind"], own.unknowns["wind"], atol=1e-6)


def test_first_steps_stay_within_the_radius() -> None:
    """The size of an unknown is its value, or half the width of its bounds; full steps double the radius."""
    problem = windy(-1.0, 1.0)
    for start, size in ((0.0, 1.0), (0.5, 0.5)):
        problem.set_parameter("wind", start, knots="running")
        for count, most in ((1, FIRST_RADIUS), (2, 3.0 * FIRST_RADIUS)):
            wind = SolverFDDP(problem, FDDPOptions(max_iterations=count)).solve().unknowns["wind"]
            assert np.abs(wind - start).max() == pytest.approx(most * size)


@pytest.mark.parametrize(
    ("length", "accepted", "decrease", "factor"),
    [(1.0, True, 0.2, 2.0), (0.25, True, 0.8, 2.0), (0.25, True, 0.7, 1.0), (0.0, False, 0.0, 0.25)],
)
def test_radius_after_a_step_that_it_cut(length: float, accepted: bool, decrease: float, factor: float) -> None:
    """It doubles after full steps, and after shorter ones that bring three quarters of what they promised."""
    solver = SolverFDDP(windy(-1.0, 1.0), FDDPOptions(max_iterations=1))
    solver.solve()
    border = solver._border
    assert border is not None
    border.chosen, before = (border.chosen[0], True), border._radius
    promise = Promise(1.0, 0.0)
    border.judge(LineStep(length, accepted, None, 0.0, decrease, 1.0, promise))
    assert border._radius == factor * before
    border.chosen = border.chosen[0], False
    border.judge(LineStep(1.0, True, None, 0.0, decrease, 1.0, promise))
    assert border._radius == factor * before


@pytest.mark.parametrize("solver", SOLVERS)
def test_free_time_of_a_swing_up_is_that_of_sqp(solver: type[SolverAbstract[Any]]) -> None:
    problem = free_problems.swing_up()
    other, own = SolverSQP(problem).solve(), solver(problem).solve()
    assert own.converged
    assert own.iterations <= (60 if "Box" in solver.__name__ else 40)  # Gauss-Newton takes 51, exact Hessians 19
    assert own.cost == pytest.approx(other.cost, rel=1e-8)
    assert own.unknowns["dt"] == pytest.approx(other.unknowns["dt"], rel=1e-4)
    assert np.abs(own.gaps()).max() < 1e-12
    again = solver(problem).solve(own)
    assert again.iterations <= 4
    assert sum(record.accepted and record.step_length == 1.0 for record in again.history) <= 2  # others are rounding


def test_least_of_a_program_within_bounds_is_that_of_all_active_sets() -> None:
    rng = np.random.default_rng(3)
    for rank in (1, 2, 3, 3, 3):
        root, g = rng.normal(size=(rank, 3)) * [1.0, 1e3, 1e-3], rng.normal(size=3) * [1.0, 1e3, 1e-3]
        H, bounds = root.T @ root, np.sort(rng.normal(size=(2, 3)), axis=0) / [1.0, 1e3, 1e-3]
        bounds[1, 0] = bounds[0, 0] if rank == 2 else bounds[1, 0]
        d = bounded_minimum(H, g, *bounds)
        assert d is not None
        assert np.all((d >= bounds[0]) & (d <= bounds[1]))
        least = np.inf
        for sides in itertools.product((None, 0, 1), repeat=3):
            free = np.array([side is None for side in sides])
            trial = np.array([0.0 if side is None else bounds[side, i] for i, side in enumerate(sides)])
            trial[free] = -np.linalg.pinv(H[np.ix_(free, free)]) @ (g + H @ trial)[free]
            if np.all((trial >= bounds[0] - 1e-9) & (trial <= bounds[1] + 1e-9)):
                least = min(least, g @ trial + 0.5 * trial @ H @ trial)
        assert g @ d + 0.5 * d @ H @ d == pytest.approx(least, rel=1e-7, abs=1e-9)
    assert bounded_minimum(np.diag([1.0, -1.0]), np.ones(2), -np.ones(2), np.ones(2)) is None


def test_least_of_a_program_with_a_sum_is_that_of_all_active_sets() -> None:
    rng = np.random.default_rng(5)
    for k in (2, 3, 3, 4, 4, 4):
        root, g, kept = (
            rng.normal(size=(k, k)),
            3.0 * rng.normal(size=k),
            rng.uniform(0.5, 3.0, k) * (rng.random(k) < 0.9),
        )
        H, bounds = root.T @ root, np.array([-rng.uniform(0.0, 1.0, k), rng.uniform(0.0, 1.0, k)])
        if k == 2:
            bounds[:, :] = [[0.0, -1.0], [1.0, 0.0]]  # both begin at a bound
            g = np.array([-2.0, 1.0])
        d = bounded_minimum(H, g, *bounds, kept)
        assert d is not None
        assert np.all((d >= bounds[0]) & (d <= bounds[1]))
        assert kept @ d == pytest.approx(0.0, abs=1e-12)
        least = np.inf
        for sides in itertools.product((None, 0, 1), repeat=k):
            free = np.array([side is None for side in sides])
            trial = np.array([0.0 if side is None else bounds[side, i] for i, side in enumerate(sides)])
            a, n = kept[free], int(free.sum())
            K = np.block([[H[np.ix_(free, free)], a[:, None]], [a[None], np.zeros((1, 1))]])
            trial[free] = (-np.linalg.pinv(K) @ np.append((g + H @ trial)[free], kept @ trial))[:n]
            if np.all((trial >= bounds[0] - 1e-9) & (trial <= bounds[1] + 1e-9)) and abs(kept @ trial) < 1e-9:
                least = min(least, g @ trial + 0.5 * trial @ H @ trial)
        assert least < -1e-3
        assert g @ d + 0.5 * d @ H @ d == pytest.approx(least, rel=1e-7, abs=1e-9)


WAYS: list[tuple[Any, float]] = [(solver, np.inf) for solver in (*SOLVERS, SolverSQP, SolverIpopt, SolverFatrop)]
WAYS += [(solver, 0.5) for solver in (SolverSQP, SolverIpopt, SolverFatrop)]
WAYS += [(lambda problem: SolverSQP(problem, SQPOptions(steps="linear")), 0.5)]


@pytest.mark.parametrize(("solver", "force"), WAYS)
@pytest.mark.parametrize("bound", [100.0, 0.9])
def test_total_of_an_unknown_is_that_of_the_closed_form(solver: Any, force: float, bound: float) -> None:
    """Σ of the winds of all knots, 5 w_0 + 7 w_1 = -3, by elimination of w_1."""
    A, b = least_squares()
    own, counts, total = np.eye(N + 2)[:, : N + 1], np.array([5.0, 7.0]), -3.0
    own[-1, -1], constant = -counts[0] / counts[1], total / counts[1] * np.eye(N + 2)[-1]
    least = np.append(np.full(N, -force), max(-bound, (total - counts[1] * bound) / counts[0]))
    most = np.append(np.full(N, force), min(bound, (total + counts[1] * bound) / counts[0]))
    exact = own @ lsq_linear(A @ own, b - A @ constant, (least, most), tol=1e-14).x + constant
    problem = windy(-bound, bound, force)
    problem.free("wind", -bound, bound, knots=PHASES, total=total)
    solution = solver(problem).solve()
    assert solution.converged
    assert solution.iterations <= 20
    assert counts @ solution.unknowns["wind"] == pytest.approx(total, rel=1e-9)
    np.testing.assert_allclose(np.append(solution.us[:, 0], solution.unknowns["wind"]), exact, atol=1e-5)
    if solution.solver == "SolverSQP":
        assert solution.history[-1].stop < 1e-7  # stationary: the sum pulls at the start as the bounds do
    if bound > 1.0 and "unknowns" in solution.multipliers:
        np.testing.assert_allclose(np.divide(*solution.multipliers["unknowns"][0]), 5.0 / 7.0, rtol=1e-4)
    if bound < 1.0:
        assert np.abs(solution.unknowns["wind"]).max() == pytest.approx(bound, abs=1e-6)


def test_totals_that_bounds_exclude() -> None:
    problem = windy(-1.0, 1.0)
    for arguments, words in (
        ({"total": 13.0, "knots": PHASES}, "total: expected a sum of wind between .* -12 and 12, got 13; widen"),
        ({"total": 1.0}, "total: expected phases of a number, got 'wind' with one value"),
        ({"total": np.nan, "knots": PHASES}, "total"),
    ):
        with pytest.raises(InvalidArgumentError, match=words):
            problem.free("wind", -1.0, 1.0, **arguments)
    problem.free("wind", -1.0, 1.0, knots=PHASES, total=6.0)
    assert ", 6 N in all" in repr(problem.unknowns["wind"])
    with pytest.raises(InvalidArgumentError, match="one parameter with a total, got wind and dt"):
        problem.free("dt", 0.05, 0.2, knots=PHASES, total=1.2)
    problem.free("wind", -1.0, [0.2, np.inf], knots=PHASES, total=6.0)
    freed = problem.freed()
    assert freed is not None
    np.testing.assert_allclose(freed.guess(), [0.2, 5.0 / 7.0])


def test_forward_pass_from_another_start_is_that_of_its_gap() -> None:
    rng, lq = np.random.default_rng(4), LinearQuadratic.zeros(4, 3, 2)
    lq.F[:], lq.f[:], lq.g[:], lq.H[:] = rng.normal(size=lq.F.shape), 0.0, rng.normal(size=lq.g.shape), np.eye(5)
    lq.terminal_H[:], riccati, start = np.eye(3), Riccati(lq), np.array([0.0, 0.3, -0.7])
    riccati.factor(feasible=True)
    moved = riccati.forward_from(start).flat.copy()
    assert not lq.f.any()
    lq.f[0] = start
    riccati.factor()
    np.testing.assert_allclose(moved, riccati.forward().flat, atol=1e-12)
    assert np.abs(moved).max() > 0.3


def test_batches_and_portfolios_choose_unknowns_too() -> None:
    problem = windy(-100.0, 100.0)
    single = SolverFDDP(problem).solve()
    assert SolverFDDP(problem).solve(starts=3).cost == pytest.approx(single.cost, rel=1e-9)
    batch = SolverFDDP(problem).solve_batch(x0=np.tile(problem.x0, (9, 1)), progress=False)
    np.testing.assert_allclose(batch.cost, single.cost, rtol=1e-9)


def test_problem_without_controls_is_refused() -> None:
    state = trajopt.StateVector(1)
    costs = trajopt.CostStack(state).add("way", trajopt.ResidualModelState(state, [1.0]), weight=1.0)

    class Drift(trajopt.DifferentialActionModelSymbolic):
        def xdot(self, x: SX, u: SX) -> SX:
            return x

    knot = trajopt.IntegratedActionModelEuler(Drift(state, nu=0, costs=costs), dt=0.1)
    problem = trajopt.ShootingProblem([0.5], [knot] * 5, costs)
    problem.free("dt", 0.01, 1.0)
    with pytest.raises(InvalidArgumentError, match="SolverDDP needs controls beside unknowns, got none; use SolverSQP"):
        SolverDDP(problem)


class Deaf(SolverAbstract[Any]):
    """A solver that knows nothing of unknowns."""

    def iterate(self, run: Any) -> None:
        raise NotImplementedError


def test_solver_that_does_not_choose_unknowns_refuses() -> None:
    with pytest.raises(InvalidArgumentError, match=r"frees wind; use SolverSQP or SolverFDDP"):
        Deaf(windy(-1.0, 1.0))
