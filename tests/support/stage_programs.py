"""Random quadratic programs with stages, and their solutions by one dense system."""

from __future__ import annotations

import numpy as np

from trajopt.solvers.riccati.linear_quadratic import LinearQuadratic
from trajopt.types import Reals


def random_program(
    T: int, n: int, m: int, *, nc: int = 0, nb: int | None = None, k: int = 0, seed: int = 0, starts: bool = False
) -> LinearQuadratic:
    """Everything random, Hessians positive definite; of the n states the last k are constant."""
    rng, s = np.random.default_rng(seed), n + m
    lq = LinearQuadratic.zeros(T, n, m, nc=nc, nb=nb, k=k, starts=starts)
    for array in (lq.f, lq.g, lq.terminal_g, *((lq.C, lq.d) if lq.C is not None and lq.d is not None else ())):
        array[:] = rng.standard_normal(array.shape)
    lq.F[:] = rng.standard_normal(lq.F.shape) / np.sqrt(s)
    if lq.E is not None:
        lq.E[int(starts) :] = rng.standard_normal(lq.E[int(starts) :].shape) / np.sqrt(s)
    for H in (*lq.H, lq.terminal_H):
        square = rng.standard_normal(H.shape)
        H[:] = square @ square.T / len(H) + 0.1 * np.eye(len(H))
    if lq.second_order is not None:
        lq.second_order.dt[:] = rng.uniform(0.01, 0.1, T)
        lq.second_order.J0[:] = np.eye(nb or 0) + 0.3 * rng.standard_normal(lq.second_order.J0.shape)
        lq.second_order.J1dt[:] = 0.05 * rng.standard_normal(lq.second_order.J1dt.shape)
    return lq


def kkt_solution(lq: LinearQuadratic, on_controls: float = 0.0, on_states: float = 0.0) -> tuple[Reals, ...]:
    """dx, du, λ, y of the first-order conditions as one dense system; numbers are added to the Hessians' diagonals."""
    T, n, m, nc = lq.T, lq.n, lq.m, lq.nc
    s, F, size = n + m, lq.full_F(), T * (n + m) + n
    H, A, D = np.zeros((size, size)), np.zeros(((T + 1) * n + T * nc, size)), np.zeros((T + 1) * n + T * nc)
    rho = np.r_[np.full(n, on_states), np.full(m, on_controls)]
    for t, lower in enumerate((*lq.H, lq.terminal_H)):
        here = slice(t * s, t * s + len(lower))
        H[here, here] = np.tril(lower) + np.tril(lower, -1).T + np.diag(rho[: len(lower)])
    for t in range(T + 1):
        A[t * n : t * n + n, t * s : t * s + n] = -np.eye(n)
        A[t * n : t * n + n, (t - 1) * s : t * s] = F[t - 1] if t else 0.0
    for t in range(T if nc else 0):
        rows = slice((T + 1) * n + t * nc, (T + 1) * n + (t + 1) * nc)
        A[rows, t * s : t * s + s], D[rows] = lq.C[t], lq.delta[t]  # type: ignore[index]
    b = np.concatenate([lq.g.ravel(), lq.terminal_g, lq.f.ravel(), np.zeros(0) if lq.d is None else lq.d.ravel()])
    found = np.linalg.solve(np.block([[H, A.T], [A, -np.diag(D)]]), -b)
    z, lam, y = np.split(found, [size, size + (T + 1) * n])
    stages, last = z[: T * s].reshape(T, s), z[T * s :]
    return np.vstack([stages[:, :n], last]), stages[:, n:], lam.reshape(T + 1, n), y.reshape(T, nc)
