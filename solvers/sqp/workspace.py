"""Data that the methods of SolverSQP share: the trajectory with derivatives, its rows, programs and searches."""

from __future__ import annotations

from typing import Any

import numpy as np

from trajopt.checks import check_array
from trajopt.shooting import ShootingProblem
from trajopt.shooting.evaluator import Evaluator
from trajopt.shooting.linear_trial import LinearTrial
from trajopt.solvers.norms import largest, total
from trajopt.solvers.options import SQPOptions
from trajopt.solvers.qp import QPStatus
from trajopt.solvers.riccati import LinearQuadratic, Riccati
from trajopt.solvers.sqp.first_program import whole_cost
from trajopt.solvers.sqp.merit import Merit
from trajopt.solvers.sqp.progress import SQPProgress
from trajopt.solvers.sqp.quadratic_model import QuadraticModel
from trajopt.solvers.sqp.rollouts import PolicyRollouts
from trajopt.solvers.sqp.rows import RowBounds
from trajopt.solvers.sqp.units import Units
from trajopt.types import Reals

LARGE = 100.0  # mean of the multipliers, of the scaled cost, beyond which stationarity is relative to it
NEARLY = 1e-3  # part of the cost that a program promises of a guess that is nearly a solution
WILD = 1e3  # times the tolerance that a solution misses by, in units of all its coordinates, where its start's are wild
LARGEST = 1e4  # times smaller than it is stationarity is taken at most: multipliers of a wild trajectory say nothing


class Workspace:
    """The trajectory of a solve in an evaluator, and what moves and measures it.

    Args:
        problem: The problem.
        options: Options of the solver.

    Attributes:
        evaluator: Evaluator with the trajectory.
        options: The options.
        model: The quadratic programs.
        rollouts: Rollouts of a program's policy.
        line: Trials along lines.
        rows: Bounds of the rows, since `repair`.
    """

    rows: RowBounds

    def __init__(self, problem: ShootingProblem, options: SQPOptions) -> None:
        e = self.evaluator = Evaluator(problem)
        self._problem, self.options = problem, options
        self.model = QuadraticModel(e, problem, options)
        self.rollouts = PolicyRollouts(e, options.step_lengths)
        self.line = LinearTrial(e)
        self._first = Riccati(LinearQuadratic.of(e))
        e.prepare()
        self.model.prepare()
        self.rollouts.prepare()
        self.line.prepare()  # any solve may come to need them, and should not stop for a compiler then

    def units(self, cost: float | None = None) -> Units:
        """Units at the evaluator's trajectory, of a typical cost if that is known [cost]."""
        return Units.of(self.evaluator, self.rows, self._first, cost)

    def x0(self, run: SQPProgress) -> Reals | None:
        """Returns the initial state (nx,) of the solve if the start is fixed, else None."""
        return run.x0 if self._problem.start == "fixed" else None

    def repair(self, run: SQPProgress) -> bool:
        """Prepares the guess of a solve, computes its derivatives, and chooses the units.

        It clips controls and start to their limits, and sets `rows`, `run.guess` and `run.units`.

        Returns:
            Whether the trajectory is a rollout, as the guess is replaced by one where there are no controls.
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
        rolled = e.nu == 0 and self.rollouts.roll_out(e.xs[0], e.us)
        if expanded is None or not all(map(np.array_equal, expanded, (e.xs, e.us))):
            e.expand(self.x0(run))
        e.check_finite()
        self.relate(run, self.units())
        return rolled

    def relate(self, run: SQPProgress, units: Units) -> None:
        """Makes all sizes of the solve relative to these units."""
        run.units = units
        self.rows.relate(units)
        self.model.relate(units)

    def begin(self, run: SQPProgress, *, rolled: bool) -> None:
        """Begins an attempt from the evaluator's trajectory, with the multipliers that came with the guess."""
        e, n = self.evaluator, self.evaluator.state.ndx
        run.lam, run.y, run.start_y = np.zeros((e.T + 1, n)), np.zeros(self.rows.lower.shape), np.zeros(n)
        run.K = np.zeros((e.T, e.nu, n))
        self.model.forget()
        if run.multipliers:
            shapes = {"dynamics": run.lam.shape, "constraints": run.y.shape}
            lam, y = (check_array(f"multipliers[{name!r}]", run.multipliers[name], shapes[name]) for name in shapes)
            run.lam, run.y = run.scale * lam, run.scale * y
        run.trajectory, run.feasible = (e.xs.copy(), e.us.copy()), rolled
        self.judge(run)

    def at_rest(self, run: SQPProgress) -> tuple[Reals, Reals]:
        """States (T + 1, nx) and controls (T, nu) of the initial state at rest, the guess of a solve without one."""
        xs = np.broadcast_to(run.guess[0][0], run.guess[0].shape)
        return xs, np.clip(self._problem.quasi_static(xs[:-1]), self.rows.u_lower, self.rows.u_upper)

    def begin_anew(self, run: SQPProgress, us: Reals, xs: Reals | None = None, *, own_units: bool) -> bool:
        """Begins an attempt at the rollout of controls (T, nu), or at states (T + 1, nx); whether that is possible.

        `own_units` says whether it has the units of its start.

        Raises:
            ModelEvaluationError: A model has no finite values there; the state of the solve is as before.
        """
        e = self.evaluator
        if xs is not None:
            e.xs[:], e.us[:] = xs, us
        elif not self.rollouts.roll_out(run.guess[0][0], us):
            return False
        e.expand(self.x0(run))
        e.check_finite()
        if own_units:
            self.relate(run, self.units())
        run.multipliers = {}
        self.begin(run, rolled=xs is None)
        return True

    def move(self, run: SQPProgress, xs: Reals, us: Reals) -> None:
        """Moves the evaluator to a trajectory, and measures it."""
        e = self.evaluator
        e.xs[:], e.us[:] = xs, us
        e.expand(self.x0(run))
        self.judge(run)

    def sizes_are_wild(self, run: SQPProgress) -> bool:
        """Whether units of a wild start make all tolerances meaningless; then it takes those of the trajectory."""
        e, most = self.evaluator, self.options.feasibility
        whole = abs(run.cost) + whole_cost(e)
        if max(run.largest_violation, e.largest_gap) <= most or run.units.cost <= whole:  # whatever the units are
            return False
        units = self.units(whole)
        if max(largest(self.rows.beyond(e.c) / units.rows), units.largest_gap(e)) <= WILD * most:
            return False
        self.relate(run, units)
        self.judge(run)
        run.attempts.units = units
        return True

    def judge(self, run: SQPProgress) -> None:
        """Hands what was expanded to the quadratic model, and measures how far it is from optimal.

        Stationarity and complementarity are relative to the multipliers where these are large (Wächter, Biegler, On the
        implementation of an interior-point filter line-search algorithm, 2006, eq. 6).
        """
        e, units, model = self.evaluator, run.units, self.model
        run.cost = e.cost
        model.take(run, self.rows)
        violations, run.violation, run.largest_violation, multiplier, product = self.rows.sizes(e.c, run.y, run.scale)
        run.gap, run.infeasibility = units.largest_gap(e), units.sum_of_gaps(e.f) + violations
        controls, start, costates = model.gradient(run)
        controls, costates = controls * units.controls, costates * units.states
        mean = (total(run.y * units.rows) + total(costates)) / (run.y.size + costates.size)
        large = min(max(mean / LARGE, 1.0), LARGEST)
        run.stationarity = largest(controls) / large
        if start.size:
            run.stationarity = max(run.stationarity, largest(start * units.states) / large)
        run.complementarity = product / max(large, multiplier / LARGE)  # as interior points end relative to it

    def knows(self, run: SQPProgress) -> bool:
        """Finds multipliers where a guess without any is nearly a solution; whether it is one to rounding.

        It keeps all rows then, some at their bounds, and a program with hard rows, which has these multipliers,
        promises little. Rollouts would leave such a guess, as their merit takes the multipliers for 0.
        """
        e, missed = self.evaluator, max(run.gap, run.violation)
        close = max(missed, self.options.feasibility)
        if run.multipliers or missed > NEARLY or not self.rows.any_at_bounds(e.c, close * run.units.rows):
            return False
        step, size = self.model.solve(run, None, exact=False), abs(run.scale * run.cost)
        slope = Merit(self.rows, run.scale).slope(e, step)
        if step.status is not QPStatus.SOLVED or abs(slope) > NEARLY * size:
            return False
        run.multipliers = {"dynamics": step.lam / run.scale, "constraints": step.y / run.scale}
        self.begin(run, rolled=False)
        slope += float(
            np.vdot(step.y, self.rows.of_general(step.rows))
        )  # the Lagrangian's, without what the program misses
        small = max(missed, run.complementarity) < self.options.feasibility * min(1.0, size)
        return small and abs(slope) < self.options.relative_tolerance * size

    def infeasibility(self, run: SQPProgress, f: Reals, c: Reals) -> float:
        """Σ |f| + Σ |v| of gaps f (T + 1, ndx) and violations v of rows c (T + 1, nc), relative to their sizes."""
        return run.units.sum_of_gaps(f) + self.rows.sum_of_violations(c)

    def merit(self, run: SQPProgress, y: Reals, weight: float) -> Merit:
        """Merit with multipliers y (T + 1, nc) of general rows, and a penalty relative to the curvature of the cost."""
        return Merit(self.rows, run.scale, self.rows.of_general(y), weight * run.units.stiffness)

    def results(self, run: SQPProgress) -> dict[str, Any]:
        """Gains that keep the active rows, and multipliers of the unscaled cost."""
        multipliers = {"dynamics": run.lam / run.scale, "constraints": run.y / run.scale}
        if self._problem.start not in ("fixed", "free"):
            multipliers["start"] = run.start_y / run.scale
        K = self.model.active_gains(run)
        return {"K": run.K if K is None else K, "multipliers": multipliers}

    def take_gains(self, run: SQPProgress, *, hard: bool) -> None:
        """Takes the gains of a program at the trajectory, with rows hard or penalized."""
        merit = None if hard else self.merit(run, run.y, self.options.initial_penalty)
        step = self.model.solve(run, merit)
        run.K = run.K if step.K is None else step.K
