"""Equations of interior-point steps: eliminated beside the controls, as a dense factorisation solves them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np
import pytest

from tests.support.interior import interior_steps
from trajopt import ActionModelDiscrete, ConstraintStack, ResidualModelSymbolic, StateVector
from trajopt.shooting import ShootingProblem
from trajopt.solution import IterationRecord
from trajopt.solvers import SolverSQP, SQPOptions
from trajopt.solvers.qp import StageQP
from trajopt.solvers.riccati import LinearQuadratic, Riccati
from trajopt.solvers.riccati.weighted_rows import WeightedRows
from trajopt.solvers.sqp.interior import InteriorSteps, are_curved
from trajopt.solvers.sqp.interior.barrier import PART, Bounds
from trajopt.solvers.sqp.interior.equations import DELTA, FIRM, Equations
from trajopt.solvers.sqp.progress import SQPProgress
from trajopt.solvers.sqp.workspace import Workspace
from trajopt.types import Reals

T, N, M, NC = 4, 3, 4, 3


def program(rng: np.random.Generator) -> tuple[StageQP, Bounds]:
    """A convex program of two equations, the second one without controls at knot 2, and a free row."""
    lq = LinearQuadratic.zeros(T, N, M)
    roots, end = rng.normal(size=lq.H.shape), rng.normal(size=(N, N))
    lq.H[:], lq.terminal_H[:] = roots @ roots.transpose(0, 2, 1), end @ end.T
    for array in (lq.F, lq.f, lq.g, lq.terminal_g):
        array[:] = rng.normal(size=array.shape)
    qp = StageQP.zeros(lq, NC)
    qp.C[:], qp.terminal_C[:] = rng.normal(size=qp.C.shape), rng.normal(size=qp.terminal_C.shape)
    qp.C[2, 1, N:] = 0.0
    lower = np.zeros((T + 1, NC))
    lower[:, 2] = -np.inf
    lower[1, 1] = -np.inf
    upper = np.where(np.isfinite(lower), 0.0, np.inf)
    return qp, Bounds.of(lower, upper, *[rng.uniform(0.5, 2.0, size=lower.shape)] * 2)


def dense(qp: StageQP, bounds: Bounds, residual: Reals, y: Reals, delta: Reals) -> tuple[Reals, Reals]:
    """States with controls, and multipliers of the rows, from one factorisation of all stages."""
    lq, size = qp.lq, N + M
    number = T * size + N
    H, g = np.zeros((number, number)), np.zeros(number)
    A, b, rows = [], [], []
    first = np.zeros((N, number))
    first[:, :N] = np.eye(N)
    A.append(first)
    b.append(lq.f[0])
    for t in range(T):
        z = slice(t * size, (t + 1) * size)
        H[z, z], g[z] = np.tril(lq.H[t]) + np.tril(lq.H[t], -1).T, lq.g[t]
        step = np.zeros((N, number))
        step[:, z] = -lq.F[t]
        step[:, (t + 1) * size : (t + 1) * size + N] = np.eye(N)
        A.append(step)
        b.append(lq.f[t + 1])
    H[-N:, -N:], g[-N:] = np.tril(lq.terminal_H) + np.tril(lq.terminal_H, -1).T, lq.terminal_g
    equal = np.argwhere(bounds.equal)
    for t, i in equal:
        row = np.zeros(number)
        row[t * size : t * size + (size if t < T else N)] = qp.C[t, i] if t < T else qp.terminal_C[i]
        rows.append(row)
    dynamics, C = np.concatenate(A), np.array(rows)
    held = len(dynamics)
    r, y0, d = (np.array([each[t, i] for t, i in equal]) for each in (residual, y, delta))
    corner = np.zeros((held + len(C), held + len(C)))
    corner[held:, held:] = -np.diag(d)
    J = np.concatenate([dynamics, C])
    found = np.linalg.solve(np.block([[H, J.T], [J, corner]]), np.r_[-g, np.concatenate(b), -r - d * y0])
    multipliers = np.zeros_like(y)
    for (t, i), value in zip(equal, found[number + held :], strict=True):
        multipliers[t, i] = value
    return found[:number], multipliers


def test_steps_are_those_of_a_dense_factorisation() -> None:
    rng = np.random.default_rng(0)
    qp, bounds = program(rng)
    residual, y = (np.where(bounds.equal, rng.normal(size=bounds.equal.shape), 0.0) for _ in range(2))
    equations = Equations(qp, bounds)
    assert equations.lq.nc == 2
    weighted = WeightedRows.zeros(
        qp.lq, qp.C, qp.terminal_C, np.where(bounds.equal, 0.0, -np.inf), np.where(bounds.equal, 0.0, np.inf)
    )
    riccati = Riccati(equations.lq, rows=weighted)
    for _ in range(2):  # the second time with other numbers in the same arrays
        qp.C[:2] *= 1.5
        firm = equations.take(residual, y)
        weighted.weights[:], weighted.h[:] = equations.weights, firm
        riccati.find_rows()
        assert riccati.factor(regularize_value=False).failure is None
        step = riccati.forward()
        after = equations.multipliers(step.y, equations.weights * weighted.values + firm)
        delta = np.full(bounds.equal.shape, DELTA) * bounds.size**2
        delta[2, 1] = delta[-1, 0] = delta[-1, 1] = 0.0
        delta[2, 1], delta[-1, :2] = bounds.size[2, 1] ** 2 / FIRM, bounds.size[-1, :2] ** 2 / FIRM
        z, multipliers = dense(qp, bounds, residual, y, delta)
        ours = np.r_[np.concatenate([step.dx[:-1], step.du], axis=1).ravel(), step.dx[-1]]
        assert ours == pytest.approx(z, rel=1e-6, abs=1e-8)
        assert after == pytest.approx(multipliers, rel=1e-5, abs=1e-6)
        assert np.all(after[~bounds.equal] == 0.0)


def test_programs_without_equations_stay_as_they_are() -> None:
    qp, bounds = program(np.random.default_rng(1))
    free = replace(bounds, equal=np.zeros_like(bounds.equal))
    equations = Equations(qp, free)
    assert equations.lq is qp.lq
    assert not equations.weights.any()
    assert not equations.take(np.ones(bounds.equal.shape), np.ones(bounds.equal.shape)).any()


class Slider(ActionModelDiscrete):
    """A block against a wall at 1: the next position q⁺, the wall's force λ and a slack are controls; 0 ≤ λ ⊥ gap."""

    def next_state(self, x: ca.SX, u: ca.SX) -> ca.SX:
        return ca.vertcat(x[1], u[1])

    def running_cost(self, x: ca.SX, u: ca.SX) -> ca.SX:
        return 0.05 * u[0] ** 2 + 2.0 * u[3]

    def terminal_cost(self, x: ca.SX) -> ca.SX:
        return 50.0 * (x[1] - 1.2) ** 2 + 50.0 * (x[1] - x[0]) ** 2


def slider(*, complementary: bool = True, **options: Any) -> ShootingProblem:
    """A block is pushed from 0 towards 1.2, behind a wall at 1; at the end it rests."""
    state, dt = StateVector(2), 0.1

    def physics(x: ca.SX, u: ca.SX) -> ca.SX:
        force, ahead, wall, slack = u[0], u[1], u[2], u[3]
        motion = (ahead - 2.0 * x[1] + x[0]) / dt - dt * (force - wall)
        return ca.vertcat(motion, wall * (1.0 - ahead) - slack) if complementary else motion

    rows = ConstraintStack(state).add("physics", ResidualModelSymbolic(state, physics), equals=0.0)
    rows.add("gap", ResidualModelSymbolic(state, lambda x, u: 1.0 - u[1]), lower=0.0)
    rows.add("positive", ResidualModelSymbolic(state, lambda x, u: u[2:4]), lower=0.0)
    running = Slider(state, 4, constraints=rows)
    rest = ConstraintStack(state).add("rest", ResidualModelSymbolic(state, lambda x: x[1] - x[0]), equals=0.0)
    return ShootingProblem(np.zeros(2), [running] * 20, Slider(state, 4, constraints=rest), **options)


def begun(problem: ShootingProblem, *, rollouts: bool) -> tuple[InteriorSteps, Workspace, SQPProgress]:
    return interior_steps(problem, np.zeros((21, 2)), np.tile([0.1, 0.01, 0.01, 0.01], (20, 1)), rollouts=rollouts)


@pytest.mark.parametrize("rollouts", [False, True])
def test_the_slope_of_the_lagrangian_is_its_derivative(rollouts: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Along a step that leaves a part of an equation, and changes its multiplier."""
    monkeypatch.setattr("trajopt.solvers.sqp.interior.equations.FIRM", 0.01)
    steps, _, run = begun(slider(), rollouts=rollouts)
    for _ in range(3):
        steps.iterate(run)
        assert steps.outcome is None
    step, point, trials = steps._direction(), steps._point, steps._trials
    assert step is not None
    assert np.abs(step.rows + point.residual)[-1, 0] > 1e-3
    trials.first_length(point, step)
    length = 1e-6
    near = trials.at(point, step, length, steps.scale)
    assert near is not None
    assert (near.lagrangian - point.lagrangian) / length == pytest.approx(step.slope, rel=1e-3, abs=1e-6)


def test_rollouts_have_the_costates_of_their_trajectory() -> None:
    """λ_t = g_x + C_xᵀ y + F_xᵀ λ_{t+1}, from the end; multipliers of bounds lose at most what a step may take."""
    steps, _, run = begun(slider(), rollouts=True)
    for _ in range(6):
        before = steps._point.barrier
        steps.iterate(run)
        assert steps.outcome is None
        after, qp = steps._point.barrier, steps._program.qp
        largest = steps._trials.spread * after.mu / after.bounds.distances(after.slack)
        assert np.all(after.z >= 0.99 * np.minimum((1.0 - PART) * before.z, largest))
        lq, F, lam = qp.lq, qp.lq.full_F(), steps._point.lam
        expected = lq.terminal_g + after.y[-1] @ qp.terminal_C
        assert lam[-1] == pytest.approx(expected)
        for t in reversed(range(lq.T)):
            expected = lq.g[t, : lq.n] + after.y[t] @ qp.C[t, :, : lq.n] + F[t, :, : lq.n].T @ expected
            assert lam[t] == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_equations_of_a_chosen_start_are_eliminated() -> None:
    steps, *_ = begun(slider(start=([-0.1, -0.1], [0.1, 0.1])), rollouts=True)
    assert steps._equations.lq.nc == 2


def test_rows_with_products_of_controls_are_curved() -> None:
    for complementary in (True, False):
        _, work, _ = begun(slider(complementary=complementary), rollouts=False)
        assert are_curved(work.model.exact, work.rows) is complementary
        assert not are_curved(None, work.rows)


def test_complementarity_begins_with_interior_points() -> None:
    """The force acts in the last step alone, and pushes the block against the wall without a slack."""
    problem = slider()
    seen: list[IterationRecord] = []
    solver = SolverSQP(problem, SQPOptions(max_iterations=300), callbacks=[seen.append])
    ramp = np.linspace(0.0, 1.0, 21)  # states that are no rollout of the controls
    solution = solver.solve(np.stack([ramp, ramp], axis=1), np.tile([0.1, 0.01, 0.01, 0.01], (20, 1)))
    assert solution.converged
    assert {record.method for record in seen} == {"interior"}
    assert max(record.gap_norm for record in seen) < 1e-12  # by rollouts
    assert solution.us[:, 2] * (1.0 - solution.us[:, 1]) == pytest.approx(0.0, abs=1e-6)
    assert solution.xs[-1] == pytest.approx([1.0, 1.0], abs=2e-2)
    other = SolverSQP(slider(complementary=False)).solve(None, np.tile([0.1, 0.01, 0.01, 0.01], (20, 1)))
    assert other.cost < solution.cost + 1e-9
