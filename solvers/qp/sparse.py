"""A StageQP as one sparse quadratic program, and solvers of such programs from other packages: an independent check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from scipy import sparse

from trajopt.errors import InvalidArgumentError
from trajopt.solvers.qp.stage_qp import QPSolution, QPSolverAbstract, QPStatus, StageQP
from trajopt.types import Reals

BOUNDLESS = 1e30  # what other packages take for infinity


@dataclass(frozen=True, eq=False)
class SparseQP:
    """Minimise ½ xᵀP x + qᵀx subject to lower <= A x <= upper.

    x holds z_0, z_1, .., dx_T, then one slack for each soft row; A has the dynamics first, then the rows of all knots.
    """

    P: sparse.csc_matrix
    q: Reals
    A: sparse.csc_matrix
    lower: Reals
    upper: Reals

    @staticmethod
    def of(qp: StageQP) -> SparseQP:
        """The program for what the arrays hold now."""
        lq, T, n, s = qp.lq, qp.lq.T, qp.lq.n, qp.lq.n + qp.lq.m
        soft = np.flatnonzero((qp.delta > 0.0).ravel())
        hessians = [np.tril(H) + np.tril(H, -1).T for H in (*lq.H, lq.terminal_H)]
        P = sparse.block_diag([*hessians, sparse.diags(1.0 / qp.delta.ravel()[soft])], format="csc")
        F = lq.full_F()
        steps = sparse.lil_matrix(((T + 1) * n, T * s + n))
        for t in range(T + 1):
            steps[t * n : (t + 1) * n, t * s : t * s + n] = -np.eye(n)
            if t:
                steps[t * n : (t + 1) * n, (t - 1) * s : t * s] = F[t - 1]
        rows = sparse.block_diag([*qp.C, qp.terminal_C], format="csc")
        slack = -sparse.eye(qp.delta.size, format="csc")[:, soft]
        A = sparse.bmat([[steps, None], [rows, slack]], format="csc")
        shift = (qp.delta * qp.y_ref).ravel()
        return SparseQP(
            P=P,
            q=np.concatenate([lq.g.ravel(), lq.terminal_g, np.zeros(len(soft))]),
            A=A,
            lower=np.concatenate([-lq.f.ravel(), qp.lower.ravel() - shift]),
            upper=np.concatenate([-lq.f.ravel(), qp.upper.ravel() - shift]),
        )

    def solution(self, qp: StageQP, x: Reals, y: Reals, status: QPStatus, iterations: int) -> QPSolution:
        """As a solution of the StageQP, from the primal and the dual variables."""
        T, n, s = qp.lq.T, qp.lq.n, qp.lq.n + qp.lq.m
        z = x[: T * s].reshape(T, s)
        return QPSolution(
            status=status,
            iterations=iterations,
            dx=np.vstack([z[:, :n], x[T * s : T * s + n]]),
            du=z[:, n:],
            lam=y[: (T + 1) * n].reshape(T + 1, n),
            y=y[(T + 1) * n :].reshape(T + 1, qp.nc),
        )


class Osqp(QPSolverAbstract):
    """The package osqp.

    Args:
        qp: The program.
        settings: Settings of osqp; by default it is solved to 1e-9 and polished.
    """

    def __init__(self, qp: StageQP, **settings: Any) -> None:
        super().__init__(qp)
        self._settings = {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iter": 100_000, "polishing": True, **settings}

    def solve(self) -> QPSolution:
        """The solution for what the arrays hold now."""
        import osqp

        program, solver = SparseQP.of(self.qp), osqp.OSQP()
        P = sparse.triu(program.P, format="csc")
        solver.setup(P, program.q, program.A, program.lower, program.upper, verbose=False, **self._settings)
        found = solver.solve(raise_error=False)
        statuses = {"solved": QPStatus.SOLVED, "primal infeasible": QPStatus.INFEASIBLE}
        status = statuses.get(found.info.status, QPStatus.MAX_ITERATIONS)
        return program.solution(self.qp, np.asarray(found.x), np.asarray(found.y), status, int(found.info.iter))


class Conic(QPSolverAbstract):
    """A solver of quadratic programs that comes with CasADi, such as "hpipm", "proxqp", "qpoases", "daqp".

    Args:
        qp: The program.
        plugin: Its name in CasADi.
        settings: Its settings, see CasADi's manual of `conic`.

    Raises:
        InvalidArgumentError: This build of CasADi does not have it.
    """

    def __init__(self, qp: StageQP, plugin: str, **settings: Any) -> None:
        super().__init__(qp)
        if not isinstance(plugin, str) or not ca.has_conic(plugin):
            known = [name for name in ("daqp", "hpipm", "osqp", "proxqp", "qpoases", "qrqp") if ca.has_conic(name)]
            raise InvalidArgumentError(f"plugin: expected one of {', '.join(known)}, got {plugin!r}")
        self._plugin, self._settings = plugin, {"print_time": False, "error_on_fail": False, **settings}

    def solve(self) -> QPSolution:
        """The solution for what the arrays hold now."""
        program = SparseQP.of(self.qp)
        H, A = ca.DM(program.P), ca.DM(program.A)
        solver = ca.conic("qp", self._plugin, {"h": H.sparsity(), "a": A.sparsity()}, self._settings)
        bounds = (np.clip(b, -BOUNDLESS, BOUNDLESS) for b in (program.lower, program.upper))
        found = solver(h=H, g=program.q, a=A, **dict(zip(("lba", "uba"), bounds)))
        stats = solver.stats()
        status = QPStatus.SOLVED if stats["success"] else QPStatus.MAX_ITERATIONS
        x, y = (np.array(found[key]).ravel() for key in ("x", "lam_a"))
        return program.solution(self.qp, x, y, status, int(stats.get("iter_count", 0)))
