"""Interior-point filter method: a Newton step of a barrier problem an iteration, on a Riccati recursion.

Sources: Wächter, Biegler, On the implementation of an interior-point filter line-search algorithm, 2006; Vanroye,
Sathya, De Schutter, Decré, FATROP, 2023, for the recursion; FilterDDP, arXiv:2504.08278, 2025, for rollouts and for the
Lagrangian in the filter.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import replace

import numpy as np

from trajopt.errors import ModelEvaluationError
from trajopt.solution import IterationRecord
from trajopt.solvers.norms import largest, total
from trajopt.solvers.riccati.riccati import Riccati
from trajopt.solvers.riccati.weighted_rows import WeightedRows
from trajopt.solvers.sqp.filter import Filter
from trajopt.solvers.sqp.interior.barrier import Barrier, Bounds
from trajopt.solvers.sqp.interior.equations import Equations
from trajopt.solvers.sqp.interior.point import Direction, Point
from trajopt.solvers.sqp.interior.trials import InteriorTrials, LineTrials, RolloutTrials
from trajopt.solvers.sqp.merit import DECREASE
from trajopt.solvers.sqp.method import FALLS, ROUNDED, MethodAbstract, Outcome
from trajopt.solvers.sqp.progress import SQPProgress
from trajopt.solvers.sqp.workspace import LARGE, Workspace
from trajopt.types import Reals

LOWER, POWER = 0.2, 1.2  # the next barrier parameter is the smaller of LOWER μ and μ to the POWER
ACCURACY = 10.0  # times μ: error at which a barrier problem counts as solved
SOLVED = 0.02  # times n μ, for n bounds: promise of a plain step at which it counts as solved, too
NEAR = 1e-5  # error below which steps are not corrected: a pushing ended at a gradient of 1.5e-5
LARGEST_RIDGE = 1e30  # last δ
SHORTEST = 5e-11  # step length
ROUNDING = 1e-6  # error that counts as none where no step gets further
LEAST_COST = 1e-3  # of a typical cost: what the tolerance is relative to at least; rounding hides what is less
LONG = 8  # iterations in a row with errors up to ROUNDING that count as getting no further
ERROR = 2e-15  # of the Lagrangian by rounding, relative to its size
JAMMED, MEMORY = 0.02, 10  # mean step length of a solve that bounds have stopped, over about so many iterations
GROWTH, FEW = 10.0, 1e-4  # of gaps in a step, from this part of the first infeasibility: 15 -> 19 of 20 shuttles
LEAST = 0.1  # typical cost, relative to that of the guess: a trajectory that is left behind may have a far smaller one
SHORT, WILD = 0.4, 5e3  # mean step length at which slacks begin anew once δ was larger: 20 of 20 parkings, not 15
FAILURES = 8  # searches without a step, one after the other, that end it


class InteriorSteps(MethodAbstract):
    """Takes one Newton step of a barrier problem an iteration, from the guess of a solve on.

    Args:
        work: Where the trajectory is; no row is soft.
        run: State of the solve.
        rolls: Whether steps are rollouts, and begin with that of the guess's controls; else they lie along lines.

    Raises:
        ModelEvaluationError: A model has no finite values there.

    Attributes:
        error: Largest error of the first-order conditions [-].
        ridge: δ of the last step, see `_is_convex` [-].
        length: Length of the last step; 0 without one [-].
        promised: Slope of the Lagrangian along the last step, for the cost without scale; 0 without a step [cost].
    """

    name = "interior"

    def __init__(self, work: Workspace, run: SQPProgress, *, rolls: bool) -> None:
        e = self._e = work.evaluator
        self._work, self._rows, self._exact, self._rolls = work, work.rows, work.model.exact, rolls
        e.xs[:], e.us[:] = run.guess
        if rolls:
            e.prepare(clipped=True)
            work.rollouts.roll_out(e.xs[0], e.us)
        e.expand(work.x0(run))
        e.check_finite()
        left = max(abs(run.cost), LEAST * run.units.cost)  # typical where a trajectory is left behind
        units = self._units = work.units(left if run.iterations else run.units.cost)
        self.scale, self._blend = 1.0 / units.cost, 0.0 if self._exact is None else 1.0
        program = self._program = work.model.program
        qp, self._diagonal = program.qp, program.diagonal(units)
        self._weights = WeightedRows.zeros(qp.lq, qp.C, qp.terminal_C, qp.lower, qp.upper)
        self._trials: InteriorTrials = (
            RolloutTrials(e, program, work.rows) if rolls else LineTrials(e, program, work.line)
        )
        c = program.row_values(e.c, e.xs[0])
        sizes = (program.row_units(each) for each in (units, run.units))
        bounds = Bounds.of(*program.row_bounds(work.rows), *sizes)
        program.take(self.scale, work.rows)
        self._equations = Equations(qp, bounds, eliminated=self._trials.eliminates)
        self._riccati = Riccati(self._equations.lq, rows=self._weights)
        barrier = Barrier.at(bounds, c, self._trials.first_barrier)
        lam = np.zeros((len(c), e.state.ndx))
        self._point = Point(xs=e.xs, us=e.us, cost=self.scale * e.cost, f=e.f, c=c, barrier=barrier, lam=lam)
        self._close, self._last_ridge, self._forced = 0, 0.0, 0.0
        self._renewals, self._wild = self._trials.renewals, False
        self.ridge, self.length, self.mean_length, self.promised, self._last_error = 0.0, 0.0, 1.0, 0.0, math.inf
        self._measure()
        self._filter = Filter(max(1.0, self._point.infeasibility(units.states)), rounding=ERROR)

    def iterate(self, run: SQPProgress) -> IterationRecord:
        """Runs one iteration: a Newton step, from where its barrier problem is left for a lower one if it is solved."""
        e, gap, before, self.outcome = self._e, self._e.largest_gap, run.cost, Outcome.FAILED
        with contextlib.suppress(ModelEvaluationError):
            if self._step(self._work.x0(run)):
                self.outcome = None
            run.trajectory, run.cost, run.feasible = (e.xs.copy(), e.us.copy()), e.cost, e.largest_gap < ROUNDED
            run.gap = run.units.largest_gap(e)
            _, run.violation, run.largest_violation, *_ = self._rows.sizes(e.c, run.y, run.scale)
            run.lam, run.y, run.start_y = (run.scale * each for each in self.multipliers)
        if self.solved and max(run.gap, run.violation) < self._work.options.feasibility:
            self.outcome = Outcome.SOLVED
        return run.record(
            stop=self._stationarity,
            step_length=self.length,
            accepted=self.length > 0.0,
            regularization=self.ridge,
            gap_norm=gap,
            expected_decrease=-self.promised,
            decrease=before - run.cost,
            constraint_violation=run.largest_violation,
            complementarity=largest(self._point.barrier.products) / self.scale,
            blend=self._blend,
            method=self.name,
        )

    def _step(self, x0: Reals | None) -> bool:
        """Takes a step, from a start x0 (nx,) or, with None, a chosen one; whether another one may follow."""
        while not self._is_last and self._error(self._point.barrier.mu) <= ACCURACY * self._point.barrier.mu:
            self._lower_barrier()
        step = self._direction()
        point = None if step is None else self._search(step)
        part = self.length / (1.0 + self._trials.own * self.ridge)  # of Newton's step: δ loosens bounds, too
        self.mean_length += (part - self.mean_length) / MEMORY
        if step is None or point is None:
            self.failures, self._filter.entries, self.promised = self.failures + 1, [], 0.0
            self._forced = self._trials.factors[0] * max(self.ridge, self._trials.first_ridge)
        else:
            self.failures, self._forced, self.promised = 0, 0.0, step.slope / self.scale
            self._e.xs[:], self._e.us[:] = point.xs, point.us
            self._e.expand(x0)
            self._point, self._last_error = point, self.error
            self._measure()
            self._close = self._close + 1 if self.error <= ROUNDING else 0
        feasible = self._point.infeasibility(self._units.states) < self._trials.tolerance
        self._wild |= self.ridge > WILD
        left = not feasible and self.error > ROUNDING
        if self._wild and left and self._renewals and (self.failures == 1 or self.mean_length < SHORT):
            self._renew()
        elif self.failures:
            return step is not None and self.failures < FAILURES
        return feasible or self.mean_length > JAMMED

    def _renew(self) -> None:
        """Begins anew from the trajectory: slacks, multipliers and filter forget the way to it.

        Where the guess says little, as that of a car at rest, which can't turn, the first steps are long. The part of
        them that is taken takes slacks to their bounds, and multipliers grow beyond all use: δ is large, and steps get
        short. After the first large δ each spell of short steps is such a beginning.
        """
        point, self._renewals = self._point, self._renewals - 1
        barrier = Barrier.at(point.barrier.bounds, point.c, self._trials.first_barrier)
        self._point = replace(point, barrier=barrier, lam=np.zeros_like(point.lam))
        self._filter.entries, self._forced, self._last_ridge, self.mean_length = [], 0.0, 0.0, 1.0
        self._measure()

    @property
    def solved(self) -> bool:
        """Whether the first-order conditions hold up to the tolerance, or as well as rounding errors permit."""
        near = self.failures or self._close >= LONG
        small = ROUNDING if near else self._tolerance if self._is_last else 0.0
        return self.error <= small or (self._is_last and self._is_exhausted)

    @property
    def _is_last(self) -> bool:
        """Whether the barrier parameter is as small as it gets."""
        return self._point.barrier.mu <= 0.1 * self._tolerance

    @property
    def _is_exhausted(self) -> bool:
        """Whether a plain step promised less than the rounding of the Lagrangian, and the error falls no more.

        Gaps and residuals are 0 then.
        """
        small = abs(self.promised * self.scale) < ERROR * max(1.0, abs(self._point.lagrangian))
        return (
            self.length > 0.0
            and self.ridge == 0.0
            and small
            and not self.error < FALLS * self._last_error
            and self._point.infeasibility(self._units.states) < self._trials.tolerance
        )

    @property
    def _tolerance(self) -> float:
        """Error that counts as none: relative to the cost where that has become less than a typical one."""
        return self._trials.tolerance * min(1.0, max(LEAST_COST, abs(self._point.cost)))

    @property
    def multipliers(self) -> tuple[Reals, Reals, Reals]:
        """Multipliers of the dynamics (T + 1, ndx), rows (T + 1, nc) and start (ndx,), for the unscaled cost."""
        e, lam, y = self._e, self._point.lam, self._point.barrier.y
        start = self._program.start_multipliers(y, lam) if self._rows.bounded else np.zeros(e.state.ndx)
        return lam[-(e.T + 1) :] / self.scale, y[-(e.T + 1) :, : e.nc] / self.scale, start / self.scale

    def _lower_barrier(self) -> None:
        """Lowers μ, and forgets the filter, which was that of another barrier problem."""
        mu = self._point.barrier.mu
        mu = max(0.09 * self._tolerance, min(LOWER * mu, mu**POWER))
        self._point = replace(self._point, barrier=replace(self._point.barrier, mu=mu))
        self._filter.entries = []

    def _direction(self) -> Direction | None:
        """Newton's step, with the least δ in the Hessian that makes it convex; None if none does.

        A plain step that promises little beside n μ, for n bounds, gives way to that of a lower barrier, which has the
        same Hessian. Rollouts correct plain steps by what these leave to second order, until errors are small.
        """
        barrier = self._point.barrier
        self._weights.weights[:] = barrier.stiffness + self._equations.weights
        self._load(self._point.residual, barrier.mu)
        if not self._factors(barrier.stiffness):
            return None
        step = self._newton(self._point.residual, barrier.mu)
        if self.ridge > 0.0:
            return step
        while not self._is_last and self.length > 0.0 and self._is_slight(step):
            self._lower_barrier()
            step = self._newton(self._point.residual, self._point.barrier.mu)
        if self.error <= NEAR:
            return step
        aims, length = self._point.barrier.corrected(step.ds, step.dz)
        curved = self._trials.curvature(self._point, step, length)
        return step if curved is None else self._newton(self._point.residual + curved, aims)

    def _is_slight(self, step: Direction) -> bool:
        """Whether a step promises little beside n μ, and gaps and residuals weigh as little."""
        products = self._point.barrier.products
        return max(abs(step.slope), total(self._point.prices)) < SOLVED * self._point.barrier.mu * products.size

    def _load(self, residual: Reals, aim: float | Reals) -> tuple[Reals, Reals]:
        """Hands residuals (n, nc) of the rows, and products z d to aim at, to the recursion; returns its gradients."""
        barrier = self._point.barrier
        firm = self._equations.take(residual, barrier.y)
        h = barrier.stiffness * residual + barrier.pull(aim)
        self._weights.h[:] = h + firm
        self._riccati.find_rows()
        return h, firm

    def _newton(self, residual: Reals, aim: float | Reals) -> Direction:
        """The step for residuals (n, nc) of the rows, and products z d to aim at, with the factored Hessian."""
        point, bounds = self._point, self._point.barrier.bounds
        h, firm = self._load(residual, aim)
        self._riccati.solve()
        self._riccati.forward()
        D, found, rows = point.barrier.stiffness, self._riccati.step, self._weights.values.copy()
        ds = np.where(bounds.on.any(axis=0), rows + point.residual, 0.0)
        y, lam = np.where(bounds.any, D * rows + h, 0.0), found.lam.copy()
        y += self._equations.multipliers(found.y, self._equations.weights * rows + firm)
        lq, z = self._program.qp.lq, np.concatenate([found.dx[:-1], found.du], axis=1)
        slope = (lq.g * z).sum() + lq.terminal_g @ found.dx[-1] + point.barrier.slope(ds)
        slope += ((y - point.barrier.y) * point.residual + point.barrier.y * (rows - ds)).sum()
        slope += ((lam - 2.0 * point.lam)[-len(point.f) :] * point.f).sum()
        du, dx0 = self._program.controls(found.du)
        return Direction(
            dx=found.dx[-len(point.f) :].copy(),
            du=du.copy(),
            dx0=dx0.copy(),
            K=self._program.gains(self._riccati.K),
            rows=rows,
            ds=ds,
            dz=point.barrier.dz(ds, aim),
            D=D,
            y=y,
            lam=lam,
            slope=float(slope),
        )

    def _factors(self, D: Reals) -> bool:
        """Factors the Hessian with the first δ of a growing sequence that makes it convex along the dynamics.

        It begins with a part of the last one, so that δ falls as far as the Hessian permits (Wächter and Biegler, 3.1).
        """
        ridge, first, (up, down) = self._forced, self._trials.first_ridge, self._trials.factors
        while not self._is_convex(ridge, D):
            if ridge > LARGEST_RIDGE:
                return False
            ridge = up * ridge if ridge > 0.0 else (self._last_ridge or first) / down
        self.ridge, self._last_ridge = ridge, ridge or self._last_ridge
        return True

    def _is_convex(self, ridge: float, D: Reals) -> bool:
        """Whether the Hessian is convex with δ / size²; of rollouts with δ μ / size², and D (n, nc) of bounds grows."""
        program, mu = self._program, self._point.barrier.mu if self._trials.own else 1.0
        program.set_hessian(self._blend, 0.0)
        program.hessian.write()
        self._weights.weights[:] = (1.0 + self._trials.own * ridge) * D + self._equations.weights
        if ridge > 0.0:
            np.einsum("tii->ti", program.qp.lq.H)[:] += ridge * mu * self._diagonal
            np.einsum("ii->i", program.qp.lq.terminal_H)[:] += ridge * mu / self._units.states**2
        return self._riccati.factor(regularize_value=False).failure is None

    def _search(self, step: Direction) -> Point | None:
        """The first point, of step lengths that get shorter, that the filter accepts."""
        point, trials = self._point, self._trials
        states = self._units.states
        at = point.infeasibility(states), point.lagrangian
        allowed = at[1] + ERROR * max(1.0, abs(at[1]))
        widest = GROWTH * max(point.gaps(states), FEW * self._filter.first)  # a Lagrangian may fall by gaps alone
        length = trials.first_length(point, step)
        while length > SHORTEST:
            trial = trials.at(point, step, length, self.scale)
            if trial is not None and trial.gaps(states) <= widest:
                measures = trial.infeasibility(states), trial.lagrangian
                if self._filter.accepts(at, measures, step.slope, length, allowed + DECREASE * length * step.slope):
                    self.length = length
                    return trial
            length *= trials.shorter
        self.length = 0.0
        return None

    def _measure(self) -> None:
        """Takes the expansion, finds costates and the Hessian of the Lagrangian, and measures all errors."""
        e, program, point = self._e, self._program, self._point
        program.take(self.scale, self._rows)
        y, lam = point.barrier.y, point.lam
        if self._rolls and not self._rows.chosen:
            lam = self._costates(y)
            self._point = replace(point, lam=lam)
        if self._exact is not None:
            self._exact.lam[:], self._exact.y[:] = self.multipliers[:2]
            self._exact.expect(None)
            self._exact()
        gradient, self._stationarity = self._gradient(lam, y)
        states, size = self._units.states, point.barrier.bounds.size
        sizes = np.abs(y * size).sum() + np.abs(lam * states).sum()
        self._large = max(1.0, sizes / (LARGE * (np.count_nonzero(point.barrier.bounds.any) + lam.size)))
        missed = np.abs(self._point.residual / size).max(initial=0.0)
        self._missed = max(gradient / self._large, self._units.largest_gap(e), missed)
        self.error = self._error(0.0)

    def _costates(self, y: Reals) -> Reals:
        """Gradients of the rest of the Lagrangian by the states (T + 1, ndx), where controls stay."""
        self._riccati.K[:] = self._riccati.Ky[:] = 0.0
        self._weights.h[:] = y
        self._riccati.find_rows()
        return self._riccati.adjoint()[1].copy()

    def _gradient(self, lam: Reals, y: Reals) -> tuple[float, float]:
        """Largest gradient of the Lagrangian along controls, states but the first, and a chosen start.

        Relative to their sizes, and that along controls and start of the cost as it is.
        """
        lq, qp, n = self._program.qp.lq, self._program.qp, self._e.state.ndx
        along = lq.g + (y[:-1, None, :] @ qp.C)[:, 0] + (lam[1:, None, :] @ lq.full_F())[:, 0]
        controls, start = self._program.controls(along[:, n:])
        states = along[1:, :n] - lam[1:-1]
        end = lq.terminal_g + y[-1] @ qp.terminal_C - lam[-1]
        by_state, by_control = self._units.states, self._units.controls
        relative = controls * by_control, start * by_state if start.size else start, states * by_state, end * by_state
        return max(map(largest, relative)), max(largest(controls), largest(start)) / self.scale

    def _error(self, mu: float) -> float:
        """Largest error of the first-order conditions of the barrier problem with μ; of the problem itself with 0."""
        return max(self._missed, largest(self._point.barrier.products - mu) / self._large)
