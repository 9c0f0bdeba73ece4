"""Linear dynamics with a quadratic cost, which any solver solves in one full step."""

from __future__ import annotations

import numpy as np

from trajopt.actions import ActionModelLQR
from trajopt.checks import check_count
from trajopt.problems.case import ProblemCase
from trajopt.problems.family import Family
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution
from trajopt.types import Reals


def build(*, nx: int = 8, nu: int = 3, T: int = 50, seed: int = 0) -> ProblemCase:
    """minimise Σ ½ xᵀQ x + ½ uᵀR u + xᵀN u + qᵀx + rᵀu, x⁺ = A x + B u + f, with random matrices.

    The spectral radius of A is 1, and ((Q, N), (Nᵀ, R)) is positive definite. The Riccati recursion computes the
    reference cost, so it is valid for all options.

    Args:
        nx: Number of states [-].
        nu: Number of controls [-].
        T: Number of knots [-].
        seed: Seed of the random matrices, >= 0.
    """
    for name, value in (("nx", nx), ("nu", nu), ("T", T)):
        check_count(name, value, least=1)
    rng = np.random.default_rng(check_count("seed", seed))
    A, B = rng.normal(size=(nx, nx)), rng.normal(size=(nx, nu))
    A /= np.abs(np.linalg.eigvals(A)).max()
    root = rng.normal(size=(nx + nu, nx + nu)) / np.sqrt(nx + nu)
    weights = root @ root.T + 0.1 * np.eye(nx + nu)
    Q, R, N = weights[:nx, :nx], weights[nx:, nx:], weights[:nx, nx:]
    f, q, r, x0 = (0.1 * rng.normal(size=size) for size in (nx, nx, nu, nx))
    x0 = 10.0 * x0
    model = ActionModelLQR(A, B, Q, R, N=N, f=f, q=q, r=r)
    return FAMILY.case(
        problem=ShootingProblem(x0, [model] * T, model),
        reference_cost=optimal_cost(x0, T, A=A, B=B, Q=Q, R=R, N=N, f=f, q=q, r=r),
        reference_source="Riccati recursion",
        report=report,
    )


def optimal_cost(x0: Reals, T: int, **m: Reals) -> float:
    """Optimal cost by the Riccati recursion for V(x) = ½ xᵀP x + pᵀx + c [cost].

    Args:
        x0: Initial state (nx,).
        T: Number of knots [-].
        **m: Matrices of ActionModelLQR by name.
    """
    P, p, c = m["Q"], m["q"], 0.0
    for _ in range(T):
        slope = p + P @ m["f"]
        Quu, Qux = m["R"] + m["B"].T @ P @ m["B"], m["N"].T + m["B"].T @ P @ m["A"]
        Qu = m["r"] + m["B"].T @ slope
        k, K = np.linalg.solve(Quu, Qu), np.linalg.solve(Quu, Qux)
        c += float((p + 0.5 * P @ m["f"]) @ m["f"] - 0.5 * Qu @ k)
        p = m["q"] + m["A"].T @ slope - Qux.T @ k
        P = m["Q"] + m["A"].T @ P @ m["A"] - Qux.T @ K
    return float(0.5 * x0 @ P @ x0 + p @ x0 + c)


def report(solution: Solution) -> dict[str, str]:
    """Returns text with the norm of the final state."""
    return {"last state": f"{np.linalg.norm(solution.xs[-1]):.3g}"}


FAMILY = Family(
    name="lqr",
    description="Linear dynamics, quadratic cost: one step solves it.",
    build=build,
    reference_cost=8.833879980193,
    reference_source="Riccati recursion",
    reference_holds=True,
)
