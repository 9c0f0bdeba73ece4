"""Alternating direction method of multipliers on a Riccati recursion: factor once, solve many times.

Stellato et al., OSQP, 2020, with the dynamics kept exactly by the recursion as in Jordana et al., Stagewise
implementations of sequential quadratic programming, 2023; the active set is polished at the end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from trajopt.checks import check_count, check_flag, check_instance, check_non_negative, check_positive
from trajopt.errors import InvalidArgumentError
from trajopt.solvers.qp.active_set import polish
from trajopt.solvers.qp.condensed import CondensedRiccati
from trajopt.solvers.qp.residual import Iterate, Residual
from trajopt.solvers.qp.stage_qp import QPSolution, QPSolverAbstract, QPStatus, StageQP
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
        check: Number of iterations between two looks at the residuals [-].
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
    """The alternating direction method; it keeps its weight, and starts from its last solution.

    Args:
        qp: The program; its arrays must not move.
        options: Options.
    """

    def __init__(self, qp: StageQP, options: ADMMOptions | None = None) -> None:
        super().__init__(qp)
        self.options = ADMMOptions() if options is None else check_instance("options", options, ADMMOptions)
        self.condensed = CondensedRiccati(qp)
        self._rho = self.options.rho
        self._y = np.zeros(qp.lower.shape)

    def solve(self) -> QPSolution:
        """Solves it from the last multipliers."""
        options, qp = self.options, self.qp
        at, y = Iterate.zero(qp), self._y.copy()
        z = np.clip(np.zeros_like(y), qp.lower, qp.upper)
        weights, seen = self._weights(), np.full_like(y, np.nan)
        outcome = self.condensed.factor(weights, options.proximal)
        if outcome.failure is not None:
            return self._solution(QPStatus.INDEFINITE, 0, at, y, outcome.failed_knot)
        for iteration in range(1, options.max_iterations + 1):
            z, y = self._advance(at, z, y, weights)
            if iteration % options.check:
                continue
            primal, dual, ratio = self._residuals(at, z, y)
            done, signs = max(primal, dual) < 1.0, np.sign(y)
            settled, seen = bool(np.array_equal(signs, seen)), signs
            if options.polish and (done or settled):
                polished = polish(qp, self.condensed, at, y, options.tolerance)
                if polished is not None:
                    at, self._y = polished
                    return self._solution(QPStatus.SOLVED, iteration, at, self._y)
            if done:
                self._y = y
                return self._solution(QPStatus.SOLVED, iteration, at, y)
            if not 0.2 < ratio < 5.0:
                self._rho = float(np.clip(self._rho * ratio, 1e-6, 1e6))
                weights = self._weights()
            elif not (options.polish and settled):
                continue
            self.condensed.factor(weights, options.proximal)
        self._y = y
        return self._solution(QPStatus.MAX_ITERATIONS, options.max_iterations, at, y)

    def _weights(self) -> Reals:
        """ρ of each row: large of an equation, tiny of a row that is switched off."""
        qp = self.qp
        unbounded = np.isinf(qp.lower) & np.isinf(qp.upper)
        factors = np.where(qp.lower == qp.upper, 1e3, np.where(unbounded, 1e-6, 1.0))
        return self._rho * factors

    def _advance(self, at: Iterate, z: Reals, y: Reals, weights: Reals) -> tuple[Reals, Reals]:
        """One iteration: the next z and y."""
        qp, options, T = self.qp, self.options, self.qp.lq.T
        running = qp.lq.g - options.proximal * np.concatenate([at.dx[:T], at.du], axis=1)
        end = qp.lq.terminal_g - options.proximal * at.dx[T]
        to = self.condensed.solve(running, end, qp.lq.f, y - weights * z)
        at.dx, at.du, at.lam = to.dx, to.du, to.lam
        relaxed = options.relaxation * at.rows(qp) + (1.0 - options.relaxation) * z
        z = self._proximal(relaxed + y / weights, weights)
        return z, y + weights * (relaxed - z)

    def _proximal(self, v: Reals, weights: Reals) -> Reals:
        """The nearest rows within bounds; soft rows go a part of the way."""
        qp = self.qp
        moved = v + qp.delta * qp.y_ref
        within = np.clip(moved, qp.lower, qp.upper)
        part = weights * qp.delta / (1.0 + weights * qp.delta)
        return within + part * (moved - within) - qp.delta * qp.y_ref

    def _residuals(self, at: Iterate, z: Reals, y: Reals) -> tuple[float, float, float]:
        """Primal and dual residual relative to what is allowed, and by how much ρ should change."""
        qp, options = self.qp, self.options
        rows, residual = at.rows(qp), Residual(qp, at, y)
        pull = Residual.pull(qp, y)
        primal, dual = float(np.abs(rows - z).max(initial=0.0)), residual.stationarity
        size = max(float(np.abs(rows).max(initial=0.0)), float(np.abs(z).max(initial=0.0)))
        allowed = options.tolerance + options.relative_tolerance * np.array([size, pull])
        ratio = math.sqrt(max(primal / max(size, 1e-10), 1e-12) / max(dual / max(pull, 1e-10), 1e-12))
        return primal / float(allowed[0]), dual / float(allowed[1]), ratio

    def _solution(
        self, status: QPStatus, iterations: int, at: Iterate, y: Reals, failed_knot: int | None = None
    ) -> QPSolution:
        return QPSolution(
            status=status,
            iterations=iterations,
            dx=at.dx,
            du=at.du,
            lam=at.lam,
            y=y,
            K=self.condensed.riccati.K,
            failed_knot=failed_knot,
        )
