"""Solver of programs without constraint rows."""

from __future__ import annotations

import math

import numpy as np

from trajopt.solvers.qp.interior_point import InteriorPointOptions
from trajopt.solvers.qp.stage_qp import QPSolution, QPSolverAbstract, QPStatus, StageQP
from trajopt.solvers.riccati import Riccati


class Recursion(QPSolverAbstract):
    """Solver of a program without constraint rows: a single Riccati recursion.

    It has the phases of InteriorPoint: `begin` factors the program, and `go_on` is one forward pass.

    Args:
        qp: The program; its arrays must not move.
        riccati: The recursion on them; None for a new one.
    """

    def __init__(self, qp: StageQP, riccati: Riccati | None = None) -> None:
        super().__init__(qp)
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
        if not failed:
            self._riccati.forward()
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
