"""The result of a solve.

A solution checks itself: `gaps` and `stationarity` are computed from the problem, never copied from the solver.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, overload

import numpy as np
import numpy.typing as npt

from trajopt.analysis.costates import adjoint
from trajopt.errors import InvalidArgumentError, shown_numbers
from trajopt.objects.lazy import above
from trajopt.robots.scene import ObstaclesLike
from trajopt.shooting import inspection
from trajopt.solution import file
from trajopt.solution.described import DescribedMotion
from trajopt.solution.film_options import FilmOptions
from trajopt.solution.record import IterationRecord, SolverStatus
from trajopt.solution.sample_options import SampleOptions
from trajopt.solution.seconds import time_words
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from trajopt.analysis import Feedback, MonteCarlo, StateCovariance
    from trajopt.display import View
    from trajopt.shooting import ShootingProblem


@dataclass(frozen=True, kw_only=True)
class Solution(DescribedMotion):
    """A trajectory with its cost, the reason why the solver stopped, and gains and multipliers of the solver.

    Attributes:
        xs: States, shape (T + 1, nx).
        us: Controls, shape (T, nu).
        cost: Total cost [cost].
        status: Why the solver stopped.
        iterations: Number of iterations that were started [-].
        history: One record for each iteration.
        solver: Name of the solver.
        seconds: Wall time of the solve, without compiling [s].
        x0: Initial state of the problem when it was solved (nx,).
        compile_seconds: Wall time besides `seconds` for building, loading and compiling code, and for the guess [s].
        failed_knot: Knot at which the backward pass finally failed; None if it did not fail.
        K: Feedback gains of u = us - K (x ⊖ xs), shape (T, nu, ndx); None if the solver has none.
        k: Feed-forward part of the last direction, shape (T, nu); None if the solver has none.
        Vx: Gradient of the value function, shape (T + 1, ndx) [cost]; None if the solver has none.
        Vxx: Hessian of the value function, shape (T + 1, ndx, ndx) [cost]; None if the solver has none.
        multipliers: Lagrange multipliers by kind, if the solver has them: "constraints" (T + 1, nc), which `prices`
            splits by constraint, and "dynamics" (T + 1, ndx) of SolverSQP; with k scalars of unknowns also "unknowns"
            (T + 1, k), the derivative of the cost from each knot on by each of them alone [cost / unit].
        unknowns: Values of the parameters that the solver chose, by name; see `ShootingProblem.free`.
        optima: Distinct optima of a solve from several starts, the lowest first: cost [cost], and number of starts.
        ends: How all starts of such a solve ended: name of the status, "ERROR", or "" of a start that was given up;
            number of starts, and lowest cost of those that keep dynamics and constraints, NaN if none does [cost].
        problem: The problem; None after `load` without a problem.
        parameters: Values of the problem's parameters in the solve, by name: one row for each knot with the parameter.
        described: Attributes of `description` from a file, used if there is no problem.
        measured: Attributes of `description` that were measured, used instead of the problem's, as in a replay.
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
    unknowns: Mapping[str, Reals] = field(default_factory=dict, repr=False, compare=False)
    optima: tuple[tuple[float, int], ...] = ()
    ends: tuple[tuple[str, int, float], ...] = ()
    problem: ShootingProblem | None = field(default=None, repr=False, compare=False)
    parameters: Mapping[str, Reals] = field(default_factory=dict, repr=False, compare=False)
    described: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    measured: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def __setstate__(self, state: dict[str, Any]) -> None:
        from trajopt.solution.description import completed

        before = state.pop("description", None)  # of an object pickled at revision 2720678
        described = {} if before is None else completed(vars(before))
        vars(self).update({"described": described, "unknowns": {}, "optima": (), "ends": (), "measured": {}} | state)

    @property
    def converged(self) -> bool:
        """Whether the solver met its stopping criterion."""
        return self.status is SolverStatus.CONVERGED

    def __repr__(self) -> str:
        T, nx = len(self.us), self.xs.shape[1]
        numbers = {name: shown_numbers(value.ravel()).strip("[]") for name, value in self.unknowns.items()}
        unknowns = "".join(f"{name}={number}, " for name, number in numbers.items())
        if self.status is SolverStatus.UNSOLVED:
            cost = f"cost={self.cost:.10g}, " if np.isfinite(self.cost) else ""
            return f"Solution({self.solver}, {cost}T={T}, nx={nx}, nu={self.us.shape[1]})"
        return (
            f"Solution({self.solver}: {self.status.name}, cost={self.cost:.10g}, {unknowns}"
            f"iterations={self.iterations}, T={T}, nx={nx}, nu={self.us.shape[1]}, {time_words(self)})"
        )

    @property
    def times(self) -> Reals | None:
        """Time of each knot from 0 (T + 1,) [s], equal at both knots of a touch-down; None without time steps."""
        times = self.description.times
        return None if times is None else times.copy()

    def com_path(self) -> Reals:
        """Returns the path of the robot's centre of mass in the world, shape (T + 1, 3) [m].

        Raises:
            InvalidArgumentError: The solution has no robot.
        """
        robot = self._robot()
        return robot.com(self.xs[:, : robot.nq])

    def _repr_html_(self) -> str:
        return above("plotting.notebook.html_of_solution")(self)

    def gaps(self) -> Reals:
        """Returns the gaps x0 ⊖ xs[0] and f(xs[t], us[t]) ⊖ xs[t + 1], shape (T + 1, ndx), from the problem."""
        with self.as_solved() as problem:
            return problem.calc(self.xs, self.us).gaps

    def stationarity(self) -> Reals:
        """Returns the gradient of the Lagrangian by the controls, Lu + Fuᵀ λ + Cuᵀ y, (T, nu) [cost per unit of u].

        At an optimum it is 0, except for controls that a box solver holds at their limits. y are the multipliers of
        the constraints, or 0 if the solver has none.

        λ_T = Lx, λ_t = Lx + Fxᵀ λ_{t+1} - Kᵀ (Lu + Fuᵀ λ_{t+1}): after a change of one control, later controls follow
        the feedback K. At an optimum λ is the costate for any K. Elsewhere the feedback keeps rounding errors small,
        which the open-loop dynamics of a falling robot would multiply by many powers of ten. Derivatives come from the
        problem.
        """
        with self.as_solved() as problem:
            d = problem.calc_diff(self.xs, self.us)
        feedback = 0.0 if self.K is None else np.where(np.isfinite(self.K), self.K, 0.0)
        feedback = np.broadcast_to(feedback, (*self.us.shape, d.Lx.shape[1]))
        y = self.multipliers.get("constraints", np.zeros(d.rows.shape))
        return adjoint(d, feedback, y)[0]

    def violations(self) -> dict[str, Reals]:
        """Returns the violation of each constraint by name, (T + 1, n) [unit of the row]; 0 where the constraint holds.

        It includes rows at knot 0 that do not depend on the control. No solver enforces these, as x0 is fixed.
        """
        return self._copies(self.description.violations)

    def prices(self) -> dict[str, Reals]:
        """Returns the Lagrange multipliers of each constraint by name, (T + 1, n) [cost per unit of the row].

        A multiplier is positive at an upper bound, negative at a lower bound, and 0 if the row is inactive or absent
        at the knot. Moving the bound outwards by one unit lowers the cost by the multiplier's size, to first order.
        The mapping is empty if the solver has no multipliers.
        """
        return self._copies(self.description.prices)

    def cost_terms(self) -> dict[str, Reals]:
        """Returns the value of each cost term by name, (T + 1,) [cost]; NaN at knots without the term."""
        return self._copies(self.description.cost_terms)

    def contact_forces(self) -> dict[str, Reals]:
        """Returns the force of each contact or impulse by name, (T, n) [N, N m; N s, N m s].

        World axes, or those of the frame with reference_frame="local". See `trajopt.shooting.contact_forces`.
        """
        return self._copies(self.description.contact_forces)

    def torques(self) -> dict[str, Reals]:
        """Returns the torque or force of each motor by joint, (T,) [N m, N]; see `trajopt.shooting.torques`."""
        return self._copies(self.description.torques)

    def _copies(self, arrays: Mapping[str, Reals] | None) -> dict[str, Reals]:
        """Copies of arrays by name; raises if a solution without its problem lacks them."""
        if arrays is None:
            raise _without_problem()
        return {name: values.copy() for name, values in arrays.items()}

    def covariance(
        self, noise: npt.ArrayLike, *, initial: npt.ArrayLike = 0.0, feedback: bool = True
    ) -> StateCovariance:
        """Returns the covariance of the state along the solution under noise; see `trajopt.analysis.state_covariance`.

        `trajopt.plotting.plot_ellipses` draws it.
        """
        from trajopt.analysis import state_covariance

        return state_covariance(self, noise, initial=initial, feedback=feedback)

    def monte_carlo(
        self, noise: npt.ArrayLike, n: int = 100, seed: int = 0, **options: Unpack[SampleOptions]
    ) -> MonteCarlo:
        """Simulates rollouts of the solution under random noise; see `trajopt.analysis.monte_carlo`.

        Args:
            noise: Noise of the state after each knot.
            n: Number of samples, >= 1 [-].
            seed: Seed of the random numbers.
            **options: `initial`, `feedback`, `clip`, `parameters` and `measurement`.
        """
        from trajopt.analysis import monte_carlo

        return monte_carlo(self, noise, n, seed, **options)

    def feedback(self, kind: str = "gains", **options: Any) -> Feedback:
        """Returns the policy u(t, x) around the solution; see `trajopt.analysis.Feedback`.

        Args:
            kind: "gains" of the solver, "springs" at the motors, "gains+springs", or "open".
            **options: Further arguments of `Feedback`.
        """
        policy: Feedback = above("analysis.feedback.Feedback")(self, kind, **options)
        return policy

    def explain(self) -> str:
        """Explains why the solver stopped, which terms and knots dominate the cost, and which setting to change."""
        words: str = above("analysis.advice.explain")(self)
        return words

    def plot(
        self,
        path: str | Path | None = None,
        *,
        obstacles: ObstaclesLike = (),
        lines: Sequence[npt.ArrayLike] = (),
    ) -> Figure:
        """Draws a summary in one figure and writes it to `path`; see `trajopt.plotting.plot_summary`.

        Args:
            path: File to write (.png, .pdf or .svg).
            obstacles: A Scene, bodies such as Box, or rows (x, y, radius) or (x, y, z, radius), to draw [m]; by default
                those in costs and constraints.
            lines: Polylines to draw, such as lanes, each with points (n, 2) or (n, 3) [m].
        """
        return above("plotting.plot_summary")(self, path, obstacles=obstacles, lines=lines)

    def animate(
        self,
        path: str | Path | None = None,
        *,
        speed: float = 1.0,
        frames_per_second: float = 25.0,
        obstacles: ObstaclesLike = (),
        lines: Sequence[npt.ArrayLike] = (),
        view: tuple[float, float] | None = None,
    ) -> Path:
        """Writes the motion as a line drawing that moves (.gif, .mp4); see `trajopt.plotting.animate`.

        Args:
            path: File to write; .mp4 needs the extra `film` or ffmpeg. By default a temporary .gif: notebooks play it.
            speed: Playback speed relative to real time [-].
            frames_per_second: Frame rate [1/s].
            obstacles: A Scene, bodies such as Box, or rows (x, y, radius) or (x, y, z, radius), to draw [m]; by default
                those in costs and constraints.
            lines: Polylines to draw, such as gates, each with points (n, 2) or (n, 3) [m].
            view: Elevation and azimuth of the camera [deg]; by default it looks across the motion.
        """
        options: dict[str, Any] = {"obstacles": obstacles, "lines": lines, "view": view}
        return above("plotting.animate")(self, path, speed=speed, frames_per_second=frames_per_second, **options)

    def film(self, path: str | Path, **options: Unpack[FilmOptions]) -> Path:
        """Writes the motion as a film with the robot's meshes (.mp4, .gif), or one picture of it (.png).

        A browser without a window draws it; without a browser it is a line drawing. See `trajopt.display.film`.

        Args:
            path: File to write.
            **options: `fps`, `speed`, `seconds`, `time`, `size`, `camera`, `obstacles`, `lines` and `progress`.
        """
        return above("display.film")(self, path, **options)

    @overload
    def show(self, path: None = None, *, host: str = ..., port: int = ..., browser: bool = ...) -> View: ...

    @overload
    def show(self, path: str | Path, *, host: str = ..., port: int = ..., browser: bool = ...) -> Path: ...

    def show(
        self, path: str | Path | None = None, *, host: str = "127.0.0.1", port: int = 0, browser: bool = True
    ) -> View | Path:
        """Shows the motion in the browser, or writes it to a page (.html); see `trajopt.display.show`.

        With `path` it returns the path. Without, it returns a view, whose server runs until `close` or the end of the
        program; `solution.show().wait()` keeps a script running.
        """
        return above("display.show")(self, path, host=host, port=port, browser=browser)

    @contextlib.contextmanager
    def as_solved(self) -> Iterator[ShootingProblem]:
        """Context manager that yields the problem with the parameter values and x0 of the solve."""
        if self.problem is None:
            raise _without_problem()
        with inspection.with_values(self.problem, self.parameters, self.x0):
            yield self.problem

    def to_csv(self, path: str | Path) -> Path:
        """Writes a table to a .csv file and returns its path: a header of names and units, then one row per knot.

        The columns are the knot, its time if the problem has times, the coordinates of the state, the controls, where
        they are accelerations the torques "u:JOINT" as well, of a plan the accelerations "a:JOINT" and these torques at
        all knots, and the elements of each contact force, as `contact_forces` returns them, for example "lf_foot fz
        [N]". Impulses at touch-down have their own columns: "lf_foot impulse fz [N s]". Cells of controls and forces
        are empty at the last knot, cells of forces also at knots without the contact; a foot in the air has 0.

        Raises:
            InvalidArgumentError: The folder does not exist or cannot be written, or the suffix is not .csv.
        """
        from trajopt.solution.table import write_csv

        return write_csv(path, self)

    def to_dict(self) -> dict[str, Any]:
        """Returns the result as plain text, numbers and lists, which `json.dumps` accepts.

        The keys are solver, status, converged, cost, iterations, seconds, compile_seconds, robot, unknowns (by name),
        times, states and controls (a list of numbers by coordinate or control name), and state_units and control_units
        (by the same names).
        """
        from trajopt.solution.table import as_dict

        return as_dict(self)

    def save(self, path: str | Path) -> Path:
        """Writes all but the problem's functions to a .npz file and returns its path; `load` reads it.

        The file stores what tables, plots and `explain` need: times, names, units, limits, constraints, cost terms,
        forces and the robot.

        Raises:
            InvalidArgumentError: The folder does not exist or cannot be written, or the suffix is not .npz.
        """
        return file.write(path, self)

    @classmethod
    def load(cls, path: str | Path, problem: ShootingProblem | None = None) -> Solution:
        """Reads a solution from a file that `save` wrote.

        Args:
            path: The file.
            problem: The solved problem, which `gaps` and `stationarity` need. Tables and plots work without it.

        Raises:
            InvalidArgumentError: `save` did not write the file, or the problem has other sizes or coordinates.
        """
        solution = cls(**file.read(path))
        if problem is None:
            return solution
        inspection.check_problem(problem)
        if (problem.T, problem.state.nx) != (len(solution.us), solution.xs.shape[1]):
            raise InvalidArgumentError(
                f"problem: expected T = {len(solution.us)}, nx = {solution.xs.shape[1]} as in the solution, got "
                f"T = {problem.T}, nx = {problem.state.nx}; pass the problem that was solved"
            )
        if solution.description.known and solution.coordinate_names != tuple(problem.state.coordinate_names):
            raise InvalidArgumentError(
                f"problem: expected a state with coordinates {', '.join(solution.coordinate_names)}, got "
                f"{', '.join(problem.state.coordinate_names)}; pass the problem that was solved"
            )
        return dataclasses.replace(solution, problem=problem)


def motion_solution(
    problem: ShootingProblem, xs: Reals, us: Reals, *, solver: str, cost: float = float("nan")
) -> Solution:
    """Returns a trajectory that no solver has computed, such as a recorded motion, as a Solution.

    Args:
        problem: Its problem.
        xs: States (T + 1, nx).
        us: Controls (T, nu).
        solver: Where it comes from.
        cost: Its cost, where that is known [cost].
    """
    effort: dict[str, Any] = {"status": SolverStatus.UNSOLVED, "iterations": 0, "history": (), "seconds": 0.0}
    own: dict[str, Any] = {"problem": problem, "x0": problem.x0, "parameters": problem.parameter_values()}
    return Solution(xs=xs, us=us, cost=cost, solver=solver, **effort, **own)


def _without_problem() -> InvalidArgumentError:
    return InvalidArgumentError("problem: this solution was loaded without one; use Solution.load(path, problem)")
