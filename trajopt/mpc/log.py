"""Log of a closed loop: motion of the plant, steps of the controller, computation times."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import numpy.typing as npt

from trajopt.analysis.constraints import HELD
from trajopt.mpc.disturbance import Push
from trajopt.mpc.estimates import Estimates
from trajopt.mpc.tracking import Tracked, tracked_quantities
from trajopt.objects.attributes import ExplainsAttributes
from trajopt.objects.lazy import above
from trajopt.robots.scene import ObstaclesLike
from trajopt.solution import Solution
from trajopt.solution.film_options import FilmOptions
from trajopt.types import Ints, Reals

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

    from trajopt.planar import OccupancyGrid, Scan


@dataclass(frozen=True, kw_only=True, eq=False)
class ClosedLoop(ExplainsAttributes):
    """Log of a closed loop of n control periods.

    Attributes:
        dt: Control period [s].
        times: Time of each measurement, and of the end (n + 1,) [s].
        xs: True states at these times (n + 1, nx).
        measured: Measurements (n, ny): states with their noise, or what the sensors `measure` return.
        estimates: States that the controller received (n, nx): those of the estimator, else the measured ones.
        us: Control of each step (n, nu); it acts from `delay` after its measurement.
        lower: Lower limits of the controls, hard constraints included (n, nu); -inf without a limit.
        upper: Upper limits of the controls (n, nu); inf without a limit.
        control_excess: Largest excess of a control of the plant over its limits in each period (n,).
        costs: Cost of the controller's model at the true state and control, for one period (n,) [cost].
        violations: Largest violation of each constraint of the controller's first knot, at the true state and control,
            by name: (n,) [its unit].
        soft: Names of the constraints that may be violated: soft constraints, and limits of states.
        plan_costs: Cost of each plan (n,) [cost].
        plan_violations: Largest violation along each plan, over all constraints (n,).
        statuses: Status of each step, "solved", "partial" or "failed" (n,).
        reasons: Reason why a step was not solved, by step number; for the first thousand such steps.
        iterations: Iterations of the solver in each step (n,) [-].
        first_solve: Time of compilation and the first solve before the loop [s].
        preparation_times: Time of each preparation phase (n,) [s]; 0 for the first, which belongs to the first solve.
        feedback_times: Time from measurement to control (n,) [s].
        delay: Time from a measurement until its control acts, in simulated time [s].
        seed: Seed of the noise; None if the caller passed a generator.
        plant: Description of the plant, with the changed parameters of its model.
        solver: Description of solver and mode.
        pushes: The pushes. In a log from a file, a push that was a function raises when it is called.
        stopped: Reason why the closed loop ended early; empty if it did not.
        coordinate_names: Name of each coordinate of a state (nx,).
        control_names: Name of each control (nu,).
        every: Number of control periods between two samples of `motion` [-].
        motion: The plant's motion as a Solution of at most 4,000 knots, for plots of trajectories; its controls are
            those that the plant received, the mean of a period in which they change, as by a delay. Its parameters are
            those of the controller's first knot at each time.
        kept: Value of `tracked` in a log from a file.
        missed: Coordinates whose planned ends do not come, and by how much; empty if plans come true.
        delay_compensated: Whether plans started from the state predicted for the end of the delay.
        biased: Coordinates that change by more than the controller's model predicts, by the same amount all the time;
            of a model with contacts only if steps failed.
        bias_cure: What estimates this; empty without it.
        estimated: Value and standard deviation (n, 2) of what the controller estimates at each step, by name: the
            parameters of `MPCOptions(estimate=...)`, of a vector "wind[0]" and so on, and with `offset_free` the
            disturbance of each control [its unit].
        sensing: Description of noise, sensors and estimator, with the errors of estimates; empty if the controller
            received the true states.
        time_budget: Time limit of the feedback phase [s]; None for no limit.
    """

    dt: float
    first_solve: float
    times: Reals
    xs: Reals
    measured: Reals
    estimates: Reals
    us: Reals
    lower: Reals
    upper: Reals
    control_excess: Reals
    costs: Reals
    violations: Mapping[str, Reals]
    soft: tuple[str, ...]
    plan_costs: Reals
    plan_violations: Reals
    statuses: npt.NDArray[np.str_]
    reasons: Mapping[int, str]
    iterations: Ints
    preparation_times: Reals
    feedback_times: Reals
    delay: float
    seed: int | None
    plant: str
    solver: str
    pushes: tuple[Push, ...]
    stopped: str
    coordinate_names: tuple[str, ...]
    control_names: tuple[str, ...]
    every: int
    motion: Solution | None = field(repr=False)
    kept: tuple[Tracked, ...] | None = field(default=None, repr=False)
    missed: str = ""
    delay_compensated: bool = False
    sensing: str = ""
    time_budget: float | None = None
    biased: str = ""
    bias_cure: str = ""
    estimated: Mapping[str, Reals] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "estimated", Estimates(self.estimated))

    def __repr__(self) -> str:
        steps = f"{len(self)} steps of {self.dt:g} s"
        return f"ClosedLoop({self.times[-1]:g} s, {steps}, {self.outcome}, cost={self.cost:.8g})"

    def _repr_html_(self) -> str:
        return above("plotting.notebook.html_of_closed_loop")(self)

    def __len__(self) -> int:
        """Number of control periods [-]."""
        return len(self.us)

    @property
    def counts(self) -> dict[str, int]:
        """Number of steps by their status [-]."""
        return {name: int(np.count_nonzero(self.statuses == name)) for name in ("solved", "partial", "failed")}

    @property
    def outcome(self) -> str:
        """Number of steps by status, as text."""
        return ", ".join(f"{count} {name}" for name, count in self.counts.items() if count) or "no step"

    @property
    def cost(self) -> float:
        """Total cost, the sum of `costs` [cost]."""
        return float(self.costs.sum())

    @property
    def step_times(self) -> Reals:
        """Time of each step, preparation plus feedback (n,) [s]."""
        return self.preparation_times + self.feedback_times

    @property
    def deadline_misses(self) -> npt.NDArray[np.bool_]:
        """Whether each step took longer than the control period (n,)."""
        return np.asarray(self.step_times > self.dt)

    @property
    def violated(self) -> dict[str, float]:
        """Largest violation of each constraint that was violated by more than 1e-6, in descending order [its unit]."""
        worst = {name: float(values.max(initial=0.0)) for name, values in self.violations.items()}
        return {name: size for name, size in sorted(worst.items(), key=lambda item: -item[1]) if size > HELD}

    @functools.cached_property
    def tracked(self) -> tuple[Tracked, ...]:
        """Quantities with a reference at the samples of `motion`; those whose references changed come first."""
        if self.kept is not None:
            return self.kept
        return () if self.motion is None or self.motion.problem is None else tracked_quantities(self.motion)

    @property
    def sample_times(self) -> Reals:
        """Times of the samples of `motion`, and of the end (m + 1,) [s]."""
        if self.motion is None:
            return self.times
        return np.append(self.times[:-1][:: self.every], self.times[-1])

    def report(self) -> dict[str, str]:
        """Summarises the closed loop in text by keyword: steps, cost, tracking, controls, constraints, times."""
        from trajopt.mpc.report import report

        return report(self)

    def explain(self) -> str:
        """Explains the outcome as text: what went wrong and when, and which setting to change."""
        from trajopt.mpc.report import explain

        return explain(self)

    def plot(
        self,
        path: str | Path | None = None,
        *,
        title: str | None = None,
        obstacles: ObstaclesLike = (),
        lines: Sequence[npt.ArrayLike] = (),
        grid: OccupancyGrid | None = None,
        scans: Scan | Sequence[Scan] = (),
    ) -> Figure:
        """Draws motion, tracking, controls, violations and computation times in one figure.

        Args:
            path: File to write (.png, .pdf or .svg).
            title: Text before the outcome in the heading.
            obstacles: A Scene, bodies such as Box, or rows (x, y, radius) or (x, y, z, radius) [m].
            lines: Polylines to draw, such as gates and rails, each with points (n, 2) or (n, 3) [m].
            grid: Map of the plane to draw, its occupied cells in grey.
            scans: LIDAR scan, or one for each control period, whose readings are drawn as points.
        """
        picture = above("plotting.closed_loops.plot_closed_loop")
        return picture(self, path, title=title, obstacles=obstacles, lines=lines, grid=grid, scans=scans)

    def plot_tracking(self, *, figure: Figure | SubFigure | None = None) -> Figure:
        """Draws the tracked quantities, with their references dashed; without references it draws the states."""
        return above("plotting.closed_loops.plot_tracking")(self, figure=figure)

    def plot_controls(self, *, figure: Figure | SubFigure | None = None) -> Figure:
        """Draws the controls with their limits, as `trajopt.plotting.plot_solution` does."""
        return above("plotting.closed_loops.plot_closed_loop_controls")(self, figure=figure)

    def plot_timing(self, *, figure: Figure | SubFigure | None = None) -> Figure:
        """Draws histograms of step times and feedback times, with 99th percentiles and the control period."""
        return above("plotting.closed_loops.plot_timing")(self, figure=figure)

    def animate(
        self,
        path: str | Path | None = None,
        *,
        speed: float = 1.0,
        obstacles: ObstaclesLike = (),
        lines: Sequence[npt.ArrayLike] = (),
        grid: OccupancyGrid | None = None,
        scans: Scan | Sequence[Scan] = (),
    ) -> Path:
        """Writes the motion as a line drawing that moves (.gif, .mp4); see `trajopt.plotting.animate`.

        Args:
            path: File to write; .mp4 needs the extra `film` or ffmpeg. By default a temporary .gif: notebooks play it.
            speed: Playback speed relative to real time [-].
            obstacles: A Scene, bodies such as Box, or rows (x, y, radius) or (x, y, z, radius) [m].
            lines: Polylines to draw, such as gates and rails, each with points (n, 2) or (n, 3) [m].
            grid: Map of the plane to draw, its occupied cells in grey.
            scans: LIDAR scan, or one for each control period, whose readings are drawn as points.
        """
        picture = above("plotting.closed_loops.animate_closed_loop")
        return picture(self, path, speed=speed, obstacles=obstacles, lines=lines, grid=grid, scans=scans)

    def film(self, path: str | Path, **options: Unpack[FilmOptions]) -> Path:
        """Writes the motion as a film with the robot's meshes (.mp4, .gif, .png); see `trajopt.display.film`.

        Args:
            path: File to write.
            **options: `fps`, `speed`, `seconds`, `time`, `size`, `camera`, `obstacles`, `lines`, `grid`, `scans` of
                the control periods, and `progress`.
        """
        if "scans" in options:
            options["scans"] = above("plotting.closed_loops.samples_of")(self, options["scans"])
        return above("display.film")(above("plotting.closed_loops.motion_of")(self), path, **options)

    def save(self, path: str | Path) -> Path:
        """Writes a .npz file and returns its path; `load` reads it. Plots and reports of the file need no problem.

        Raises:
            InvalidArgumentError: The folder does not exist or cannot be written, or the suffix is not .npz.
        """
        from trajopt.mpc.file import write

        return write(path, self)

    @classmethod
    def load(cls, path: str | Path) -> ClosedLoop:
        """Reads a closed loop from a file that `save` wrote.

        Raises:
            InvalidArgumentError: `save` did not write the file.
        """
        from trajopt.mpc.file import read

        fields: dict[str, Any] = read(path)
        return cls(**fields)
