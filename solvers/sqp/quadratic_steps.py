"""Steps of sequential quadratic programming: a program, a search along its solution, and the multipliers after it."""

from __future__ import annotations

import math
import time
from functools import partial
from typing import Any

import numpy as np

from trajopt.checks import check_array
from trajopt.shooting import ShootingProblem
from trajopt.shooting.evaluator import Evaluator
from trajopt.solution import IterationRecord
from trajopt.solvers.augmented_lagrangian import AugmentedLagrangian
from trajopt.solvers.options import SQPOptions
from trajopt.solvers.qp import QPSolution, QPStatus
from trajopt.solvers.sqp.filter import FilterSearch
from trajopt.solvers.sqp.merit import Taken, merit, merit_slope, promised_merit
from trajopt.solvers.sqp.optimality import cannot_get_closer, measure
from trajopt.solvers.sqp.policy import FLAT, PolicySearch, is_nearly_a_motion, is_noisy
from trajopt.solvers.sqp.progress import SQPProgress
from trajopt.solvers.sqp.quadratic_model import FIRST_RIDGE, QuadraticModel
from trajopt.solvers.sqp.rows import RowBounds
from trajopt.solvers.sqp.units import Units
from trajopt.types import Reals

NEAR = 1e-6  # promised decrease of the merit, relative to it, below which a solve is about to end
INCREASE = 10.0  # times relative_tolerance: as products of slacks and multipliers are not quite 0, a QP may promise it
PARTIAL = 0.03  # times relative_tolerance, where the last promise was too much: it is exact without rows
FAILURES = 3  # searches without a step, or linear steps that are short, after which it goes on in another way
SHORT = 0.2  # length of a short step
CUT = 0.1  # length below which the next program is Gauss-Newton's, or has a larger δ
LOST, MEMORY = 0.1, 20  # mean step length of a solve that gets nowhere, over about so many iterations
ROUNDED = 1e-12  # gap of a rollout
CLOSE = 1e-2  # largest gap of a trajectory that a rollout is near


class QuadraticSteps:
    """Moves the trajectory of an evaluator by solutions of quadratic programs, as rollouts or along lines.

    Args:
        problem: The problem.
        options: Options of the solver.

    Attributes:
        evaluator: Evaluator with the trajectory.
        model: The programs.
        rollouts: Search by rollouts of a program's policy.
        lines: Search along lines.
        rows: Bounds of the rows, since `repair`.
    """

    rows: RowBounds

    def __init__(self, problem: ShootingProblem, options: SQPOptions) -> None:
        e = self.evaluator = Evaluator(problem)
        self._problem, self._options = problem, options
        self.model = QuadraticModel(e, problem, options)
        self.rollouts = PolicySearch(e, options.step_lengths)
        self.lines = FilterSearch(e, options.step_lengths, rough=options.qp_iterations is not None)
        e.prepare()
        self.model.prepare()
        self.rollouts.prepare()
        if options.steps == "linear":
            self.lines.prepare()

    def x0(self, run: SQPProgress) -> Reals | None:
        """Returns the initial state (nx,) of the solve if the start is fixed, else None."""
        return run.x0 if self._problem.start == "fixed" else None

    def repair(self, run: SQPProgress) -> None:
        """Prepares the guess of a solve, and computes its derivatives in `evaluator`.

        It clips controls and start to their limits. States that are noise (see `is_noisy`) rather than a motion are
        replaced by a rollout of the controls; `run.repaired` then is True. It sets `rows` and `run.guess`, too.
        """
        e, expanded = self.evaluator, None
        e.xs[:], e.us[:] = run.trajectory
        if self._problem.start == "fixed":
            e.xs[0] = run.x0
        if e.nc:  # limits of controls are found where rows are known
            e.expand(self.x0(run))
            expanded = e.xs.copy(), e.us.copy()
            self._problem.warn_of_given_rows(e.c[0])
        rows = self.rows = RowBounds(e, self._problem)
        self.rollouts.limit(rows)
        e.xs[0], e.us[:] = rows.within_start(e.xs[0]), np.clip(e.us, rows.u_lower, rows.u_upper)
        run.guess = e.xs.copy(), e.us.copy()
        run.repaired = (is_noisy(e.xs) or e.nu == 0) and self.rollouts.roll_out(e.xs[0], e.us)
        if expanded is None or not all(map(np.array_equal, expanded, (e.xs, e.us))):
            e.expand(self.x0(run))
        e.check_finite()

    def begin(self, run: SQPProgress) -> None:
        """Chooses the units and the kind of step for a repaired guess, and starts from it."""
        e, options = self.evaluator, self._options
        run.units = Units.of(e, self.rows)
        run.scale = 1.0 / run.units.cost
        self.rows.relate(run.units)
        self.model.relate(run.units)
        near = not run.repaired and is_nearly_a_motion(e.xs, e.f, options.feasibility)
        run.linear = near or options.steps == "linear"
        if near:
            self.lines.prepare()
        self.begin_here(run)

    def begin_anew(self, run: SQPProgress, us: Reals, *, or_none: bool) -> bool:
        """Begins at the rollout of controls, or `or_none` of none where that diverges; whether there is one.

        Raises:
            ModelEvaluationError: A model has no finite values there; the state of the solve is as before.
        """
        if not self.rollouts.roll_out(run.guess[0][0], us, or_none=or_none):
            return False
        self.evaluator.expand(self.x0(run))
        self.evaluator.check_finite()
        run.linear, run.repaired, run.stuck, run.multipliers = False, True, 0, {}
        self.begin_here(run)
        return True

    def begin_here(self, run: SQPProgress) -> None:
        """Starts from the evaluator's trajectory, with the multipliers of the guess."""
        e = self.evaluator
        shape, n = self.rows.lower.shape, e.state.ndx
        run.lam, run.y, run.start_y = np.zeros((e.T + 1, n)), np.zeros(shape), np.zeros(n)
        run.K, run.p = np.zeros((e.T, e.nu, n)), None
        run.warm = bool(run.multipliers)
        weight = self._options.initial_penalty
        if run.warm:
            run.lam, run.y = (run.scale * each for each in self._given(run))
            weight = min(self._options.max_penalty, weight * self._options.penalty_increase**2)
        self._penalize(run, self.rows.of_general(run.y), weight)
        run.filter, run.largest = [], math.inf
        run.trajectory, run.feasible = (e.xs.copy(), e.us.copy()), run.repaired
        run.ridge, run.failures, run.shorts = 0.0, 0, 0
        run.plain = run.full = run.partial = False
        run.mean_length = 1.0
        self._judge(run, e)
        run.repaired = run.repaired or (run.warm and run.gap < self._options.feasibility)

    def _given(self, run: SQPProgress) -> tuple[Reals, Reals]:
        """Multipliers of the dynamics and the rows, of a warm start."""
        shapes = {"dynamics": run.lam.shape, "constraints": run.y.shape}
        lam, y = (check_array(f"multipliers[{name!r}]", run.multipliers[name], shapes[name]) for name in shapes)
        return lam, y

    def _penalize(self, run: SQPProgress, y: Reals, weight: float) -> None:
        rows = self.rows
        run.penalty = AugmentedLagrangian(rows.lower, rows.upper, y, weight * run.units.stiffness)

    def iterate(self, run: SQPProgress) -> IterationRecord | None:
        """Runs one iteration: solves the program, searches along the step, updates multipliers, checks optimality.

        Returns:
            The record of the iteration; None if no program was convex.
        """
        e = self.evaluator
        gap, missed, run.nonfinite_trial = e.largest_gap, max(run.gap, run.violation), None
        found, ridge = self._direction(run)
        if found.status is QPStatus.INDEFINITE:
            run.failed_knot = found.failed_knot
            return None
        if not run.first_step.size:
            run.first_step = np.sqrt((found.du**2).sum(axis=0) / max(len(found.du), 1))
        before = merit(run, self.rows, run.cost, e.c)
        slope = merit_slope(run, self.rows, e, found)
        taken = self._along(run, found, before, slope)
        if self._loses_the_guess(run, e, found, taken):
            self._take_lines(run)
            return self.iterate(run)
        run.mean_length += ((0.0 if taken is None else taken.length) - run.mean_length) / MEMORY
        self._accept(run, e, taken, found, before, slope, ridge)
        run.is_far = -slope > NEAR * max(1.0, abs(before))
        run.stuck = run.stuck + 1 if cannot_get_closer(run, e, self.rows, self.model, self._options) else 0
        run.solved = self._is_solved(run, found, -slope, missed)
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
            constraint_violation=run.largest_violation,
            complementarity=run.complementarity,
            blend=run.blend,
            method="linear" if run.linear else "policy",
            nonfinite_trial=run.nonfinite_trial,
        )

    def _direction(self, run: SQPProgress) -> tuple[QPSolution, float]:
        """The solution of the quadratic program, and δ; with proximal rows if hard ones can't be kept."""
        found, ridge = self.model.solve(run, self.rows, proximal=not run.linear)
        if run.linear and self._is_infeasible(found):
            self._penalize_more(run, np.zeros_like(run.y))
            found, ridge = self.model.solve(run, self.rows, proximal=True)
        return found, ridge

    def _is_infeasible(self, found: QPSolution) -> bool:
        """Whether a step misses rows that it should keep."""
        if found.status in (QPStatus.SOLVED, QPStatus.INDEFINITE) or self._options.qp_iterations is not None:
            return False
        missed = self.rows.beyond(self.evaluator.c + found.rows)
        return not np.abs(missed).max(initial=0.0) <= self._options.feasibility  # nor if it is not finite

    def _along(self, run: SQPProgress, found: QPSolution, before: float, slope: float) -> Taken | None:
        if not run.linear:
            return self.rollouts.along(run, self.rows, found, before, slope)
        correct = partial(self.model.corrected, run, self.rows, found)
        return self.lines.along(run, self.rows, found, before, slope, correct)

    def _loses_the_guess(self, run: SQPProgress, e: Evaluator, found: QPSolution, taken: Taken | None) -> bool:
        """Whether linear steps are to be tried, once, as no rollout keeps close to a guess with gaps."""
        if run.repaired or run.linear or run.lined:
            return False
        return self.rollouts.loses(taken, promised_merit(run, self.rows, e, found))

    def _take_lines(self, run: SQPProgress) -> None:
        """Rollouts give way to linear steps, from the guess."""
        begun = time.perf_counter()
        self.lines.prepare()
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
            e.expand(self.x0(run))
        self._judge(run, e)
        closed = self._options.steps == "policy" and run.gap < self._options.feasibility
        if run.linear and (closed or run.shorts >= FAILURES):
            self._take_rollouts(run, e)

    def _after_failure(self, run: SQPProgress, e: Evaluator, ridge: float) -> None:
        """A larger δ; after several failures linear steps give way to rollouts."""
        run.failures += 1
        run.ridge = 8.0 * max(ridge, FIRST_RIDGE)
        if run.failures >= FAILURES and run.linear:
            self._take_rollouts(run, e)

    def _take_rollouts(self, run: SQPProgress, e: Evaluator) -> None:
        """Linear steps give way to rollouts, from here where gaps are small, else from the guess."""
        run.linear, run.failures, run.ridge = False, 0, 0.0
        if run.gap < CLOSE:
            run.repaired = run.feasible = run.gap < ROUNDED
            self._penalize(run, self.rows.of_general(run.y), self._options.initial_penalty)
            return
        e.xs[:], e.us[:] = run.guess
        run.repaired, run.multipliers = False, {}
        e.expand(self.x0(run))
        self.begin_here(run)

    def _update_multipliers(self, run: SQPProgress, e: Evaluator, taken: Taken | None, found: QPSolution) -> None:
        """Those of the QP after a whole step, else of first order; then the penalty grows."""
        c = e.c if taken is None else taken.c
        whole = taken is not None and taken.length == 1.0
        y = found.y if whole else run.penalty.gradient(self.rows.penalized(c))
        self._penalize_more(run, self.rows.of_general(y))

    def _penalize_more(self, run: SQPProgress, y: Reals) -> None:
        """Takes multipliers of the rows, and raises the penalty."""
        options, rows = self._options, self.rows
        mu = np.minimum(options.max_penalty * run.units.stiffness, options.penalty_increase * run.penalty.mu)
        run.penalty = AugmentedLagrangian(rows.lower, rows.upper, y, mu)

    def _judge(self, run: SQPProgress, e: Evaluator) -> None:
        """Hands what was expanded to the quadratic model, and measures how far it is from optimal."""
        run.cost = e.cost
        self.model.take(run, self.rows)
        measure(run, e, self.rows, self.model)

    def _is_solved(self, run: SQPProgress, found: QPSolution, promised: float, missed: float) -> bool:
        """Whether it is; what a linear step promises counts if it had neither gaps nor rows to make up for."""
        options = self._options
        closed = not run.linear or max(run.gap, missed) < options.feasibility
        feasible = closed and max(run.violation, run.complementarity) < options.feasibility
        size = max(1.0, abs(run.scale * run.cost))
        solved = found.status in (QPStatus.SOLVED, QPStatus.ROUNDING) or options.qp_iterations is not None
        rounding = options.relative_tolerance * size * (PARTIAL if run.partial else 1.0)
        flat = solved and -INCREASE * rounding < promised < rounding
        return (run.feasible or run.linear) and feasible and (flat or run.stationarity < options.tolerance)

    def results(self, run: SQPProgress) -> dict[str, Any]:
        """Gains that keep the active rows, and multipliers of the unscaled cost."""
        multipliers = {"dynamics": run.lam / run.scale, "constraints": run.y / run.scale}
        if self._problem.start not in ("fixed", "free"):
            multipliers["start"] = run.start_y / run.scale
        K = self.model.active_gains(run)
        return {"K": run.K if K is None else K, "multipliers": multipliers}

    def take_solution(self, run: SQPProgress) -> None:
        """Takes the solution of another method, which the evaluator has, with the gains of a program there."""
        run.warm = True
        self._judge(run, self.evaluator)
        found, _ = self.model.solve(run, self.rows, proximal=False)
        run.K = run.K if found.K is None else found.K

    def settle(self, run: SQPProgress) -> None:
        """Goes to the trajectory that the solve returns, with the gains of a program there."""
        self.go_back(run)
        found, _ = self.model.solve(run, self.rows, proximal=True)
        run.K = run.K if found.K is None else found.K

    def go_back(self, run: SQPProgress) -> None:
        """Moves the evaluator back to the trajectory of the solve, after another method has moved it."""
        e = self.evaluator
        e.xs[:], e.us[:] = run.trajectory
        e.expand(self.x0(run))
        self._judge(run, e)
