"""Alternating direction method of multipliers on a Riccati recursion: factor once, solve many times.

Stellato et al., OSQP, 2020, with the dynamics kept exactly by the recursion as in Jordana et al., Stagewise
implementations of sequential quadratic programming, 2023; the active set is polished at the end.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from trajopt.checks import check_count, check_flag, check_instance, check_non_negative, check_positive
from trajopt.errors import InvalidArgumentError
from trajopt.solvers.qp.active_set import ActiveSet
from trajopt.solvers.qp.admm_rows import ADMMRows
from trajopt.solvers.qp.certificate import Certificate
from trajopt.solvers.qp.stage_qp import QPSolution, QPSolverAbstract, QPStatus, StageQP
from trajopt.solvers.riccati import Riccati
from trajopt.types import Reals


@dataclass(frozen=True, kw_only=True)
class ADMMOptions:
    """Options of ADMM.

    Attributes:
        tolerance: Largest violation of a row, and largest gradient of the Lagrangian, at the end [-].
        relative_tolerance: The same relative to the rows and to their part of the gradient [-].
        max_iterations: Largest number of iterations [-].
        rho: First weight of inequalities, > 0; equations have a thousand times that [-].
        proximal: σ, weight of the distance to the last iterate [-].
        relaxation: α of over-relaxation, from 1 to 2 [-].
        check: Number of iterations between two looks at the residuals [-]; with more than max_iterations there is none.
        polish: Whether the solution is made exact on the rows that it shows as active.
    """

    tolerance: float = 1e-6
    relative_tolerance: float = 1e-6
    max_iterations: int = 4000
    rho: float = 0.1
    proximal: float = 1e-6
    relaxation: float = 1.6
    check: int = 10
    polish: bool = True

    def __post_init__(self) -> None:
        for name in ("tolerance", "relative_tolerance"):
            object.__setattr__(self, name, check_non_negative(name, getattr(self, name)))
        for name in ("rho", "proximal", "relaxation"):
            object.__setattr__(self, name, check_positive(name, getattr(self, name)))
        if not 1 <= self.relaxation <= 2:
            raise InvalidArgumentError(f"relaxation: expected a number from 1 to 2, got {self.relaxation}")
        for name in ("max_iterations", "check"):
            check_count(name, getattr(self, name), least=1)
        object.__setattr__(self, "polish", check_flag("polish", self.polish))


class ADMM(QPSolverAbstract):
    """Alternating direction method of multipliers (ADMM). It keeps its weights, and starts from its last solution.

    Args:
        qp: The program; its arrays must not move.
        options: Options.
        K: Array for the gains; a new one by default.
    """

    def __init__(self, qp: StageQP, options: ADMMOptions | None = None, *, K: Reals | None = None) -> None:
        super().__init__(qp)
        self.options = ADMMOptions() if options is None else check_instance("options", options, ADMMOptions)
        self._rows = ADMMRows(qp, self.options.relaxation, self.options.proximal)
        self._riccati = Riccati(qp.lq, K=K, rows=self._rows.rows, inverse=True)
        self._rho = self.options.rho

    def __reduce__(self) -> tuple[Any, ...]:
        return ADMM, (self.qp, self.options)  # machine code points into its arrays: a copy has its own

    @functools.cached_property
    def _active_set(self) -> ActiveSet:
        return ActiveSet(self.qp, self._rows.rows)

    @functools.cached_property
    def _certificate(self) -> Certificate:
        return Certificate(self.qp, self._rows.rows)

    @property
    def y(self) -> Reals:
        """Multipliers from which the next solve starts (T + 1, nc); may be changed in place."""
        return self._rows.y

    def solve(self) -> QPSolution:
        """Solves the program with the current content of its arrays, from the last multipliers."""
        options, rows, riccati = self.options, self._rows, self._riccati
        rows.start(self.qp)
        riccati.find_rows()
        riccati.step.flat[:] = 0.0
        failed = self._factor()
        if failed is not None:
            return self._solution(QPStatus.INDEFINITE, 0, failed)
        last: tuple[Reals, Reals] | None = None
        for iteration in range(options.check, options.max_iterations + 1, options.check):
            rows.iterate(riccati, options.check)
            primal, dual, ratio = self._residuals()
            done, settled = max(primal, dual) < 1.0, _same_signs(rows.y, None if last is None else last[0])
            if options.polish and (done or settled) and self._active_set.polish(options.tolerance):
                return self._polished(iteration)
            if done:
                return self._solution(QPStatus.SOLVED, iteration)
            if settled and primal >= 1.0 and last is not None and self._proves(last):
                return self._solution(QPStatus.INFEASIBLE, iteration)
            if not 0.2 < ratio < 5.0:
                self._rho = min(max(self._rho * ratio, 1e-6), 1e6)
                if iteration < options.max_iterations:
                    self._factor()
            if iteration + options.check <= options.max_iterations:
                last = rows.y.copy(), riccati.step.lam.copy()
        rest = options.max_iterations % options.check
        if rest:
            rows.iterate(riccati, rest)
        return self._solution(QPStatus.MAX_ITERATIONS, options.max_iterations)

    def _proves(self, last: tuple[Reals, Reals]) -> bool:
        """Whether the change of y and λ since then shows that no step keeps the rows."""
        return self._certificate.proves(self._riccati.step.lam - last[1], self._rows.y - last[0])

    def _factor(self) -> int | None:
        """Factors with the ρ of now; the knot at which that fails."""
        self._rows.weigh(self._rho)
        return self._riccati.factor(self.options.proximal).failed_knot

    def _residuals(self) -> tuple[float, float, float]:
        """Primal and dual residual relative to what is allowed, and by how much ρ should change."""
        rows, options, active = self._rows, self.options, self._active_set
        active.newton.at.flat[:] = self._riccati.step.flat
        active.y[:] = rows.y
        active.newton.residual.measure()
        dual, pull = active.newton.residual.stationarity, active.newton.residual.pull
        primal, size = rows.residual()
        allowed = [options.tolerance + options.relative_tolerance * part for part in (size, pull)]
        ratio = math.sqrt(max(primal / max(size, 1e-10), 1e-12) / max(dual / max(pull, 1e-10), 1e-12))
        return primal / allowed[0], dual / allowed[1], ratio

    def _polished(self, iterations: int) -> QPSolution:
        active = self._active_set
        self._rows.y[:] = active.y
        return QPSolution(
            status=QPStatus.SOLVED,
            iterations=iterations,
            dx=active.newton.at.dx,
            du=active.newton.at.du,
            lam=active.newton.at.lam,
            y=active.y,
            rows=active.values,
            K=active.newton.riccati.K,
        )

    def _solution(self, status: QPStatus, iterations: int, failed_knot: int | None = None) -> QPSolution:
        step = self._riccati.step
        return QPSolution(
            status=status,
            iterations=iterations,
            dx=step.dx,
            du=step.du,
            lam=step.lam,
            y=self._rows.y,
            rows=self._rows.values,
            K=self._riccati.K,
            failed_knot=failed_knot,
        )


def _same_signs(y: Reals, last: Reals | None) -> bool:
    """Whether multipliers have the signs of the last ones."""
    return not y.size if last is None else np.array_equal(np.sign(y), np.sign(last))
