"""The loop that DDP and FDDP share: expand, backward pass, forward pass, accept, record, check."""

from __future__ import annotations

import contextlib
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from trajopt.errors import InvalidArgumentError
from trajopt.evaluation import Evaluator, Trials
from trajopt.kernels import LANES
from trajopt.shooting import ShootingProblem
from trajopt.solution import IterationRecord, Solution, SolverStatus
from trajopt.solvers.options import DDPOptions
from trajopt.solvers.linear_quadratic import LinearQuadratic
from trajopt.solvers.riccati import Failure, Riccati, RiccatiOutcome

Reals = npt.NDArray[np.float64]
Callback = Callable[[IterationRecord], Any]


@dataclass(kw_only=True)
class Progress:
    """Where a solve is. The trajectory is replaced as a whole, so that it is consistent at any interruption."""

    x0: Reals
    trajectory: tuple[Reals, Reals]
    cost: float
    feasible: bool
    was_feasible: bool
    regularization: float
    started: float
    expanded: bool = False
    iterations: int = 0
    history: list[IterationRecord] = field(default_factory=list)
    status: SolverStatus | None = None
    failed_knot: int | None = None


@dataclass(frozen=True, kw_only=True)
class Step:
    """Outcome of a line search.

    Attributes:
        length: Accepted step length, or the last one that was tried.
        accepted: Whether it was accepted.
        trajectory: The accepted states and controls.
        cost: Their cost [cost].
        decrease: Decrease of the cost [cost].
        expected: Decrease that was expected [cost].
        slopes: d0 and d1 of the last step length that was judged: expected dV(α) = α (d0 + α d1 / 2).
    """

    length: float
    accepted: bool
    trajectory: tuple[Reals, Reals] | None
    cost: float
    decrease: float
    expected: float
    slopes: tuple[float, float]


class SolverAbstract(ABC):
    """A solver by backward Riccati recursions and forward rollouts, with Gauss-Newton Hessians (iLQR).

    A solver keeps its arrays between solves; it is used by one thread at a time.

    Args:
        problem: The problem.
        options: Options; the solver's defaults if None.
        callbacks: Each is called with the record of every iteration, and stops the solve by returning something true.
            Methods `start(problem, solver_name)` and `finish(solution)` are called if it has them; the solver's models
            are made ready within the context manager `preparing()`.
    """

    options_type: type[DDPOptions] = DDPOptions

    def __init__(
        self, problem: ShootingProblem, options: DDPOptions | None = None, callbacks: Sequence[Callback] = ()
    ) -> None:
        if not isinstance(problem, ShootingProblem):
            raise InvalidArgumentError(f"problem: expected a ShootingProblem, got {type(problem).__name__}")
        if options is not None and not isinstance(options, self.options_type):
            raise InvalidArgumentError(
                f"options: {type(self).__name__} takes {self.options_type.__name__}, got {type(options).__name__}"
            )
        for callback in callbacks:
            if not callable(callback):
                raise InvalidArgumentError(f"callbacks: expected functions of an iteration's record, got {callback!r}")
        self.problem = problem
        self.options = options or self.options_type()
        self.callbacks = list(callbacks)
        self._version: int | None = None

    def solve(self, xs: Any = None, us: Any = None, *, is_feasible: bool = False) -> Solution:
        """Solves the problem from a guess.

        Args:
            xs: States (T + 1, nx). Without them: the rollout of `us` if that is given, else x0 everywhere.
            us: Controls (T, nu); by default those that hold the states of `xs` at rest (quasi-static).
            is_feasible: Whether `xs` is the rollout of `us` from x0, without gaps.

        Returns:
            The trajectory with its gains and the reason why the solver stopped; not converging raises nothing.

        Raises:
            InvalidArgumentError: The guess does not fit, or has gaps though `is_feasible`.
            ModelEvaluationError: A model raised, or a derivative is not finite; the message names the knot.
        """
        run = self._start(xs, us, is_feasible)
        try:
            while run.status is None:
                outcome = self._direction(run)
                if outcome is None:
                    break
                step = self._search(run, outcome)
                self._accept(run, step)
                self._regularize(run, step)
                self._record(run, step)
                self._check(run, step)
        except KeyboardInterrupt:
            run.status = SolverStatus.INTERRUPTED
        return self._finish(run)

    # The parts that solvers differ in

    @abstractmethod
    def _slopes(self, run: Progress, outcome: RiccatiOutcome) -> tuple[float, float]:
        """d0 and d1 of the direction, without what depends on the step."""

    @abstractmethod
    def _trial_gaps(self, run: Progress) -> Reals | float:
        """Gaps that a step of length α closes in part."""

    @abstractmethod
    def _slopes_at(self, run: Progress, slopes: tuple[float, float], trials: Trials, lane: int) -> tuple[float, float]:
        """d0 and d1 at a trial."""

    @abstractmethod
    def _accepts(self, run: Progress, slopes: tuple[float, float], expected: float, decrease: float) -> bool:
        """Whether a step is accepted."""

    @abstractmethod
    def _feasible_after(self, run: Progress, length: float) -> bool:
        """Whether the trajectory is a rollout after a step of this length."""

    def _after_failed_search(self, run: Progress) -> None:  # noqa: B027
        """What else a solver does when no step was accepted, beside regularising more; nothing by default."""

    # Start

    def _start(self, xs: Any, us: Any, is_feasible: bool) -> Progress:
        states, controls, feasible = self._guess(xs, us, is_feasible)
        with contextlib.ExitStack() as stack:
            for callback in self.callbacks:
                if hasattr(callback, "preparing"):
                    stack.enter_context(callback.preparing())
            self._prepare()
        e = self._evaluator
        e.xs[:], e.us[:] = states, controls
        run = Progress(
            x0=self.problem.x0,
            trajectory=(states, controls),
            cost=np.nan,
            feasible=feasible,
            was_feasible=False,
            regularization=self.options.initial_regularization,
            started=time.perf_counter(),
        )
        for callback in self.callbacks:
            if hasattr(callback, "start"):
                callback.start(self.problem, type(self).__name__)
        return run

    def _guess(self, xs: Any, us: Any, is_feasible: bool) -> tuple[Reals, Reals, bool]:
        problem = self.problem
        if xs is None and us is not None:
            xs, is_feasible = problem.rollout(us), True
        if xs is None:
            xs = np.tile(problem.x0, (problem.T + 1, 1))
        if us is None:
            xs, _ = problem.check_guess(xs, np.zeros((problem.T, problem.nu)))
            us = problem.quasi_static(xs[:-1])
        states, controls = problem.check_guess(xs, us)
        return states, controls, is_feasible

    def _prepare(self) -> None:
        """Arrays for this problem; kept as long as its models stay."""
        problem = self.problem
        if self._version != problem.version:
            e = self._evaluator = problem.new_evaluator()
            e.prepare()
            ends = {"terminal_g": e.terminal_Lx, "terminal_H": e.terminal_Lxx}
            self._riccati = Riccati(LinearQuadratic(F=e.F, f=e.gaps, g=e.g, H=e.H, **ends), K=e.K, k=e.k)
            self._version = problem.version

    # Expand and backward pass

    def _direction(self, run: Progress) -> RiccatiOutcome | None:
        """Derivatives and gains, with more regularisation until they exist; None if there is no direction."""
        if not run.expanded:
            self._expand(run)
        run.iterations += 1
        while True:
            outcome = self._riccati.factor(
                run.regularization, feasible=run.feasible, regularize_value=self.options.regularize_value
            )
            if outcome.failure is None:
                return outcome
            self._evaluator.check_finite()
            self._increase_regularization(run)
            if run.regularization >= self.options.max_regularization:
                indefinite = outcome.failure is Failure.INDEFINITE
                run.status = SolverStatus.INDEFINITE_QUU if indefinite else SolverStatus.DIVERGED
                run.failed_knot = outcome.failed_knot
                return None

    def _expand(self, run: Progress) -> None:
        e = self._evaluator
        e.linearize(run.x0)
        run.expanded = True
        run.cost = float(e.costs.sum())
        if not run.history:
            self._check_guess(run)
        if run.feasible:
            e.gaps[:] = 0.0
        self._gap_norm = 0.0 if run.feasible else float(np.abs(e.gaps).max())

    def _check_guess(self, run: Progress) -> None:
        e = self._evaluator
        e.check_finite()
        worst = int(np.abs(e.gaps).max(axis=1).argmax())
        gap = float(np.abs(e.gaps[worst]).max())
        if run.feasible and gap > 1e-6 * max(1.0, float(np.abs(e.xs).max())):
            raise InvalidArgumentError(
                f"is_feasible: xs is not the rollout of us: it has a gap of {gap:.3g} before knot {worst}; "
                "pass is_feasible=False"
            )

    # Forward pass

    def _search(self, run: Progress, outcome: RiccatiOutcome) -> Step:
        """Tries the step lengths in order; the first alone, which is mostly accepted, then eight at once."""
        slopes = latest = self._slopes(run, outcome)
        lengths, first, expected, decrease = self.options.step_lengths, 0, np.nan, np.nan
        while first < len(lengths):
            trials = self._evaluator.trials(1 if first == 0 else LANES)
            tried = lengths[first : first + trials.width]
            costs = self._roll_out(run, trials, tried)
            for lane, length in enumerate(tried):
                if not np.isfinite(costs[lane]):
                    continue
                latest = self._slopes_at(run, slopes, trials, lane)
                expected = length * (latest[0] + 0.5 * length * latest[1])
                decrease = run.cost - float(costs[lane])
                if self._accepts(run, latest, expected, decrease):
                    return Step(
                        length=length,
                        accepted=True,
                        trajectory=(trials.xs[lane].copy(), trials.us[lane].copy()),
                        cost=float(costs[lane]),
                        decrease=decrease,
                        expected=expected,
                        slopes=latest,
                    )
            first += len(tried)
        return Step(
            length=lengths[-1],
            accepted=False,
            trajectory=None,
            cost=run.cost,
            decrease=decrease,
            expected=expected,
            slopes=latest,
        )

    def _roll_out(self, run: Progress, trials: Trials, lengths: Sequence[float]) -> Reals:
        """Costs of the step lengths (len(lengths),); lanes that are left repeat the last one."""
        e, gaps = self._evaluator, self._trial_gaps(run)
        trials.alphas[:, 0] = [*lengths, *[lengths[-1]] * (trials.width - len(lengths))]
        trials.gaps[:] = gaps
        trials.xs[:, 0] = run.x0
        if not isinstance(gaps, float) and gaps[0].any():
            for lane in range(trials.width):
                trials.xs[lane, 0] = e.state.integrate(run.x0, (trials.alphas[lane, 0] - 1.0) * gaps[0])
        trials.run()
        costs: Reals = trials.costs[: len(lengths)].sum(axis=1)
        return costs

    # Accept, record, check

    def _accept(self, run: Progress, step: Step) -> None:
        if not step.accepted or step.trajectory is None:
            self._after_failed_search(run)
            return
        run.was_feasible = run.feasible
        run.trajectory, run.cost = step.trajectory, step.cost
        run.feasible = self._feasible_after(run, step.length)
        self._evaluator.xs[:], self._evaluator.us[:] = step.trajectory
        run.expanded = False

    def _regularize(self, run: Progress, step: Step) -> None:
        self._used = run.regularization
        if step.accepted and step.length > self.options.good_step:
            run.regularization = max(
                run.regularization / self.options.regularization_decrease, self.options.min_regularization
            )
        if step.length <= self.options.bad_step or not step.accepted:
            self._increase_regularization(run)

    def _increase_regularization(self, run: Progress) -> None:
        options = self.options
        grown = max(
            run.regularization * options.regularization_increase, options.min_regularization
        )  # it may start at 0
        run.regularization = min(grown, options.max_regularization)

    def _record(self, run: Progress, step: Step) -> None:
        record = IterationRecord(
            iteration=run.iterations,
            cost=run.cost,
            stop=_stop(step),
            step_length=step.length,
            accepted=step.accepted,
            regularization=self._used,
            gap_norm=self._gap_norm,
            expected_decrease=step.expected,
            decrease=step.decrease,
            feasible=run.feasible,
            seconds=time.perf_counter() - run.started,
        )
        run.history.append(record)
        for callback in self.callbacks:
            if callback(record):
                run.status = SolverStatus.STOPPED_BY_CALLBACK

    def _check(self, run: Progress, step: Step) -> None:
        options = self.options
        if run.was_feasible and _stop(step) < options.tolerance + options.relative_tolerance * abs(run.cost):
            run.status = SolverStatus.CONVERGED
        elif run.status is not None:
            return
        elif run.regularization >= options.max_regularization and (
            not step.accepted or step.length <= options.bad_step
        ):
            run.status = SolverStatus.LINE_SEARCH_FAILED
        elif run.iterations >= options.max_iterations:
            run.status = SolverStatus.MAX_ITERATIONS
        elif options.time_limit is not None and time.perf_counter() - run.started > options.time_limit:
            run.status = SolverStatus.TIME_LIMIT

    def _finish(self, run: Progress) -> Solution:
        xs, us = run.trajectory
        r = self._riccati
        solution = Solution(
            xs=xs,
            us=us,
            K=self._evaluator.K.copy(),
            k=self._evaluator.k.copy(),
            Vx=r.Vx.copy(),
            Vxx=r.Vxx.copy(),
            cost=run.cost,
            status=run.status or SolverStatus.MAX_ITERATIONS,
            iterations=run.iterations,
            history=tuple(run.history),
            solver=type(self).__name__,
            seconds=time.perf_counter() - run.started,
            x0=run.x0,
            failed_knot=run.failed_knot,
            problem=self.problem,
            parameters=self.problem.parameter_values(),
        )
        for callback in self.callbacks:
            if hasattr(callback, "finish"):
                callback.finish(solution)
        return solution


def _stop(step: Step) -> float:
    """The decrease that a full step promises: |d0 + d1 / 2|."""
    return abs(step.slopes[0] + 0.5 * step.slopes[1])
