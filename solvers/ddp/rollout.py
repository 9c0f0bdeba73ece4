"""The rollout family, DDP and FDDP: expand, backward pass, forward pass, accept, record, check."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from trajopt.errors import InvalidArgumentError, ModelEvaluationError
from trajopt.shooting import ShootingProblem
from trajopt.shooting.evaluator import Evaluator
from trajopt.solution import IterationRecord, SolverStatus
from trajopt.solvers.base import SolverAbstract
from trajopt.solvers.ddp import scales
from trajopt.solvers.ddp.acceptance import Acceptance, Promise
from trajopt.solvers.ddp.backward_pass import BackwardPass
from trajopt.solvers.ddp.border import Border
from trajopt.solvers.ddp.curvature import Curvature
from trajopt.solvers.ddp.progress import Rolled, RolloutProgress
from trajopt.solvers.ddp.searches import LineSearch, LineStep
from trajopt.solvers.options import DDPOptions, SolverOptions
from trajopt.solvers.riccati.linear_quadratic import LinearQuadratic
from trajopt.solvers.riccati.riccati import Riccati, RiccatiFailure, RiccatiOutcome
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.solvers.batch.results import BatchResults
    from trajopt.solvers.batch.rows import BatchRows
    from trajopt.solvers.batch.solve import Watch
    from trajopt.solvers.ddp.control_limits import ControlLimits
    from trajopt.solvers.ddp.lanes.loop import LaneLoop


class RolloutSolverAbstract(SolverAbstract[RolloutProgress]):
    """A solver by backward Riccati recursions and forward rollouts.

    It keeps its arrays between solves. Arguments are those of SolverAbstract.

    Attributes:
        closes_parts_of_gaps: Whether a step of length α closes the part α of gaps, not all of them.
        keeps_limits: Whether control limits of the models are enforced; the options are then `BoxOptions`, too.
    """

    keeps_limits: ClassVar[bool] = False
    use_of_x0 = "rolls out from a given x0"
    chooses_unknowns = True
    steps_are_rollouts = True

    options_type: ClassVar[type[SolverOptions]] = DDPOptions
    options: DDPOptions
    progress_type = RolloutProgress
    _evaluator: Evaluator  # kept between solves, with what is bound to it, from the first one on
    _prepared = False
    _limits: ControlLimits | None = None
    _border: Border | None = None
    _loops: Sequence[LaneLoop] = ()
    closes_parts_of_gaps: ClassVar[bool] = False

    def _refuse(self, problem: ShootingProblem) -> None:
        super()._refuse(problem)
        if problem.unknowns and problem.nu == 0:
            name = type(self).__name__
            raise InvalidArgumentError(f"problem: {name} needs controls beside unknowns, got none; use SolverSQP")

    # The parts that these solvers differ in

    @abstractmethod
    def acceptance(self) -> Acceptance:
        """Returns the rule that accepts or rejects a step, from the predicted and the reached decrease of the cost."""

    @abstractmethod
    def promise(self, run: RolloutProgress, outcome: RiccatiOutcome) -> Promise:
        """Returns the decrease of the cost that a direction predicts, from the outcome of its backward pass."""

    @abstractmethod
    def feasible_after(self, run: RolloutProgress, length: float) -> bool:
        """Whether the trajectory has no gaps after a step of this length."""

    def begin(self, run: RolloutProgress) -> None:
        """Called once, before the first iteration of a solve; does nothing by default."""

    def after_failed_search(self, run: RolloutProgress) -> None:
        """Further action when no step was accepted, beside regularising more; nothing by default."""

    # What they share

    def rolled_out(self, run: RolloutProgress) -> Rolled | None:
        """Rolls out the evaluator's controls from x0; None if the rollout diverges. Sets the evaluator's k, K to 0."""
        e, trials = self._evaluator, self._search.single
        e.k[:], e.K[:] = 0.0, 0.0
        (cost,) = trials.roll_out(run.x0, (0.0,), None)
        if not trials.in_range(0, cost):
            return None
        return Rolled(trials.trajectory(0), cost, float(np.abs(trials.costs[0]).sum()))

    def go_on_from(self, run: RolloutProgress, rolled: Rolled) -> None:
        """Replaces the trajectory of the solve, and of the evaluator, by a rollout, which has no gaps."""
        run.trajectory, run.cost, run.feasible, run.expanded = rolled.trajectory, rolled.cost, True, False
        self._evaluator.xs[:], self._evaluator.us[:] = rolled.trajectory

    # Many problems side by side

    def solve_in_lanes(self, rows: BatchRows, results: BatchResults, watch: Watch) -> None:
        """Solves rows of small problems in lanes, see `trajopt.solvers.ddp.lanes`."""
        from trajopt.solvers.ddp.lanes import solve

        if solve.fits_lanes(self):
            self._loops = solve.loops_for(self, rows, self._loops)
            solve.solve_in_lanes(self._loops, self.problem, rows, results, watch)

    # The loop

    def prepare(self, run: RolloutProgress) -> None:
        """Allocates the arrays for the problem. They are kept as long as the problem keeps its models."""
        problem = self.whole
        if problem.nu == 0:  # there is nothing to choose: the rollout is the solution
            xs, us = problem.rollout(run.trajectory[1]), run.trajectory[1]
            run.trajectory, run.cost, run.feasible = (xs, us), problem.calc(xs, us).cost, True
            run.status = SolverStatus.CONVERGED
            return
        if not (self._prepared and self._evaluator.fits(problem)):
            e = self._evaluator = Evaluator(problem)
            e.prepare(clipped=self.keeps_limits)
            options, self._limits = self.options, self._control_limits(e)
            box = self._limits.box if self._limits else None
            self._riccati = Riccati(LinearQuadratic.of(e), K=e.K, k=e.k, box=box)
            self._search = LineSearch(
                e, options.step_lengths, options.step_growth, self.acceptance(), clipped=self.keeps_limits
            )
            self._prepared = True
            self._border = Border(e, problem, self.problem.state.nx) if self.problem.unknowns else None
            if self._border:
                self._search.start_from(self._border.start)
            self._pass = BackwardPass(self._riccati, self._border, self._limits)
            self._curvature = Curvature(e, self._pass, options)
            self._curvature.prepare()
        self._evaluator.xs[:], self._evaluator.us[:] = run.trajectory
        if self._border:
            self._border.begin(run.x0)
        self._curvature.begin()
        run.regularization = self.options.initial_regularization
        if self._limits:
            self._limits.begin(self._search)
            self._limit_guess(run, self._limits)

    def _control_limits(self, evaluator: Evaluator) -> ControlLimits | None:
        """Limits of the controls; None if the solver does not keep them."""
        if not self.keeps_limits:
            return None
        from trajopt.solvers.ddp.control_limits import ControlLimits

        return ControlLimits(evaluator, self.options)

    def _limit_guess(self, run: RolloutProgress, limits: ControlLimits) -> None:
        """Clips the controls of the guess to their limits; rolls them out if it was a rollout, or rests at a state."""
        e = self._evaluator
        clipped = limits.clip(e.us)
        if not limits.options.clip_guess or np.array_equal(clipped, e.us):
            return
        rests = bool((e.xs == e.xs[0]).all())  # which clipped controls don't hold
        rolled = self.rolled_out(run) if run.feasible or rests else None
        if rolled is not None:
            self.go_on_from(run, rolled)
        else:
            e.us[:] = clipped
            run.trajectory, run.feasible = (e.xs.copy(), clipped), False

    def iterate(self, run: RolloutProgress) -> IterationRecord | None:
        """Runs one iteration: derivatives, backward pass, rollouts, acceptance, stopping tests."""
        if run.iterations == 1:
            self.begin(run)
        outcome = self._backward(run)
        if outcome is None:
            return None
        used, gap_norm = run.regularization, run.gap_norm
        step = self._along(run, outcome)
        self._accept(run, step)
        self._regularize(run, step)
        self._check(run, step)
        return run.record(
            stop=step.promise.stop,
            step_length=step.length,
            accepted=step.accepted,
            regularization=used,
            gap_norm=gap_norm,
            expected_decrease=step.expected,
            decrease=step.decrease,
            blend=self._curvature.blend,
            nonfinite_trial=step.nonfinite_trial,
        )

    def results(self, run: RolloutProgress) -> dict[str, Any]:
        """Returns "K", "k", "Vx" and "Vxx" by name, with shapes as in `Solution`; nothing if there are no controls."""
        if self.problem.nu == 0:
            return {}
        e, r = self._evaluator, self._curvature.riccati or self._riccati
        return {"K": e.K.copy(), "k": e.k.copy(), "Vx": r.Vx.copy(), "Vxx": r.Vxx.copy()}

    def _expanded(self, run: RolloutProgress) -> None:
        """Measures gaps and gradients after new derivatives."""
        e = self._evaluator
        e.check_steps()
        run.expanded = True
        run.cost = e.cost
        if not run.history:
            self._check_guess(run)
        if run.feasible:
            e.f.fill(0.0)
        run.gap_norm = 0.0 if run.feasible else e.largest_gap

    def _check_guess(self, run: RolloutProgress) -> None:
        e = self._evaluator
        e.check_finite()
        if not run.feasible:
            return
        worst = int(np.abs(e.f).max(axis=1).argmax())
        gap = float(np.abs(e.f[worst]).max())
        if gap > 1e-6 * max(1.0, float(np.abs(e.xs).max())):
            raise InvalidArgumentError(
                f"is_feasible: xs is not the rollout of us: it has a gap of {gap:.3g} before knot {worst}; "
                "pass is_feasible=False"
            )

    def _backward(self, run: RolloutProgress) -> RiccatiOutcome | None:
        """Derivatives, and gains, with more regularisation until they exist; None if there is no direction."""
        options, fresh, lowered = self.options, not run.expanded, False
        if self._limits:
            self._limits.held = False
        x0 = run.x0 if self._border is None else self._border.start(0.0)
        expansion = self._evaluator.expansion(x0) if fresh else None
        if expansion is not None and run.iterations == 1 and options.relative_regularization:
            expansion()
            self._expanded(run)
            run.curvature, expansion = scales.curvature(self._evaluator), None
        while True:
            outcome = self._pass(
                run.regularization * run.curvature,
                feasible=run.feasible,
                regularize_value=options.regularize_value,
                after=expansion,
            )
            if expansion is not None:
                self._expanded(run)
                expansion = None
            if outcome.failure is None:
                if run.loose_tolerance < 0 and run.feasible:
                    self._measure(run, outcome.promised)
                run.confirmed = fresh and (lowered or run.regularization <= options.min_regularization)
                to_confirm = fresh and not run.confirmed and options.confirm_gradient
                if not (to_confirm and self._is_small(run, outcome.promised)):
                    return outcome
                run.regularization, lowered = options.min_regularization, True
                continue
            self._step_back(run, x0)
            self._increase_regularization(run)
            if run.regularization >= options.max_regularization:
                indefinite = outcome.failure is RiccatiFailure.INDEFINITE
                run.status = SolverStatus.INDEFINITE_QUU if indefinite else SolverStatus.DIVERGED
                run.failed_knot = outcome.failed_knot
                return None

    def _step_back(self, run: RolloutProgress, x0: Reals) -> None:
        """Undoes a step to where derivatives are not finite: the next one, with more regularisation, is shorter."""
        e = self._evaluator
        try:
            e.check_finite()
        except ModelEvaluationError:
            if run.before is None:
                raise
            (run.trajectory, run.cost, run.feasible), run.before = run.before, None
            self._increase_regularization(run)  # as much as it may have decreased after that step
            self._curvature.undo_step()
            e.xs[:], e.us[:] = run.trajectory
            e.expand(x0)
            self._expanded(run)

    def _second_order(self, run: RolloutProgress, outcome: RiccatiOutcome) -> RiccatiOutcome:
        """The exact direction from a rollout, where there is one and the options ask for it."""
        curvature = self._curvature
        if not run.feasible:
            curvature.blend = 0.0
            return outcome
        found, seconds = curvature.direction(outcome, run.curvature)
        run.started += seconds  # compiling does not count
        if curvature.blend > 0.0:
            run.confirmed = curvature.ridge <= self.options.min_regularization
        return found

    def _along(self, run: RolloutProgress, outcome: RiccatiOutcome) -> LineStep:
        """The step along the exact direction if there is one, along the Gauss-Newton one, or the cheaper of both."""
        curvature = self._curvature
        found = self._second_order(run, outcome)
        if curvature.blend == 0.0:
            step = self._searched(run, outcome)
        else:
            step = self._searched(run, found)
            if step.short:
                step = self._cheaper(run, outcome, step)
        curvature.judge(step, run.loose_tolerance)
        for each in (self._border, self._limits):
            if each is not None:
                each.judge(step)
        return step

    def _searched(self, run: RolloutProgress, outcome: RiccatiOutcome) -> LineStep:
        """The step along the direction that the evaluator's k and K hold."""
        promise, excess = self.promise(run, outcome), self._curvature.excess
        return self._search.along(promise, run.x0, run.cost, feasible=run.feasible, excess=excess)

    def _cheaper(self, run: RolloutProgress, outcome: RiccatiOutcome, exact: LineStep) -> LineStep:
        """An exact step that was short, or the Gauss-Newton one where that is cheaper."""
        e, curvature = self._evaluator, self._curvature
        blend, k, K, border = curvature.blend, e.k.copy(), e.K.copy(), self._border
        chosen = None if border is None else border.chosen
        curvature.go_back()
        step = self._searched(run, outcome)
        if step.accepted and not (exact.accepted and exact.cost <= step.cost):
            return step
        curvature.blend, e.k[:], e.K[:] = blend, k, K
        if border is not None and chosen is not None:
            border.chosen = chosen
        return exact

    def _measure(self, run: RolloutProgress, stop: float) -> None:
        """Sets S1, at the first rollout, whose full step promises `stop` [cost], and what follows from it."""
        options = self.options
        run.first_scale = scales.costs(self._evaluator) + stop
        run.loose_tolerance = options.tolerance + options.relative_tolerance * scales.at_most(run.first_scale)

    def _is_small(self, run: RolloutProgress, stop: float) -> bool:
        """Whether |d0 + d1 / 2| [cost], promised from a rollout, is below the tolerance."""
        if stop > run.loose_tolerance:  # mostly
            return False
        scale = scales.costs(self._evaluator, run.first_scale)
        return stop <= self.options.tolerance + self.options.relative_tolerance * scale

    def _accept(self, run: RolloutProgress, step: LineStep) -> None:
        if step.trajectory is None:
            self.after_failed_search(run)
            return
        run.was_feasible, run.before = run.feasible, (run.trajectory, run.cost, run.feasible)
        run.trajectory, run.cost = step.trajectory, step.cost
        run.feasible = self.feasible_after(run, step.length)
        self._evaluator.xs[:], self._evaluator.us[:] = step.trajectory
        run.expanded = False

    def _regularize(self, run: RolloutProgress, step: LineStep) -> None:
        options = self.options
        if step.accepted and step.length > options.good_step:
            run.regularization = max(run.regularization / options.regularization_decrease, options.min_regularization)
        if step.length <= self._curvature.bad_step or not step.accepted:
            self._increase_regularization(run)

    def _increase_regularization(self, run: RolloutProgress) -> None:
        options = self.options
        grown = max(run.regularization * options.regularization_increase, options.min_regularization)  # it may be 0
        run.regularization = min(grown, options.max_regularization)

    def _check(self, run: RolloutProgress, step: LineStep) -> None:
        options, stop = self.options, step.promise.stop
        cut = self._border is not None and self._border.chosen[1]
        confirmed = not cut and (run.confirmed or not options.confirm_gradient)
        if stop <= run.loose_tolerance and run.was_feasible and confirmed and self._is_small(run, stop):
            if not (self._limits and self._limits.held):
                run.status = SolverStatus.CONVERGED
                return
            self._limits.holds = False  # and the next passes confirm it
        at_limit = run.regularization >= options.max_regularization
        stuck = at_limit and (not step.accepted or step.length <= options.bad_step)
        over = stuck or run.iterations >= options.max_iterations
        if step.unbounded or (over and run.cost < -scales.FALLEN * run.first_scale < 0):
            run.status = SolverStatus.UNBOUNDED
        elif stuck:
            run.status = SolverStatus.LINE_SEARCH_FAILED
