"""The solver of the quadratic programs, by name, with the gains and costates that go with its solution."""

from __future__ import annotations

import functools

import numpy as np

from trajopt.solvers.qp import (
    Conic,
    InteriorPoint,
    InteriorPointOptions,
    Osqp,
    QPSolution,
    QPSolverAbstract,
    QPStatus,
    StageQP,
)
from trajopt.solvers.riccati.bounded_minimum import bounded_minimum
from trajopt.solvers.riccati.riccati import LinearStep, Riccati
from trajopt.solvers.sqp.feedback import Policy
from trajopt.solvers.sqp.hessian import BlendedHessian
from trajopt.types import Ints, Reals

CONVEX = -1e-9  # least eigenvalue of a stage, relative to the largest, that counts as none below 0


class FirstState:
    """Coordinates of the first state that a program without rows chooses, within bounds of their own.

    Args:
        moved: Indices of the coordinates (k,).

    Attributes:
        moved: The same.
        lower: Lower bounds of dx_0 (k,); set by the caller.
        upper: Upper bounds.
        curvature: Curvature that is added along each (k,).
    """

    def __init__(self, moved: Ints) -> None:
        self.moved = moved
        self.lower, self.upper, self.curvature = (np.zeros(len(moved)) for _ in range(3))

    def chosen(self, riccati: Riccati) -> Reals | None:
        """Change of the first state (n,) of least cost, after a backward pass; None if the cost to go is not convex."""
        V, v, found = riccati.Vxx[0], riccati.Vx[0], np.zeros(riccati.lq.n)
        H = V[np.ix_(self.moved, self.moved)] + np.diag(self.curvature)
        step = bounded_minimum(H, v[self.moved], self.lower, self.upper)
        if step is None:
            return None
        found[self.moved] = step
        return found


class Recursion(QPSolverAbstract):
    """Solver of a program without constraint rows: a single Riccati recursion.

    Args:
        qp: The program; its arrays must not move.
        riccati: The recursion on them.
        first: What is to be chosen of the first state; nothing by default.
    """

    def __init__(self, qp: StageQP, riccati: Riccati, first: FirstState | None = None) -> None:
        super().__init__(qp)
        self._riccati, self._first = riccati, first
        self._nothing = np.zeros(qp.lower.shape)

    @staticmethod
    def of(qp: StageQP) -> Recursion:
        """Builds the solver of a program, with a Riccati recursion for it."""
        return Recursion(qp, Riccati(qp.lq))

    def solve(self) -> QPSolution:
        """Returns the solution for the current content of the arrays, by one backward and one forward pass."""
        self.factor()
        return self.forward()

    def factor(self) -> bool:
        """Runs the backward pass. Returns whether the program is convex along the dynamics."""
        self._outcome = self._riccati.factor()
        return self._outcome.failure is None

    def forward(self) -> QPSolution:
        """Runs the forward pass from the current first gap, and returns the solution."""
        failed, step = self._outcome.failure is not None, self._riccati.step
        if not failed and self._first is None:
            self._riccati.forward()
        elif not failed and self._first is not None:
            change = self._first.chosen(self._riccati)
            failed = change is None
            if change is not None:
                self._riccati.forward_from(change)
        return QPSolution(
            status=QPStatus.INDEFINITE if failed else QPStatus.SOLVED,
            iterations=1,
            dx=step.dx,
            du=step.du,
            lam=step.lam,
            y=self._nothing,
            rows=self._nothing,
            K=self._riccati.K,
            failed_knot=self._outcome.failed_knot,
        )


class InnerSolver:
    """Solver of the quadratic program of an SQP step, with feedback gains for the solution.

    Args:
        qp: The program.
        name: "ipm", "osqp", or a solver that comes with CasADi.
        iterations: Largest number of its iterations; its default if None.
        first: What a program without rows chooses of the first state; nothing by default.

    Attributes:
        K: Gains of the last solution (T, m, n).
    """

    def __init__(self, qp: StageQP, name: str, iterations: int | None, first: FirstState | None = None) -> None:
        self._qp, self._foreign = qp, name != "ipm"
        self._policy = Policy(qp)
        self.K = self._policy.K
        self._solver = _solver(qp, name, iterations, self._policy.riccati, first)

    def solve(self, *, convex: bool, hessian: BlendedHessian | None = None) -> QPSolution:
        """Solves the program with the current content of its arrays, and sets K to the gains of the solution.

        Args:
            convex: Whether the Hessian is known to have no negative curvature.
            hessian: Computes the Hessian first; None if it is up to date.
        """
        if hessian is not None:
            hessian.write()
        if self._foreign and not convex and not is_convex(self._qp):  # ours sees that along the dynamics
            return self._indefinite
        found = self._solver.solve()
        if found.K is self.K:
            return found
        if found.K is not None:
            self.K[:] = found.K
        elif found.status is not QPStatus.INDEFINITE and not self._keeps(found.y, hard=False):
            self.K[:] = 0.0
        return found

    @functools.cached_property
    def _indefinite(self) -> QPSolution:
        """Outcome of a program that is not convex."""
        lq, rows = self._qp.lq, np.zeros(self._qp.lower.shape)
        step = LinearStep.zeros(lq.T, lq.n, lq.m, 0)
        return QPSolution(
            status=QPStatus.INDEFINITE, iterations=0, dx=step.dx, du=step.du, lam=step.lam, y=rows, rows=rows
        )

    def keep(self, y: Reals) -> bool:
        """Sets K to gains that keep the rows that are active by their multipliers y (T + 1, nc).

        Returns whether such gains exist.
        """
        return self._keeps(y, hard=True)

    def _keeps(self, y: Reals, *, hard: bool) -> bool:
        self._policy.activate(y)
        return self._policy.keep(hard=hard)

    def adjoint(self, running: Reals, end: Reals, y: Reals) -> tuple[Reals, Reals]:
        """Gradient of a function along each control (T, m), and costates (T + 1, n); see `Policy.adjoint`."""
        return self._policy.adjoint(running, end, y)


def _solver(
    qp: StageQP, name: str, iterations: int | None, riccati: Riccati, first: FirstState | None
) -> QPSolverAbstract:
    """The solver of a name; the recursion where there are no rows."""
    if name == "ipm" and qp.nc == 0:
        return Recursion(qp, riccati, first)
    if name == "ipm":
        return InteriorPoint(qp, InteriorPointOptions(max_iterations=iterations) if iterations else None)
    if name == "osqp":
        return Osqp(qp, **({} if iterations is None else {"max_iter": iterations}))
    return Conic(qp, name)


def is_convex(qp: StageQP) -> bool:
    """Whether no stage has a direction of negative curvature, which solvers from other packages ask for."""
    for H in (qp.lq.H, qp.lq.terminal_H[None]):
        values = np.linalg.eigvalsh(H)  # it reads the lower triangle
        if values.size and np.any(values[:, 0] < CONVEX * np.maximum(1.0, values[:, -1])):
            return False
    return True
