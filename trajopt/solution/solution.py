"""The result of a solve.

The solution judges itself: `gaps` and `stationarity` are computed from the problem, never copied from the solver.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from trajopt.analysis.costates import adjoint
from trajopt.errors import InvalidArgumentError
from trajopt.objects.lazy import above
from trajopt.shooting import inspection
from trajopt.solution import file
from trajopt.solution.described import DescribedMotion
from trajopt.solution.record import IterationRecord, SolverStatus
from trajopt.solution.seconds import time_words
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from trajopt.analysis import MonteCarlo, StateCovariance
    from trajopt.display import View
    from trajopt.shooting import ShootingProblem


@dataclass(frozen=True, kw_only=True)
class Solution(DescribedMotion):
    """A trajectory, how it was found, and what the solver knows beside it.

    Attributes:
        xs: States, shape (T + 1, nx).
        us: Controls, shape (T, nu).
        cost: Total cost [cost].
        status: Why the solver stopped.
        iterations: Iterations begun [-].
        history: One record an iteration.
        solver: Name of the solver.
        seconds: Wall time of the solve, without compiling [s].
        x0: Initial state of the problem when it was solved (nx,).
        compile_seconds: Wall time that the solve took beside `seconds`: building, loading and compiling code, with the
            guess [s].
        failed_knot: Knot where the backward pass failed for good, if it did.
        K: Feedback gains: u = us - K (x ⊖ xs), shape (T, nu, ndx); None if the solver has none.
        k: Feed-forward part of the last direction, shape (T, nu); None if the solver has none.
        Vx: Gradient of the value function, shape (T + 1, ndx) [cost]; None if the solver has none.
        Vxx: Hessian of the value function, shape (T + 1, ndx, ndx) [cost]; None if the solver has none.
        multipliers: Lagrange multipliers by kind, if the solver has them: "constraints" (T + 1, nc), of which `prices`
            has each constraint's, and "dynamics" (T + 1, ndx) of SolverSQP.
        problem: The problem; None after `load` without one.
        parameters: Values of the problem's parameters when it was solved, by name: one row a knot that has it.
        described: Attributes of `description` that a file keeps, which count without the problem.
    """

    xs: Reals
    us: Reals
    cost: float
    status: SolverStatus
    iterations: int
    history: tuple[IterationRecord, ...]
    solver: str
    seconds: float
    x0: Reals
    compile_seconds: float = 0.0
    failed_knot: int | None = None
    K: Reals | None = None
    k: Reals | None = None
    Vx: Reals | None = None
    Vxx: Reals | None = None
    multipliers: Mapping[str, Reals] = field(default_factory=dict, repr=False, compare=False)
    problem: ShootingProblem | None = field(default=None, repr=False, compare=False)
    parameters: Mapping[str, Reals] = field(default_factory=dict, repr=False, compare=False)
    described: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def __setstate__(self, state: dict[str, Any]) -> None:
        from trajopt.solution.description import completed

        before = state.pop("description", None)  # of an object that revision 2720678 has pickled
        vars(self).update({"described": {} if before is None else completed(vars(before))} | state)

    @property
    def converged(self) -> bool:
        """Whether the solver met its stopping criterion."""
        return self.status is SolverStatus.CONVERGED

    def __repr__(self) -> str:
        T, nx = len(self.us), self.xs.shape[1]
        return (
            f"Solution({self.solver}: {self.status.name}, cost={self.cost:.10g}, iterations={self.iterations}, T={T}, "
            f"nx={nx}, nu={self.us.shape[1]}, {time_words(self)})"
        )

    @property
    def times(self) -> Reals | None:
        """Time of each knot from 0 (T + 1,) [s]; None if a knot has no time step, or if it is not known."""
        times = self.description.times
        return None if times is None else times.copy()

    def com_path(self) -> Reals:
        """Path of the robot's centre of mass in the world, shape (T + 1, 3) [m].

        Raises:
            InvalidArgumentError: The solution has no robot.
        """
        robot = self._robot()
        return robot.com(self.xs[:, : robot.nq])

    def _repr_html_(self) -> str:
        return above("plotting.notebook.html_of_solution")(self)

    def gaps(self) -> Reals:
        """x0 ⊖ xs[0] and f(xs[t], us[t]) ⊖ xs[t + 1], shape (T + 1, ndx), computed from the problem."""
        with self.as_solved() as problem:
            return problem.calc(self.xs, self.us).gaps

    def stationarity(self) -> Reals:
        """Gradient of the Lagrangian along each control, Lu + Fuᵀ λ + Cuᵀ y, shape (T, nu) [cost per unit of u].

        It is 0 at an optimum, but along controls that a box solver holds at their limits. y are the multipliers of the
        constraints, if the solver has any.

        λ_T = Lx, λ_t = Lx + Fxᵀ λ_{t+1} - Kᵀ (Lu + Fuᵀ λ_{t+1}): after a change of one control, later ones follow the
        feedback K. At an optimum λ is the costate, whatever K is; elsewhere, without feedback, a robot that falls would
        multiply rounding errors by many powers of ten. Derivatives are computed from the problem.
        """
        with self.as_solved() as problem:
            d = problem.calc_diff(self.xs, self.us)
        feedback = 0.0 if self.K is None else np.where(np.isfinite(self.K), self.K, 0.0)
        feedback = np.broadcast_to(feedback, (*self.us.shape, d.Lx.shape[1]))
        y = self.multipliers.get("constraints", np.zeros(d.rows.shape))
        return adjoint(d, feedback, y)[0]

    def violations(self) -> dict[str, Reals]:
        """By how much each constraint is beyond its bounds, by name: (T + 1, n), 0 where it holds.

        Rows that the control can't change at knot 0, where x0 is given, are reported, though no solver enforces them.
        """
        return self._copies(self.description.violations)

    def prices(self) -> dict[str, Reals]:
        """Lagrange multipliers of each constraint by name: (T + 1, n) [cost per unit of the row], 0 where inactive.

        Positive at an upper bound, negative at a lower one; the cost falls by its size for each unit by which the bound
        is moved away. 0 also where a knot has no such row. Empty if the solver has no multipliers.
        """
        return self._copies(self.description.prices)

    def cost_terms(self) -> dict[str, Reals]:
        """Contribution of each cost term by knot, (T + 1,) [cost]; NaN where a knot has no such term."""
        return self._copies(self.description.cost_terms)

    def contact_forces(self) -> dict[str, Reals]:
        """Force of each contact, or impulse, at the running knots; see `trajopt.shooting.contact_forces`."""
        return self._copies(self.description.contact_forces)

    def torques(self) -> dict[str, Reals]:
        """Torque, or force, of each motor of the robot by its joint's name, (T,) [N m, N]; empty without motors.

        They are the controls of forward dynamics, and follow from those of inverse dynamics; see
        `trajopt.shooting.torques`.
        """
        return self._copies(self.description.torques)

    def _copies(self, arrays: Mapping[str, Reals] | None) -> dict[str, Reals]:
        """Copies of arrays by name, which a solution without its problem may lack."""
        if arrays is None:
            raise _without_problem()
        return {name: values.copy() for name, values in arrays.items()}

    def covariance(
        self, noise: npt.ArrayLike, *, initial: npt.ArrayLike = 0.0, feedback: bool = True
    ) -> StateCovariance:
        """Covariance of the state along it, under process noise; see `trajopt.analysis.state_covariance`.

        `trajopt.plotting.plot_ellipses` draws it.
        """
        from trajopt.analysis import state_covariance

        return state_covariance(self, noise, initial=initial, feedback=feedback)

    def monte_carlo(
        self,
        noise: npt.ArrayLike,
        n: int = 100,
        seed: int = 0,
        *,
        initial: npt.ArrayLike = 0.0,
        feedback: bool = True,
        clip: bool = True,
    ) -> MonteCarlo:
        """Rollouts of it under random noise; see `trajopt.analysis.monte_carlo`."""
        from trajopt.analysis import monte_carlo

        return monte_carlo(self, noise, n, seed, initial=initial, feedback=feedback, clip=clip)

    def explain(self) -> str:
        """Why the solver stopped, which terms and knots the cost comes from, and which knob to turn."""
        words: str = above("analysis.advice.explain")(self)
        return words

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draws everything about it in one figure and writes it to `path`; see `trajopt.plotting.plot_summary`."""
        return above("plotting.plot_summary")(self, path)

    def animate(
        self, path: str | Path, *, speed: float = 1.0, frames_per_second: float = 25.0, obstacles: npt.ArrayLike = ()
    ) -> Path:
        """Writes the motion as a moving picture (.gif, .mp4); see `trajopt.plotting.animate`.

        Args:
            path: File to write; a .mp4 needs the program ffmpeg.
            speed: How many times faster than real time it plays [-].
            frames_per_second: Frames a second [1/s].
            obstacles: Upright cylinders (x, y, radius), or balls (x, y, z, radius), to be drawn [m].
        """
        return above("plotting.animate")(
            self, path, speed=speed, frames_per_second=frames_per_second, obstacles=obstacles
        )

    @overload
    def show(self, path: None = None, *, host: str = ..., port: int = ..., browser: bool = ...) -> View: ...

    @overload
    def show(self, path: str | Path, *, host: str = ..., port: int = ..., browser: bool = ...) -> Path: ...

    def show(
        self, path: str | Path | None = None, *, host: str = "127.0.0.1", port: int = 0, browser: bool = True
    ) -> View | Path:
        """Shows the motion in the browser, or writes a page (.html) that does; see `trajopt.display.show`.

        A view is returned, whose server runs until `close` or the end of the program, or else the path.
        `solution.show().wait()` keeps a script running.
        """
        return above("display.show")(self, path, host=host, port=port, browser=browser)

    @contextlib.contextmanager
    def as_solved(self) -> Iterator[ShootingProblem]:
        """The problem, with the parameter values and x0 of the solve."""
        if self.problem is None:
            raise _without_problem()
        with inspection.with_values(self.problem, self.parameters, self.x0):
            yield self.problem

    def to_csv(self, path: str | Path) -> Path:
        """Writes a table to a .csv file and returns its path: one row a knot, a header of names and units.

        Columns are the knot, its time if the problem has times, the coordinates of the state, the controls, and the
        elements of each contact's force, as `contact_forces` gives them: "lf_foot fz [N]"; impulses of touch-downs have
        columns of their own: "lf_foot impulse fz [N s]". Cells of controls and forces are empty at the last knot, those
        of forces also where a knot has no such contact; the force of a foot in the air is 0.

        Raises:
            InvalidArgumentError: The folder does not exist or cannot be written, or the suffix is another.
        """
        from trajopt.solution.table import write_csv

        return write_csv(path, self)

    def to_dict(self) -> dict[str, Any]:
        """The result as plain texts, numbers and lists, which `json.dumps` takes.

        Its keys are solver, status, converged, cost, iterations, seconds, compile_seconds, robot, times, states and
        controls (a list of numbers by the name of each), state_units and control_units (by the same names).
        """
        from trajopt.solution.table import as_dict

        return as_dict(self)

    def save(self, path: str | Path) -> Path:
        """Writes everything but the problem's functions to a .npz file and returns its path; `load` reads it.

        The file keeps what tables, pictures and `explain` need: times, names, units, limits, constraints, cost terms,
        forces, the robot.

        Raises:
            InvalidArgumentError: The folder does not exist, or the suffix is another.
        """
        return file.write(path, self)

    @classmethod
    def load(cls, path: str | Path, problem: ShootingProblem | None = None) -> Solution:
        """Reads what `save` wrote.

        Args:
            path: The file.
            problem: The problem it solves, so that the solution can judge itself again: gaps and stationarity. Tables
                and pictures need none.

        Raises:
            InvalidArgumentError: The file is not one that `save` wrote, or the problem has other sizes or coordinates.
        """
        solution = cls(**file.read(path))
        if problem is None:
            return solution
        inspection.check_problem(problem)
        if (problem.T, problem.state.nx) != (len(solution.us), solution.xs.shape[1]):
            raise InvalidArgumentError(
                f"problem: T = {problem.T}, nx = {problem.state.nx}; the solution has T = {len(solution.us)}, "
                f"nx = {solution.xs.shape[1]}"
            )
        if solution.description.known and solution.coordinate_names != tuple(problem.state.coordinate_names):
            raise InvalidArgumentError(
                f"problem: its state has coordinates {', '.join(problem.state.coordinate_names)}; the solution has "
                f"{', '.join(solution.coordinate_names)}; pass the problem that it solves"
            )
        return dataclasses.replace(solution, problem=problem)


def motion_solution(
    problem: ShootingProblem, xs: Reals, us: Reals, *, solver: str, cost: float = float("nan")
) -> Solution:
    """A motion that no solver has found, as a solution.

    Args:
        problem: Its problem.
        xs: States (T + 1, nx).
        us: Controls (T, nu).
        solver: Where it comes from.
        cost: Its cost, where that is known [cost].
    """
    effort: dict[str, Any] = {"status": SolverStatus.CONVERGED, "iterations": 0, "history": (), "seconds": 0.0}
    own: dict[str, Any] = {"problem": problem, "x0": problem.x0, "parameters": problem.parameter_values()}
    return Solution(xs=xs, us=us, cost=cost, solver=solver, **effort, **own)


def _without_problem() -> InvalidArgumentError:
    return InvalidArgumentError("problem: this solution was loaded without one; use Solution.load(path, problem)")
