"""Soft rows of stage-wise quadratic programs: slacks with linear and quadratic weights."""

from __future__ import annotations

import numpy as np
import pytest

from tests.solvers.test_qp import OURS, random_qp
from tests.support.qp_twin import Residual
from trajopt.solvers.qp import Conic, Osqp, QPSolution, QPStatus, StageQP


def soft_qp(seed: int, linear: float, quadratic: float, *, delta: float = 0.0, equations: bool = False) -> StageQP:
    """Rows 0 to 2 are soft, and their bounds are drawn so near that many are passed; equations are soft on request."""
    qp = random_qp(seed)
    soft = (slice(None), [0, 1, 2, 4] if equations else [0, 1, 2])
    qp.soft_linear[soft], qp.soft_quadratic[soft] = linear, quadratic
    middle = 0.5 * (np.maximum(qp.lower, -10.0) + np.minimum(qp.upper, 10.0))[:, 0]
    qp.lower[:, 0], qp.upper[:, 0] = middle - 0.05, middle + 0.05
    qp.delta[:, :2], qp.y_ref[:, :2] = delta, 0.3 if delta else 0.0
    return qp


def assert_optimal(qp: StageQP, found: QPSolution, tolerance: float = 1e-7) -> None:
    """First-order conditions, with the slack that each row has to have."""
    residual = Residual(qp, found.dx, found.du, found.lam, found.y)
    assert max(residual.stationarity, np.abs(residual.dynamics).max()) < tolerance
    near = qp.rows(found.dx, found.du) - qp.delta * (found.y - qp.y_ref)
    above, below = np.maximum(near - qp.upper, 0.0), np.maximum(qp.lower - near, 0.0)
    soft = np.isfinite(qp.soft_linear)
    assert max(above[~soft].max(), below[~soft].max()) < tolerance
    least = np.where(soft, qp.soft_linear, 0.0) + qp.soft_quadratic * (above + below)
    for passed, y in ((above, found.y), (below, -found.y)):
        beyond = soft & (passed > 10.0 * tolerance)
        np.testing.assert_allclose(y[beyond], least[beyond], rtol=0, atol=100.0 * tolerance)
    inside = soft & (above + below <= 10.0 * tolerance)
    assert np.all(np.abs(found.y)[inside] < qp.soft_linear[inside] + 100.0 * tolerance)
    room = np.minimum(np.where(found.y > 0.0, qp.upper - near, near - qp.lower), 1e3)
    assert np.all((room < tolerance) | (np.abs(found.y) * room < 10.0 * tolerance))


WEIGHTS = [(0.05, 0.0), (0.3, 2.0), (0.0, 5.0), (100.0, 1.0)]


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize(("linear", "quadratic"), WEIGHTS)
@pytest.mark.parametrize("how", [{}, {"delta": 0.2}, {"equations": True}], ids=str)
def test_soft_rows(name: str, linear: float, quadratic: float, how: dict[str, float]) -> None:
    qp = soft_qp(3, linear, quadratic, **how)  # type: ignore[arg-type]
    found, expected = OURS[name](qp).solve(), Osqp(qp).solve()
    assert found.status is QPStatus.SOLVED
    assert_optimal(qp, found)
    for key in ("dx", "du", "lam", "y"):
        np.testing.assert_allclose(getattr(found, key), getattr(expected, key), rtol=0, atol=1e-5)


def test_conic_has_them_too() -> None:
    qp = soft_qp(5, 0.3, 2.0)
    found, expected = Conic(qp, "qpoases", printLevel="none").solve(), OURS["interior point"](qp).solve()
    np.testing.assert_allclose(found.du, expected.du, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", OURS)
def test_weights_may_come_and_go(name: str) -> None:
    """A solver sees at each solve which rows are soft: large linear weights make the solution that of hard rows."""
    qp = soft_qp(2, 0.05, 0.0)
    qp.lower[:, 0], qp.upper[:, 0] = qp.lower[:, 0] - 1.0, qp.upper[:, 0] + 1.0
    solver = OURS[name](qp)
    passing = solver.solve().du.copy()
    qp.soft_linear[:] = np.inf
    hard = solver.solve().du.copy()
    assert np.abs(passing - hard).max() > 1e-3
    qp.soft_linear[:, :3] = 1e4
    np.testing.assert_allclose(solver.solve().du, hard, rtol=0, atol=1e-6)
