"""SolverSQP: expand, solve the quadratic program, step along it, update the multipliers, check."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from trajopt.callbacks import Callback
from trajopt.checks import check_array
from trajopt.shooting import ShootingProblem
from trajopt.shooting.evaluator import Evaluator
from trajopt.solution import IterationRecord, SolverStatus
from trajopt.solvers.augmented_lagrangian import AugmentedLagrangian
from trajopt.solvers.base import SolverAbstract
from trajopt.solvers.options import SolverOptions, SQPOptions
from trajopt.solvers.qp import QPSolution, QPStatus
from trajopt.solvers.sqp import units
from trajopt.solvers.sqp.filter import FilterSearch
from trajopt.solvers.sqp.merit import Taken, merit, merit_slope, promised_merit
from trajopt.solvers.sqp.optimality import cannot_get_closer, measure
from trajopt.solvers.sqp.policy import FLAT, PolicySearch, is_nearly_a_motion, is_noisy
from trajopt.solvers.sqp.progress import Left, SQPProgress
from trajopt.solvers.sqp.quadratic_model import FIRST_RIDGE, QuadraticModel
from trajopt.solvers.sqp.rows import RowBounds
from trajopt.types import Reals

STUCK = 3  # iterations in a row after which what cannot get closer counts as infeasible
NEAR = 1e-6  # promised decrease of the merit, relative to it, below which a solve is about to end
INCREASE = 10.0  # times relative_tolerance: as products of slacks and multipliers are not quite 0, a QP may promise it
PARTIAL = 0.03  # times relative_tolerance, where the last promise was too much: it is exact without rows
FAILURES = 3  # searches without a step, or linear steps that are short, after which it goes on in another way
SHORT = 0.2  # length of a short step
CUT = 0.1  # length below which the next program is Gauss-Newton's, or has a larger δ
LOST, MEMORY = 0.1, 20  # mean step length of a solve that gets nowhere, over about so many iterations
ROUNDED = 1e-12  # gap of a rollout
CLOSE = 1e-2  # largest gap of a trajectory that a rollout is near


class SolverSQP(SolverAbstract[SQPProgress]):
    """Sequential quadratic programming: constraints hold.

    It keeps the constraints of the models (`ConstraintStack`). Limits `lower` and `upper` of models, states and robots
    are none, and are not kept: `ConstraintStack.of_robot(state, actuation)` makes those of a robot constraints,
    `add("limits", ResidualModelControl(state), lower=..., upper=...)` those of the controls.

    An iteration solves a quadratic program with stages, with the Hessian of the Lagrangian where all models of the
    problem give it, blended towards Gauss-Newton's where it is indefinite. Without constraints a step shorter than 0.1
    is followed by one with Gauss-Newton's. Constraints on single controls are hard in it.
    Rows that are free of the control are not enforced at knot 0 where the start is fixed.

    Steps are rollouts of its policy, in which other rows are proximal, so that the step is that of an augmented
    Lagrangian, which is the merit function. Or they are linear ones, evaluated at all knots at once, in which all rows
    are hard, judged by a filter; where the program has no solution its rows become proximal, and where the filter finds
    no step the solve goes on with rollouts. A guess that is nearly a motion, such as a solution that is shifted by a
    knot, is followed with linear steps until its gaps are closed; so is one that all rollouts lose, see
    `PolicySearch.loses`.

    Arguments are those of SolverAbstract.
    """

    options_type: ClassVar[type[SolverOptions]] = SQPOptions
    options: SQPOptions
    progress_type = SQPProgress
    takes_multipliers = True
    honours_constraints = True
    honours_soft_constraints = True

    def __init__(
        self,
        problem: ShootingProblem,
        options: SolverOptions | None = None,
        callbacks: Sequence[Callback | Callable[[IterationRecord], Any]] = (),
    ) -> None:
        super().__init__(problem, options, callbacks)
        self._evaluator: Evaluator | None = None

    # Before the first iteration

    def prepare(self, run: SQPProgress) -> None:
        """Arrays for this problem, kept as long as its models stay; the repaired guess, expanded; units."""
        e = self._evaluator
        if e is None or not e.fits(self.problem):
            e = self._evaluator = self._made()
        e.xs[:], e.us[:] = run.trajectory
        if self.problem.start == "fixed":
            e.xs[0] = run.x0
        self._repair(run, e)
        e.check_finite()
        run.scale = units.cost_scale(e)
        run.stiffness = units.stiffness(e, run.scale, self.options.path_penalty_ratio)
        near = not run.repaired and is_nearly_a_motion(e.xs, e.f, self.options.feasibility)
        run.linear = near or self.options.steps == "linear"
        if near:
            self._filter.prepare()
        self._begin(run, e)
        if self.problem.nu == 0 and self.problem.start == "fixed":  # there is nothing to choose
            feasible = run.violation < self.options.feasibility
            run.status = SolverStatus.CONVERGED if feasible else SolverStatus.INFEASIBLE

    def _repair(self, run: SQPProgress, e: Evaluator) -> None:
        """Moves the guess to within its limits, rolls its controls out if its states are noise, and expands there."""
        expanded: tuple[Reals, Reals] | None = None
        if e.nc:  # limits of controls are found where rows are known
            e.expand(self._x0(run))
            expanded = e.xs.copy(), e.us.copy()
            self.problem.warn_of_given_rows(e.c[0])
        rows = self._rows = RowBounds(e, self.problem)
        self._search.limit(rows)
        e.xs[0], e.us[:] = rows.within_start(e.xs[0]), np.clip(e.us, rows.u_lower, rows.u_upper)
        run.guess = e.xs.copy(), e.us.copy()
        run.repaired = (is_noisy(e.xs) or e.nu == 0) and self._search.roll_out(e.xs[0], e.us)
        if expanded is None or not all(map(np.array_equal, expanded, (e.xs, e.us))):
            e.expand(self._x0(run))

    def _made(self) -> Evaluator:
        e = Evaluator(self.problem)
        self._model = QuadraticModel(e, self.problem, self.options)
        self._search = PolicySearch(e, self.options.step_lengths)
        self._filter = FilterSearch(e, self.options.step_lengths, rough=self.options.qp_iterations is not None)
        e.prepare()
        self._model.prepare()
        self._search.prepare()
        if self.options.steps == "linear":
            self._filter.prepare()
        return e

    def _x0(self, run: SQPProgress) -> Reals | None:
        return run.x0 if self.problem.start == "fixed" else None

    def _begin(self, run: SQPProgress, e: Evaluator) -> None:
        """Takes the evaluator's trajectory, which is expanded, with the multipliers that came with the guess."""
        shape, n = self._rows.lower.shape, e.state.ndx
        run.lam, run.y, run.start_y = np.zeros((e.T + 1, n)), np.zeros(shape), np.zeros(n)
        run.K, run.p = np.zeros((e.T, e.nu, n)), None
        run.warm = bool(run.multipliers)
        weight = self.options.initial_penalty
        if run.warm:
            run.lam, run.y = (run.scale * each for each in self._given(run))
            weight = min(self.options.max_penalty, weight * self.options.penalty_increase**2)
        self._penalize(run, self._rows.of_general(run.y), weight)
        run.filter, run.largest = [], math.inf
        run.trajectory, run.feasible = (e.xs.copy(), e.us.copy()), run.repaired
        run.ridge, run.failures, run.shorts = 0.0, 0, 0
        run.plain = run.full = run.partial = False
        run.mean_length = 1.0
        self._judge(run, e)
        run.repaired = run.repaired or (run.warm and run.gap < self.options.feasibility)

    def _given(self, run: SQPProgress) -> tuple[Reals, Reals]:
        """Multipliers of the dynamics and the rows, of a warm start."""
        shapes = {"dynamics": run.lam.shape, "constraints": run.y.shape}
        lam, y = (check_array(f"multipliers[{name!r}]", run.multipliers[name], shapes[name]) for name in shapes)
        return lam, y

    def _penalize(self, run: SQPProgress, y: Reals, weight: float) -> None:
        rows = self._rows
        run.penalty = AugmentedLagrangian(rows.lower, rows.upper, y, weight * run.stiffness)

    # An iteration

    def iterate(self, run: SQPProgress) -> IterationRecord | None:
        """Solves the QP at the trajectory, searches along it, updates the multipliers, expands, checks."""
        e = self._evaluator
        assert e is not None
        gap, missed, run.nonfinite_trial = run.gap, max(run.gap, run.violation), None
        found, ridge = self._direction(run)
        if found.status is QPStatus.INDEFINITE:
            if not self._begin_anew(run, e):
                run.status, run.failed_knot = SolverStatus.INDEFINITE_QUU, found.failed_knot
            return None
        before = merit(run, self._rows, run.cost, e.c)
        slope = merit_slope(run, self._rows, e, found)
        taken = self._along(run, found, before, slope)
        if self._loses_the_guess(run, e, found, taken):
            self._take_lines(run)
            return self.iterate(run)
        run.mean_length += ((0.0 if taken is None else taken.length) - run.mean_length) / MEMORY
        self._accept(run, e, taken, found, before, slope, ridge)
        if self._is_late(run, -slope, before) and self._begin_anew(run, e):
            return self._record(run, taken, before, slope, ridge, gap)
        run.stuck = run.stuck + 1 if cannot_get_closer(run, e, self._rows, self._model, self.options) else 0
        self._check(run, found, -slope, missed)
        if run.status is not None or run.iterations >= self.options.max_iterations:
            _keep_better(run)
        return self._record(run, taken, before, slope, ridge, gap)

    def _record(
        self, run: SQPProgress, taken: Taken | None, before: float, slope: float, ridge: float, gap: float
    ) -> IterationRecord:
        return run.record(
            stop=run.stationarity,
            step_length=0.0 if taken is None else taken.length,
            accepted=taken is not None,
            regularization=ridge,
            gap_norm=gap,
            expected_decrease=-slope,
            decrease=math.nan if taken is None else before - taken.merit,
            constraint_violation=run.violation,
            complementarity=run.complementarity,
            blend=run.blend,
            nonfinite_trial=run.nonfinite_trial,
        )

    def _direction(self, run: SQPProgress) -> tuple[QPSolution, float]:
        """The solution of the quadratic program, and δ; with proximal rows if hard ones can't be kept."""
        found, ridge = self._model.solve(run, self._rows, proximal=not run.linear)
        if run.linear and self._is_infeasible(found):
            self._penalize_more(run, np.zeros_like(run.y))
            found, ridge = self._model.solve(run, self._rows, proximal=True)
        return found, ridge

    def _is_infeasible(self, found: QPSolution) -> bool:
        """Whether a step misses rows that it should keep."""
        if found.status in (QPStatus.SOLVED, QPStatus.INDEFINITE) or self.options.qp_iterations is not None:
            return False
        e = self._evaluator
        assert e is not None
        missed = self._rows.beyond(e.c + found.rows)
        return not np.abs(missed).max(initial=0.0) <= self.options.feasibility  # nor if it is not finite

    def _along(self, run: SQPProgress, found: QPSolution, before: float, slope: float) -> Taken | None:
        if not run.linear:
            return self._search.along(run, self._rows, found, before, slope)
        correct = partial(self._model.corrected, run, self._rows, found)
        return self._filter.along(run, self._rows, found, before, slope, correct)

    def _loses_the_guess(self, run: SQPProgress, e: Evaluator, found: QPSolution, taken: Taken | None) -> bool:
        """Whether linear steps are to be tried, once, as no rollout keeps close to a guess with gaps."""
        if run.repaired or run.linear or run.lined:
            return False
        return self._search.loses(taken, promised_merit(run, self._rows, e, found))

    def _take_lines(self, run: SQPProgress) -> None:
        """Rollouts give way to linear steps, from the guess."""
        begun = time.perf_counter()
        self._filter.prepare()
        run.started += time.perf_counter() - begun  # compiling does not count
        run.linear = run.lined = True

    def _accept(
        self,
        run: SQPProgress,
        e: Evaluator,
        taken: Taken | None,
        found: QPSolution,
        before: float,
        slope: float,
        ridge: float,
    ) -> None:
        was_repaired, run.repaired = run.repaired, True
        flat = abs(slope) < FLAT * max(1.0, abs(before))
        if taken is None and (run.linear or not flat or not e.nc):
            self._after_failure(run, e, ridge)
            return
        used = found if taken is None else taken.step
        run.failures = 0
        cut = taken is not None and taken.length < CUT and was_repaired
        run.plain = cut and run.blend > 0.0 and not e.nc
        run.ridge = 2.0 * max(ridge, FIRST_RIDGE) if cut and not run.plain else 0.0
        run.lam, run.y, run.p = used.lam, used.y, run.next_p
        run.K = run.K if used.K is None else used.K
        run.full = taken is not None and taken.length == 1.0
        run.partial = taken is not None and taken.length < 1.0 and not e.nc
        if taken is not None:
            if not taken.expanded:
                e.xs[:], e.us[:] = taken.xs, taken.us
            run.trajectory, run.feasible = (taken.xs, taken.us), not run.linear
        run.shorts = run.shorts + 1 if taken is not None and taken.length < SHORT else 0
        small = taken is not None and taken.length >= 0.5 and -slope < 0.03 * max(1.0, abs(before))
        if not run.linear and (taken is None or small):
            self._update_multipliers(run, e, taken, found)
        if taken is None or not taken.expanded:
            e.expand(self._x0(run))
        self._judge(run, e)
        closed = self.options.steps == "policy" and run.gap < self.options.feasibility
        if run.linear and (closed or run.shorts >= FAILURES):
            self._take_rollouts(run, e)

    def _is_late(self, run: SQPProgress, promised: float, merit: float) -> bool:
        """Whether it is time to begin anew: many iterations, and rows are violated, or steps short and the end far."""
        if run.iterations != self.options.restart or run.iterations >= self.options.max_iterations:
            return False
        lost = run.mean_length < LOST and promised > NEAR * max(1.0, abs(merit))
        return lost or run.violation > self.options.feasibility

    def _after_failure(self, run: SQPProgress, e: Evaluator, ridge: float) -> None:
        """A larger δ; after several failures linear steps give way to rollouts, and these begin anew."""
        run.failures += 1
        run.ridge = 8.0 * max(ridge, FIRST_RIDGE)
        if run.failures >= FAILURES and run.linear:
            self._take_rollouts(run, e)
        elif run.failures >= FAILURES:
            self._begin_anew(run, e)

    def _take_rollouts(self, run: SQPProgress, e: Evaluator) -> None:
        """Linear steps give way to rollouts, from here where gaps are small, else from the guess."""
        run.linear, run.failures, run.ridge = False, 0, 0.0
        if run.gap < CLOSE:
            run.repaired = run.feasible = run.gap < ROUNDED
            self._penalize(run, self._rows.of_general(run.y), self.options.initial_penalty)
            return
        e.xs[:], e.us[:] = run.guess
        run.repaired, run.multipliers = False, {}
        e.expand(self._x0(run))
        self._begin(run, e)

    def _update_multipliers(self, run: SQPProgress, e: Evaluator, taken: Taken | None, found: QPSolution) -> None:
        """Those of the QP after a whole step, else of first order; then the penalty grows."""
        c = e.c if taken is None else taken.c
        whole = taken is not None and taken.length == 1.0
        y = found.y if whole else run.penalty.gradient(self._rows.penalized(c))
        self._penalize_more(run, self._rows.of_general(y))

    def _penalize_more(self, run: SQPProgress, y: Reals) -> None:
        """Takes multipliers of the rows, and raises the penalty."""
        options, rows = self.options, self._rows
        mu = np.minimum(options.max_penalty * run.stiffness, options.penalty_increase * run.penalty.mu)
        run.penalty = AugmentedLagrangian(rows.lower, rows.upper, y, mu)

    def _begin_anew(self, run: SQPProgress, e: Evaluator) -> bool:
        """From a rollout of the guess's controls, with rollouts as steps, once; whether it does."""
        if run.restarted or not self._search.roll_out(run.guess[0][0], run.guess[1]):
            return False
        run.left = Left(run.trajectory, run.cost, max(run.gap, run.violation), run.feasible)
        run.restarted, run.linear, run.repaired, run.multipliers = True, False, True, {}
        e.expand(self._x0(run))
        self._begin(run, e)
        e.check_finite()
        return True

    def _judge(self, run: SQPProgress, e: Evaluator) -> None:
        """Hands what was expanded to the quadratic model, and measures how far it is from optimal."""
        run.cost = e.cost
        self._model.take(run, self._rows)
        measure(run, e, self._rows, self._model)

    def _check(self, run: SQPProgress, found: QPSolution, promised: float, missed: float) -> None:
        """Whether it ends; what a linear step promises counts if it had neither gaps nor rows to make up for."""
        options = self.options
        closed = not run.linear or max(run.gap, missed) < options.feasibility
        feasible = closed and max(run.violation, run.complementarity) < options.feasibility
        size = max(1.0, abs(run.scale * run.cost))
        solved = found.status in (QPStatus.SOLVED, QPStatus.ROUNDING) or options.qp_iterations is not None
        rounding = options.relative_tolerance * size * (PARTIAL if run.partial else 1.0)
        flat = solved and -INCREASE * rounding < promised < rounding
        if (run.feasible or run.linear) and feasible and (flat or run.stationarity < options.tolerance):
            run.status = SolverStatus.CONVERGED
        elif run.stuck >= STUCK:
            run.status = SolverStatus.INFEASIBLE
        elif run.restarted and run.failures >= 12:
            run.status = SolverStatus.LINE_SEARCH_FAILED

    def results(self, run: SQPProgress) -> dict[str, Any]:
        """Gains that keep active rows, and multipliers of the cost as it is."""
        multipliers = {"dynamics": run.lam / run.scale, "constraints": run.y / run.scale}
        if self.problem.start not in ("fixed", "free"):
            multipliers["start"] = run.start_y / run.scale
        K = self._model.active_gains(run)
        return {"K": run.K if K is None else K, "multipliers": multipliers}


def _keep_better(run: SQPProgress) -> None:
    """Goes back to the trajectory that a restart has left, if the solve ends without convergence at a worse one."""
    left = run.left
    if left is None or run.status is SolverStatus.CONVERGED:
        return
    if (left.infeasibility, left.cost) < (max(run.gap, run.violation), run.cost):
        run.trajectory, run.cost, run.feasible = left.trajectory, left.cost, left.feasible
