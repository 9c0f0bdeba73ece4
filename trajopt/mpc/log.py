"""The log of a closed loop: what the plant did, what the controller said, and how long it took."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trajopt.analysis.constraints import HELD
from trajopt.mpc.disturbance import Push
from trajopt.mpc.tracking import Tracked, tracked_quantities
from trajopt.objects.attributes import ExplainsAttributes
from trajopt.objects.lazy import above
from trajopt.solution import Solution
from trajopt.types import Ints, Reals

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure


@dataclass(frozen=True, kw_only=True, eq=False)
class ClosedLoop(ExplainsAttributes):
    """A closed loop of n control periods.

    Attributes:
        dt: Control period [s].
        times: Time of each measurement, and of the end (n + 1,) [s].
        xs: True states at these times (n + 1, nx).
        measured: States as they were measured (n, nx).
        us: Control of each step (n, nu); it comes into force `delay` after its measurement.
        lower: Lower limits of the controls, hard constraints included (n, nu); -inf where there is none.
        upper: Upper limits (n, nu); inf where there is none.
        control_excess: By how much a control that the plant got was beyond its limits in a period (n,).
        costs: Cost of the controller's model at true state and control, for one period (n,) [cost].
        violations: By how much each constraint of the controller's first knot is violated at true state and control,
            its largest row, by name: (n,) [its unit].
        soft: Names of the constraints that give way where they must: soft ones, and limits of states.
        plan_costs: Cost of each plan (n,) [cost].
        plan_violations: Largest violation along each plan, over all constraints (n,).
        statuses: "solved", "partial" or "failed", one a step (n,).
        reasons: Why a step was not solved, by its number; of the first thousand that were not.
        iterations: Iterations of the solver (n,) [-].
        first_solve: Time of the first solve and of compilation, before the loop [s].
        preparation_times: Time of each preparation phase (n,) [s]; 0 for the first, which the first solve prepared.
        feedback_times: Time from measurement to control (n,) [s].
        delay: Time from a measurement to the control that follows from it, in the plant's time [s].
        seed: Seed of the noise; None for a generator of the caller.
        plant: The plant in words.
        solver: Solver and mode in words.
        pushes: The pushes; from a file, functions among them raise when they are called.
        stopped: Why the closed loop ended early; empty if it did not.
        coordinate_names: Name of each coordinate of a state (nx,).
        control_names: Name of each control (nu,).
        every: Control periods from one sample of `motion` to the next [-].
        motion: The plant's motion as a Solution of at most 4,000 knots, for pictures of trajectories; its parameters
            are those of the controller's first knot at each time.
        kept: What `tracked` was, of a log from a file.
    """

    dt: float
    first_solve: float
    times: Reals
    xs: Reals
    measured: Reals
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

    def __repr__(self) -> str:
        steps = f"{len(self)} steps of {self.dt:g} s"
        return f"ClosedLoop({self.times[-1]:g} s, {steps}, {self.outcome}, cost={self.cost:.8g})"

    def __len__(self) -> int:
        """Number of control periods [-]."""
        return len(self.us)

    @property
    def counts(self) -> dict[str, int]:
        """Number of steps by their status [-]."""
        return {name: int(np.count_nonzero(self.statuses == name)) for name in ("solved", "partial", "failed")}

    @property
    def outcome(self) -> str:
        """Number of steps by their status in words."""
        return ", ".join(f"{count} {name}" for name, count in self.counts.items() if count) or "no step"

    @property
    def cost(self) -> float:
        """Σ costs [cost]."""
        return float(self.costs.sum())

    @property
    def step_times(self) -> Reals:
        """Time of each whole step, preparation and feedback (n,) [s]."""
        return self.preparation_times + self.feedback_times

    @property
    def deadline_misses(self) -> npt.NDArray[np.bool_]:
        """Whether each whole step took longer than the control period (n,)."""
        return np.asarray(self.step_times > self.dt)

    @property
    def violated(self) -> dict[str, float]:
        """Largest violation of each constraint that was violated by more than 1e-6, the largest first [its unit]."""
        worst = {name: float(values.max(initial=0.0)) for name, values in self.violations.items()}
        return {name: size for name, size in sorted(worst.items(), key=lambda item: -item[1]) if size > HELD}

    @functools.cached_property
    def tracked(self) -> tuple[Tracked, ...]:
        """Quantities with references that moved, or with any, at the samples of `motion`."""
        if self.kept is not None:
            return self.kept
        return () if self.motion is None or self.motion.problem is None else tracked_quantities(self.motion)

    @property
    def sample_times(self) -> Reals:
        """Times of the samples of `motion`, and of the end [s]."""
        if self.motion is None:
            return self.times
        return np.append(self.times[:-1][:: self.every], self.times[-1])

    def report(self) -> dict[str, str]:
        """The closed loop in words by keyword: steps, cost, tracking, controls, constraints, times."""
        from trajopt.mpc.report import report

        return report(self)

    def explain(self) -> str:
        """Outcome, what went wrong and when, and which knob to turn."""
        from trajopt.mpc.report import explain

        return explain(self)

    def plot(
        self,
        path: str | Path | None = None,
        *,
        title: str | None = None,
        obstacles: npt.ArrayLike = (),
        lines: Sequence[npt.ArrayLike] = (),
    ) -> Figure:
        """Draws motion, tracking, controls, violations and times in one figure.

        Args:
            path: File to write (.png, .pdf or .svg).
            title: Text before the outcome in the heading.
            obstacles: Upright cylinders (x, y, radius), or balls (x, y, z, radius) [m].
            lines: Lists of points (n, 2) or (n, 3) that lines join, such as gates and rails [m].
        """
        return above("plotting.controllers.plot_closed_loop")(self, path, title=title, obstacles=obstacles, lines=lines)

    def plot_tracking(self, *, figure: Figure | SubFigure | None = None) -> Figure:
        """Draws what followed a reference, and the reference dashed; the states where there is none."""
        return above("plotting.controllers.plot_tracking")(self, figure=figure)

    def plot_controls(self, *, figure: Figure | SubFigure | None = None) -> Figure:
        """Draws the controls with their limits, as `trajopt.plotting.plot_solution` does."""
        return above("plotting.controllers.plot_closed_loop_controls")(self, figure=figure)

    def plot_timing(self, *, figure: Figure | SubFigure | None = None) -> Figure:
        """Draws a histogram of the times of steps and of their feedback phase, with 99th percentiles and the period."""
        return above("plotting.controllers.plot_timing")(self, figure=figure)

    def animate(self, path: str | Path, *, speed: float = 1.0, obstacles: npt.ArrayLike = ()) -> Path:
        """Writes the motion as a moving picture (.gif, .mp4); see `trajopt.plotting.animate`.

        Args:
            path: File to write; a .mp4 needs the program ffmpeg.
            speed: How many times faster than real time it plays [-].
            obstacles: Upright cylinders (x, y, radius), or balls (x, y, z, radius) [m].
        """
        return above("plotting.controllers.animate_closed_loop")(self, path, speed=speed, obstacles=obstacles)

    def save(self, path: str | Path) -> Path:
        """Writes a .npz file and returns its path; `load` reads it. Pictures and reports work without the problem.

        Raises:
            InvalidArgumentError: The folder does not exist or cannot be written, or the suffix is another.
        """
        from trajopt.mpc.file import write

        return write(path, self)

    @classmethod
    def load(cls, path: str | Path) -> ClosedLoop:
        """Reads what `save` wrote.

        Raises:
            InvalidArgumentError: The file is not one that `save` wrote.
        """
        from trajopt.mpc.file import read

        fields: dict[str, Any] = read(path)
        return cls(**fields)
