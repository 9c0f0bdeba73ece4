"""Coordinates of a StageQP in which its cost to go is ½ |x|²: without them osqp takes for ever.

With the backward pass Q = H + Fᵀ V' F, K = Quu⁻¹ Qux, V = Qxx - Quxᵀ K, and the factors V = XᵀX, Quu = UᵀU, they are
X dx and U (du + K dx). Any X, U and K give the same solution: what they decide is how fast it is found.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from trajopt.solvers.qp.stage_qp import QPSolution, StageQP
from trajopt.solvers.riccati.linear_quadratic import LinearQuadratic
from trajopt.types import Reals

LEAST = 1e-9  # eigenvalue of V and Quu, relative to the largest one


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Coordinates of states and controls in which a program is better scaled.

    Attributes:
        X: dx in the coordinates is X dx (T + 1, n, n).
        Z: (dx, du) of a knot, from its coordinates (T, n + m, n + m).
        end: dx at the end, from its coordinates (n, n).
    """

    X: Reals
    Z: Reals
    end: Reals

    @staticmethod
    def of(lq: LinearQuadratic) -> Coordinates:
        """Computes the coordinates from the current cost and dynamics. The cost must be convex."""
        T, n, m = lq.T, lq.n, lq.m
        F, H = lq.full_F(), _symmetric(lq.H)
        X, Z = np.zeros((T + 1, n, n)), np.zeros((T, n + m, n + m))
        V = _symmetric(lq.terminal_H)
        X[T], end = _root(V)
        for t in range(T - 1, -1, -1):
            Q = H[t] + F[t].T @ V @ F[t]
            _, inverse = _root(Q[n:, n:])
            policy = np.vstack([np.eye(n), -inverse @ inverse.T @ Q[n:, :n]])
            V = policy.T @ Q @ policy
            X[t], back = _root(V)
            Z[t, :, :n], Z[t, n:, n:] = policy @ back, inverse
        return Coordinates(X, Z, end)

    def program(self, qp: StageQP) -> StageQP:
        """Returns the same program with its arrays in these coordinates; qp stays unchanged."""
        lq, Z, X, end = qp.lq, self.Z, self.X, self.end
        turned = np.swapaxes(Z, 1, 2)
        H, terminal_H = turned @ _symmetric(lq.H) @ Z, end.T @ _symmetric(lq.terminal_H) @ end
        F, f = X[1:] @ lq.full_F() @ Z, (X @ lq.f[:, :, None])[:, :, 0]
        g, terminal_g = (lq.g[:, None, :] @ Z)[:, 0], lq.terminal_g @ end
        within = LinearQuadratic(F=F, f=f, g=g, H=H, terminal_g=terminal_g, terminal_H=terminal_H)
        return replace(qp, lq=within, C=qp.C @ Z, terminal_C=qp.terminal_C @ end)

    def solution(self, found: QPSolution) -> QPSolution:
        """Converts a solution in these coordinates to a solution of the original program."""
        n = found.dx.shape[1]
        z = (self.Z @ np.concatenate([found.dx[:-1], found.du], axis=1)[:, :, None])[:, :, 0]
        lam = (found.lam[:, None, :] @ self.X)[:, 0]
        return replace(found, dx=np.vstack([z[:, :n], self.end @ found.dx[-1]]), du=z[:, n:], lam=lam)


def _symmetric(H: Reals) -> Reals:
    """A matrix (..., n, n) of which the lower triangle is read."""
    lower = np.tril(H)
    return lower + np.swapaxes(np.tril(lower, -1), -1, -2)


def _root(M: Reals) -> tuple[Reals, Reals]:
    """A matrix R with RᵀR = M, eigenvalues of M raised to a part of the largest one, and its inverse."""
    values, vectors = np.linalg.eigh(M)
    least = LEAST * values.max(initial=0.0)
    roots = np.sqrt(np.maximum(values, least)) if least > 0.0 else np.ones(len(M))
    return roots[:, None] * vectors.T, vectors / roots
