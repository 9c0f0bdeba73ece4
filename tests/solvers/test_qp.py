"""Solvers of stage-wise quadratic programs with rows, against first-order conditions and one another."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.support.qp_twin import Residual
from tests.support.stage_programs import random_program
from trajopt.errors import InvalidArgumentError
from trajopt.solvers.qp import (
    Conic,
    InteriorPoint,
    Osqp,
    QPSolution,
    QPSolverAbstract,
    QPStatus,
    StageQP,
)
from trajopt.solvers.riccati.linear_quadratic import LinearQuadratic

OURS: dict[str, Callable[[StageQP], QPSolverAbstract]] = {"interior point": InteriorPoint}
OTHERS: dict[str, Callable[[StageQP], QPSolverAbstract]] = {
    "osqp": Osqp,
    "qpoases": lambda qp: Conic(qp, "qpoases", printLevel="none"),
}


def random_qp(seed: int, *, nb: int | None = None, soft: bool = False, twice: bool = False) -> StageQP:
    """Rows around a random trajectory, two-sided, one-sided, equations, and some that are switched off."""
    T, n, m, nc = 12, 4, 2, 5
    lq, rng = random_program(T, n, m, nb=nb, seed=seed), np.random.default_rng(seed + 100)
    qp = StageQP.zeros(lq, nc)
    qp.C[:], qp.terminal_C[:] = rng.standard_normal(qp.C.shape), rng.standard_normal(qp.terminal_C.shape)
    qp.C[0, :, :n] = 0.0
    du, dx, F = rng.standard_normal((T, m)), np.zeros((T + 1, n)), lq.full_F()
    dx[0] = lq.f[0]
    for t in range(T):
        dx[t + 1] = F[t] @ np.r_[dx[t], du[t]] + lq.f[t + 1]
    rows = qp.rows(dx, du)
    qp.lower[:], qp.upper[:] = rows - rng.uniform(0, 1, rows.shape), rows + rng.uniform(0, 1, rows.shape)
    qp.lower[:, 1], qp.upper[:, 2] = -np.inf, np.inf
    qp.lower[:, 3], qp.upper[:, 3] = -np.inf, np.inf
    qp.lower[1:, 4] = qp.upper[1:, 4] = rows[1:, 4]
    if soft:
        qp.delta[:, :3], qp.y_ref[:, :3] = 0.3, rng.standard_normal((T + 1, 3))
    if twice:  # equations that depend on one another
        qp.C[:, 3], qp.terminal_C[3] = 2.0 * qp.C[:, 4], 2.0 * qp.terminal_C[4]
        qp.lower[1:, 3] = qp.upper[1:, 3] = 2.0 * rows[1:, 4]
    return qp


def assert_optimal(qp: StageQP, found: QPSolution, tolerance: float = 1e-7) -> None:
    """First-order conditions; they are sufficient, since the cost is convex."""
    residual = Residual(qp, found.dx, found.du, found.lam, found.y)
    assert residual.stationarity < tolerance
    assert np.abs(residual.dynamics).max() < tolerance
    c = qp.rows(found.dx, found.du) - qp.delta * (found.y - qp.y_ref)
    assert np.all(c < qp.upper + tolerance)
    assert np.all(c > qp.lower - tolerance)
    equal = qp.lower == qp.upper
    assert np.all((found.y < tolerance) | equal | (qp.upper - c < tolerance))
    assert np.all((found.y > -tolerance) | equal | (c - qp.lower < tolerance))


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("how", [{}, {"nb": 1}, {"soft": True}, {"twice": True}], ids=str)
def test_first_order_conditions(name: str, how: dict[str, bool]) -> None:
    for seed in range(3):
        qp = random_qp(seed, **how)  # type: ignore[arg-type]
        found = OURS[name](qp).solve()
        assert found.status is QPStatus.SOLVED
        assert_optimal(qp, found)


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("soft", [False, True])
def test_other_qp_solvers_agree_with_the_interior_point(name: str, soft: bool) -> None:
    qp = random_qp(7, soft=soft)
    found, expected = OTHERS[name](qp).solve(), InteriorPoint(qp).solve()
    assert found.status is QPStatus.SOLVED
    for key in ("dx", "du", "lam", "y"):
        np.testing.assert_allclose(getattr(found, key), getattr(expected, key), rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", OURS)
def test_gains_hold_the_active_rows(name: str) -> None:
    """A change of the first state changes the controls by -K dx, and active rows stay at their bounds."""
    qp = random_qp(1)
    solver = OURS[name](qp)
    one = solver.solve()
    assert one.K is not None
    dx, du, K = one.dx.copy(), one.du.copy(), one.K.copy()
    active = np.abs(one.y) > 1e-6
    rows = qp.rows(dx, du)
    qp.lq.f[0] += 1e-6 * np.array([1.0, -2.0, 0.5, 1.0])
    other = solver.solve()
    expected = du - np.einsum("tij,tj->ti", K, other.dx[:-1] - dx[:-1])
    np.testing.assert_allclose(other.du, expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(qp.rows(other.dx, other.du)[active], rows[active], rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", OURS)
def test_indefinite(name: str) -> None:
    qp = StageQP.zeros(random_program(8, 3, 2), 1)
    qp.lq.H[5, 3:, 3:] = -10.0 * np.eye(2)
    found = OURS[name](qp).solve()
    assert found.status is QPStatus.INDEFINITE
    assert found.failed_knot == 5


def test_no_rows() -> None:
    qp = StageQP.zeros(random_program(8, 3, 2), 0)
    for name in OURS:
        found = OURS[name](qp).solve()
        assert found.status is QPStatus.SOLVED
        assert_optimal(qp, found)


def test_wrong_arguments() -> None:
    lq = LinearQuadratic.zeros(3, 2, 1, nc=1)
    with pytest.raises(InvalidArgumentError, match="lq: expected a program without rows"):
        StageQP.zeros(lq, 1)
    with pytest.raises(InvalidArgumentError, match="plugin: expected one of"):
        Conic(StageQP.zeros(LinearQuadratic.zeros(3, 2, 1), 1), "unknown")
