"""A StageQP as one sparse quadratic program, and solvers of such programs from other packages: an independent check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from trajopt.checks import check_positive
from trajopt.errors import InvalidArgumentError
from trajopt.solvers.qp.coordinates import Coordinates
from trajopt.solvers.qp.stage_qp import QPSolution, QPSolverAbstract, QPStatus, StageQP
from trajopt.types import Ints, Reals

if TYPE_CHECKING:  # importing it takes 0.1 s, which only who asks for an independent check should wait for
    from scipy import sparse

CONVEX = -1e-9  # least eigenvalue of a stage, relative to the largest, that counts as none below 0


@dataclass(frozen=True, eq=False)
class SparseQP:
    """Sparse quadratic program: minimise ½ xᵀP x + qᵀx subject to lower <= A x <= upper.

    x holds z_0, z_1, .., dx_T, then δ y for each row with δ > 0, then two slacks for each soft row; A has the dynamics
    first, then the rows of all knots, then the slacks.
    """

    P: sparse.csc_matrix
    q: Reals
    A: sparse.csc_matrix
    lower: Reals
    upper: Reals

    @staticmethod
    def of(qp: StageQP) -> SparseQP:
        """Builds the sparse program from the current arrays of a StageQP."""
        from scipy import sparse

        lq, T, n, s = qp.lq, qp.lq.T, qp.lq.n, qp.lq.n + qp.lq.m
        near = np.flatnonzero((qp.delta > 0.0).ravel())
        soft = np.flatnonzero(np.isfinite(qp.soft_linear).ravel())
        linear, quadratic = (np.tile(of.ravel()[soft], 2) for of in (qp.soft_linear, qp.soft_quadratic))
        hessians = [np.tril(H) + np.tril(H, -1).T for H in (*lq.H, lq.terminal_H)]
        slacks = [sparse.diags(1.0 / qp.delta.ravel()[near]), sparse.diags(quadratic)]
        P = sparse.block_diag([*hessians, *slacks], format="csc")
        F = lq.full_F()
        steps = sparse.lil_matrix(((T + 1) * n, T * s + n))
        for t in range(T + 1):
            steps[t * n : (t + 1) * n, t * s : t * s + n] = -np.eye(n)
            if t:
                steps[t * n : (t + 1) * n, (t - 1) * s : t * s] = F[t - 1]
        rows = sparse.block_diag([*qp.C, qp.terminal_C], format="csc")
        each = sparse.eye(qp.delta.size, format="csc")
        within = sparse.hstack([-each[:, soft], each[:, soft]])
        positive = sparse.eye(len(linear))
        A = sparse.bmat([[steps, None, None], [rows, -each[:, near], within], [None, None, positive]], format="csc")
        none = np.zeros(len(linear))
        shift = (qp.delta * qp.y_ref).ravel()
        return SparseQP(
            P=P,
            q=np.concatenate([lq.g.ravel(), lq.terminal_g, np.zeros(len(near)), linear]),
            A=A,
            lower=np.concatenate([-lq.f.ravel(), qp.lower.ravel() - shift, none]),
            upper=np.concatenate([-lq.f.ravel(), qp.upper.ravel() - shift, none + np.inf]),
        )

    def solution(self, qp: StageQP, x: Reals, y: Reals, status: QPStatus, iterations: int) -> QPSolution:
        """Builds the solution of the StageQP from primal variables x and dual variables y of the sparse program."""
        T, n, s = qp.lq.T, qp.lq.n, qp.lq.n + qp.lq.m
        z = x[: T * s].reshape(T, s)
        return QPSolution(
            status=status,
            iterations=iterations,
            dx=np.vstack([z[:, :n], x[T * s : T * s + n]]),
            du=z[:, n:],
            lam=y[: (T + 1) * n].reshape(T + 1, n),
            y=y[(T + 1) * n : (T + 1) * (n + qp.nc)].reshape(T + 1, qp.nc),
            rows=qp.rows(np.vstack([z[:, :n], x[T * s : T * s + n]]), z[:, n:]),
        )


def is_convex(qp: StageQP) -> bool:
    """Whether no stage has a direction of negative curvature, which these solvers ask for."""
    for H in (qp.lq.H, qp.lq.terminal_H[None]):
        values = np.linalg.eigvalsh(H)  # it reads the lower triangle
        if values.size and np.any(values[:, 0] < CONVEX * np.maximum(1.0, values[:, -1])):
            return False
    return True


class Osqp(QPSolverAbstract):
    """Solver of a StageQP by the package osqp, in the program's `Coordinates`.

    It is solved to 1000 · tolerance and polished; where that misses the tolerance, osqp goes on to it.

    Args:
        qp: The program.
        tolerance: Largest primal and dual residual, also relative, > 0 [-].
        settings: Further settings of osqp.
    """

    def __init__(self, qp: StageQP, *, tolerance: float = 1e-9, **settings: Any) -> None:
        super().__init__(qp)
        self._tolerance = check_positive("tolerance", tolerance)
        self._settings = {"max_iter": 100_000, "polishing": True, "polish_refine_iter": 10, **settings}

    def solve(self) -> QPSolution:
        """Returns osqp's solution for the current content of the program's arrays, in the program's own coordinates."""
        import osqp
        from scipy import sparse

        coordinates = Coordinates.of(self.qp.lq)
        qp = coordinates.program(self.qp)
        program, solver = SparseQP.of(qp), osqp.OSQP()
        P, rows = sparse.triu(program.P, format="csc"), (program.A, program.lower, program.upper)
        exact, rough = ({"eps_abs": eps, "eps_rel": eps} for eps in (self._tolerance, 1e3 * self._tolerance))
        solver.setup(P, program.q, *rows, verbose=False, **rough, **self._settings)
        found = solver.solve(raise_error=False)
        iterations = int(found.info.iter)
        if found.info.status == "solved" and max(found.info.prim_res, found.info.dual_res) > self._tolerance:
            solver.update_settings(**exact)
            found = solver.solve(raise_error=False)
            iterations += int(found.info.iter)
        statuses = {"solved": QPStatus.SOLVED, "primal infeasible": QPStatus.INFEASIBLE}
        status = statuses.get(found.info.status, QPStatus.MAX_ITERATIONS)
        solution = program.solution(qp, np.asarray(found.x), np.asarray(found.y), status, iterations)
        return coordinates.solution(solution)


class Conic(QPSolverAbstract):
    """Solver of a StageQP by a plugin of CasADi's `conic`, such as "hpipm", "proxqp", "qpoases" or "daqp".

    Args:
        qp: The program.
        plugin: Name of the solver in CasADi.
        settings: Settings of the solver, see CasADi's manual of `conic`.

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
        """Returns the plugin's solution for the current content of the program's arrays."""
        program = SparseQP.of(self.qp)
        stages = Stages.of(self.qp, program)
        arguments = stages.arguments(program)
        structure = {"h": arguments["h"].sparsity(), "a": arguments["a"].sparsity()}
        sizes = stages.sizes if self._plugin == "hpipm" else {}
        solver = ca.conic("qp", self._plugin, structure, sizes | self._settings)
        found, stats = solver(**arguments), solver.stats()
        status = QPStatus.SOLVED if stats["success"] else QPStatus.MAX_ITERATIONS
        x, y = np.array(found["x"]).ravel(), stages.multipliers(found)
        return program.solution(self.qp, x, y, status, int(stats.get("iter_count", 0)))


@dataclass(frozen=True, eq=False)
class Stages:
    """Rows of a SparseQP in the order that HPIPM expects. Rows with one variable become bounds of that variable.

    Attributes:
        single: Rows that are bounds.
        column: Index of the variable of each row in `single`.
        factor: Factor of the variable in each row in `single`.
        others: The other rows, in order: dynamics to the next knot, then rows of the knot; without those of zeros.
        count: Number of all rows.
        sizes: Options of HPIPM: numbers of knots, states, controls and rows.
    """

    single: Ints
    column: Ints
    factor: Reals
    others: Ints
    count: int
    sizes: dict[str, Any]

    @staticmethod
    def of(qp: StageQP, program: SparseQP) -> Stages:
        """Builds the order of rows for a program. Of several rows of one variable, only the first is its bound."""
        T, n, m, nc = qp.lq.T, qp.lq.n, qp.lq.m, qp.nc
        A = program.A.tocsr()
        A.eliminate_zeros()
        of_one = np.flatnonzero(np.diff(A.indptr) == 1)
        column, first = np.unique(A.indices[A.indptr[of_one]], return_index=True)
        single = of_one[first]
        knot = np.concatenate([np.repeat(np.arange(-1, T), n), np.repeat(np.arange(T + 1), nc)])
        behind = np.full(A.shape[0] - len(knot), T + 1)  # slacks
        knot = np.concatenate([knot, behind])
        empty = np.flatnonzero(np.diff(A.indptr) == 0)
        others = np.setdiff1d(np.arange(A.shape[0]), np.concatenate([single, empty]))
        others = others[np.argsort(knot[others], kind="stable")]
        rows = others[others >= (T + 1) * n]
        ng = np.bincount(knot[rows], minlength=T + 1)[: T + 1]
        sizes = {"N": T, "nx": [n] * (T + 1), "nu": [*[m] * T, 0], "ng": [int(count) for count in ng]}
        return Stages(single, column, A.data[A.indptr[single]], others, A.shape[0], sizes)

    def arguments(self, program: SparseQP) -> dict[str, ca.DM]:
        """Returns the arguments of a CasADi solver for a program, by name."""
        n = program.A.shape[1]
        lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
        ends = program.lower[self.single] / self.factor, program.upper[self.single] / self.factor
        lower[self.column], upper[self.column] = np.minimum(*ends), np.maximum(*ends)
        A = program.A.tocsr()[self.others].tocsc()
        vectors = {"g": program.q, "lbx": lower, "ubx": upper}
        vectors |= {"lba": program.lower[self.others], "uba": program.upper[self.others]}
        return {"h": ca.DM(program.P), "a": ca.DM(A)} | {name: ca.DM(vector) for name, vector in vectors.items()}

    def multipliers(self, found: dict[str, ca.DM]) -> Reals:
        """Returns multipliers of all rows of the SparseQP from the result of a CasADi solver."""
        of_rows, of_bounds = (np.array(found[name]).ravel() for name in ("lam_a", "lam_x"))
        y = np.zeros(self.count)
        y[self.others] = of_rows
        y[self.single] = of_bounds[self.column] / self.factor
        return y
