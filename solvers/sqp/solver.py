"""SolverSQP: expand, solve the quadratic program, roll its policy out, update the multipliers, check."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from trajopt.callbacks import Callback
from trajopt.errors import InvalidArgumentError
from trajopt.shooting import ShootingProblem
from trajopt.shooting.evaluator import Evaluator
from trajopt.solution import IterationRecord, SolverStatus
from trajopt.solvers.augmented_lagrangian import AugmentedLagrangian
from trajopt.solvers.base import SolverAbstract
from trajopt.solvers.linear_quadratic import LinearQuadratic
from trajopt.solvers.options import SolverOptions, SQPOptions
from trajopt.solvers.qp import QPSolution, QPStatus
from trajopt.solvers.sqp.progress import SQPProgress
from trajopt.solvers.sqp.quadratic_model import FIRST_RIDGE, QuadraticModel
from trajopt.solvers.sqp.rows import ConstraintRows
from trajopt.solvers.sqp.search import PolicySearch, PolicyStep, is_noisy
from trajopt.types import Reals

STUCK = 3  # iterations in a row after which what cannot get closer counts as infeasible
SLIGHT = 0.01  # part of the squared violation; a promise below it counts as none
LARGE = 100.0  # mean of the multipliers, of the scaled cost, beyond which stationarity is relative to it


class SolverSQP(SolverAbstract[SQPProgress]):
    """Sequential quadratic programming with policy rollouts: constraints hold.

    An iteration solves a quadratic program with stages by an interior point, with the Hessian of the Lagrangian where
    all models of the problem give it, blended towards Gauss-Newton's where it is indefinite. Limits of single controls
    are hard in it, and rollouts keep them; other rows are proximal, so that the step is that of an augmented
    Lagrangian, which is the merit function. Rows that are free of the control are not enforced at knot 0.

    Arguments are those of SolverAbstract.
    """

    options_type: ClassVar[type[SolverOptions]] = SQPOptions
    options: SQPOptions
    progress_type = SQPProgress

    def __init__(
        self,
        problem: ShootingProblem,
        options: SolverOptions | None = None,
        callbacks: Sequence[Callback | Callable[[IterationRecord], Any]] = (),
    ) -> None:
        super().__init__(problem, options, callbacks)
        self._evaluator: Evaluator | None = None
        if problem.start != "fixed" or problem.T == 0 or problem.nu == 0:
            raise InvalidArgumentError(
                'problem: SolverSQP rolls out from a given x0, so it needs start="fixed", T >= 1 and controls'
            )

    def prepare(self, run: SQPProgress) -> None:
        """Arrays for this problem, kept as long as its models stay; the first expansion, the scale of the cost."""
        e = self._evaluator
        if e is None or not e.fits(self.problem):
            e = self._evaluator = Evaluator(self.problem)
            self._model, self._search = QuadraticModel(e), PolicySearch(e, self.options.step_lengths)
            e.prepare()
            self._model.prepare()
            self._search.prepare()
        e.xs[:], e.us[:] = run.trajectory
        e.xs[0] = run.x0
        e.expand(run.x0)
        self._rows = ConstraintRows(e)
        self._search.limit(self._rows)
        run.guess = np.clip(e.us, self._rows.u_lower, self._rows.u_upper)
        run.repaired = is_noisy(e.xs)
        if run.repaired:
            self._search.roll_out(run.x0, run.guess)
        else:
            e.us[:] = run.guess
        e.expand(run.x0)
        curvature = float(np.abs(np.diagonal(e.H, axis1=1, axis2=2)[:, e.state.ndx :]).mean())
        run.scale = 1.0 / curvature if curvature > 0.0 else 1.0
        run.stiffness = _stiffness(e, run.scale)
        run.stiffness[:-1] = np.maximum(run.stiffness[:-1], self.options.path_penalty_ratio)
        self._begin(run, e)

    def _begin(self, run: SQPProgress, e: Evaluator) -> None:
        """Takes the evaluator's trajectory, without multipliers."""
        shape = self._rows.lower.shape
        mu = self.options.initial_penalty * run.stiffness
        run.penalty = AugmentedLagrangian(self._rows.lower, self._rows.upper, np.zeros(shape), mu)
        run.lam, run.y = np.zeros((e.T + 1, e.state.ndx)), np.zeros(shape)
        run.trajectory, run.feasible = (e.xs.copy(), e.us.copy()), run.repaired
        run.ridge, run.failures = 0.0, 0
        self._expand(run, e)
        e.check_finite()

    def iterate(self, run: SQPProgress) -> IterationRecord | None:
        """Solves the QP at the trajectory, searches along it, updates the multipliers, expands, checks."""
        e = self._evaluator
        assert e is not None
        gap = float(np.abs(e.f).max())
        qp, ridge = self._model.solve(run, self._rows)
        if qp.status is QPStatus.INDEFINITE:
            run.status, run.failed_knot = SolverStatus.INDEFINITE_QUU, qp.failed_knot
            return None
        merit = run.scale * run.cost + run.penalty.value(self._rows.penalized(e.c))
        slope = self._model.slope(run, self._rows, qp)
        step = self._search.along(run, self._rows, qp, merit, slope)
        self._accept(run, e, step, qp, merit, slope, ridge)
        run.stuck = run.stuck + 1 if self._cannot_get_closer(run, e) else 0
        self._check(run, -slope)
        return run.record(
            stop=run.stationarity,
            step_length=0.0 if step is None else step.length,
            accepted=step is not None,
            regularization=ridge,
            gap_norm=gap,
            expected_decrease=-slope,
            decrease=math.nan if step is None else merit - step.merit,
            constraint_violation=run.violation,
            complementarity=run.complementarity,
        )

    def _accept(
        self,
        run: SQPProgress,
        e: Evaluator,
        step: PolicyStep | None,
        qp: QPSolution,
        merit: float,
        slope: float,
        ridge: float,
    ) -> None:
        was_repaired, run.repaired = run.repaired, True
        flat = abs(slope) < 1e-7 * max(1.0, abs(merit))
        if step is None and not flat:
            run.failures += 1
            run.ridge = 8.0 * max(ridge, FIRST_RIDGE)
            if run.failures >= 3:
                self._begin_anew(run, e)
            return
        run.failures = 0
        run.ridge = 2.0 * max(ridge, FIRST_RIDGE) if step is not None and step.length < 0.1 and was_repaired else 0.0
        run.lam, run.y = qp.lam.copy(), qp.y.copy()
        if step is not None:
            e.xs[:], e.us[:] = step.xs, step.us
            run.trajectory, run.feasible = (step.xs, step.us), True
        if step is None or (step.length >= 0.5 and -slope < 0.03 * max(1.0, abs(merit))):
            self._update_multipliers(run, e, step, qp)
        if run.iterations == self.options.restart and run.iterations < self.options.max_iterations:
            self._begin_anew(run, e)
        else:
            self._expand(run, e)

    def _update_multipliers(self, run: SQPProgress, e: Evaluator, step: PolicyStep | None, qp: QPSolution) -> None:
        """Those of the QP after a whole step, else of first order; then the penalty grows."""
        options, penalty, rows = self.options, run.penalty, self._rows
        c = e.c if step is None else step.c
        whole = step is not None and step.length == 1.0
        y = rows.soft(qp.y if whole else penalty.gradient(rows.penalized(c)))
        mu = np.minimum(options.max_penalty * run.stiffness, options.penalty_increase * penalty.mu)
        run.penalty = AugmentedLagrangian(rows.lower, rows.upper, y, mu)

    def _cannot_get_closer(self, run: SQPProgress, e: Evaluator) -> bool:
        """Whether rows stay violated under the largest penalty, and no controls within their limits promise otherwise.

        What they promise is the largest decrease of ½ |v|² to first order, with v the violations, each control moving
        by at most its own size, or 1.
        """
        if not np.all(run.penalty.mu >= self.options.max_penalty * run.stiffness):
            return False
        rows = self._rows
        v = e.c - np.clip(e.c, rows.lower, rows.upper)
        if np.abs(v).max(initial=0.0) <= self.options.feasibility:
            return False
        descent = -along_controls(e, (v[:-1, None, :] @ e.C)[:, 0], v[-1] @ e.terminal_C)[0]
        room = np.maximum(1.0, np.abs(e.us))
        up, down = np.minimum(rows.u_upper - e.us, room), np.maximum(rows.u_lower - e.us, -room)
        promised = np.where(descent > 0.0, descent * up, descent * down).sum()
        return bool(promised < SLIGHT * (v**2).sum())

    def _begin_anew(self, run: SQPProgress, e: Evaluator) -> None:
        """From the guess's controls, once."""
        if run.restarted:
            return
        run.restarted = True
        self._search.roll_out(run.x0, run.guess)
        self._begin(run, e)

    def _expand(self, run: SQPProgress, e: Evaluator) -> None:
        """Derivatives at the trajectory, and how far it is from optimal."""
        e.expand(run.x0)
        run.cost = float(e.costs.sum())
        run.violation = self._rows.violation(e.c)
        run.stationarity, large = _stationarity(e, run)
        run.complementarity = self._rows.complementarity(e.c, run.y) / large

    def _check(self, run: SQPProgress, promised: float) -> None:
        options = self.options
        feasible = max(run.violation, run.complementarity) < options.feasibility
        flat = promised < options.relative_tolerance * max(1.0, abs(run.scale * run.cost))
        if run.feasible and feasible and (run.stationarity < options.tolerance or flat):
            run.status = SolverStatus.CONVERGED
        elif run.stuck >= STUCK:
            run.status = SolverStatus.INFEASIBLE
        elif run.restarted and run.failures >= 12:
            run.status = SolverStatus.LINE_SEARCH_FAILED

    def results(self, run: SQPProgress) -> dict[str, Any]:
        """Gains, and multipliers of the cost as it is."""
        multipliers = {"dynamics": run.lam / run.scale, "constraints": run.y / run.scale}
        assert self._evaluator is not None
        return {"K": self._evaluator.K.copy(), "multipliers": multipliers}


def _stationarity(e: Evaluator, run: SQPProgress) -> tuple[float, float]:
    """Largest gradient of the Lagrangian along a control, and how large the multipliers are, at least 1.

    It is relative to the multipliers where these are large (Wächter, Biegler, On the implementation of an
    interior-point filter line-search algorithm, 2006, eq. 6).
    """
    running = run.scale * e.g + (run.y[:-1, None, :] @ e.C)[:, 0]
    end = run.scale * e.terminal_g + run.y[-1] @ e.terminal_C
    along, costates = along_controls(e, running, end)
    mean = float(np.abs(run.y).sum() + np.abs(costates).sum()) / (run.y.size + costates.size)
    large = max(mean / LARGE, 1.0)
    return float(np.abs(along).max()) / large, large


def along_controls(e: Evaluator, running: Reals, end: Reals) -> tuple[Reals, Reals]:
    """Gradient along each control (T, nu) of a function with these gradients along (dx, du) and dx_T, and its costates.

    After a change of one control later ones follow the gains of the evaluator: at an optimum that changes nothing;
    elsewhere, without them, an unstable system would multiply rounding errors by many powers of ten.

    Args:
        e: Whose dynamics carry changes on.
        running: Gradients (T, ndx + nu).
        end: Gradient (ndx,).
    """
    n, F = e.state.ndx, LinearQuadratic.of(e).full_F()
    costates, along = np.empty((e.T + 1, n)), np.empty((e.T, e.nu))
    costates[-1] = end
    for t in range(e.T - 1, -1, -1):
        whole = running[t] + costates[t + 1] @ F[t]
        along[t] = whole[n:]
        costates[t] = whole[:n] - along[t] @ e.K[t]
    return along, costates


def _stiffness(e: Evaluator, scale: float) -> Reals:
    """Curvature of the scaled cost along each row (T + 1, nc), at least 1: what a penalty has to rival."""
    found = np.ones(e.c.shape)
    for C, H, rows in ((e.C, e.H, found[:-1]), (e.terminal_C[None], e.terminal_H[None], found[-1:])):
        square = (C**2).sum(axis=-1)
        along = np.abs(np.einsum("tri,trj,tij->tr", C, C, np.tril(H)))
        rows[:] = np.maximum(1.0, scale * np.divide(along, square**2, out=np.zeros_like(along), where=square > 0.0))
    return found
