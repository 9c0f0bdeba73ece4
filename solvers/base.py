"""Base of all solvers: guess, callbacks, records, limits, Ctrl-C, and the solution."""

from __future__ import annotations

import dataclasses
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from trajopt.callbacks import Callback
from trajopt.checks import check_flag, check_items
from trajopt.errors import InvalidArgumentError, SolverInUseError, shown
from trajopt.objects.immutable import Immutable
from trajopt.shooting import ShootingProblem
from trajopt.solution import IterationRecord, Solution, SolverStatus
from trajopt.solvers.hints import ATTRIBUTES, call_hint
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
    attribute_hints: ClassVar[Mapping[str, str]] = ATTRIBUTES
    progress_type: type[P]
    methods_explain = ("solve",)  # the loop calls the others, see `trajopt.objects.calls`
    takes_multipliers: ClassVar[bool] = False
    """Whether a solve takes multipliers as a warm start."""
    honours_constraints: ClassVar[bool] = False
    """Whether it keeps constraints; a solver that does not refuses problems that have some."""
    honours_soft_constraints: ClassVar[bool] = False
    """Whether it keeps soft ones as `ShootingProblem.row_softness` has them."""

    def __init__(
        self,
        problem: ShootingProblem,
        options: SolverOptions | None = None,
        callbacks: Sequence[Callback | Callable[[IterationRecord], Any]] = (),
    ) -> None:
        if not isinstance(problem, ShootingProblem):
            inside = isinstance(getattr(problem, "problem", None), ShootingProblem)
            cure = "; pass its attribute problem" if inside else ""
            raise InvalidArgumentError(f"problem: expected a ShootingProblem, got {type(problem).__name__}{cure}")
        if options is not None and not isinstance(options, self.options_type):
            name, kind = type(self).__name__, self.options_type.__name__
            got = type(options).__name__ if isinstance(options, SolverOptions) else shown(options)
            cure = "callbacks=[...]" if isinstance(options, (list, tuple, Callback)) else f"{kind}(max_iterations=100)"
            raise InvalidArgumentError(f"options: {name} takes {kind}, got {got}; write {name}(problem, {cure})")
        self._refuse_constraints(problem)
        self.problem = problem
        self.options = options or self.options_type()
        one = isinstance(callbacks, Callback) or callable(callbacks)
        cure = "write callbacks=[...] around it" if one else "such as callbacks=[CallbackVerbose()]"
        self.callbacks = [Callback.of(c) for c in check_items("callbacks", callbacks, "callbacks", cure=cure)]
        self._free = [True]  # empty during a solve; `pop` and `append` are atomic

    def _refuse_constraints(self, problem: ShootingProblem) -> None:
        """Raises InvalidArgumentError where the problem has constraints that the solver would ignore."""
        if problem.constraint_names and not self.honours_constraints:
            raise InvalidArgumentError(
                f"problem: {type(self).__name__} can't honour constraints, and the problem has some: "
                f"{', '.join(problem.constraint_names)}; take SolverSQP, or turn them into costs with "
                "ActivationModelQuadraticBarrier"
            )
        if problem.soft_constraint_names and not self.honours_soft_constraints:
            raise InvalidArgumentError(
                f"problem: {type(self).__name__} can't honour soft constraints, and the problem has some: "
                f"{', '.join(problem.soft_constraint_names)}; take SolverSQP, leave out soft=..., or turn them into "
                "costs with ActivationModelQuadraticBarrier"
            )

    def cure_of(self, name: str) -> str:
        return ATTRIBUTES.get(name) or super().cure_of(name)

    @classmethod
    def call_hint(cls, method: str, wrong: list[str]) -> str:
        """Cure of a call with wrong names; empty if none is known."""
        known = [field.name for field in dataclasses.fields(cls.options_type)]
        return call_hint(cls.__name__, cls.options_type.__name__, known, method, wrong)

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

    def solve(self, xs: Any = None, us: Any = None, *, is_feasible: bool = False, multipliers: Any = None) -> Solution:
        """Solves the problem from a guess.

        Args:
            xs: States (T + 1, nx). Without them: the rollout of `us` if that is given, else x0 everywhere. Or a
                Solution, of any solver, whose states and controls are the guess; one by SolverSQP gives its multipliers
                too.
            us: Controls (T, nu); by default those that hold the states of `xs` at rest (quasi-static).
            is_feasible: Whether `xs` is the rollout of `us` from x0, without gaps.
            multipliers: Those of a solution, `solution.multipliers`, for a warm start of SolverSQP.

        Returns:
            The best trajectory and the reason why the solver stopped; not converging raises nothing.

        Raises:
            InvalidArgumentError: The guess does not fit, or has gaps though `is_feasible`, or this is asked of a class.
            ModelEvaluationError: A model raised, or a derivative is not finite; the message names the knot.
            SolverInUseError: The solver is solving, in another thread, or this is called from one of its callbacks.
        """
        if not isinstance(self, SolverAbstract):
            raise InvalidArgumentError(
                f"solve: expected a solver, got {shown(self)} in its place; solve is a method of an object, "
                "not of its class: write SolverFDDP(problem).solve(xs, us), or of a ready problem case.solve()"
            )
        try:
            self._free.pop()
        except IndexError:
            name = type(self).__name__
            raise SolverInUseError(
                f"solve: this {name} is in the middle of a solve, and keeps its arrays in one place; give each thread, "
                f"and each callback that solves, a solver of its own: {name}(problem, options)"
            ) from None
        try:
            return self._solve(xs, us, is_feasible, multipliers)
        finally:
            self._free.append(True)

    def _solve(self, xs: Any, us: Any, is_feasible: bool, multipliers: Any) -> Solution:
        run = self._start(xs, us, is_feasible, multipliers)
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

    def _start(self, xs: Any, us: Any, is_feasible: bool, multipliers: Any) -> P:
        called = time.perf_counter()
        self.problem.check_rows()
        given = self._multipliers(xs, multipliers)
        if isinstance(xs, Solution):
            xs, us = xs.xs, xs.us if us is None else us
        states, controls, feasible = self._guess(xs, us, is_feasible)
        run = self.progress_type(
            x0=self.problem.x0, trajectory=(states, controls), feasible=feasible, multipliers=given, called=called
        )
        self.prepare(run)
        run.started = time.perf_counter()  # compiling does not count
        for callback in self.callbacks:
            callback.start(self.problem, type(self).__name__)
        return run

    def _multipliers(self, xs: Any, multipliers: Any) -> Mapping[str, Reals]:
        """Multipliers of a warm start; those of a solution only where they are complete, as SolverSQP gives them."""
        complete = {"dynamics", "constraints"}
        if multipliers is None:
            known = xs.multipliers if isinstance(xs, Solution) else {}
            return known if self.takes_multipliers and complete <= set(known) else {}
        if not self.takes_multipliers:
            raise InvalidArgumentError(
                f"multipliers: {type(self).__name__} has none; take SolverSQP, or leave them out"
            )
        if not isinstance(multipliers, Mapping) or not complete <= set(multipliers):
            raise InvalidArgumentError(
                "multipliers: expected those of a solution by SolverSQP, with 'dynamics' (T + 1, ndx) and "
                f"'constraints' (T + 1, nc), got {shown(multipliers)}; pass solution.multipliers"
            )
        return multipliers

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
            compile_seconds=run.compile_seconds,
            x0=run.x0,
            failed_knot=run.failed_knot,
            problem=self.problem,
            parameters=self.problem.parameter_values(),
            **self.results(run),
        )
        for callback in self.callbacks:
            callback.finish(solution)
        return solution
