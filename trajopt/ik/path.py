"""Results of inverse kinematics along a path."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from trajopt.analysis.obstacles import Obstacle
from trajopt.ik.reasons import miss
from trajopt.ik.result import TaskResidual
from trajopt.objects.lazy import above
from trajopt.robots import Robot
from trajopt.solution.film_options import FilmOptions
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

    from trajopt.solution import Solution


class IKPathStatus(Enum):
    """Outcome of following a path, with the reason; the value is the sentence that the user reads."""

    FOLLOWED = "every constraint holds at all times, within tolerance"
    LIMITED = "limits made the robot leave the path: see departures; go slower, or start on the path"
    COARSE = 'steps are too long for this path, no limit is near: pass a smaller dt, or method="optimal"'
    OTHER_START = (
        "this motion ends short of targets that other configurations reach: see departures; pass another q0, or go "
        "slower"
    )
    UNREACHABLE = "the path leaves the robot's reach: see departures; there the robot is as near as it gets"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class Departure:
    """Stretch of the path that was not followed.

    Attributes:
        first: First knot with a violated constraint [-].
        last: Last knot with a violated constraint [-].
        worst: Knot with the largest violation [-].
        distance: Norm of the violations at that knot [units of their rows].
        reachable: True if motion limits, links that come near, the start or too long steps were the reason; False if
            the target was out of reach.
        limits: Limits that were reached: "q:JOINT" for positions, "v:JOINT" for velocities, "a:JOINT" for
            accelerations.
        elsewhere: Whether the motion stopped as near as it gets to targets that the robot reaches in another
            configuration, such as one turned the other way.
    """

    first: int
    last: int
    worst: int
    distance: float
    reachable: bool
    limits: tuple[str, ...]
    elsewhere: bool = False

    def __str__(self) -> str:
        why = "out of reach" if not self.reachable else "limits" if self.limits else "no limit is near"
        why = "only other configurations reach the targets" if self.elsewhere else why
        at = f", at limits {', '.join(self.limits)}" if self.limits else ""
        return f"knots {self.first} to {self.last}: {why}, {self.distance:.3g} away at knot {self.worst}{at}"


@dataclass(frozen=True, kw_only=True)
class IKPath:
    """Motion along a path: q_{k+1} = q_k ⊕ dt v_{k+1}.

    Attributes:
        robot: The robot.
        times: Times 0, dt, ... (T + 1,) [s].
        qs: Configurations (T + 1, nq) [rad, m].
        vs: Velocities (T + 1, nv), beginning with the initial one [rad/s, m/s].
        status: Outcome of following the path.
        departures: Stretches that were not followed, in order.
        residuals: Residual of each task at all times, by name (T + 1, nr).
        distance: Norm of the violations of hard constraints at each time (T + 1,) [units of their rows].
        limits: Lower and upper limits of positions, lower and upper limits of velocities, and limits of accelerations
            (5, nv); ±inf for no limit [rad, m, per s, per s²].
        frames: Frames whose placement is a task.
        wanted: Targets of their origins in the world (frames, T + 1, 3) [m].
        obstacles: Obstacles in the tasks at each time.
        solution: Solution of the optimal-control problem; None for differential inverse kinematics.
    """

    robot: Robot
    times: Reals
    qs: Reals
    vs: Reals
    status: IKPathStatus
    departures: tuple[Departure, ...]
    residuals: dict[str, TaskResidual] = field(repr=False)
    distance: Reals
    limits: Reals = field(repr=False)
    frames: tuple[str, ...]
    wanted: Reals = field(repr=False)
    obstacles: tuple[Obstacle, ...] = field(default=(), repr=False)
    solution: Solution | None = field(default=None, repr=False)

    @property
    def followed(self) -> bool:
        """Whether every constraint holds at all times."""
        return self.status is IKPathStatus.FOLLOWED

    @property
    def accelerations(self) -> Reals:
        """Accelerations (v_{k+1} - v_k) / dt (T, nv) [rad/s², m/s²]."""
        return np.asarray(np.diff(self.vs, axis=0) / (self.times[1] - self.times[0]))

    def __len__(self) -> int:
        return len(self.qs)

    def __str__(self) -> str:
        T = len(self) - 1
        lines = [f"status     {self.status}", f"motion     {T} steps, {self.times[-1]:.4g} s"]
        for name, residual in self.residuals.items():
            lines.append(f"{name:<10} {residual.closest or _words(residual)}")
            lines += [f"unchecked  {residual.unchecked}"] if residual.unchecked else []
        return "\n".join([*lines, *(f"departure  {departure}" for departure in self.departures[:5])])

    def plot(self, path: str | os.PathLike[str] | None = None, *, figure: Figure | SubFigure | None = None) -> Figure:
        """Plots the motion, and over time the distance to the path, joints, velocities and accelerations with limits.

        Args:
            path: File for the figure; None to write no file.
            figure: Figure or subfigure for the plot; by default a new one.
        """
        return above("plotting.ik_path.plot_ik_path")(self, path, figure=figure)

    def animate(self, path: str | os.PathLike[str], **options: Any) -> Path:
        """Writes the motion as a line drawing that moves, .gif or .mp4.

        Args:
            path: File to write.
            **options: `speed` and `frames_per_second` of `trajopt.plotting.animate`.
        """
        return above("plotting.ik_path.animate_ik_path")(self, path, **options)

    def film(self, path: str | os.PathLike[str], **options: Unpack[FilmOptions]) -> Path:
        """Writes the motion as a film with the robot's meshes (.mp4, .gif, .png); see `trajopt.display.film`.

        Args:
            path: File to write.
            **options: `fps`, `speed`, `seconds`, `time`, `size`, `camera`, `obstacles`, `lines` and `progress`; by
                default the lines are the reference paths.
        """
        around: FilmOptions = {"lines": list(self.wanted)}
        return above("display.film")(above("plotting.ik_path.motion_of_path")(self), path, **{**around, **options})


def _words(residual: TaskResidual) -> str:
    """Text on a task at all knots: the largest residual of a cost, or how far a constraint is from holding."""
    if residual.is_cost:
        return f"cost, residuals up to {np.abs(residual.value).max(initial=0.0):.3g} [{residual.unit}]"
    violations = np.abs(residual.violation).max(axis=1, initial=0.0)
    worst = int(violations.argmax())
    if not violations[worst]:
        return "within its bounds"
    soft = " (soft)" if residual.soft else ""
    return f"off by {miss(residual.violation[worst], residual.unit)} at knot {worst}{soft}"
