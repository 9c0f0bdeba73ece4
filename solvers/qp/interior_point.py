"""Interior-point method on a Riccati recursion, with Mehrotra's predictor and corrector.

Rows are eliminated: a Newton step is the solution of a program with CᵀDC added to the Hessian, so that an iteration
takes one factorisation and two solves (Rao, Wright, Rawlings, Application of interior-point methods to model predictive
control, 1998; Frison, Diehl, HPIPM, 2020). Hard equations are proximal ones whose reference is their last multiplier,
which survives equations that depend on one another (Schwan, Jiang, Kuhn, Jones, PIQP, 2023).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trajopt.checks import check_count, check_instance, check_positive
from trajopt.solvers.qp.condensed import CondensedRiccati
from trajopt.solvers.qp.residual import Iterate, Residual
from trajopt.solvers.qp.sides import Equations, Inequalities
from trajopt.solvers.qp.stage_qp import QPSolution, QPSolverAbstract, QPStatus, StageQP
from trajopt.types import Reals


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

    Attributes:
        condensed: The recursion of its Newton steps.
    """

    def __init__(self, qp: StageQP, options: InteriorPointOptions | None = None) -> None:
        super().__init__(qp)
        given = InteriorPointOptions() if options is None else options
        self.options = check_instance("options", given, InteriorPointOptions)
        self.condensed = CondensedRiccati(qp)

    def solve(self) -> QPSolution:
        """Solves it from zero, with slacks and multipliers well inside."""
        options, qp = self.options, self.qp
        equations, sides, at = Equations(qp, options.proximal), Inequalities(qp), Iterate.zero(qp)
        rows = at.rows(qp)
        sides.start(rows, float(np.abs(qp.lq.g).max(initial=0.0)))
        for iteration in range(1, options.max_iterations + 1):
            residual = Residual(qp, at, equations.y + sides.multipliers())
            violations = equations.residual(rows), sides.residual(rows)
            outcome = self.condensed.factor(equations.weights + sides.weights)
            if outcome.failure is not None:
                return self._solution(QPStatus.INDEFINITE, iteration, at, equations, sides, outcome.failed_knot)
            length = self._advance(at, equations, sides, residual, *violations)
            rows = at.rows(qp)
            large = max(1.0, float(sides.y.max(initial=0.0)))
            if length > 0.9 and sides.product.max(initial=0.0) < options.tolerance * large:
                worst = float(np.abs(equations.residual(rows)).max(initial=0.0))
                if worst < options.row_tolerance:
                    return self._solution(QPStatus.SOLVED, iteration, at, equations, sides)
        return self._solution(QPStatus.MAX_ITERATIONS, options.max_iterations, at, equations, sides)

    def _advance(
        self, at: Iterate, equations: Equations, sides: Inequalities, residual: Residual, unequal: Reals, beyond: Reals
    ) -> float:
        """Mehrotra's predictor and corrector, with the matrices of the last factorisation; gives the step length."""
        product, given = sides.product, equations.weights * unequal
        mu = float(product.mean()) if len(product) else 0.0
        change = -product
        if mu > 0.0:
            to = self._step(residual, given + sides.gradient(beyond, change)).rows(self.qp)
            ds, dy = sides.step(to, beyond, change)
            part = sides.longest(ds, dy)
            reached = float(((sides.s + part * ds) * (sides.y + part * dy)).mean())
            change = change - ds * dy + max(mu * (reached / mu) ** 3, 0.01 * self.options.tolerance)
        step = self._step(residual, given + sides.gradient(beyond, change))
        rows = step.rows(self.qp)
        ds, dy = sides.step(rows, beyond, change)
        longest = sides.longest(ds, dy)
        length = 1.0 if longest == 1.0 else longest * max(0.995, 1.0 - mu)
        at.move(length, step)
        sides.s += length * ds
        sides.y += length * dy
        equations.y += length * equations.step(rows, unequal)
        return length

    def _step(self, residual: Residual, h: Reals) -> Iterate:
        """The Newton step for residuals, with Cᵀh in the gradient."""
        return self.condensed.solve(residual.running, residual.end, residual.dynamics, h)

    def _solution(
        self,
        status: QPStatus,
        iterations: int,
        at: Iterate,
        equations: Equations,
        sides: Inequalities,
        failed_knot: int | None = None,
    ) -> QPSolution:
        return QPSolution(
            status=status,
            iterations=iterations,
            dx=at.dx,
            du=at.du,
            lam=at.lam,
            y=equations.y + sides.multipliers(),
            K=self.condensed.riccati.K,
            failed_knot=failed_knot,
        )
