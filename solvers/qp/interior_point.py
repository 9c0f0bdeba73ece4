"""Interior-point method on a Riccati recursion, with Mehrotra's predictor and corrector.

Rows are eliminated: a Newton step is the solution of a program with CᵀDC added to the Hessian, so that an iteration
takes one factorisation and two solves (Rao, Wright, Rawlings, Application of interior-point methods to model predictive
control, 1998; Frison, Diehl, HPIPM, 2020). Hard equations are proximal ones whose reference is their last multiplier,
which survives equations that depend on one another (Schwan, Jiang, Kuhn, Jones, PIQP, 2023).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from trajopt.checks import check_count, check_instance, check_positive
from trajopt.solvers.qp.certificate import Certificate
from trajopt.solvers.qp.interior_rows import InteriorRows
from trajopt.solvers.qp.newton import Newton
from trajopt.solvers.qp.stage_qp import QPSolution, QPSolverAbstract, QPStatus, StageQP
from trajopt.solvers.weighted_rows import WeightedRows

SUSPICIOUS = 1e4  # multiplier from which a program may be infeasible
NEAR = 1e-7  # largest product, relative to multipliers above 1, and
HEAVY = 1e14  # weight of a row, beyond which a pivot that is not positive is rounding
STATIONARY = 1e-10  # gradient of the Lagrangian that counts as none, relative to the multipliers


@dataclass(frozen=True, kw_only=True)
class InteriorPointOptions:
    """Options of InteriorPoint.

    Attributes:
        tolerance: Largest product of a multiplier and its slack at the end, relative to multipliers above 1 [-].
        row_tolerance: Largest violation of an equation at the end [-].
        max_iterations: Largest number of iterations [-].
        proximal: δ of hard equations [-].
    """

    tolerance: float = 1e-10
    row_tolerance: float = 1e-9
    max_iterations: int = 60
    proximal: float = 1e-7

    def __post_init__(self) -> None:
        for name in ("tolerance", "row_tolerance", "proximal"):
            object.__setattr__(self, name, check_positive(name, getattr(self, name)))
        check_count("max_iterations", self.max_iterations, least=1)


class InteriorPoint(QPSolverAbstract):
    """A primal-dual interior-point method.

    Args:
        qp: The program; its arrays must not move.
        options: Options.
    """

    def __init__(self, qp: StageQP, options: InteriorPointOptions | None = None) -> None:
        super().__init__(qp)
        given = InteriorPointOptions() if options is None else options
        self.options = check_instance("options", given, InteriorPointOptions)
        self._proof: Certificate | None = None
        self._of: dict[bool, tuple[InteriorRows, Newton]] = {}  # for programs without and with soft rows

    def __reduce__(self) -> tuple[Any, ...]:
        return InteriorPoint, (self.qp, self.options)  # machine code points into its arrays: a copy has its own

    def solve(self) -> QPSolution:
        """Solves it from zero, with slacks and multipliers well inside."""
        rows, newton = self._start()
        options, iterations = self.options, self.options.max_iterations
        for iteration in range(1, iterations + 1):
            outcome = newton.factor()
            if outcome.failure is not None:
                if self._is_near(rows, iteration):
                    return self._solution(QPStatus.ROUNDING, iteration, rows, newton)
                return self._solution(QPStatus.INDEFINITE, iteration, rows, newton, outcome.failed_knot)
            length = self._advance(rows, newton)
            small = rows.number("product") < options.tolerance * max(1.0, rows.number("largest"))
            if small and rows.number("missed") < options.row_tolerance and self._is_stationary(length, newton):
                return self._solution(QPStatus.SOLVED, iteration, rows, newton)
            if self._is_infeasible(rows, newton):
                return self._solution(QPStatus.INFEASIBLE, iteration, rows, newton)
        return self._solution(QPStatus.MAX_ITERATIONS, iterations, rows, newton)

    def _start(self) -> tuple[InteriorRows, Newton]:
        qp, options = self.qp, self.options
        soft = not np.isinf(qp.soft_linear).all()
        if soft not in self._of:
            rows = InteriorRows(qp, soft)
            self._of[soft] = rows, Newton(qp, rows.rows, rows.y, rows.at_values)
        rows, newton = self._of[soft]
        newton.riccati.find_rows()
        newton.at.flat[:] = 0.0
        gradient = max(float(np.abs(qp.lq.g).max(initial=0.0)), float(np.abs(qp.lq.terminal_g).max(initial=0.0)))
        rows.start(qp, options.proximal, gradient, 0.01 * options.tolerance)
        newton.residual.measure()
        rows.prepare()
        return rows, newton

    @staticmethod
    def _advance(rows: InteriorRows, newton: Newton) -> float:
        """Mehrotra's predictor and corrector, with the matrices of the last factorisation; gives the step length."""
        if rows.count:
            newton.forward(costates=False)
            rows.center()
            newton.solve()
        newton.forward()
        length = rows.advance()
        newton.move(length)
        newton.residual.measure()
        rows.prepare()
        return length

    def _is_near(self, rows: InteriorRows, iteration: int) -> bool:
        """Whether the end is near, and rows so heavy that they hide the Hessian: a pivot that fails is rounding."""
        near = rows.number("product") < NEAR * max(1.0, rows.number("largest"))
        heavy = float(rows.rows.weights.max(initial=0.0)) > HEAVY
        return iteration > 1 and near and heavy and rows.number("missed") < self.options.row_tolerance

    @staticmethod
    def _is_stationary(length: float, newton: Newton) -> bool:
        """Whether the gradient has vanished, or what is left of it is rounding of a whole step."""
        residual = newton.residual
        size = STATIONARY * max(1.0, residual.pull)
        return length > 0.9 or max(residual.stationarity, residual.gap) < size

    def _is_infeasible(self, rows: InteriorRows, newton: Newton) -> bool:
        """Whether rows are missed by multipliers that have grown large, and those prove that they must be."""
        if rows.number("missed") < self.options.row_tolerance or np.abs(rows.y).max(initial=0.0) < SUSPICIOUS:
            return False
        return self._certificate(rows.rows).proves(newton.at.lam, rows.y)

    def _certificate(self, rows: WeightedRows) -> Certificate:
        if self._proof is None:
            self._proof = Certificate(self.qp, rows)
        return self._proof

    def _solution(
        self,
        status: QPStatus,
        iterations: int,
        rows: InteriorRows,
        newton: Newton,
        failed_knot: int | None = None,
    ) -> QPSolution:
        return QPSolution(
            status=status,
            iterations=iterations,
            dx=newton.at.dx,
            du=newton.at.du,
            lam=newton.at.lam,
            y=rows.y,
            rows=rows.at_values,
            K=newton.riccati.K,
            failed_knot=failed_knot,
        )
