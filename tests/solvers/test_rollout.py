"""DDP and FDDP as algorithms: linear-quadratic problems, slow twins, gaps, padded controls, black boxes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.linalg import solve_discrete_are

import trajopt
from tests.support.numpy_models import CartPoleNumpy, PendulumNumpy, UnicycleNumpy
from tests.support.solver_twin import Twin
from trajopt import problems
from trajopt.actions import ActionModelAbstract
from trajopt.errors import InvalidArgumentError
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution
from trajopt.solvers import DDPOptions, FDDPOptions, SolverAbstract, SolverDDP, SolverFDDP
from trajopt.solvers.ddp.acceptance import FDDPAcceptance, Promise
from trajopt.states.base import StateAbstract

Reals = npt.NDArray[np.float64]
SOLVERS: list[tuple[type[SolverAbstract], type[DDPOptions]]] = [(SolverDDP, DDPOptions), (SolverFDDP, FDDPOptions)]


def crocoddyl_solve(solver: type[SolverAbstract], problem: ShootingProblem, *guess: Any, n: int = 100) -> Solution:
    """A solve with Crocoddyl's options, which no choice of our defaults can change."""
    options = FDDPOptions if solver is SolverFDDP else DDPOptions
    return solver(problem, options.crocoddyl(max_iterations=n)).solve(*guess)


# Linear-quadratic problems


@dataclass
class Riccati:
    """Optimum of a linear-quadratic problem; V(x) = ½ xᵀ P x + pᵀ x + constant at each knot, u = -k - K x."""

    P: list[Reals]
    p: list[Reals]
    K: list[Reals]
    k: list[Reals]
    xs: Reals
    us: list[Reals]

    @classmethod
    def of(cls, x0: Reals, knots: Sequence[dict[str, Reals]], end: dict[str, Reals]) -> Riccati:
        """Knot by knot, from matrices A, B, Q, R, N, f, q, r with x⁺ = A x + B u + f."""
        P, p = [end["Q"]], [end["q"]]
        K: list[Any] = []
        k: list[Any] = []
        for m in reversed(knots):
            slope = p[0] + P[0] @ m["f"]
            Quu, Qux = m["R"] + m["B"].T @ P[0] @ m["B"], m["N"].T + m["B"].T @ P[0] @ m["A"]
            k.insert(0, np.linalg.solve(Quu, m["r"] + m["B"].T @ slope))
            K.insert(0, np.linalg.solve(Quu, Qux))
            p.insert(0, m["q"] + m["A"].T @ slope - Qux.T @ k[0])
            P.insert(0, m["Q"] + m["A"].T @ P[0] @ m["A"] - Qux.T @ K[0])
        xs, us = [x0], []
        for m, gain, feedforward in zip(knots, K, k):
            us.append(-feedforward - gain @ xs[-1])
            xs.append(m["A"] @ xs[-1] + m["B"] @ us[-1] + m["f"])
        return cls(P, p, K, k, np.array(xs), us)


def random_lq(rng: np.random.Generator, nx: int, nu: int) -> dict[str, Reals]:
    """A random knot, strictly convex."""
    root = rng.normal(size=(nx + nu, nx + nu))
    weights = root @ root.T + np.eye(nx + nu)
    A, B = rng.normal(size=(nx, nx)) / np.sqrt(nx), rng.normal(size=(nx, nu))
    linear = {"f": rng.normal(size=nx), "q": rng.normal(size=nx), "r": rng.normal(size=nu)}
    return {"A": A, "B": B, "Q": weights[:nx, :nx], "R": weights[nx:, nx:], "N": weights[:nx, nx:], **linear}


def lq_problem(nus: Sequence[int], *, nx: int = 4, seed: int = 0) -> tuple[ShootingProblem, Riccati]:
    """A problem with these numbers of controls at its knots, and its optimum."""
    rng = np.random.default_rng(seed)
    knots, end, x0 = [random_lq(rng, nx, nu) for nu in nus], random_lq(rng, nx, 1), rng.normal(size=nx)
    problem = ShootingProblem(x0, [trajopt.ActionModelLQR(**m) for m in knots], trajopt.ActionModelLQR(**end))
    return problem, Riccati.of(x0, knots, end)


@pytest.mark.parametrize("guess", ["default", "zeros", "random"])
def test_one_full_step_solves_a_linear_quadratic_problem(
    solver: type[SolverAbstract], options: type[DDPOptions], guess: str
) -> None:
    problem, optimum = lq_problem([3] * 12)
    rng = np.random.default_rng(1)
    guesses = {
        "default": (None, None),
        "zeros": (np.zeros((13, 4)), np.zeros((12, 3))),
        "random": (rng.normal(size=(13, 4)), rng.normal(size=(12, 3))),
    }
    unregularized = options(max_iterations=1, initial_regularization=0.0)
    solution = solver(problem, unregularized).solve(*guesses[guess])
    assert [r.step_length for r in solution.history] == [1.0]
    np.testing.assert_allclose(solution.xs, optimum.xs, rtol=0, atol=1e-12)
    np.testing.assert_allclose(solution.us, optimum.us, rtol=0, atol=1e-12)
    np.testing.assert_allclose(solution.K, optimum.K, rtol=0, atol=1e-12)
    np.testing.assert_allclose(solution.Vxx, optimum.P, rtol=1e-12, atol=1e-12)
    assert solution.cost == pytest.approx(problem.calc(optimum.xs, optimum.us).cost, rel=1e-13)


def test_a_linear_quadratic_problem_with_the_default_options(
    solver: type[SolverAbstract],
    options: type[DDPOptions],
) -> None:
    """Regularised steps need more than one iteration; they end at the same optimum."""
    problem, optimum = lq_problem([3] * 12)
    solution = solver(problem).solve()
    assert solution.converged
    assert all(r.step_length == 1.0 for r in solution.history)
    np.testing.assert_allclose(solution.xs, optimum.xs, rtol=0, atol=1e-5)
    np.testing.assert_allclose(solution.us, optimum.us, rtol=0, atol=1e-5)
    np.testing.assert_allclose(solution.K, optimum.K, rtol=0, atol=1e-2)
    np.testing.assert_allclose(solution.stationarity(), 0.0, atol=1e-4)


def test_gains_and_value_of_an_infinite_horizon(solver: type[SolverAbstract], options: type[DDPOptions]) -> None:
    """Far from the end of a long horizon, K and Vxx solve the discrete algebraic Riccati equation."""
    m = random_lq(np.random.default_rng(3), 5, 2) | {"f": np.zeros(5), "q": np.zeros(5), "r": np.zeros(2)}
    model = trajopt.ActionModelLQR(**m)
    problem = ShootingProblem(np.ones(5), [model] * 200, model)
    solution = solver(problem, options(max_iterations=1, initial_regularization=0.0)).solve()
    P = solve_discrete_are(m["A"], m["B"], m["Q"], m["R"], s=m["N"])
    K = np.linalg.solve(m["R"] + m["B"].T @ P @ m["B"], m["N"].T + m["B"].T @ P @ m["A"])
    np.testing.assert_allclose(solution.Vxx[0], P, rtol=1e-9)
    np.testing.assert_allclose(solution.K[0], K, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(solution.us[0], -K @ np.ones(5), rtol=1e-9)


def test_feed_forward_and_value_gradient(solver: type[SolverAbstract], options: type[DDPOptions]) -> None:
    """k and Vx of the direction at a feasible guess: u = us - k - K dx is the optimum, V' its slope there."""
    problem, optimum = lq_problem([2] * 6, seed=5)
    us = np.random.default_rng(6).normal(size=(6, 2))
    xs = problem.rollout(us)
    solution = solver(problem, options(max_iterations=1, initial_regularization=0.0)).solve(us=us)
    feed_forward = [us[t] + optimum.k[t] + optimum.K[t] @ xs[t] for t in range(6)]
    np.testing.assert_allclose(solution.k, feed_forward, rtol=0, atol=1e-12)
    slopes = [optimum.P[t] @ xs[t] + optimum.p[t] for t in range(7)]
    np.testing.assert_allclose(solution.Vx, slopes, rtol=0, atol=1e-11)


# Twins


CART_POLE: dict[str, Any] = {"hessian": "exact", "start": (0.0, 3.14, 0.0, 0.0), "effort": 1e-2, "end": 100.0}
STRAIGHT_UP = np.outer(1 - np.arange(51) / 50, [0.0, 3.14, 0.0, 0.0])


def hard_cart_pole(state: StateAbstract) -> CartPoleNumpy:
    return CartPoleNumpy(state, effort=1e-2, end=100.0)


@pytest.mark.parametrize(
    ("name", "case", "model", "xs", "iterations", "tolerance"),
    [
        ("unicycle", {}, UnicycleNumpy, np.zeros((21, 3)), 100, 1e-12),
        ("cart-pole", {"hessian": "exact"}, CartPoleNumpy, np.zeros((51, 4)), 100, 1e-12),
        ("pendulum", {}, PendulumNumpy, np.linspace([0.0, 0.0], [np.pi, 0.0], 101), 100, 1e-12),
        ("cart-pole", CART_POLE, hard_cart_pole, np.tile(CART_POLE["start"], (51, 1)), 60, 1e-8),
        ("cart-pole", CART_POLE, hard_cart_pole, STRAIGHT_UP, 15, 1e-7),
    ],
    ids=["unicycle", "cart-pole", "pendulum", "cart-pole-swing-up", "cart-pole-swing-up-with-gaps"],
)
def test_slow_twin_takes_the_same_iterations(
    solver: type[SolverAbstract],
    options: type[DDPOptions],
    name: str,
    case: dict[str, Any],
    model: Any,
    xs: Reals,
    iterations: int,
    tolerance: float,
) -> None:
    """The swing-ups shorten steps, raise the regularisation and, with gaps, raise the cost."""
    problem = problems.load(name, **case).problem
    knot, us = model(problem.state), np.zeros((problem.T, problem.nu))
    twin = Twin([knot] * problem.T, knot, problem.x0, list(xs), list(us), gaps_close_in_part=solver is SolverFDDP)
    twin.solve(iterations)
    solution = crocoddyl_solve(solver, problem, xs, us, n=iterations)
    assert solution.converged == twin.converged
    assert [r.step_length for r in solution.history] == twin.steps
    np.testing.assert_allclose([r.regularization for r in solution.history], twin.regularizations, rtol=1e-9)
    np.testing.assert_allclose([r.cost for r in solution.history], twin.costs, rtol=tolerance)
    np.testing.assert_allclose(solution.xs, twin.xs, rtol=0, atol=1e3 * tolerance)
    np.testing.assert_allclose(solution.K, twin.K, rtol=0, atol=1e4 * tolerance)


def test_the_twins_meet_short_steps_and_regularization() -> None:
    """Else the comparison above would be about full steps only."""
    problem = problems.load("cart-pole", **CART_POLE).problem
    solution = crocoddyl_solve(SolverFDDP, problem, STRAIGHT_UP, np.zeros((50, 1)), n=15)
    assert min(r.step_length for r in solution.history) < 0.1
    assert max(r.regularization for r in solution.history) >= 1.0
    at_the_goal = np.zeros((51, 4)), np.zeros((50, 1))
    rising = crocoddyl_solve(SolverFDDP, problems.load("cart-pole").problem, *at_the_goal)
    assert rising.history[0].accepted
    assert rising.history[0].decrease < 0


# Agreement


@pytest.mark.parametrize("name", ["unicycle", "cart-pole", "pendulum", "lqr"])
def test_ddp_and_fddp_are_one_from_a_rollout(name: str) -> None:
    case = problems.load(name)
    us = 0.1 * np.random.default_rng(0).normal(size=(case.problem.T, case.problem.nu))
    one, two = (crocoddyl_solve(solver, case.problem, None, us, n=10) for solver, _ in SOLVERS)
    assert one.history[0].feasible
    assert [r.cost for r in one.history] == [r.cost for r in two.history]
    np.testing.assert_array_equal(one.xs, two.xs)


def test_ddp_and_fddp_end_at_one_optimum_from_gaps() -> None:
    problem, rng = problems.load("unicycle").problem, np.random.default_rng(4)
    guess = rng.normal(size=(21, 3)), rng.normal(size=(20, 2))
    one, two = (solver(problem).solve(*guess) for solver, _ in SOLVERS)
    assert one.converged
    assert two.converged
    assert one.cost == pytest.approx(two.cost, rel=1e-9)
    np.testing.assert_allclose(one.us, two.us, atol=1e-4)


# Gaps


def test_a_short_step_of_fddp_closes_its_part_of_the_gaps() -> None:
    problem, _ = lq_problem([2] * 5)
    rng = np.random.default_rng(7)
    xs, us = rng.normal(size=(6, 4)), rng.normal(size=(5, 2))
    before = problem.calc(xs, us).gaps
    solution = SolverFDDP(problem, FDDPOptions(max_iterations=1, step_lengths=(0.25,))).solve(xs, us)
    assert np.abs(before).min() > 1e-3
    np.testing.assert_allclose(solution.gaps(), 0.75 * before, rtol=0, atol=1e-12)
    assert not solution.history[0].feasible


def test_a_short_step_of_ddp_closes_all_gaps() -> None:
    problem, _ = lq_problem([2] * 5)
    rng = np.random.default_rng(7)
    guess = rng.normal(size=(6, 4)), rng.normal(size=(5, 2))
    solution = SolverDDP(problem, DDPOptions(max_iterations=1, step_lengths=(0.25,))).solve(*guess)
    np.testing.assert_allclose(solution.gaps(), 0.0, atol=1e-12)
    assert solution.history[0].feasible


def test_the_initial_state_may_have_a_gap_too(solver: type[SolverAbstract], options: type[DDPOptions]) -> None:
    problem, optimum = lq_problem([2] * 5)
    xs = np.tile(problem.x0 + 3.0, (6, 1))
    solution = solver(problem, options(max_iterations=1, initial_regularization=0.0)).solve(xs, np.zeros((5, 2)))
    assert solution.history[0].gap_norm >= 3.0
    np.testing.assert_allclose(solution.xs, optimum.xs, rtol=0, atol=1e-12)


def test_a_guess_with_gaps_is_not_feasible(solver: type[SolverAbstract], options: type[DDPOptions]) -> None:
    problem = problems.load("unicycle").problem
    us = np.ones((20, 2))
    xs = problem.rollout(us)
    few = solver(problem, options(max_iterations=3))
    assert few.solve(xs, us, is_feasible=True).history[0].gap_norm == 0.0
    xs[7] += 1e-3
    with pytest.raises(InvalidArgumentError, match=r"is_feasible: .*gap of 0.001 before knot 7; pass is"):
        few.solve(xs, us, is_feasible=True)
    assert few.solve(xs, us).history[0].gap_norm == pytest.approx(1e-3, rel=1e-2)


@pytest.mark.parametrize("name", ["pendulum", "cart-pole", "arm-reach"])
def test_a_solution_that_is_the_guess_is_confirmed_at_once(
    solver: type[SolverAbstract], options: type[DDPOptions], name: str
) -> None:
    """Its costs differ by rounding alone, which FDDP took for ten searches that failed."""
    problem = problems.load(name).problem
    solution = solver(problem).solve()
    for _ in range(4):
        solution = solver(problem).solve(solution)
        assert solution.converged
        assert solution.iterations <= 3
    rows = solver(problem).solve_batch(x0=[problem.x0] * 3, xs=solution.xs, us=solution.us)
    assert rows.iterations.max() <= 3


def test_gaps_at_rounding_are_closed_whatever_the_cost_does() -> None:
    """The slope of a step that closes gaps may be negative; only a step that is at rounding as a whole is taken so."""
    accepts = FDDPAcceptance(FDDPOptions()).accepts
    assert accepts(Promise(-1e-14, 1e-14, scale=1.0), -5e-15, -1e-12, feasible=False)
    assert not accepts(Promise(-1e-14, 1e-14, scale=1.0), -5e-15, -1e-12, feasible=True)
    assert not accepts(Promise(0.0, -1.0, scale=1.0), -0.5, -10.0, feasible=False)


def test_ddp_goes_on_from_a_rollout_where_gains_about_a_guess_with_gaps_diverge() -> None:
    problem = problems.load("double-pendulum").problem
    at_the_goal = np.zeros((problem.T + 1, 4)), np.zeros((problem.T, 1))
    solution = SolverDDP(problem).solve(*at_the_goal)
    assert not solution.history[0].accepted
    assert solution.converged
    assert solution.cost <= 2.0588e-2
    np.testing.assert_allclose(solution.gaps(), 0.0, atol=1e-12)


# Knots with fewer controls than others


def test_knots_with_fewer_controls(solver: type[SolverAbstract], options: type[DDPOptions]) -> None:
    nus = [2, 0, 3, 1, 3, 0, 2]
    problem, optimum = lq_problem(nus)
    assert problem.nu == 3
    solution = solver(problem, options(max_iterations=1, initial_regularization=0.0)).solve()
    np.testing.assert_allclose(solution.xs, optimum.xs, rtol=0, atol=1e-12)
    for t, nu in enumerate(nus):
        np.testing.assert_allclose(solution.us[t, :nu], optimum.us[t], rtol=0, atol=1e-12)
        np.testing.assert_allclose(solution.K[t, :nu], optimum.K[t], rtol=0, atol=1e-12)
        for padding in (solution.us[t, nu:], solution.K[t, nu:], solution.k[t, nu:]):
            np.testing.assert_array_equal(padding, 0.0)


def test_padding_changes_nothing(solver: type[SolverAbstract], options: type[DDPOptions]) -> None:
    """A unicycle that cannot turn at some knots, by one control less or by a turn that costs and does nothing."""
    turning = trajopt.ActionModelUnicycle()
    padded = ShootingProblem([-1.0, -1.0, 1.0], [turning, StraightUnicycle(turning.state)] * 10, turning)
    full = ShootingProblem([-1.0, -1.0, 1.0], [turning, StraightUnicycle(turning.state, idle=True)] * 10, turning)
    xs = np.zeros((21, 3))
    one, two = (crocoddyl_solve(solver, p, xs, np.zeros((20, 2))) for p in (padded, full))
    assert one.converged
    assert [r.step_length for r in one.history] == [r.step_length for r in two.history]
    np.testing.assert_allclose([r.cost for r in one.history], [r.cost for r in two.history], rtol=1e-12)
    np.testing.assert_allclose(one.us, two.us, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(one.us[1::2, 1], 0.0)
    np.testing.assert_array_equal(one.K[1::2, 1], 0.0)


class StraightUnicycle(ActionModelAbstract):
    """A unicycle that cannot turn; `idle` adds a second control that only costs ½ u²."""

    def __init__(self, state: StateAbstract, idle: bool = False) -> None:
        super().__init__(state, 2 if idle else 1)
        self.full = UnicycleNumpy(state)

    def calc(self, data: Any, x: Reals, u: Reals | None = None) -> None:
        assert u is not None
        inner = self.full.create_data()
        self.full.calc(inner, x, np.array([u[0], 0.0]))
        data.xnext, data.cost = inner.xnext, inner.cost + 0.5 * u[1:] @ u[1:]

    def calc_diff(self, data: Any, x: Reals, u: Reals | None = None) -> None:
        assert u is not None
        inner = self.full.create_data()
        self.full.calc_diff(inner, x, np.array([u[0], 0.0]))
        data.Fx, data.Lx, data.Lxx = inner.Fx, inner.Lx, inner.Lxx
        data.Fu = np.column_stack([inner.Fu[:, :1], np.zeros((3, self.nu - 1))])
        data.Lu, data.Luu = u, np.eye(self.nu)
