"""The two things that a server can have behind it: a controller, or a solver with its problem."""

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
    """Answers requests about states."""

    problem: ShootingProblem
    dt: float

    def begin(self) -> None:
        """Compiles and solves all that the first request needs."""

    def step(self, x: Reals, t: float | None) -> MPCStep:
        """The control for a measured state (nx,)."""

    def reset(self, x: Reals, t: float | None) -> MPCStep:
        """Solves the first window anew."""

    def prepare(self) -> None:
        """Does all of the next step that does not need its measurement."""


def service_of(given: Any) -> Service:
    """The service of a controller, or of a solver."""
    if isinstance(given, MPCController):
        return ControllerService(given)
    if isinstance(given, SolverAbstract):
        return SolverService(given)
    raise InvalidArgumentError(
        f"controller: expected an MPCController(problem), or a solver such as SolverSQP(problem), got {shown(given)}"
    )


class ControllerService:
    """A controller: each request is a step of its, and the plan goes on from one to the next.

    Args:
        controller: The controller; it is reset to its problem's x0 unless it was before.
    """

    def __init__(self, controller: MPCController) -> None:
        self._controller, self.problem, self.dt = controller, controller.problem, float(controller.dt)

    def __repr__(self) -> str:
        return repr(self._controller)

    def begin(self) -> None:
        """Resets a controller that has not begun."""
        if not self._controller._begun:
            self._controller.reset()

    def step(self, x: Reals, t: float | None) -> MPCStep:
        """The feedback phase."""
        return self._controller.feedback(x, t)

    def reset(self, x: Reals, t: float | None) -> MPCStep:
        """Solves the first window anew, which begins at 0 s by default."""
        return self._controller.reset(x, 0.0 if t is None else t)

    def prepare(self) -> None:
        """The preparation phase; a reference that has ended is told with the next measurement.

        Raises:
            InvalidArgumentError: A function of the user's raised.
        """
        try:
            self._controller.prepare()
        except InvalidArgumentError as error:
            self._controller._prepared = False
            if error.__cause__ is not None:
                raise


class SolverService:
    """A solver: each request is a solve from the solution of the problem's own x0, whatever was asked before.

    Args:
        solver: The solver; its problem's x0 is that of the last request.
    """

    def __init__(self, solver: SolverAbstract[Any]) -> None:
        self._solver, self.problem = solver, solver.problem
        problem, times = self.problem, self.problem.times
        if problem.start != "fixed" or problem.T == 0:
            raise InvalidArgumentError(
                "controller: expected a problem with a fixed start and T >= 1; the start is asked"
            )
        self._times = np.arange(problem.T + 1, dtype=np.float64) if times is None else times
        self.dt = float(self._times[1])
        self._guess: Solution | None = None

    def __repr__(self) -> str:
        return f"{type(self._solver).__name__}: {self.problem.T} knots"

    def begin(self) -> None:
        """Solves the problem."""
        if self._guess is None:
            self._guess = self._solver.solve()

    def step(self, x: Reals, t: float | None) -> MPCStep:
        """The solution from a state, whose first knot is at a time, 0 s by default."""
        assert self._guess is not None, "begin() comes first"
        started, guess = time.perf_counter(), self._guess
        self.problem.x0 = self.problem.state.check(x, "x")
        xs = guess.xs.copy()
        xs[0] = x
        found = self._solver.solve(xs, guess.us)
        if found.status is SolverStatus.INTERRUPTED:
            raise KeyboardInterrupt
        return self._step(found, 0.0 if t is None else t, started)

    def _step(self, found: Solution, t: float, started: float) -> MPCStep:
        beyond = {name: float(np.nanmax(rows, initial=0.0)) for name, rows in found.violations().items()}
        violated = max(beyond, key=lambda name: beyond[name], default="")
        violation = beyond.get(violated, 0.0)
        nu, ndx = self.problem.nu, self.problem.state.ndx
        return MPCStep(
            t=t,
            u=found.us[0].copy(),
            K=np.zeros((nu, ndx)) if found.K is None else found.K[0].copy(),
            xs=found.xs,
            us=found.us,
            times=t + self._times,
            status=MPCStatus.SOLVED if found.converged else MPCStatus.PARTIAL,
            reason="" if found.converged else str(found.status),
            cost=found.cost,
            violation=violation,
            violated=violated if violation > 1e-6 else "",
            iterations=found.iterations,
            preparation_time=0.0,
            feedback_time=time.perf_counter() - started,
        )

    def reset(self, x: Reals, t: float | None) -> MPCStep:
        """The same, as a solve has no past."""
        return self.step(x, t)

    def prepare(self) -> None:
        """Nothing: a solve begins with its state."""
