"""Solver of programs without constraint rows."""

from __future__ import annotations

import math

import numpy as np

from trajopt.solvers.qp.interior_point import InteriorPointOptions
from trajopt.solvers.qp.stage_qp import QPSolution, QPSolverAbstract, QPStatus, StageQP
from trajopt.solvers.riccati import Riccati
from trajopt.solvers.riccati.bounded_minimum import bounded_minimum
from trajopt.types import Ints, Reals


class FirstState:
    """Coordinates of the first state that a program without rows chooses, within bounds of their own.

    Args:
        moved: Indices of the coordinates (k,).
        kept: Weights (k,) of a sum of dx_0 that has to stay 0; None for none.

    Attributes:
        moved: The same.
        lower: Lower bounds of dx_0 (k,); set by the caller.
        upper: Upper bounds.
        curvature: Curvature that is added along each (k,).
    """

    def __init__(self, moved: Ints, kept: Reals | None = None) -> None:
        self.moved, self._kept = moved, kept
        self.lower, self.upper, self.curvature = (np.zeros(len(moved)) for _ in range(3))

    def chosen(self, riccati: Riccati) -> Reals | None:
        """Change of the first state (n,) of least cost, after a backward pass; None if the cost to go is not convex."""
        V, v, change = riccati.Vxx[0], riccati.Vx[0], np.zeros(riccati.lq.n)
        H = V[np.ix_(self.moved, self.moved)] + np.diag(self.curvature)
        step = bounded_minimum(H, v[self.moved], self.lower, self.upper, self._kept)
        if step is None:
            return None
        change[self.moved] = step
        return change


class Recursion(QPSolverAbstract):
    """Solver of a program without constraint rows: a single Riccati recursion.

    It has the phases of InteriorPoint: `begin` factors the program, and `go_on` is one forward pass.

    Args:
        qp: The program; its arrays must not move.
        riccati: The recursion on them; None for a new one.
        first: What is to be chosen of the first state; nothing by default.
    """

    def __init__(self, qp: StageQP, riccati: Riccati | None = None, first: FirstState | None = None) -> None:
        super().__init__(qp)
        self._first = first
        self._riccati = Riccati(qp.lq) if riccati is None else riccati
        self._nothing = np.zeros(qp.lower.shape)

    def prepare(self) -> None:
        """Compiles all code that a solve may need."""
        self._riccati.factor()

    def solve(self) -> QPSolution:
        """Returns the solution for the current content of the arrays, by one backward and one forward pass."""
        self._outcome = self._riccati.factor()
        return self._forward()

    def begin(self, options: InteriorPointOptions) -> QPSolution:
        """Solves the program. After a change of its gaps, `go_on` may follow; no option has an effect."""
        del options
        return self.solve()

    def go_on(self, options: InteriorPointOptions, until: float = math.inf) -> QPSolution:
        """Solves the program again after a change of its gaps; one pass needs neither options nor a time limit."""
        del options, until
        return self._forward()

    def _forward(self) -> QPSolution:
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
