"""Weighted rows in the Riccati recursion, its residuals and adjoint pass, against programs with the rows in H and g."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.solvers.test_linear_quadratic import NARROW, WIDE
from tests.support.qp_twin import Residual as Twin
from tests.support.stage_programs import random_program
from trajopt.errors import InvalidArgumentError
from trajopt.solvers.qp import StageQP
from trajopt.solvers.qp.residual import Iterate, Residual
from trajopt.solvers.riccati import recursion
from trajopt.solvers.riccati.linear_quadratic import LinearQuadratic
from trajopt.solvers.riccati.riccati import Riccati
from trajopt.solvers.riccati.weighted_rows import WeightedRows
from trajopt.types import Reals

SHAPES: list[dict[str, Any]] = [
    {"T": 5, "n": 4, "m": 2, "nr": 5},
    {"T": 5, "n": 4, "m": 2, "nr": 5, "nb": 1},
    {"T": 3, "n": 36, "m": 12, "nr": 20, "nb": 6},
    {"T": 4, "n": 12, "m": 6, "nr": 18, "nb": 0},
    {"T": 4, "n": 12, "m": 6, "nr": 0},
    {"T": 0, "n": 4, "m": 2, "nr": 3},
    {"T": 3, "n": 10, "m": 3, "nr": 11},
    {"T": 3, "n": 13, "m": 3, "nr": 11, "k": 3},
    {"T": 4, "n": 13, "m": 6, "nr": 18, "nb": 0, "k": 1},
    {"T": 4, "n": 13, "m": 6, "nr": 18, "nb": 0, "k": 1, "starts": True},
    {"T": 3, "n": 13, "m": 4, "nr": 11, "k": 3, "starts": True},
]


@pytest.fixture(params=[WIDE, NARROW], ids=["wide", "narrow"])
def registers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code for either kind of processor; both run on this one."""
    monkeypatch.setattr(recursion, "registers", lambda: request.param)


def program(
    T: int, n: int, m: int, nr: int, nb: int | None = None, k: int = 0, starts: bool = False
) -> tuple[LinearQuadratic, WeightedRows, Reals]:
    """A program, its rows (every second one of one variable, some off), and a mask of those that are on."""
    lq, rng = random_program(T, n, m, nb=nb, k=k, seed=2, starts=starts), np.random.default_rng(0)
    C = rng.standard_normal((T, nr, n + m))
    for t, r in np.ndindex(T, nr):
        if r % 2 == 0:
            C[t, r, np.arange(n + m) != (3 * r + t) % (n + m)] = 0.0
    lower, upper = np.full((T + 1, nr), -1.0), np.full((T + 1, nr), np.inf)
    lower[1:, 1:2] = -np.inf
    rows = WeightedRows.zeros(lq, C, rng.standard_normal((nr, n)), lower, upper)
    rows.weights[:] = rng.uniform(0, 3, rows.weights.shape)
    rows.h[:] = rng.standard_normal(rows.h.shape)
    return lq, rows, np.isfinite(lower)


def absorbed(lq: LinearQuadratic, rows: WeightedRows, on: Reals) -> LinearQuadratic:
    """The program with its rows in H and g."""
    found = lq.copy()
    weights, h = rows.weights * on, rows.h * on
    for t in range(lq.T):
        found.H[t] += (rows.C[t].T * weights[t]) @ rows.C[t]
        found.g[t] += rows.C[t].T @ h[t]
    found.terminal_H[:] += (rows.terminal_C.T * weights[-1]) @ rows.terminal_C
    found.terminal_g[:] += rows.terminal_C.T @ h[-1]
    return found


def values(rows: WeightedRows, dx: Reals, du: Reals) -> Reals:
    z = np.concatenate([dx[:-1], du], axis=1)
    return np.vstack([np.einsum("tij,tj->ti", rows.C, z), rows.terminal_C @ dx[-1]])


def assert_same_step(one: Riccati, other: Riccati) -> None:
    expected, found = one.forward(), other.forward()
    for key in ("dx", "du", "lam"):
        np.testing.assert_allclose(getattr(found, key), getattr(expected, key), rtol=0, atol=1e-9)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.usefixtures("registers")
def test_rows_are_in_the_hessian_and_the_gradient(shape: dict[str, Any]) -> None:
    lq, rows, on = program(**shape)
    one, other = Riccati(absorbed(lq, rows, on)), Riccati(lq, rows=rows)
    other.find_rows()
    assert one.factor().failure is other.factor().failure is None
    assert_same_step(one, other)
    np.testing.assert_allclose(other.K, one.K, rtol=0, atol=1e-9)
    np.testing.assert_allclose(other.Vxx, one.Vxx, rtol=0, atol=1e-9)
    step = other.step
    np.testing.assert_allclose(rows.values[on], values(rows, step.dx, step.du)[on], rtol=0, atol=1e-9)
    assert np.all(rows.values[~on] == 0.0)
    one.lq.g[:] += 1.0
    lq.g[:] += 1.0
    one.solve()
    other.solve(same_gaps=True)
    assert_same_step(one, other)
    costates = other.step.lam.copy()
    other.step.lam[:] = np.nan
    other.forward(costates=False)
    assert np.all(np.isnan(other.step.lam))
    other.forward()
    np.testing.assert_array_equal(other.step.lam, costates)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.usefixtures("registers")
def test_residual(shape: dict[str, Any]) -> None:
    lq, rows, on = program(**shape)
    rng, y, at_values = np.random.default_rng(1), np.zeros(rows.h.shape), np.zeros(rows.h.shape)
    at = Iterate(lq)
    at.flat[:], y[:] = rng.standard_normal(at.flat.shape), rng.standard_normal(y.shape) * on
    qp = StageQP.zeros(lq, rows.nr)
    qp.C[:], qp.terminal_C[:] = rows.C, rows.terminal_C
    expected = Twin(qp, at.dx, at.du, at.lam, y)
    Riccati(lq, rows=rows).find_rows()
    found = Residual(lq, rows, at, y, at_values)
    found.measure()
    for key in ("running", "end", "dynamics"):
        np.testing.assert_allclose(getattr(found, key), getattr(expected, key), rtol=0, atol=1e-12)
    np.testing.assert_allclose(at_values[on], values(rows, at.dx, at.du)[on], rtol=0, atol=1e-12)
    assert found.stationarity == pytest.approx(expected.stationarity, rel=1e-12)
    assert found.gap == pytest.approx(np.abs(expected.dynamics).max(), rel=1e-12)
    pull = [*np.einsum("tr,tri->ti", y[:-1], rows.C), rows.terminal_C.T @ y[-1]]
    assert found.pull == pytest.approx(max(np.abs(part).max() for part in pull), rel=1e-12, abs=0.0)


@pytest.mark.parametrize(("nb", "k"), [(None, 0), (1, 0), (None, 1), (1, 2)])
def test_adjoint(nb: int | None, k: int) -> None:
    """Against the recursion written out."""
    lq, rows, on = program(T=5, n=4, m=2, nr=5, nb=nb, k=k)
    K = np.random.default_rng(3).standard_normal((5, 2, 4))
    riccati = Riccati(lq, K=K, rows=rows)
    riccati.find_rows()
    along, costates = riccati.adjoint()
    whole, F = absorbed(lq, rows, on), lq.full_F()
    costate = whole.terminal_g
    for t in reversed(range(5)):
        np.testing.assert_allclose(costates[t + 1], costate, rtol=0, atol=1e-12)
        q = whole.g[t] + costate @ F[t]
        np.testing.assert_allclose(along[t], q[4:], rtol=0, atol=1e-12)
        costate = q[:4] - q[4:] @ K[t]
    np.testing.assert_allclose(costates[0], costate, rtol=0, atol=1e-12)


def test_wrong_arrays() -> None:
    lq = random_program(3, 2, 1)
    bounds = np.zeros((4, 2)), np.zeros((4, 2))
    with pytest.raises(InvalidArgumentError, match="C: expected an array float64 .3, 2, 3."):
        WeightedRows.zeros(lq, np.zeros((3, 1, 3)), np.zeros((2, 2)), *bounds)
    with pytest.raises(InvalidArgumentError, match="lower, upper, weights, h, values: expected arrays"):
        WeightedRows.zeros(lq, np.zeros((3, 2, 3)), np.zeros((2, 2)), bounds[0], np.zeros((3, 2)))
