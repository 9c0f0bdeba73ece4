"""Interior-point steps as a method of SolverSQP."""

from __future__ import annotations

from trajopt.errors import ModelEvaluationError
from trajopt.solution import IterationRecord
from trajopt.solvers.sqp.interior.steps import InteriorSteps
from trajopt.solvers.sqp.method import ROUNDED, MethodAbstract, Outcome
from trajopt.solvers.sqp.progress import SQPProgress
from trajopt.solvers.sqp.workspace import Workspace

LEAST = 0.1  # typical cost, relative to that of the guess: a trajectory that is left behind may have a far smaller one


class InteriorMethod(MethodAbstract):
    """Interior-point steps from the guess of a solve, along lines or as rollouts.

    Args:
        work: Where the trajectory is.
        run: State of the solve.
        rolls: Whether steps are rollouts, and begin with that of the guess's controls.

    Raises:
        ModelEvaluationError: A model has no finite values there.
    """

    name = "interior"

    def __init__(self, work: Workspace, run: SQPProgress, *, rolls: bool) -> None:
        e, self._work = work.evaluator, work
        e.xs[:], e.us[:] = run.guess
        if rolls:
            e.prepare(clipped=True)
            work.rollouts.roll_out(e.xs[0], e.us)
        else:
            work.prepare_lines()
        e.expand(work.x0(run))
        e.check_finite()
        left = max(abs(run.cost), LEAST * run.units.cost)  # typical where a trajectory is left behind
        units = work.units(left if run.iterations else run.units.cost)
        trial = None if rolls else work.line
        self._steps = InteriorSteps(e, work.rows, work.model.exact, trial, work.x0(run), units)

    def iterate(self, run: SQPProgress) -> IterationRecord:
        """Takes an interior-point step."""
        steps, e = self._steps, self._work.evaluator
        gap, before, goes_on = e.largest_gap, run.cost, False
        try:
            goes_on = steps.iterate()
            self._take(run)
        except ModelEvaluationError:
            goes_on = False
        closed = max(run.gap, run.violation) < self._work.options.feasibility
        self.outcome = Outcome.SOLVED if steps.solved and closed else None if goes_on else Outcome.FAILED
        return run.record(
            stop=steps.stationarity,
            step_length=steps.length,
            accepted=steps.length > 0.0,
            regularization=steps.ridge,
            gap_norm=gap,
            expected_decrease=-steps.promised,
            decrease=before - run.cost,
            constraint_violation=run.largest_violation,
            complementarity=steps.complementarity,
            blend=steps.blend,
            method=self.name,
        )

    def _take(self, run: SQPProgress) -> None:
        """Takes the point that the steps have reached."""
        e, rows = self._work.evaluator, self._work.rows
        run.trajectory, run.cost, run.feasible = (e.xs.copy(), e.us.copy()), e.cost, e.largest_gap < ROUNDED
        run.gap = run.units.largest_gap(e)
        _, run.violation, run.largest_violation, *_ = rows.sizes(e.c, run.y, run.scale)
        run.lam, run.y, run.start_y = (run.scale * each for each in self._steps.multipliers)
