"""Interface between the supervisor of SolverSQP and its methods, and the base of those that solve programs."""

from __future__ import annotations

import enum
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from trajopt.solution import IterationRecord
from trajopt.solvers.qp import InteriorPointOptions, QPSolution, QPStatus
from trajopt.solvers.sqp.merit import Descent, Taken
from trajopt.solvers.sqp.progress import SQPProgress
from trajopt.solvers.sqp.quadratic_model import FIRST_RIDGE
from trajopt.solvers.sqp.workspace import Workspace

ROUNDED = 1e-12  # largest gap of a rollout
FAILURES, STUCK = 3, 3  # searches without a step, and iterations that can't get closer, that end steps along programs
SLIGHT = 0.01  # part of the squared violations; a promise below it counts as none
PARTIAL = 0.03  # times relative_tolerance, where the last promise was too much: it is exact without rows
SLACK = 10.0  # times the largest products of multipliers and distances, where a program ended at rounding
LEAST_COST = 1e-5  # times the typical cost: of what tolerances are relative to
LEAST_PRODUCT = InteriorPointOptions.tolerance  # at which programs end: no smaller one can be required
MORE = 8.0  # factor of δ after a failed search
FALLS = 0.5  # part of the last gradient below which it falls: a promise of nothing is no end then


class Outcome(enum.Enum):
    """Results of an iteration after which a method can't simply go on."""

    SOLVED = "the trajectory is optimal, and keeps all rows"
    STUCK = "rows are violated, and no step promises to reduce the violation"
    FAILED = "searches fail one after the other, or lead nowhere"
    INDEFINITE = "no program is convex"
    LOST = "the rollout of a step from a guess with gaps leaves the states of its program"
    ASTRAY = "the rollout of the guess's controls has a far smaller merit than the first program promises"


class MethodAbstract(ABC):
    """Moves the trajectory of a solve, one iteration after the other, from where it is at the construction.

    Attributes:
        outcome: What the last iteration has come to; None if it can go on.
        failures: Searches without a step, one after the other [-].
        stuck: Iterations that can't get closer to the constraints, one after the other [-].
    """

    name: ClassVar[str]
    outcome: Outcome | None = None
    failures: int = 0
    stuck: int = 0

    @abstractmethod
    def iterate(self, run: SQPProgress) -> IterationRecord | None:
        """Runs one iteration, and sets `outcome`.

        Returns:
            Its record; None if there was no step to try.
        """

    def rest(self) -> None:
        """Forgets past failures, before it goes on after another method."""
        self.failures, self.stuck, self.outcome = 0, 0, None


class ProgramSteps(MethodAbstract):
    """Base of methods whose steps lie along solutions of quadratic programs.

    Args:
        work: Where the trajectory is.
    """

    def __init__(self, work: Workspace) -> None:
        self._work, self._ridge, self._stationarity = work, 0.0, math.inf

    def _raise_ridge(self) -> None:
        """After a failed search δ grows; from none, it begins with a part of the last one."""
        model = self._work.model
        first = model.last / MORE or MORE * FIRST_RIDGE
        self._ridge = MORE * max(model.ridge, FIRST_RIDGE) if model.ridge > 0.0 else first

    def _relax_ridge(self, *, short: bool) -> None:
        """After a step δ is 0 again, or grows if the step was very short."""
        self._ridge = 2.0 * max(self._work.model.ridge, FIRST_RIDGE) if short else 0.0

    def _take(self, run: SQPProgress, step: QPSolution, length: float) -> None:
        """Takes multipliers and gains of a program, of whose step so much is taken."""
        self._work.model.accept(length)
        run.lam, run.y, run.K = step.lam, step.y, run.K if step.K is None else step.K

    def _moves(self, run: SQPProgress, accept: Callable[[], None]) -> bool:
        """Accepts a trial, unless derivatives are not finite there, as where a root is that of 0; whether it did."""
        before = run.trajectory, run.feasible, run.lam, run.y, run.K
        accept()
        if math.isfinite(run.stationarity):
            return True
        run.trajectory, run.feasible, run.lam, run.y, run.K = before
        self._work.model.forget()
        self._work.move(run, *run.trajectory)
        return False

    def _conclude(self, run: SQPProgress, step: QPSolution, promised: float, *, feasible: bool, partial: bool) -> None:
        """Sets the outcome of an iteration that the trajectory alone decides; arguments as in `_is_solved`."""
        self.stuck, self.outcome = self.stuck + 1 if self._cannot_get_closer(run) else 0, None
        if self._is_solved(run, step, promised, feasible=feasible, partial=partial):
            self.outcome = Outcome.SOLVED
        elif self.stuck >= STUCK:
            self.outcome = Outcome.STUCK
        self._stationarity = run.stationarity

    def _is_solved(self, run: SQPProgress, step: QPSolution, promised: float, *, feasible: bool, partial: bool) -> bool:
        """Whether gradients are small, or fall no more while a program promised next to nothing.

        `feasible` says that gaps are closed, `partial` that only a part of the program's step was taken.
        """
        options, size = self._work.options, max(LEAST_COST, abs(run.scale * run.cost))
        if not (feasible and run.violation < options.feasibility):
            return False
        least = SLACK if step.status is QPStatus.ROUNDING else 1.0
        products = max(LEAST_PRODUCT, max(options.tolerance, options.feasibility) * min(1.0, size))
        if not run.complementarity < least * products:
            return False
        solved = step.status in (QPStatus.SOLVED, QPStatus.ROUNDING) or options.qp_iterations is not None
        rounding = options.relative_tolerance * size * (PARTIAL if partial else 1.0)
        falls = run.stationarity < FALLS * self._stationarity and self._work.model.blend > 0.0
        return (solved and abs(promised) < rounding and not falls) or run.stationarity < options.tolerance * min(
            1.0, size
        )

    def _cannot_get_closer(self, run: SQPProgress) -> bool:
        """Whether rows are violated, and no change of the controls within limits would help.

        What they promise is the largest decrease of Σ ½ w v² to first order, with v the violations and w the stiffness
        of their rows, as the merit weighs them; each control moves by at most its value or its size, each coordinate of
        a chosen start by its size, both within their bounds.
        """
        e, rows, units = self._work.evaluator, self._work.rows, run.units
        if run.violation <= self._work.options.feasibility:
            return False
        v, w = rows.beyond(e.c), rows.start_beyond()
        stiff, weighed = units.stiffness * v, w / units.states**2
        controls, start = self._work.model.slope_of_violation(stiff, weighed)
        room = np.maximum(units.controls, np.abs(e.us))
        up, down = np.minimum(rows.u_upper - e.us, room), np.maximum(rows.u_lower - e.us, -room)
        promised = np.where(controls < 0.0, -controls * up, -controls * down).sum()
        if start.size:
            down, up = (np.clip(each, -units.states, units.states) for each in rows.start_room())
            promised += np.where(start < 0.0, -start * up, -start * down).sum()
        run.squares = float((stiff * v).sum() + (w * weighed).sum())
        return bool(promised < SLIGHT * run.squares)

    def _record(self, run: SQPProgress, descent: Descent, taken: Taken | None, **columns: Any) -> IterationRecord:
        """Record of an iteration that searched along the solution of a program."""
        return run.record(
            stop=run.stationarity,
            step_length=0.0 if taken is None else taken.length,
            accepted=taken is not None,
            regularization=self._work.model.ridge,
            blend=self._work.model.blend,
            expected_decrease=-descent.slope,
            decrease=math.nan if taken is None else descent.before - taken.merit,
            constraint_violation=run.largest_violation,
            complementarity=run.complementarity,
            method=self.name,
            **columns,
        )
