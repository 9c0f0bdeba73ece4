"""Base of all solvers: initial guess, callbacks, records, limits, Ctrl-C, and the solution."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np

from trajopt.callbacks import Callback
from trajopt.checks import check_count, check_flag, check_items
from trajopt.errors import InvalidArgumentError, SolverInUseError, shown
from trajopt.objects.immutable import Immutable
from trajopt.shooting import ShootingProblem
from trajopt.solution import IterationRecord, Solution, SolutionBatch, SolutionLibrary, SolverStatus
from trajopt.solvers.hints import ATTRIBUTES, call_hint, options_hint
from trajopt.solvers.options import SolverOptions
from trajopt.solvers.progress import Progress
from trajopt.solvers.unknowns import with_unknowns, without_unknowns
from trajopt.solvers.ways import first_states
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.solvers.batch.results import BatchResults
    from trajopt.solvers.batch.rows import BatchRows
    from trajopt.solvers.batch.solve import Watch

P = TypeVar("P", bound=Progress)
MOST_STARTS = 10_000
"""Largest number of guesses of a solve [-]."""


class SolverAbstract(Immutable, ABC, Generic[P]):
    """Solves a shooting problem iteratively. To write a solver, derive from this class and define `iterate`.

    The state of a solve is its progress, an object of `progress_type`. The base class creates it from the guess, calls
    `prepare` once and `iterate` until `status` is set, then builds the solution from it. A solver reuses its arrays
    between solves, so it can run only one solve at a time. Several solvers may share a problem, even across threads.

    Args:
        problem: The problem.
        options: Options; the solver's defaults if None.
        callbacks: Callbacks, or functions that receive the record of every iteration; a function that returns a true
            value stops the solve.

    Raises:
        InvalidArgumentError: An argument has a wrong type, or the solver cannot solve this kind of problem.
    """

    options_type: ClassVar[type[SolverOptions]] = SolverOptions
    attribute_hints: ClassVar[Mapping[str, str]] = ATTRIBUTES
    progress_type: type[P]
    methods_explain = ("solve", "solve_batch")  # the others are called by the loop only, see `trajopt.objects.calls`
    takes_multipliers: ClassVar[bool] = False
    """Whether a solve accepts multipliers as a warm start."""
    honours_constraints: ClassVar[bool] = False
    """Whether the solver enforces constraints; if not, it rejects problems with constraints."""
    honours_soft_constraints: ClassVar[bool] = False
    """Whether the solver handles soft constraints as in `ShootingProblem.row_softness`."""
    use_of_x0: ClassVar[str] = ""
    """What the solver does that needs a fixed start, such as "rolls out from x0"; empty if it can choose the start."""
    steps_are_rollouts: ClassVar[bool] = False
    """Whether trajectories have no gaps after a full step, so that guesses compare by cost."""
    chooses_unknowns: ClassVar[bool] = False
    """Whether the solver solves `whole`, so that it can choose unknown parameters."""

    def __init__(
        self,
        problem: ShootingProblem,
        options: SolverOptions | None = None,
        callbacks: Sequence[Callback | Callable[[IterationRecord], Any]] = (),
    ) -> None:
        if not isinstance(problem, ShootingProblem):
            inside = isinstance(getattr(problem, "problem", None), ShootingProblem)
            cure = "; pass its attribute problem" if inside else ""
            if problem is None:
                cure = "; a Solution from a file has none, as files hold no functions: build the problem again"
            raise InvalidArgumentError(f"problem: expected a ShootingProblem, got {type(problem).__name__}{cure}")
        if options is not None and not isinstance(options, self.options_type):
            name, kind = type(self).__name__, self.options_type.__name__
            got = type(options).__name__ if isinstance(options, SolverOptions) else shown(options)
            cure = options_hint(self.options_type, options)
            raise InvalidArgumentError(f"options: {name} takes {kind}, got {got}; write {name}(problem, {cure})")
        self._refuse(problem)
        self.problem = problem
        self.options = options or self.options_type()
        one = isinstance(callbacks, Callback) or callable(callbacks)
        cure = "write callbacks=[...] around it" if one else "such as callbacks=[CallbackVerbose()]"
        self.callbacks = [Callback.of(c) for c in check_items("callbacks", callbacks, "callbacks", cure=cure)]
        self._free = [True]  # empty during a solve; `pop` and `append` are atomic
        self._whole = _whole(problem)
        self.build()

    def build(self) -> None:
        """Last part of the construction, once problem and options are checked; nothing by default."""

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.problem, self.options, self.callbacks)  # a copy compiles and builds its own

    def _refuse(self, problem: ShootingProblem) -> None:
        """Raises InvalidArgumentError if the problem has constraints, or a free start, that the solver would ignore."""
        if self.use_of_x0 and problem.start != "fixed":
            raise InvalidArgumentError(
                f"problem: {type(self).__name__} {self.use_of_x0}, so its start must be fixed; build the problem with "
                'start="fixed", or take a solver that chooses the start'
            )
        if problem.unknowns and not self.chooses_unknowns:
            raise InvalidArgumentError(
                f"problem: {type(self).__name__} can't choose parameters, but the problem frees "
                f"{', '.join(problem.unknowns)}; use SolverSQP or SolverFDDP, or set the parameter to a number in a "
                "problem that does not free it"
            )
        if problem.constraint_names and not self.honours_constraints:
            raise InvalidArgumentError(
                f"problem: {type(self).__name__} can't enforce constraints, but the problem has some: "
                f"{', '.join(problem.constraint_names)}; use SolverSQP, or turn them into costs with "
                "ActivationModelQuadraticBarrier"
            )
        if problem.soft_constraint_names and not self.honours_soft_constraints:
            raise InvalidArgumentError(
                f"problem: {type(self).__name__} can't handle soft constraints, but the problem has some: "
                f"{', '.join(problem.soft_constraint_names)}; use SolverSQP, remove soft=..., or turn them into "
                "costs with ActivationModelQuadraticBarrier"
            )

    @property
    def whole(self) -> ShootingProblem:
        """The problem that the solver sees: with unknown parameters as constant states, which have free starts."""
        return self._whole

    def cure_of(self, name: str) -> str:
        return ATTRIBUTES.get(name) or super().cure_of(name)

    @classmethod
    def call_hint(cls, method: str, wrong: list[str]) -> str:
        """Advice for a call with wrong argument names; empty if there is none."""
        known = [field.name for field in dataclasses.fields(cls.options_type)]
        return call_hint(cls.__name__, cls.options_type.__name__, known, method, wrong)

    # Methods that a solver defines

    @abstractmethod
    def iterate(self, run: P) -> IterationRecord | None:
        """Runs one iteration: improves `run.trajectory`, and sets `run.status` if the solve is over.

        Returns:
            `run.record(...)`, or None if no step was taken; then the status must be set.
        """

    def prepare(self, run: P) -> None:
        """Prepares the iterations, for example by compiling code; does nothing by default."""

    def results(self, run: P) -> dict[str, Any]:
        """Additional fields of the solution, such as gains and multipliers; empty by default."""
        return {}

    def solve_in_lanes(self, rows: BatchRows, results: BatchResults, watch: Watch) -> None:
        """Solves rows of a batch side by side, where the solver can; those that are not done are solved one by one."""

    # The loop

    def solve(
        self,
        xs: Any = None,
        us: Any = None,
        *,
        is_feasible: bool = False,
        multipliers: Any = None,
        starts: int = 1,
        seed: int = 0,
    ) -> Solution:
        """Solves the problem from an initial guess.

        Args:
            xs: States (T + 1, nx). By default the rollout of `us`; without `us` x0 at every knot, with unknowns or
                circles of the plane a way to where equations of the end hold. A Solution is a guess as well, with its
                multipliers if it is SolverSQP's, and of a SolutionLibrary the nearest one.
            us: Controls (T, nu); by default those that hold the states of `xs` at rest (quasi-static).
            is_feasible: Whether `xs` is the rollout of `us` from x0, without gaps.
            multipliers: `solution.multipliers` of an earlier solution, as a warm start of SolverSQP with one start.
            starts: Number of guesses from which to solve; the best solution is returned, its `optima` lists those that
                were reached. SolverDDP and SolverFDDP stop guesses that promise no lower cost. After the passed guess:
                a way around circles of the plane, rollouts of its controls and of none, x0 at rest, random ones, with
                unknown parameters from all over their bounds [-].
            seed: Seed of the random guesses.

        Returns:
            The best trajectory, and the reason why the solver stopped. A solve that does not converge raises no error.

        Raises:
            InvalidArgumentError: The guess does not fit, it has gaps despite `is_feasible`, or `solve` is called on the
                class.
            ModelEvaluationError: A model raised, or a derivative is not finite; the message names the knot.
            SolverInUseError: The solver is already solving, in another thread or in the solve that runs this callback.
        """
        if not isinstance(self, SolverAbstract):
            raise InvalidArgumentError(
                f"solve: expected a solver object, got {shown(self)}; call solve on an object, not on its class: "
                "SolverFDDP(problem).solve(xs, us), or case.solve() for a ready problem"
            )
        check_count("seed", seed)
        with self._in_use("solve"):
            xs = xs.guess(self.problem) if isinstance(xs, SolutionLibrary) else xs
            if check_count("starts", starts, least=1, most=MOST_STARTS) == 1:
                return self._solve(xs, us, is_feasible, multipliers)
            from trajopt.solvers.batch.portfolio import solve_from

            return solve_from(self, xs, us, is_feasible, starts=starts, seed=seed)

    @contextlib.contextmanager
    def _in_use(self, method: str) -> Iterator[None]:
        """Context in which the solver's arrays serve one solve; raises SolverInUseError if they serve another one."""
        try:
            self._free.pop()
        except IndexError:
            name = type(self).__name__
            raise SolverInUseError(
                f"{method}: this {name} is already solving, and its arrays serve one solve at a time; give each "
                f"thread, and each callback that solves, its own solver: {name}(problem, options)"
            ) from None
        try:
            yield
        finally:
            self._free.append(True)

    def solve_batch(
        self,
        x0: Any = None,
        parameters: Mapping[str, Any] | None = None,
        xs: Any = None,
        us: Any = None,
        *,
        starts: int = 1,
        seed: int = 0,
        time_limit: float | None = None,
        progress: bool = True,
    ) -> SolutionBatch:
        """Solves the problem for many values, one row a solve; each row ends as if it were alone.

        Pass at least one array with a row for each solve. What has no row in front is the same for all of them. The
        problem keeps its own x0 and parameters. SolverDDP and SolverFDDP solve small problems side by side, one in each
        lane of a vector register; results then differ from those of `solve` by rounding. All else is solved row by row,
        from guesses that are computed together.

        Args:
            x0: Initial states (B, nx), or one (nx,); by default that of the problem.
            parameters: Values of run-time parameters by name, each with B rows: {"goal.reference": G}. A name such as
                "goal.weight@terminal" selects knots, as `ShootingProblem.set_parameter` does.
            xs: Guesses of the states (B, T + 1, nx), or one (T + 1, nx), or a Solution or SolutionBatch with states
                and controls; by default as in `solve`.
            us: Guesses of the controls (B, T, nu), or one (T, nu).
            starts: Number of guesses from which rows that do not converge are solved again, as in `solve` [-].
            seed: Seed of their random guesses.
            time_limit: Wall time after which rows that have not ended stop with the status TIME_LIMIT [s].
            progress: Whether to show a bar on a terminal.

        Returns:
            Trajectories, costs and statuses in arrays. A row whose solve raised an error has its message in `error`;
            after Ctrl-C, rows that have not ended have the status INTERRUPTED.

        Raises:
            UnknownNameError: There is no parameter of this name.
            InvalidArgumentError: Shapes or numbers of rows do not fit one another.
            SolverInUseError: The solver is already solving.
        """
        from trajopt.solvers.batch.solve import solve_rows

        again, seed = None, check_count("seed", seed)
        if check_count("starts", starts, least=1, most=MOST_STARTS) > 1:
            from trajopt.solvers.batch.portfolio import solve_from

            again = functools.partial(solve_from, self, starts=starts, seed=seed)
        with self._in_use("solve_batch"):
            return solve_rows(self, x0, parameters, xs, us, again=again, time_limit=time_limit, progress=progress)

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
        self._see_unknowns()
        given = self._multipliers(xs, multipliers)
        known = xs.unknowns if isinstance(xs, Solution) else {}
        if isinstance(xs, Solution):
            xs, us = xs.xs, xs.us if us is None else us
        states, controls, feasible = self._guess(xs, us, is_feasible)
        if self.problem.unknowns:
            states, given = with_unknowns(self.problem, states, given, known)
        run = self.progress_type(
            x0=self.problem.x0, trajectory=(states, controls), feasible=feasible, multipliers=given, called=called
        )
        self.prepare(run)
        run.started = time.perf_counter()  # compiling does not count
        for callback in self.callbacks:
            callback.start(self.problem, type(self).__name__)
        return run

    def _see_unknowns(self) -> None:
        """Takes over parameters and x0 of a problem with unknowns, and builds anew if these have changed."""
        whole = _whole(self.problem)
        if whole is not self._whole:
            self._refuse(self.problem)
            self._whole = whole
            self.build()

    def _multipliers(self, xs: Any, multipliers: Any) -> Mapping[str, Reals]:
        """Multipliers for a warm start; those of a solution only if they are complete and fit, as from SolverSQP."""
        complete = {"dynamics", "constraints"}
        if multipliers is None:
            known, rows = xs.multipliers if isinstance(xs, Solution) else {}, (self.problem.T + 1, self.problem.nc)
            fits = complete <= set(known) and np.shape(known["constraints"]) == rows  # those of other rows do not
            return known if self.takes_multipliers and fits else {}
        if not self.takes_multipliers:
            raise InvalidArgumentError(
                f"multipliers: {type(self).__name__} doesn't use multipliers; use SolverSQP, or leave them out"
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
            xs = first_states(problem)
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

    def choose(self, run: P) -> None:
        """Chooses the trajectory to return, once the status is known; by default the last one."""

    def _finish(self, run: P) -> Solution:
        assert run.status is not None
        self.choose(run)
        xs, us = run.trajectory
        fields = {"parameters": self.problem.parameter_values(), **self.results(run)}
        if self.problem.unknowns:
            xs, fields = without_unknowns(self.problem, xs, fields)
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
            **fields,
        )
        for callback in self.callbacks:
            callback.finish(solution)
        return solution


def _whole(problem: ShootingProblem) -> ShootingProblem:
    """The problem that a solver sees: with unknowns as constant states, up to date with its parameters and x0."""
    freed = problem.freed()
    return problem if freed is None else freed.follow()
