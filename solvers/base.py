"""Base of all solvers: guess, callbacks, records, limits, Ctrl-C, and the solution."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from trajopt.callbacks import Callback
from trajopt.checks import check_flag, check_items
from trajopt.errors import InvalidArgumentError, SolverInUseError, UnknownAttributeError
from trajopt.model.immutable import Immutable
from trajopt.shooting import ShootingProblem
from trajopt.solution import IterationRecord, Solution, SolverStatus
from trajopt.solvers.hints import ATTRIBUTES, SOLVE, hinting
from trajopt.solvers.options import SolverOptions
from trajopt.solvers.progress import Progress
from trajopt.types import Reals

P = TypeVar("P", bound=Progress)


class SolverAbstract(Immutable, ABC, Generic[P]):
    """Solves a shooting problem by iterations; derive from it and write `iterate`.

    All that a solve knows stands in its progress, of `progress_type`: the base makes it from the guess, calls `prepare`
    once, then `iterate` until its `status` is set, and makes the solution of it. A solver keeps arrays between solves,
    so it does one solve at a time; several solvers may share a problem, also on several threads.

    Args:
        problem: The problem.
        options: Options; the solver's defaults if None.
        callbacks: Each is a Callback, or a function that is called with the record of every iteration and stops the
            solve by returning something true.

    Raises:
        InvalidArgumentError: An argument is of the wrong type, or the solver cannot solve such problems.
    """

    options_type: ClassVar[type[SolverOptions]] = SolverOptions
    progress_type: type[P]

    def __init__(
        self,
        problem: ShootingProblem,
        options: SolverOptions | None = None,
        callbacks: Sequence[Callback | Callable[[IterationRecord], Any]] = (),
    ) -> None:
        if not isinstance(problem, ShootingProblem):
            raise InvalidArgumentError(f"problem: expected a ShootingProblem, got {type(problem).__name__}")
        if options is not None and not isinstance(options, self.options_type):
            raise InvalidArgumentError(
                f"options: {type(self).__name__} takes {self.options_type.__name__}, got {type(options).__name__}"
            )
        self.problem = problem
        self.options = options or self.options_type()
        one = isinstance(callbacks, Callback) or callable(callbacks)
        cure = "write callbacks=[...] around it" if one else "such as callbacks=[CallbackVerbose()]"
        self.callbacks = [Callback.of(c) for c in check_items("callbacks", callbacks, "callbacks", cure=cure)]
        self._free = [True]  # empty during a solve; `pop` and `append` are atomic

    def __getattr__(self, name: str) -> Any:
        if name in ATTRIBUTES:
            raise UnknownAttributeError(f"{type(self).__name__}.{name}: {ATTRIBUTES[name]}")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _cure(self, name: str) -> str:
        return ATTRIBUTES.get(name) or super()._cure(name)

    # What a solver writes

    @abstractmethod
    def iterate(self, run: P) -> IterationRecord | None:
        """One iteration: improves `run.trajectory`, and sets `run.status` if the solve is over.

        Returns:
            `run.record(...)`; None if there was no step, which must set the status.
        """

    def prepare(self, run: P) -> None:
        """Makes ready what the iterations need, such as compiled code; nothing by default."""

    def results(self, run: P) -> dict[str, Any]:
        """Further fields of the solution, such as gains and multipliers; none by default."""
        return {}

    # The loop

    @hinting(SOLVE)
    def solve(self, xs: Any = None, us: Any = None, *, is_feasible: bool = False) -> Solution:
        """Solves the problem from a guess.

        Args:
            xs: States (T + 1, nx). Without them: the rollout of `us` if that is given, else x0 everywhere.
            us: Controls (T, nu); by default those that hold the states of `xs` at rest (quasi-static).
            is_feasible: Whether `xs` is the rollout of `us` from x0, without gaps.

        Returns:
            The best trajectory and the reason why the solver stopped; not converging raises nothing.

        Raises:
            InvalidArgumentError: The guess does not fit, or has gaps though `is_feasible`.
            ModelEvaluationError: A model raised, or a derivative is not finite; the message names the knot.
            SolverInUseError: The solver is solving, in another thread, or this is called from one of its callbacks.
        """
        try:
            self._free.pop()
        except IndexError:
            name = type(self).__name__
            raise SolverInUseError(
                f"solve: this {name} is in the middle of a solve, and keeps its arrays in one place; give each thread, "
                f"and each callback that solves, a solver of its own: {name}(problem, options)"
            ) from None
        try:
            return self._solve(xs, us, is_feasible)
        finally:
            self._free.append(True)

    def _solve(self, xs: Any, us: Any, is_feasible: bool) -> Solution:
        run = self._start(xs, us, is_feasible)
        try:
            while run.status is None:
                run.iterations += 1
                record = self.iterate(run)
                if record is not None:
                    self._watch(run, record)
                    self._check_limits(run)
        except KeyboardInterrupt:
            run.status = SolverStatus.INTERRUPTED
        return self._finish(run)

    def _start(self, xs: Any, us: Any, is_feasible: bool) -> P:
        states, controls, feasible = self._guess(xs, us, is_feasible)
        run = self.progress_type(x0=self.problem.x0, trajectory=(states, controls), feasible=feasible)
        self.prepare(run)
        run.started = time.perf_counter()  # compiling does not count
        for callback in self.callbacks:
            callback.start(self.problem, type(self).__name__)
        return run

    def _guess(self, xs: Any, us: Any, is_feasible: bool) -> tuple[Reals, Reals, bool]:
        problem, is_feasible = self.problem, check_flag("is_feasible", is_feasible)
        if xs is None and us is not None:
            xs, is_feasible = problem.rollout(us), True
        if xs is None:
            xs = np.tile(problem.x0, (problem.T + 1, 1))
        if us is None:
            xs, _ = problem.check_guess(xs, np.zeros((problem.T, problem.nu)))
            us = problem.quasi_static(xs[:-1])
        states, controls = problem.check_guess(xs, us)
        return states, controls, is_feasible

    def _watch(self, run: P, record: IterationRecord) -> None:
        run.history.append(record)
        for callback in self.callbacks:
            if callback(record) and run.status is None:
                run.status = SolverStatus.STOPPED_BY_CALLBACK

    def _check_limits(self, run: P) -> None:
        options = self.options
        if run.status is None and run.iterations >= options.max_iterations:
            run.status = SolverStatus.MAX_ITERATIONS
        elif run.status is None and options.time_limit is not None and run.seconds > options.time_limit:
            run.status = SolverStatus.TIME_LIMIT

    def _finish(self, run: P) -> Solution:
        assert run.status is not None
        xs, us = run.trajectory
        solution = Solution(
            xs=xs,
            us=us,
            cost=run.cost,
            status=run.status,
            iterations=run.iterations,
            history=tuple(run.history),
            solver=type(self).__name__,
            seconds=run.seconds,
            x0=run.x0,
            failed_knot=run.failed_knot,
            problem=self.problem,
            parameters=self.problem.parameter_values(),
            **self.results(run),
        )
        for callback in self.callbacks:
            callback.finish(solution)
        return solution
