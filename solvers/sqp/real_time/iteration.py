"""Real-time iteration: one SQP step per measurement, prepared before the measurement arrives.

Diehl, Bock, Schlöder, A real-time iteration scheme for nonlinear optimization in optimal feedback control, 2005.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from trajopt.errors import ModelEvaluationError
from trajopt.shooting.evaluator import Evaluator
from trajopt.shooting.lagrangian import LagrangianHessian
from trajopt.solvers.qp import InteriorPoint, InteriorPointOptions, QPSolution, QPStatus
from trajopt.solvers.qp.recursion import Recursion
from trajopt.solvers.sqp.program import StepProgram
from trajopt.solvers.sqp.real_time.evaluation import PlanEvaluator
from trajopt.solvers.sqp.real_time.first_control import FirstControl
from trajopt.solvers.sqp.real_time.limits import Limits
from trajopt.solvers.sqp.real_time.plan import Plan
from trajopt.solvers.sqp.units import cost_scale
from trajopt.types import Reals

FINE = InteriorPointOptions(tolerance=1e-7, row_tolerance=1e-7, max_iterations=100, slack=0.1)
ROUGH = replace(FINE, tolerance=1e-4)  # before the measurement
NEAR = replace(FINE, max_iterations=3)  # after it, from the prepared iterate
JUMP = 2.0  # ratio of the plan's cost to that of the last step above which references have jumped [-]
FAR, SLIGHT = 3.0, 0.1  # largest rotation of a state in a step [rad]; sum of gaps that is accepted even without motion
LESS, LEAST_BLEND = 4.0, 0.02  # divisor of the exact Hessian's weight, and smallest weight before it becomes 0


@dataclass(slots=True)
class Feedback:
    """Outcome of a feedback phase.

    Attributes:
        planned: Whether the plan is a new one; otherwise it is unchanged.
        reason: Why there is no new plan, or why its last quadratic program is not solved; otherwise empty.
        iterations: SQP iterations [-].
    """

    planned: bool
    reason: str
    iterations: int


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
    """

    def __init__(
        self, evaluator: Evaluator, judge: PlanEvaluator, limits: Limits, *, iterations: int, exact: bool
    ) -> None:
        self._e, self._judge, self._limits, self._iterations = evaluator, judge, limits, iterations
        available = exact and LagrangianHessian.available(evaluator)
        self._exact = LagrangianHessian(evaluator) if available else None
        self._program = StepProgram(evaluator, self._exact)
        qp = self._program.qp
        self._solver = InteriorPoint(qp, FINE) if qp.nc else Recursion(qp)
        self._first = FirstControl(judge, limits)
        self._rotations = np.flatnonzero(evaluator.state.curved_directions)
        self._scale, self._blend, self._failure = 1.0, 1.0, ""

    def begin(self) -> None:
        """Sets the scale of the cost at the evaluator's expanded trajectory, and compiles all code."""
        self._scale, self._blend = cost_scale(self._e), 1.0
        self._first.prepare()
        self._solver.prepare()
        if self._exact is not None:
            self._exact.prepare(optimised=True)

    def prepare(self, plan: Plan) -> None:
        """Expands the problem at a plan, and solves the program for the predicted state."""
        self._failure = ""
        try:
            self._expand(plan)
        except ModelEvaluationError as error:
            self._failure = str(error)
            return
        self._limits.follow()
        if self._limits.contradiction:
            self._failure = self._limits.contradiction
            return
        if self._e.cost > JUMP * abs(self._judge.cost):
            self._blend = min(self._blend, LEAST_BLEND)
        self._linearize(plan)

    def feedback(self, plan: Plan, x: Reals, until: float = math.inf) -> Feedback:
        """Computes the plan from a measured state.

        Args:
            plan: The plan of the last preparation; a failed step leaves it unchanged.
            x: The measured state (nx,).
            until: Time of `time.perf_counter` after which no iteration begins but the first [s].

        Raises:
            ModelEvaluationError: A model can't be evaluated at the plan of the first iteration.
        """
        if self._failure:
            return Feedback(False, self._failure, 0)
        started, e = time.perf_counter(), self._e
        e.f[0] = e.state.difference_unchecked(e.xs[0], x)
        outcome = self._step(plan, x, 1, until)
        for iteration in range(2, self._iterations + 1):
            if not outcome.planned:
                break
            if started + (time.perf_counter() - started) * iteration / (iteration - 1) > until:
                return Feedback(True, "time_budget is used up", iteration - 1)
            self._expand(plan)
            self._linearize(plan)
            outcome = self._step(plan, x, iteration, until)
            if not outcome.planned:
                self._judge.see(plan)
                return Feedback(True, outcome.reason, iteration)
        return outcome

    def _expand(self, plan: Plan) -> None:
        self._e.xs[:], self._e.us[:] = plan.xs, plan.us
        self._e.expand(None)

    def _linearize(self, plan: Plan) -> None:
        """Solves the program of the expansion, with the largest weight of the exact Hessian that is convex."""
        program, limits = self._program, self._limits
        program.take(self._scale, limits.rows)
        program.set_soft(limits.rows)
        if self._exact is not None:
            self._exact.lam[:], self._exact.y[:] = plan.lam, plan.y
            self._exact()
        self._set_blend(min(1.0, LESS * self._blend) if self._exact is not None else 0.0)
        self._until_convex(lambda: self._solver.begin(ROUGH))

    def _set_blend(self, weight: float) -> None:
        """Writes the Hessian with this weight of the exact one."""
        self._blend = weight
        self._program.set_hessian(weight, 0.0)
        self._program.hessian.write()

    def _until_convex(self, solve: Callable[[], QPSolution]) -> QPSolution:
        """Solves the program, with less and less of the exact Hessian as long as it is not convex."""
        while (solution := solve()).status is QPStatus.INDEFINITE and self._blend > 0.0:
            self._set_blend(self._blend / LESS if self._blend > LEAST_BLEND else 0.0)
        return solution

    def _step(self, plan: Plan, x: Reals, iteration: int, until: float) -> Feedback:
        """Takes the full step of the prepared program."""
        solution = self._until_convex(lambda: self._solver.go_on(NEAR, until))  # the measurement changes active rows
        judge, limits, e = self._judge, self._limits, self._e
        if solution.status in (QPStatus.INDEFINITE, QPStatus.INFEASIBLE):
            where = "" if solution.failed_knot is None else f" at knot {solution.failed_knot}"
            return Feedback(False, f"quadratic program: {solution.status}{where}", iteration)
        trial, scale = judge.trial, self._scale
        trial.dx[:] = solution.dx
        np.maximum(solution.du, limits.lower - e.us, out=trial.du)
        np.minimum(trial.du, limits.upper - e.us, out=trial.du)
        if not judge.look() or self._leads_apart():
            return Feedback(False, "the step is too long, or leads to values that are not finite", iteration)
        if self._program.qp.nc and not self._first.hold(x):
            return Feedback(False, "constraints of the first knot hold only where values are not finite", iteration)
        plan.take(trial.xs, trial.us, solution.K, solution.lam / scale, solution.y / scale)
        plan.xs[0] = x
        solved = solution.status in (QPStatus.SOLVED, QPStatus.ROUNDING)
        late = time.perf_counter() > until
        reason = "" if solved else "time_budget is used up" if late else f"quadratic program: {solution.status}"
        return Feedback(True, reason, iteration)

    def _leads_apart(self) -> bool:
        """Whether the step rotates a state too far, or leads to a trajectory whose gaps are larger than its motion."""
        trial, gaps = self._judge.trial, self._judge.trial.sum_of_gaps
        if len(self._rotations) and not np.abs(trial.dx[:, self._rotations]).max() < FAR:
            return True
        return gaps > SLIGHT and not gaps <= SLIGHT + np.abs(np.diff(trial.xs, axis=0)).sum()
