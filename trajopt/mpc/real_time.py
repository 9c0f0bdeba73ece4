"""Real-time iteration: one SQP step per measurement, prepared before the measurement arrives.

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

FINE = InteriorPointOptions(tolerance=1e-7, row_tolerance=1e-7, max_iterations=100, slack=0.1)
ROUGH = replace(FINE, tolerance=1e-4)  # before the measurement
NEAR = replace(FINE, max_iterations=3)  # after it, from the prepared iterate
JUMP = 2.0  # ratio of the plan's cost to that of the last step above which references have jumped [-]
FAR = 3.0  # largest rotation of a state in a step [rad]
LESS, LEAST_BLEND = 4.0, 0.02  # divisor of the exact Hessian's weight, and smallest weight before it becomes 0
SLIGHT = 0.1  # sum of gaps that is accepted even without motion


class RealTimeIteration:
    """Real-time iteration: x ⊕ dx, u + du with dx, du from the quadratic program at the plan.

    The preparation expands the problem at the predicted state and solves the program as far as possible. The measured
    state changes only the first gap, dx_0 = x ⊖ xs_0. The feedback is then one forward pass of the factored recursion,
    or, with rows, a few iterations of an interior point from the prepared iterate. The Hessian is that of the
    Lagrangian, if `exact`, all models provide it and it is convex along the dynamics; otherwise Gauss-Newton's. When
    references have jumped, it is nearly Gauss-Newton's for two steps, as an exact step towards a far goal overshoots.
    Limits of controls hold exactly. A step that is not finite or too long fails, and the plan is unchanged.

    Args:
        evaluator: Evaluator of the problem; its trajectory is the plan of the last expansion.
        judge: Evaluator of plans.
        limits: Limits of the problem.
        iterations: SQP iterations of a step [-].
        exact: Whether to use the exact Hessian.
        time_budget: Time limit of a feedback phase [s]; None for no limit.

    Attributes:
        evaluator: The evaluator.
        program: Quadratic program at the plan.
        qp_solution: Last solution of the program.
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
        available = exact and LagrangianHessian.available(evaluator)
        self._exact = LagrangianHessian(evaluator) if available else None
        self.program = StepProgram(evaluator, self._exact, moved=None, bounded=False, shared=False)
        qp = self.program.qp
        self._solver: _Phases = _Rows(InteriorPoint(qp, FINE)) if qp.nc else _Free(Recursion.of(qp))
        self.qp_solution: QPSolution | None = None
        self._first = FirstControl(evaluator, limits)
        self._rotations = np.flatnonzero(evaluator.state.curved_directions)
        self._scale, self._blend, self._failure = 1.0, 1.0, ""

    def begin(self) -> None:
        """Sets the scale of the cost at the evaluator's expanded trajectory, and compiles all code."""
        self._scale, self._blend = units.cost_scale(self.evaluator), 1.0
        self._first.prepare()
        self._solver.compile()
        if self._exact is not None:
            self._exact.prepare()

    def prepare(self, plan: Plan) -> None:
        """Expands the problem at a plan, and solves the program for the predicted state."""
        e, self._failure = self.evaluator, ""
        e.xs[:], e.us[:] = plan.xs, plan.us
        try:
            e.expand(None)
        except ModelEvaluationError as error:
            self._failure = str(error)
            return
        if e.cost > JUMP * abs(self._judge.cost):
            self._blend = min(self._blend, LEAST_BLEND)
        self._linearize(plan)

    def _linearize(self, plan: Plan) -> None:
        """Solves the program of the expansion, with the largest weight of the exact Hessian that is convex."""
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
        """Reduces the weight of the exact Hessian."""
        self._blend = self._blend / LESS if self._blend > LEAST_BLEND else 0.0
        self._write_hessian()

    def feedback(self, plan: Plan, x: Reals) -> PlanOutcome:
        """Computes the plan from a measured state; a failed step leaves the plan unchanged."""
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
        solution = self._solver.feedback(until)
        while solution.status is QPStatus.INDEFINITE and self._blend > 0.0:  # the measurement changed the active rows
            self._take_less()
            solution = self._solver.feedback(until)
        self.qp_solution = solution
        if solution.status in (QPStatus.INDEFINITE, QPStatus.INFEASIBLE):
            where = "" if solution.failed_knot is None else f" at knot {solution.failed_knot}"
            return PlanOutcome(MPCStatus.FAILED, f"quadratic program: {solution.status}{where}", iteration)
        trial, limits, e, scale = self._judge.trial, self._limits, self.evaluator, self._scale
        trial.dx[:] = solution.dx
        np.maximum(solution.du, limits.lower - e.us, out=trial.du)
        np.minimum(trial.du, limits.upper - e.us, out=trial.du)
        if not self._judge.look() or self._leads_apart():
            return PlanOutcome(
                MPCStatus.FAILED, "the step is too long, or leads to values that are not finite", iteration
            )
        if self.program.qp.nc and self._first.missed(trial.c[0]) and not self._hold_first(x):
            return PlanOutcome(
                MPCStatus.FAILED, "constraints of the first knot hold only where values are not finite", iteration
            )
        plan.take(trial.xs, trial.us, solution.K, solution.lam / scale, solution.y / scale)
        plan.xs[0] = x
        solved = solution.status in (QPStatus.SOLVED, QPStatus.ROUNDING)
        late = time.perf_counter() > until
        reason = "" if solved else "time_budget is used up" if late else f"quadratic program: {solution.status}"
        return PlanOutcome(MPCStatus.SOLVED if solved else MPCStatus.PARTIAL, reason, iteration)

    def _hold_first(self, x: Reals) -> bool:
        """Corrects the first control so that rows hold at the measured state; returns whether all values are finite."""
        trial, limits = self._judge.trial, self._limits
        du = self._first.step(x, trial.us[0], trial.c[0])
        if du is None:
            return True
        u = np.minimum(np.maximum(trial.us[0] + du, limits.lower[0]), limits.upper[0])
        trial.du[0] = u - self.evaluator.us[0]
        return self._judge.look()

    def _leads_apart(self) -> bool:
        """Whether the step rotates a state too far, or leads to a trajectory whose gaps are larger than its motion."""
        trial, gaps = self._judge.trial, self._judge.trial.sum_of_gaps
        if len(self._rotations) and not np.abs(trial.dx[:, self._rotations]).max() < FAR:
            return True
        return gaps > SLIGHT and not gaps <= SLIGHT + np.abs(np.diff(trial.xs, axis=0)).sum()


class _Phases(Protocol):
    """A quadratic program that is solved in two phases."""

    def compile(self) -> None:
        """Compiles all code that it may need."""

    def prepare(self) -> bool:
        """Solves the program for the predicted state; returns whether it is convex."""

    def feedback(self, until: float) -> QPSolution:
        """Solves the program with a new first gap, until a time [s] at most."""


class _Free:
    """A program without rows: preparation factors it, feedback is one forward pass."""

    def __init__(self, recursion: Recursion) -> None:
        self._recursion = recursion

    def compile(self) -> None:
        self._recursion.factor()

    def prepare(self) -> bool:
        return self._recursion.factor()

    def feedback(self, until: float) -> QPSolution:
        del until  # one pass needs no time limit
        return self._recursion.forward()


class _Rows:
    """A program with rows: an interior point that continues from its last iterate."""

    def __init__(self, interior: InteriorPoint) -> None:
        self._interior = interior

    def compile(self) -> None:
        self._interior.prepare()

    def prepare(self) -> bool:
        return self._interior.begin(ROUGH).status is not QPStatus.INDEFINITE

    def feedback(self, until: float) -> QPSolution:
        return self._interior.go_on(NEAR, until)
