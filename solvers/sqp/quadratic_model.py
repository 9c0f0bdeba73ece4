"""The quadratic program of a step: a blend of the exact and the Gauss-Newton Hessian, rows hard or proximal."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trajopt.shooting.evaluator import Evaluator
from trajopt.shooting.lagrangian import LagrangianHessian
from trajopt.solvers.linear_quadratic import LinearQuadratic
from trajopt.solvers.qp import InteriorPoint, QPSolution, QPStatus, StageQP
from trajopt.solvers.sqp.progress import SQPProgress
from trajopt.solvers.sqp.rows import ConstraintRows

LEAST_BLEND = 0.02  # of the exact Hessian; below it is left out
FIRST_RIDGE, LARGEST_RIDGE = 1e-4, 1e12


class QuadraticModel:
    """Solves the quadratic program at the trajectory of an evaluator.

    Its Hessian is θ H + (1 - θ) H_GN + δ I on the controls, of the scaled cost, with H that of the Lagrangian at the
    multipliers of the last QP, if all models give it. θ is halved from 1 as long as a pivot fails; then δ grows.

    Args:
        evaluator: Whose trajectory it is.

    Attributes:
        inner: Solver of the quadratic programs.
    """

    def __init__(self, evaluator: Evaluator) -> None:
        e = self._e = evaluator
        self._exact = LagrangianHessian(e) if LagrangianHessian.available(e) else None
        lq = LinearQuadratic.of(e)
        own = {name: getattr(lq, name).copy() for name in ("f", "g", "H", "terminal_g", "terminal_H")}
        self._qp = StageQP.zeros(replace(lq, **own), e.nc)
        self.inner = InteriorPoint(self._qp)

    def prepare(self) -> None:
        """Compiles what it runs."""
        if self._exact is not None:
            self._exact.prepare()

    def solve(self, run: SQPProgress, rows: ConstraintRows) -> tuple[QPSolution, float]:
        """The step, and δ; INDEFINITE if even a large δ does not help."""
        self._take(run, rows)
        blend = 0.0
        if self._exact is not None and run.repaired:
            self._exact.lam[:], self._exact.y[:] = run.lam / run.scale, run.y / run.scale
            self._exact()
            blend = 1.0
        ridge, increased = run.ridge, False
        while True:
            self._set_hessian(run.scale, blend, ridge)
            solution = self.inner.solve()
            if solution.status is not QPStatus.INDEFINITE or ridge > LARGEST_RIDGE:
                return solution, ridge
            if blend > 0.0:
                blend = blend / 2.0 if blend / 2.0 >= LEAST_BLEND else 0.0
            else:
                ridge = 8.0 * ridge if increased else max(FIRST_RIDGE, ridge / 3.0)
                increased = True

    def slope(self, run: SQPProgress, rows: ConstraintRows, step: QPSolution) -> float:
        """Derivative of the merit along the step."""
        lq, z = self._qp.lq, np.concatenate([step.dx[:-1], step.du], axis=1)
        penalty = run.penalty.gradient(rows.penalized(self._e.c)) * rows.soft(self._qp.rows(step.dx, step.du))
        return float((lq.g * z).sum() + lq.terminal_g @ step.dx[-1] + penalty.sum())

    def _take(self, run: SQPProgress, rows: ConstraintRows) -> None:
        e, qp, penalty = self._e, self._qp, run.penalty
        qp.lq.f[:] = e.f
        np.multiply(e.g, run.scale, out=qp.lq.g)
        np.multiply(e.terminal_g, run.scale, out=qp.lq.terminal_g)
        qp.C[:], qp.terminal_C[:] = e.C, e.terminal_C
        np.subtract(rows.lower, e.c, out=qp.lower)
        np.subtract(rows.upper, e.c, out=qp.upper)
        qp.delta[:] = rows.soft(1.0 / penalty.mu)
        qp.y_ref[:] = rows.soft(penalty.y)

    def _set_hessian(self, scale: float, blend: float, ridge: float) -> None:
        e, lq = self._e, self._qp.lq
        np.multiply(e.H, (1.0 - blend) * scale, out=lq.H)
        np.multiply(e.terminal_H, (1.0 - blend) * scale, out=lq.terminal_H)
        if self._exact is not None and blend > 0.0:
            lq.H[:] += blend * scale * self._exact.H
            lq.terminal_H[:] += blend * scale * self._exact.terminal_H
        if ridge > 0.0:
            np.einsum("tii->ti", lq.H)[:, lq.n :] += ridge
