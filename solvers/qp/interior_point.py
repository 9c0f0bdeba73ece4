"""Interior-point method on a Riccati recursion, with Mehrotra's predictor and corrector.

Rows are eliminated: a Newton step is the solution of a program with CᵀDC added to the Hessian, so that an iteration
takes one factorisation and two solves (Rao, Wright, Rawlings, Application of interior-point methods to model predictive
control, 1998; Frison, Diehl, HPIPM, 2020). Hard equations are proximal ones whose reference is their last multiplier,
which survives equations that depend on one another (Schwan, Jiang, Kuhn, Jones, PIQP, 2023).
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trajopt.checks import check_count, check_instance, check_number, check_positive
from trajopt.errors import InvalidArgumentError
from trajopt.kernels import CallSequence, Reduction
from trajopt.solvers.qp.certificate import Certificate
from trajopt.solvers.qp.interior_point_kernel import PUSH
from trajopt.solvers.qp.interior_rows import InteriorRows
from trajopt.solvers.qp.newton import Newton
from trajopt.solvers.qp.stage_qp import QPSolution, QPSolverAbstract, QPStatus, StageQP
from trajopt.solvers.riccati.weighted_rows import WeightedRows

SUSPICIOUS = 1e4  # multiplier from which a program may be infeasible
NEAR = 1e-7  # largest product, relative to multipliers above 1, and
HEAVY = 1e14  # weight of a row, beyond which a pivot that is not positive is rounding
BLOCKED = 0.5  # length of a step that slacks near 0 block
SLOPE = 3.0  # typical cost that is assumed if it is unknown, relative to the gradient
LEAST = 1e-3  # least first multiplier, relative to the size of its row
PART, ROOM = 1e-3, 0.01  # without inequalities: first product, relative to that at zero; least first slack
LONG = (
    25  # iterations after which correctors are damped: whole ones led a parking car's program round in circles of three
)
REFINED = 1  # further solves without inequalities, as each moves the references of hard equations
STATIONARY = 1e-10  # gradient of the Lagrangian that counts as none, relative to the multipliers


@dataclass(frozen=True, kw_only=True)
class InteriorPointOptions:
    """Options of InteriorPoint.

    Attributes:
        tolerance: Largest product of a multiplier and its slack at the end, relative to multipliers above 1 [-].
        row_tolerance: Largest gap, and largest violation of an equation, at the end [-].
        max_iterations: Largest number of iterations [-].
        proximal: δ of hard equations [-].
        slack: Least first slack, relative to the size of its row [-].
    """

    tolerance: float = 1e-11
    row_tolerance: float = 1e-9
    max_iterations: int = 60
    proximal: float = 1e-7
    slack: float = 0.03

    def __post_init__(self) -> None:
        for name in ("tolerance", "row_tolerance", "proximal", "slack"):
            object.__setattr__(self, name, check_positive(name, getattr(self, name)))
        check_count("max_iterations", self.max_iterations, least=1)


class InteriorPoint(QPSolverAbstract):
    """Primal-dual interior-point method for a StageQP.

    Args:
        qp: The program; its arrays must not move.
        options: Options.
    """

    def __init__(self, qp: StageQP, options: InteriorPointOptions | None = None) -> None:
        super().__init__(qp)
        given = InteriorPointOptions() if options is None else options
        self.options = check_instance("options", given, InteriorPointOptions)
        self._kept = list[tuple[float, QPSolution]]()  # iterates of blocked starts, with their infeasibility
        self._free = False  # whether the last solution is that without inequalities
        self._proof: Certificate | None = None
        self._of: dict[bool, tuple[InteriorRows, Newton]] = {}  # for programs without and with soft rows
        self._sizes = [Reduction(g.reshape(1, -1), "largest size") for g in (qp.lq.g, qp.lq.terminal_g)]
        self._slopes = CallSequence(self._sizes)

    def _slope(self) -> float:
        """Largest entry of the cost's gradient, in place of a typical cost that is unknown."""
        self._slopes()
        return SLOPE * min(max(*(each.latest()[0] for each in self._sizes), 0.01), 100.0)

    def __reduce__(self) -> tuple[Any, ...]:
        return InteriorPoint, (self.qp, self.options)  # machine code points into its arrays: a copy has its own

    def solve(self) -> QPSolution:
        """Solves the program from zero, with slacks and multipliers far from their bounds."""
        return self._iterated(*self._start(), self.options)

    def prepare(self) -> None:
        """Compiles all code that a solve may need, including that for infeasible programs."""
        rows, _ = self._start()
        self._certificate(rows.rows)

    def begin(self, options: InteriorPointOptions) -> QPSolution:
        """Solves the program with other options; after a change of its gaps, `go_on` may follow.

        It starts from the solution without inequalities. If that satisfies them all, it is the answer; if a step from
        there is blocked, iterations start from zero.
        """
        check_instance("options", options, InteriorPointOptions)
        return self._released(*self._start(), options, math.inf)

    def go_on(self, options: InteriorPointOptions, until: float = math.inf) -> QPSolution:
        """Solves the program again from the last iterate, after a change of its gaps.

        It starts as `begin` does instead if no inequality had an effect, if a step is blocked, or if many iterations
        are needed.

        Of an arm's programs an iteration from the last iterate was enough after a small change of its first gap, where
        five are needed from zero; after large ones slacks near 0 block the way, and a new start is better.

        Args:
            options: Options from the last iterate; from a new start they are its own.
            until: Time of `time.perf_counter` after which no iteration is begun but the first [s]; then the better of
                both iterates is the solution, the one that is less infeasible.

        Raises:
            InvalidArgumentError: `begin` has not come before, or rows have become soft or hard since.
        """
        check_instance("options", options, InteriorPointOptions)
        until = check_number("until", until)
        soft = self._is_soft()
        if soft not in self._of:
            raise InvalidArgumentError(
                "qp: expected a program that was begun, and none of whose rows became soft; begin"
            )
        rows, newton = self._of[soft]
        self._kept.clear()
        if not self._free:
            rows.measure(newton.native)
            found = self._iterated(rows, newton, options, until, least_length=BLOCKED)
            if found.status in (QPStatus.SOLVED, QPStatus.ROUNDING) or time.perf_counter() > until:
                return found
            self._keep(found, rows, newton, until)
        anew = self._released(rows, newton, self.options, until)
        if anew.status is QPStatus.MAX_ITERATIONS and self._kept:
            best = min(self._kept, key=lambda each: each[0])
            return best[1] if best[0] < self._infeasibility(rows, newton) else anew
        return anew

    def _released(self, rows: InteriorRows, newton: Newton, options: InteriorPointOptions, until: float) -> QPSolution:
        """Starts from the solution without inequalities; from zero if that is none, or a step from there is blocked."""
        done, smooth, self._free = 0, not self.qp.delta.any(), False
        while done < 1 + REFINED:
            code, done = rows.release(newton.native, PART, ROOM), done + 1
            if code or not rows.number("beyond") <= 0.0 or not smooth:
                break
            if max(rows.number("missed"), newton.residual.gap) < options.row_tolerance:
                self._free = True
                rows.drop()
                return self._solution(QPStatus.SOLVED, done, rows, newton)
        if code == 0 and rows.number("beyond") < math.inf:
            rows.measure(newton.native)
            found = self._iterated(rows, newton, options, until, least_length=BLOCKED, done=done)
            if found.status is not QPStatus.MAX_ITERATIONS or time.perf_counter() > until:
                return found
            self._keep(found, rows, newton, until)
            done = found.iterations
        rows.restart()
        newton.at.flat[:] = 0.0
        rows.measure(newton.native)
        return self._iterated(rows, newton, options, until, done=done)

    def _keep(self, found: QPSolution, rows: InteriorRows, newton: Newton, until: float) -> None:
        """Keeps an iterate for the case that time ends before there is a better one."""
        if until < math.inf:
            self._kept.append((self._infeasibility(rows, newton), _copied(found)))

    def _infeasibility(self, rows: InteriorRows, newton: Newton) -> float:
        """Largest gap of the iterate, or by what a hard row is beyond its bounds."""
        qp = self.qp
        beyond = np.maximum(qp.lower - rows.at_values, rows.at_values - qp.upper)
        beyond = beyond[np.isinf(qp.soft_linear) & (qp.delta == 0.0)]
        return max(newton.residual.gap, float(np.fmax.reduce(beyond, initial=0.0)))  # rows that are off may be NaN

    def _iterated(
        self,
        rows: InteriorRows,
        newton: Newton,
        options: InteriorPointOptions,
        until: float = math.inf,
        least_length: float = 0.0,
        done: int = 0,
    ) -> QPSolution:
        """Iterates until it is solved, `until` has come, or a step is shorter than `least_length`."""
        last = done + options.max_iterations
        for iteration in range(done + 1, last + 1):
            if iteration > 1 and until < math.inf and time.perf_counter() > until:
                return self._solution(QPStatus.MAX_ITERATIONS, iteration - 1, rows, newton)
            rows.damp(iteration - done > LONG and not rows.soft)
            code = rows.iterate(newton.native)
            if code:
                if self._is_near(rows, iteration):
                    return self._solution(QPStatus.ROUNDING, iteration, rows, newton)
                return self._solution(
                    QPStatus.INDEFINITE, iteration, rows, newton, newton.riccati.outcome(code).failed_knot
                )
            length = rows.number("length")
            small = rows.number("product") < options.tolerance * max(1.0, rows.number("largest"))
            small = small and rows.number("missed") < options.row_tolerance and self._is_stationary(length, newton)
            if small and newton.residual.gap < options.row_tolerance:  # of which a part of a step leaves a part
                return self._solution(QPStatus.SOLVED, iteration, rows, newton)
            if self._is_infeasible(rows, newton):
                return self._solution(QPStatus.INFEASIBLE, iteration, rows, newton)
            if length < least_length:
                return self._solution(QPStatus.MAX_ITERATIONS, iteration, rows, newton)
        return self._solution(QPStatus.MAX_ITERATIONS, last, rows, newton)

    def _start(self) -> tuple[InteriorRows, Newton]:
        qp, options, soft = self.qp, self.options, self._is_soft()
        if soft not in self._of:
            rows = InteriorRows(qp, soft)
            self._of[soft] = rows, Newton(qp, rows.rows, rows.y, rows.at_values)
        rows, newton = self._of[soft]
        newton.riccati.find_rows()
        newton.at.flat[:] = 0.0
        push = PUSH * (float(qp.typical_cost[0]) or self._slope())
        rows.start(qp, (0.01 * options.tolerance, push, options.slack, LEAST, options.proximal, 0.0))
        rows.measure(newton.native)
        return rows, newton

    def _is_soft(self) -> bool:
        """Whether some rows have slacks."""
        return bool(self.qp.soft_linear.min(initial=np.inf) < np.inf)

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
        if rows.number("missed") < self.options.row_tolerance or rows.number("heaviest") < SUSPICIOUS:
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


def _copied(found: QPSolution) -> QPSolution:
    """A solution whose arrays are its own."""
    arrays = {name: getattr(found, name) for name in ("dx", "du", "lam", "y", "rows", "K")}
    return replace(found, **{name: array.copy() for name, array in arrays.items() if array is not None})
