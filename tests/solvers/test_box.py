"""Solvers with control limits: a knot's program against all active sets, solutions against their conditions."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import casadi as ca
import numpy as np
import pytest

import trajopt
from tests.support.a1_jumps import WITHIN, Jump
from tests.support.legged_problems import guess_of
from tests.support.limited_problems import arm, unicycle
from trajopt import problems
from trajopt.errors import InvalidArgumentError
from trajopt.gaits import GaitOptions
from trajopt.shooting import ShootingProblem
from trajopt.shooting.evaluator import Evaluator
from trajopt.solution import Solution, SolverStatus
from trajopt.solvers import (
    BoxDDPOptions,
    BoxFDDPOptions,
    DDPOptions,
    FDDPOptions,
    SolverAbstract,
    SolverBoxDDP,
    SolverBoxFDDP,
    SolverDDP,
    SolverFDDP,
    SolverSQP,
    SQPOptions,
)
from trajopt.solvers.riccati.linear_quadratic import LinearQuadratic
from trajopt.solvers.riccati.riccati import ControlBox, Riccati, RiccatiFailure
from trajopt.types import Reals

PAIRS: dict[str, tuple[type[SolverAbstract], Any]] = {
    "ddp": (SolverBoxDDP, BoxDDPOptions),
    "fddp": (SolverBoxFDDP, BoxFDDPOptions),
}
every = pytest.mark.parametrize("solver", PAIRS)


def box_program(H: Reals, q: Reals, lower: Reals, upper: Reals) -> Reals:
    """The minimum of ½ uᵀ H u + qᵀ u over the box: of all active sets, the one whose multipliers have their signs."""
    m = len(q)
    for sides in itertools.product((-1, 0, 1), repeat=m):
        side = np.array(sides)
        free = side == 0
        u = np.where(side < 0, lower, upper)
        u[free] = np.linalg.solve(H[np.ix_(free, free)], -q[free] - H[np.ix_(free, ~free)] @ u[~free])
        slope = q + H @ u
        if np.all(u >= lower - 1e-12) and np.all(u <= upper + 1e-12) and np.all(slope * side <= 1e-12):
            return u
    raise AssertionError("no active set fits")


def program(rng: np.random.Generator, T: int, n: int, m: int, *, curved: float) -> LinearQuadratic:
    """A random program with stages; `curved` is how far Hessians are from diagonal."""
    lq = LinearQuadratic.zeros(T, n, m)
    root = np.eye(n + m) + curved * rng.normal(size=(T, n + m, n + m))
    lq.H[:], lq.g[:] = root.transpose(0, 2, 1) @ root, 3.0 * (1.0 + 4.0 * curved**2) * rng.normal(size=lq.g.shape)
    lq.F[:] = 0.7 * rng.normal(size=lq.F.shape)
    lq.terminal_H[:], lq.terminal_g[:] = np.eye(n), rng.normal(size=n)
    return lq


@pytest.mark.parametrize(("exact", "gaps"), [(True, False), (True, True), (False, False)])
@pytest.mark.parametrize(("n", "m", "curved"), [(3, 1, 0.3), (2, 2, 0.5), (5, 4, 0.5), (4, 5, 1.5)])
def test_passes_solve_the_program_of_every_knot(n: int, m: int, curved: float, exact: bool, gaps: bool) -> None:
    rng, T, rho = np.random.default_rng(n + m), 12, 0.3
    lq = program(rng, T, n, m, curved=curved)
    lq.f[:] = 0.3 * rng.normal(size=lq.f.shape) if gaps else 0.0
    lower, upper = -rng.uniform(0.0, 0.6, (T, m)), rng.uniform(0.0, 0.6, (T, m))
    lower[::3, 0], upper[1::3, -1] = -np.inf, np.inf
    lower[4], upper[4] = -np.inf, np.inf  # a knot without limits
    box = ControlBox(lower, upper, np.array([100.0, 0.1, float(exact)]))
    riccati = Riccati(lq, box=box)
    outcome = riccati.factor(rho, feasible=not gaps)
    assert outcome.failure is None
    V = lq.terminal_H + rho * np.eye(n)
    v = lq.terminal_g + V @ lq.f[-1]
    slope = curvature = clamped = 0.0
    for t in range(T - 1, -1, -1):
        Q, q = lq.H[t] + lq.F[t].T @ V @ lq.F[t], lq.g[t] + lq.F[t].T @ v
        Quu, Qux, Qu = Q[n:, n:] + rho * np.eye(m), Q[n:, :n], q[n:]
        far = np.full(m, 1e6)  # in place of no limit
        u = box_program(Quu, Qu, np.maximum(lower[t], -far), np.minimum(upper[t], far))
        free = (u > lower[t] + 1e-9) & (u < upper[t] - 1e-9)
        K = np.zeros((m, n))
        K[free] = np.linalg.solve(Quu[np.ix_(free, free)], Qux[free])
        np.testing.assert_allclose(riccati.k[t], -u, rtol=0, atol=1e-9)
        np.testing.assert_allclose(riccati.K[t], K, rtol=0, atol=1e-9 * max(1.0, np.abs(K).max()))
        assert np.all(riccati.K[t][~free] == 0.0)
        slope += -Qu @ u if exact else -Qu[free] @ u[free]
        curvature += u @ Quu @ u
        clamped += np.sum(~free)
        V = Q[:n, :n] - Qux[free].T @ K[free] + rho * np.eye(n)
        v = (q[:n] + Qux.T @ u if exact else q[:n] - K.T @ Qu) + V @ lq.f[t]
        np.testing.assert_allclose(riccati.Vxx[t], V, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(riccati.Vx[t], v, rtol=1e-8, atol=1e-8)
    assert T * m / 4 < clamped < T * m
    assert outcome.decrease == pytest.approx(slope, rel=1e-8)
    assert outcome.curvature == pytest.approx(curvature, rel=1e-8)
    assert outcome.promised == pytest.approx(slope - 0.5 * curvature, rel=1e-8)


def test_inexact_passes_with_gaps_and_those_without_limits_are_those_without_a_box() -> None:
    rng = np.random.default_rng(0)
    lq = program(rng, 8, 4, 3, curved=0.4)
    lq.f[:] = rng.normal(size=lq.f.shape)
    box = ControlBox(np.full((8, 3), -0.1), np.full((8, 3), 0.1), np.array([100.0, 0.1, 0.0]))
    plain, boxed = Riccati(lq), Riccati(lq, box=box)
    for feasible in (False, True):
        if feasible:
            box.lower[:], box.upper[:] = -np.inf, np.inf
        expected, outcome = plain.factor(0.1, feasible=feasible), boxed.factor(0.1, feasible=feasible)
        assert (outcome.decrease, outcome.curvature) == (expected.decrease, expected.decrease)
        for name in ("K", "k", "Vxx", "Vx"):
            np.testing.assert_array_equal(getattr(boxed, name), getattr(plain, name))


def test_a_program_that_is_not_convex_is_refused() -> None:
    lq = program(np.random.default_rng(1), 4, 3, 2, curved=0.1)
    lq.H[2, 3:, 3:] = -50.0 * np.eye(2)
    riccati = Riccati(lq, box=ControlBox(np.full((4, 2), -1.0), np.full((4, 2), 1.0), np.array([100.0, 0.1, 1.0])))
    outcome = riccati.factor(feasible=True)
    assert (outcome.failure, outcome.failed_knot) == (RiccatiFailure.INDEFINITE, 2)


def test_limits_hold_while_gaps_close() -> None:
    """From a motion beyond limits, a direction that ignores them promises what clipped controls can't keep."""
    jump = Jump(0.2, 0.9, ground=12, options=GaitOptions())
    motion, problem = jump.unlimited, jump.problem()
    assert np.abs(motion.us).max() > 2.0 * problem.running[0].upper.max()
    as_crocoddyl = SolverBoxFDDP(problem, dataclasses.replace(WITHIN, box_exact=False)).solve(motion)
    assert as_crocoddyl.status is SolverStatus.LINE_SEARCH_FAILED
    assert np.abs(as_crocoddyl.gaps()).max() > 1.0
    assert jump.arrives(SolverBoxFDDP(problem, WITHIN).solve(motion))


def slope_within_limits(problem: ShootingProblem, solution: Solution) -> float:
    """Largest |clip(u - ∂J/∂u) - u|: zero where no control that may move promises anything."""
    e = Evaluator(problem)
    e.xs[:], e.us[:] = solution.xs, solution.us
    e.expand(problem.x0)
    assert np.abs(e.f).max() < 1e-9
    F, g, _ = e.full()
    lower, upper = e.control_limits()
    n, largest = problem.state.ndx, 0.0
    costate = g[-1, :n]
    for t in range(problem.T - 1, -1, -1):
        whole = g[t] + costate @ F[t]
        costate = whole[:n]
        moved = np.clip(solution.us[t] - whole[n:], lower[t], upper[t])
        largest = max(largest, float(np.abs(moved - solution.us[t]).max()))
    return largest


@every
@pytest.mark.parametrize("make", [unicycle, arm])
def test_solutions_are_optimal_within_limits(make: Any, solver: str) -> None:
    problem, (box, options) = make(), PAIRS[solver]
    solution = box(problem, options(relative_tolerance=1e-12)).solve(*guess_of(problem))
    assert solution.converged
    lower, upper = problem.running[0].lower, problem.running[0].upper
    assert np.all(solution.us >= lower)
    assert np.all(solution.us <= upper)
    at_limit = (solution.us == lower) | (solution.us == upper)
    assert 10 < at_limit.sum() < solution.us.size
    assert slope_within_limits(problem, solution) < 1e-4
    assert np.all(solution.K[at_limit & (np.abs(solution.k) < 1e-12)] == 0.0)
    assert np.abs(solution.K[~at_limit]).max() > 0.1


@every
def test_same_as_sqp_with_the_limits_as_constraints(solver: str) -> None:
    """The model's limits, and the same ones as rows of SolverSQP."""
    box, options = PAIRS[solver]
    first = box(unicycle(), options(relative_tolerance=1e-12)).solve()
    state = trajopt.ActionModelUnicycle().state
    rows = trajopt.ConstraintStack(state)
    rows.add("limits", trajopt.ResidualModelControl(state), lower=[-0.8, -1.2], upper=[0.8, 1.2])
    model = trajopt.ActionModelUnicycle(constraints=rows)
    end = trajopt.ActionModelUnicycle()
    second = SolverSQP(ShootingProblem([-1.0, -1.0, 1.0], [model] * 40, end), SQPOptions()).solve(first.xs, first.us)
    assert second.converged
    assert second.cost == pytest.approx(first.cost, rel=1e-7)
    np.testing.assert_allclose(second.us, first.us, atol=1e-3)


def test_counting_clamped_steps_spares_failed_searches() -> None:
    """Crocoddyl's value function leaves them out: 9 of its 61 searches fail; with them none of 41."""
    problem, options = unicycle(), BoxDDPOptions.crocoddyl()
    guess = np.zeros((41, 3)), np.zeros((40, 2))
    both = [dataclasses.replace(options, box_exact=exact) for exact in (False, True)]
    runs = [SolverBoxDDP(problem, options).solve(*guess) for options in both]
    assert [sum(not record.accepted for record in run.history) for run in runs] == [9, 0]
    assert [run.iterations for run in runs] == [61, 41]


@pytest.mark.parametrize(
    ("plain", "own", "box", "options"),
    [(SolverDDP, DDPOptions, SolverBoxDDP, BoxDDPOptions), (SolverFDDP, FDDPOptions, SolverBoxFDDP, BoxFDDPOptions)],
)
def test_without_limits_nothing_changes(plain: Any, own: Any, box: Any, options: Any) -> None:
    problem = problems.load("unicycle").problem
    expected, solution = plain(problem, own()).solve(), box(problem, options()).solve()
    assert [r.cost for r in solution.history] == [r.cost for r in expected.history]
    np.testing.assert_array_equal(solution.us, expected.us)


@every
def test_a_guess_beyond_the_limits_is_clipped(solver: str) -> None:
    problem, (box, options) = unicycle(), PAIRS[solver]
    us = np.full((40, 2), 2.0)
    solution = box(problem, options()).solve(problem.rollout(us), us, is_feasible=True)
    assert solution.converged
    assert np.abs(solution.us[:, 0]).max() <= 0.8
    assert slope_within_limits(problem, solution) < 1e-2


@every
def test_solvers_follow_limits_that_a_black_box_changes(solver: str) -> None:
    class Scalar(trajopt.ActionModelAbstract):
        """x⁺ = x + u, ½ (x² + 1e-2 u²)."""

        def __init__(self) -> None:
            super().__init__(trajopt.StateVector(1), 1, lower=[-0.5], upper=[0.5])

        def calc(self, data: Any, x: Reals, u: Reals | None = None) -> None:
            v = np.zeros(1) if u is None else u
            data.xnext = x + v
            data.cost = 0.5 * float(x @ x + 1e-2 * v @ v)

        def calc_diff(self, data: Any, x: Reals, u: Reals | None = None) -> None:
            data.Lx, data.Lxx = x, np.eye(1)
            if u is not None:
                data.Fx, data.Fu = np.eye(1), np.eye(1)
                data.Lu, data.Luu, data.Lxu = 1e-2 * u, 1e-2 * np.eye(1), np.zeros((1, 1))

    model, (box, options) = Scalar(), PAIRS[solver]
    run = box(ShootingProblem([2.0], [model] * 6, model), options())
    for limit in (0.5, 0.25):
        model.lower, model.upper = np.array([-limit]), np.array([limit])
        solution = run.solve()
        assert solution.converged
        assert solution.us.min() == -limit
        np.testing.assert_array_equal(solution.us[:3, 0], [-limit] * 3)


@every
def test_constraints_are_refused_and_options_checked(solver: str) -> None:
    box, options = PAIRS[solver]
    state = trajopt.ActionModelUnicycle().state
    rows = trajopt.ConstraintStack(state).add("x", trajopt.ResidualModelState(state), upper=1.0)
    model = trajopt.ActionModelUnicycle(constraints=rows)
    with pytest.raises(InvalidArgumentError, match="can't enforce constraints.*SolverSQP"):
        box(ShootingProblem([0.0, 0.0, 0.0], [model] * 3, trajopt.ActionModelUnicycle()))
    for name, value in {"box_iterations": 0, "box_acceptance": -1.0, "box_exact": "yes", "clip_guess": 1}.items():
        with pytest.raises(InvalidArgumentError, match=name):
            options(**{name: value})
    with pytest.raises(InvalidArgumentError, match="takes Box"):
        box(unicycle(), DDPOptions())
    assert options.crocoddyl().tolerance == 5e-5
    assert not options.crocoddyl().box_exact
    assert BoxFDDPOptions().initial_regularization == FDDPOptions().initial_regularization


class WeakPendulum(trajopt.DifferentialActionModelSymbolic):
    """dv/dt = u - sin q, x = (q, v)."""

    def acceleration(self, x: ca.SX, u: ca.SX) -> ca.SX:
        return u - ca.sin(x[0])


def weak_pendulum(x0: list[float]) -> ShootingProblem:
    """A minute of a pendulum whose motor holds it up to 17 degrees."""
    state = trajopt.StateVector(2)
    costs = trajopt.CostStack(state).add("u", trajopt.ResidualModelControl(state), weight=1.0)
    costs.add("x", trajopt.ResidualModelState(state), weight=0.1)
    knot = trajopt.IntegratedActionModelRK4(WeakPendulum(state, 1, costs, lower=[-0.3], upper=[0.3]), dt=0.2)
    return ShootingProblem(x0, [knot] * 300, trajopt.CostStack(state))


@every
def test_a_rest_that_limits_do_not_hold_gives_way_to_its_rollout(solver: str) -> None:
    """At one state with clipped controls, derivatives would grow without bound."""
    kind, _ = PAIRS[solver]
    for x0 in ([2.0, 0.0], [-2.5, 0.5], [1.5, -1.0], [0.5, 1.0]):
        solution = kind(weak_pendulum(x0)).solve()
        assert solution.converged
        assert np.abs(solution.us).max() <= 0.3


def test_a_rest_whose_value_grows_without_bound_asks_for_a_motion() -> None:
    problem = weak_pendulum([-2.845964, -1.933889])
    at_rest = SolverBoxDDP(problem).solve()
    assert at_rest.status is SolverStatus.DIVERGED
    assert "start from a motion, solve(us=...)" in at_rest.explain()
    assert SolverBoxDDP(problem).solve(us=np.zeros((300, 1))).converged
