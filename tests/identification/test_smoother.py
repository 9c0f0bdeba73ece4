"""The smoother solves the least squares of a linearised log: as one dense system does."""

from __future__ import annotations

import numpy as np
import pytest

from trajopt.identification.combinations import reduced, sum_of
from trajopt.identification.smoother import LinearLog, Smoother


@pytest.mark.parametrize(("seed", "sizes"), [(0, (6, 3, 2, 4)), (1, (1, 2, 1, 1)), (2, (9, 4, 0, 2))])
def test_it_is_the_least_squares_of_the_whole_log(seed: int, sizes: tuple[int, int, int, int]) -> None:
    """Parameters, their covariance, states, controls and the sum of squares."""
    rng, (N, n, m, k) = np.random.default_rng(seed), sizes
    log = LinearLog(
        A=rng.normal(size=(N, n, n)),
        B=rng.normal(size=(N, n, m)),
        G=rng.normal(size=(N, n, k)),
        d=rng.normal(size=(N, n)),
        r=rng.normal(size=(N + 1, n)),
        s=rng.normal(size=(N, m)),
    )
    R, Q = rng.uniform(0.5, 2.0, n), rng.uniform(0.5, 2.0, m)
    smoother = Smoother(log, R, Q)
    # unknowns z = (x_0, u_0, ..., u_{N-1}, parameters); states are X[t] z + c[t]
    whole = np.eye(n + N * m + k)
    controls, parameters = whole[n : n + N * m].reshape(N, m, len(whole)), whole[n + N * m :]
    X, c = [whole[:n]], [np.zeros(n)]
    for t in range(N):
        X.append(log.A[t] @ X[t] + log.B[t] @ controls[t] + log.G[t] @ parameters)
        c.append(log.A[t] @ c[t] + log.d[t])
    J = np.vstack([*(x / np.sqrt(R)[:, None] for x in X), *(u / np.sqrt(Q)[:, None] for u in controls)])
    r = np.concatenate([*((log.r[t] - c[t]) / np.sqrt(R) for t in range(N + 1)), *(s / np.sqrt(Q) for s in log.s)])
    z = np.linalg.lstsq(J, r, rcond=None)[0]
    eta = np.linalg.solve(smoother.information, smoother.gradient)
    np.testing.assert_allclose(eta, z[n + N * m :], atol=1e-10)
    covariance = np.linalg.inv(J.T @ J)[n + N * m :, n + N * m :]
    np.testing.assert_allclose(np.linalg.inv(smoother.information), covariance, rtol=1e-8, atol=1e-12)
    states, moved = smoother.changes(eta)
    np.testing.assert_allclose(states, [x @ z + own for x, own in zip(X, c)], atol=1e-9)
    np.testing.assert_allclose(moved, controls @ z, atol=1e-9)
    assert smoother.chi2 - smoother.gradient @ eta == pytest.approx(np.sum((r - J @ z) ** 2), rel=1e-9)


def test_directions_are_reduced_in_order() -> None:
    """Parameter 2 has no effect, and a change of 3 is hidden by one of 0."""
    null = np.array([[0.6, 0.0, 0.0, -0.3], [0.0, 0.0, 2.0, 0.0]]).T @ np.array([[1.0, 2.0], [0.5, -1.0]])
    eliminated, rows = reduced(null, [3, 1, 2, 0])
    assert eliminated == [3, 2]
    np.testing.assert_allclose(rows, [[-2.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 0.0]], atol=1e-12)


def test_sums_as_text() -> None:
    assert sum_of({"a": 1.0, "b": -0.25, "c": -1.0, "d": 2.0}) == "a - 0.25 b - c + 2 d"
    assert sum_of({"a": -1.0}) == "- a"
