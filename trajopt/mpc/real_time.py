"""Real-time iteration: one step of SQP a measurement, of which all but the measured state is done before it comes.

Diehl, Bock, Schlöder, A real-time iteration scheme for nonlinear optimization in optimal feedback control, 2005.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Protocol

import numpy as np

from trajopt.errors import ModelEvaluationError
from trajopt.mpc.converged import PlanOutcome
from trajopt.mpc.first_control import FirstControl
from trajopt.mpc.judge import PlanEvaluator
from trajopt.mpc.limits import Limits
from trajopt.mpc.plan import Plan
from trajopt.mpc.step import MPCStatus
from trajopt.shooting.evaluator import Evaluator
from trajopt.shooting.lagrangian import LagrangianHessian
from trajopt.solvers.qp import InteriorPoint, InteriorPointOptions, QPSolution, QPStatus
from trajopt.solvers.sqp import units
from trajopt.solvers.sqp.inner import Recursion
from trajopt.solvers.sqp.program import StepProgram
from trajopt.types import Reals

FINE = InteriorPointOptions(tolerance=1e-7, row_tolerance=1e-7, max_iterations=100)
ROUGH = replace(FINE, tolerance=1e-4)  # before the measurement
NEAR = replace(FINE, max_iterations=3)  # after it, from the prepared iterate
FAR = 3.0  # largest rotation of a state by a step [rad]
LESS, LEAST_BLEND = 4.0, 0.02  # by which the part of the exact Hessian is divided, and below which it is left out
SLIGHT = 0.1  # sum of gaps that are none, beside a motion


class RealTimeIteration:
    """Steps x ⊕ dx, u + du of a plan, with dx, du the solution of the quadratic program at the plan.

    The plan is expanded at the predicted state, and the program solved as far as it goes; of the measured state it has
    the first gap alone, dx_0 = x ⊖ xs_0, so that the step is one pass of the factored recursion, or, with rows, a few
    iterations of an interior point from the prepared iterate. The Hessian is that of the Lagrangian, as far as it is
    wanted, all models give it and it is convex along the dynamics, otherwise Gauss-Newton's. Limits of controls are
    exact. A step that is not finite, or far, is none: then the plan stays.

    Args:
        evaluator: Of the problem; its trajectory is the plan that was expanded.
        judge: Of the problem.
        limits: Of the problem.
        iterations: SQP iterations of a step [-].
        exact: Whether the exact Hessian is wanted.
        time_budget: Time of a feedback phase [s]; None for no limit.

    Attributes:
        evaluator: The evaluator.
        program: The quadratic program at the plan.
        found: Its last solution.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        judge: PlanEvaluator,
        limits: Limits,
        iterations: int,
        exact: bool,
        time_budget: float | None,
    ) -> None:
        self.evaluator, self._judge, self._limits = evaluator, judge, limits
        self._iterations, self._budget = iterations, time_budget
        known = exact and LagrangianHessian.available(evaluator)
        self._exact = LagrangianHessian(evaluator) if known else None
        self.program = StepProgram(evaluator, self._exact, chosen=False, bounded=False, shared=False)
        qp = self.program.qp
        self._solver: _Phases = _Rows(InteriorPoint(qp, FINE)) if qp.nc else _Free(Recursion.of(qp))
        self.found: QPSolution | None = None
        self._first = FirstControl(evaluator, limits)
        self._rotations = np.flatnonzero(evaluator.state.curved_directions)
        self._scale, self._blend, self._failure = 1.0, 1.0, ""

    def begin(self) -> None:
        """Takes units of the problem, at the evaluator's trajectory, which was expanded."""
        self._scale, self._blend = units.cost_scale(self.evaluator), 1.0
        self._first.prepare()
        self._solver.compile()
        if self._exact is not None:
            self._exact.prepare()

    def prepare(self, plan: Plan) -> None:
        """Expands at a plan, and solves for the predicted state."""
        e, self._failure = self.evaluator, ""
        e.xs[:], e.us[:] = plan.xs, plan.us
        try:
            e.expand(None)
        except ModelEvaluationError as error:
            self._failure = str(error)
            return
        self._linearize(plan)

    def _linearize(self, plan: Plan) -> None:
        """Hands what was expanded to the program, and solves it, with as much of the exact Hessian as is convex."""
        program, limits = self.program, self._limits
        limits.follow()
        program.take(self._scale, limits.rows)
        program.set_soft(limits.rows)
        if self._exact is not None:
            self._exact.lam[:], self._exact.y[:] = plan.lam, plan.y
            self._exact()
        self._blend = min(1.0, LESS * self._blend) if self._exact is not None else 0.0
        self._write_hessian()
        while not self._solver.prepare() and self._blend > 0.0:
            self._take_less()

    def _write_hessian(self) -> None:
        hessian = self.program.hessian
        assert hessian is not None
        self.program.set_hessian(self._blend, 0.0)
        hessian.write()

    def _take_less(self) -> None:
        """Takes a smaller part of the exact Hessian."""
        self._blend = self._blend / LESS if self._blend > LEAST_BLEND else 0.0
        self._write_hessian()

    def feedback(self, plan: Plan, x: Reals) -> PlanOutcome:
        """Makes the plan one from a measured state, unless that fails."""
        started = time.perf_counter()
        if self._failure:
            return PlanOutcome(MPCStatus.FAILED, self._failure, 0)
        e, until = self.evaluator, math.inf if self._budget is None else started + self._budget
        e.f[0] = e.state.difference_unchecked(e.xs[0], x)
        outcome = self._step(plan, x, 1, until)
        for iteration in range(2, self._iterations + 1):
            if outcome.status is MPCStatus.FAILED:
                break
            if started + (time.perf_counter() - started) * iteration / (iteration - 1) > until:
                return PlanOutcome(MPCStatus.PARTIAL, "time_budget is used up", iteration - 1)
            e.xs[:], e.us[:] = plan.xs, plan.us
            e.expand(None)
            self._linearize(plan)
            following = self._step(plan, x, iteration, until)
            if following.status is MPCStatus.FAILED:
                self._judge.see(plan)
                return PlanOutcome(MPCStatus.PARTIAL, following.reason, iteration)
            outcome = following
        return outcome

    def _step(self, plan: Plan, x: Reals, iteration: int, until: float) -> PlanOutcome:
        found = self._solver.feedback(until)
        while found.status is QPStatus.INDEFINITE and self._blend > 0.0:  # other rows are active than were prepared for
            self._take_less()
            found = self._solver.feedback(until)
        self.found = found
        if found.status in (QPStatus.INDEFINITE, QPStatus.INFEASIBLE):
            where = "" if found.failed_knot is None else f" at knot {found.failed_knot}"
            return PlanOutcome(MPCStatus.FAILED, f"quadratic program: {found.status}{where}", iteration)
        trial, limits, e, scale = self._judge.trial, self._limits, self.evaluator, self._scale
        trial.dx[:] = found.dx
        np.maximum(found.du, limits.lower - e.us, out=trial.du)
        np.minimum(trial.du, limits.upper - e.us, out=trial.du)
        if not self._judge.look() or self._leads_apart():
            return PlanOutcome(
                MPCStatus.FAILED, "the step leads too far from the plan, or to what is not finite", iteration
            )
        if self.program.qp.nc and self._first.missed(trial.c[0]) and not self._hold_first(x):
            return PlanOutcome(
                MPCStatus.FAILED, "rows of the first knot hold only where values are not finite", iteration
            )
        plan.take(trial.xs, trial.us, found.K, found.lam / scale, found.y / scale)
        plan.xs[0] = x
        solved = found.status in (QPStatus.SOLVED, QPStatus.ROUNDING)
        late = time.perf_counter() > until
        reason = "" if solved else "time_budget is used up" if late else f"quadratic program: {found.status}"
        return PlanOutcome(MPCStatus.SOLVED if solved else MPCStatus.PARTIAL, reason, iteration)

    def _hold_first(self, x: Reals) -> bool:
        """Moves the first control to where rows hold at the measured state, if it can; whether all is finite then."""
        trial, limits = self._judge.trial, self._limits
        du = self._first.step(x, trial.us[0], trial.c[0])
        if du is None:
            return True
        u = np.minimum(np.maximum(trial.us[0] + du, limits.lower[0]), limits.upper[0])
        trial.du[0] = u - self.evaluator.us[0]
        return self._judge.look()

    def _leads_apart(self) -> bool:
        """Whether the step turns a state far, or leads to a trajectory whose gaps are larger than its motion."""
        trial, gaps = self._judge.trial, self._judge.trial.sum_of_gaps
        if len(self._rotations) and not np.abs(trial.dx[:, self._rotations]).max() < FAR:
            return True
        return gaps > SLIGHT and not gaps <= SLIGHT + np.abs(np.diff(trial.xs, axis=0)).sum()


class _Phases(Protocol):
    """A quadratic program in two phases."""

    def compile(self) -> None:
        """Compiles all that it may need."""

    def prepare(self) -> bool:
        """Solves it for the predicted state; whether it is convex."""

    def feedback(self, until: float) -> QPSolution:
        """Solves it with another first gap, as far as it comes until a time [s]."""


class _Free:
    """A program without rows: factors first; then one pass forward."""

    def __init__(self, recursion: Recursion) -> None:
        self._recursion = recursion

    def compile(self) -> None:
        self._recursion.factor()

    def prepare(self) -> bool:
        return self._recursion.factor()

    def feedback(self, until: float) -> QPSolution:
        del until  # it is one pass
        return self._recursion.forward()


class _Rows:
    """A program with rows: an interior point, which goes on from where it was."""

    def __init__(self, interior: InteriorPoint) -> None:
        self._interior = interior

    def compile(self) -> None:
        self._interior.prepare()

    def prepare(self) -> bool:
        return self._interior.begin(ROUGH).status is not QPStatus.INDEFINITE

    def feedback(self, until: float) -> QPSolution:
        return self._interior.go_on(NEAR, until)
