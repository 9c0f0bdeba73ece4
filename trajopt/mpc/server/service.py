"""Services of a server: a controller, or a solver with its problem."""

from __future__ import annotations

import time
from typing import Any, Protocol

import numpy as np

from trajopt.errors import InvalidArgumentError, shown
from trajopt.mpc.controller import MPCController
from trajopt.mpc.step import MPCStatus, MPCStep
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution, SolverStatus
from trajopt.solvers import SolverAbstract
from trajopt.types import Reals


class Service(Protocol):
    """Interface of what answers requests about states."""

    problem: ShootingProblem
    dt: float

    def begin(self) -> None:
        """Compiles and solves all that the first request needs."""

    def step(self, x: Reals, t: float | None) -> MPCStep:
        """Returns the control for a measured state (nx,) at a time [s]."""

    def reset(self, x: Reals, t: float | None) -> MPCStep:
        """Solves the first window again, from a state (nx,) at a time [s]."""

    def prepare(self) -> None:
        """Prepares the next step: does all work that does not need its measurement."""


def service_of(controller: Any) -> Service:
    """Returns the service of a controller or of a solver."""
    if isinstance(controller, MPCController):
        return ControllerService(controller)
    if isinstance(controller, SolverAbstract):
        return SolverService(controller)
    raise InvalidArgumentError(
        f"controller: expected an MPCController(problem) or a solver such as SolverSQP(problem), "
        f"got {shown(controller)}"
    )


class ControllerService:
    """Service of a controller: each request is one of its steps, and the plan continues from request to request.

    Args:
        controller: The controller; it is reset to its problem's x0 if it has no plan yet.
    """

    def __init__(self, controller: MPCController) -> None:
        self._controller, self.problem, self.dt = controller, controller.problem, float(controller.dt)

    def __repr__(self) -> str:
        return repr(self._controller)

    def begin(self) -> None:
        """Resets a controller that has no plan yet."""
        if not self._controller._begun:
            self._controller.reset()

    def step(self, x: Reals, t: float | None) -> MPCStep:
        """Runs the feedback phase."""
        return self._controller.feedback(x, t)

    def reset(self, x: Reals, t: float | None) -> MPCStep:
        """Solves the first window again; it begins at 0 s by default."""
        return self._controller.reset(x, 0.0 if t is None else t)

    def prepare(self) -> None:
        """Runs the preparation phase; if a reference has ended, the next measurement raises the error.

        Raises:
            InvalidArgumentError: A user's function raised an error.
        """
        try:
            self._controller.prepare()
        except InvalidArgumentError as error:
            self._controller._prepared = False
            if error.__cause__ is not None:
                raise


class SolverService:
    """Service of a solver: each request is a solve that starts from the solution for the problem's own x0.

    Args:
        solver: The solver; x0 of its problem is set to the state of each request.
    """

    def __init__(self, solver: SolverAbstract[Any]) -> None:
        self._solver, self.problem = solver, solver.problem
        problem, times = self.problem, self.problem.times
        if problem.unknowns:
            raise InvalidArgumentError(
                f"controller: expected a problem without unknowns, got one that frees {', '.join(problem.unknowns)}; "
                "solve it once, and set the parameters to the solution's in a problem that does not free them"
            )
        if problem.start != "fixed" or problem.T == 0:
            raise InvalidArgumentError(
                "controller: expected a problem with start='fixed' and T >= 1, as each requested state becomes x0"
            )
        self._times = np.arange(problem.T + 1, dtype=np.float64) if times is None else times
        self.dt = float(self._times[1])
        self._guess: Solution | None = None

    def __repr__(self) -> str:
        return f"{type(self._solver).__name__}: {self.problem.T} knots"

    def begin(self) -> None:
        """Solves the problem for its own x0."""
        if self._guess is None:
            self._guess = self._solver.solve()

    def step(self, x: Reals, t: float | None) -> MPCStep:
        """Returns the solution from a state; its first knot is at a time [s], 0 s by default."""
        assert self._guess is not None, "begin() comes first"
        started, guess = time.perf_counter(), self._guess
        self.problem.replace_x0(self.problem.state.check(x, "x"))
        xs = guess.xs.copy()
        xs[0] = x
        solution = self._solver.solve(xs, guess.us)
        if solution.status is SolverStatus.INTERRUPTED:
            raise KeyboardInterrupt
        return self._step(solution, 0.0 if t is None else t, started)

    def _step(self, solution: Solution, t: float, started: float) -> MPCStep:
        beyond = {name: float(np.nanmax(rows, initial=0.0)) for name, rows in solution.violations().items()}
        violated = max(beyond, key=lambda name: beyond[name], default="")
        violation = beyond.get(violated, 0.0)
        nu, ndx = self.problem.nu, self.problem.state.ndx
        return MPCStep(
            t=t,
            u=solution.us[0].copy(),
            K=np.zeros((nu, ndx)) if solution.K is None else solution.K[0].copy(),
            xs=solution.xs,
            us=solution.us,
            times=t + self._times,
            status=MPCStatus.SOLVED if solution.converged else MPCStatus.PARTIAL,
            reason="" if solution.converged else str(solution.status),
            cost=solution.cost,
            violation=violation,
            violated=violated if violation > 1e-6 else "",
            iterations=solution.iterations,
            preparation_time=0.0,
            feedback_time=time.perf_counter() - started,
        )

    def reset(self, x: Reals, t: float | None) -> MPCStep:
        """Same as `step`, since solves do not depend on earlier ones."""
        return self.step(x, t)

    def prepare(self) -> None:
        """Does nothing: a solve starts with its state."""
