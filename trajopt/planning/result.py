"""Result of planning: a motion around obstacles, or the reason why there is none."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from enum import Enum
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from trajopt.analysis.clearance import clearance
from trajopt.analysis.lines import coordinate_units, robot_lines
from trajopt.analysis.obstacles import as_obstacles
from trajopt.analysis.swept import Clearance
from trajopt.checks import check_positive
from trajopt.errors import UnsupportedOperationError
from trajopt.objects.lazy import above
from trajopt.residuals.collisions import own_margin
from trajopt.retiming import RetimedPath
from trajopt.robots import Robot, Scene
from trajopt.solution import Solution
from trajopt.solution.motions import described_motion
from trajopt.states import StateMultibody
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FINE = 4  # points in each interval of a motion at which its clearance is computed [-]
KEPT = 1.001  # largest part of a limit that retiming uses [-]
FIGURES = 12  # configurations in a picture [-]


class PlanStatus(Enum):
    """Why planning stopped; the value is the sentence that the user reads."""

    SOLVED = "a motion within limits that keeps the margin"
    NO_PATH = "no path was found within time_limit: raise it, lower margin, or check that the scene leaves a way"
    UNREACHABLE = "inverse kinematics found no configuration that meets the goal and keeps the margin"
    NO_MOTION = "a path was found, but no motion along it within limits: loosen velocity, acceleration, torque or jerk"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Plan:
    """Motion from rest to rest around obstacles; `trajopt.plan` returns it.

    It is as fast as limits allow along its path, and no optimum: SolverSQP with a free "dt" and this motion as guess
    finds a faster one nearby, see "Avoid obstacles" in the documents.

    Attributes:
        robot: The robot.
        scene: The obstacles; None without any.
        margin: Least distance from obstacles, and of links from each other, there at most 0.01 m if there are any [m].
        status: Why planning stopped.
        corners: Configurations (n, nq) whose straight lines are the path before it is made smooth; none without a path
            [rad, m].
        motion: The motion along the smooth path; None without one.
        paths: Number of paths of which this is the best [-].
        checked: Number of configurations whose distances were computed [-].
        seconds: Times of the search, of smoothing and of retiming (3,), with compiling [s].
    """

    robot: Robot
    scene: Scene | None
    margin: float
    status: PlanStatus
    corners: Reals
    motion: RetimedPath | None
    paths: int
    checked: int
    seconds: Reals

    @property
    def solved(self) -> bool:
        """Whether there is a motion."""
        return self.status is PlanStatus.SOLVED

    def solution(self, dt: float | None = None) -> Solution:
        """The motion as a Solution for tables, views and `analysis.clearance`, or as a guess of a solver.

        It has no controls; `to_csv` writes accelerations and the torques of inverse dynamics, at all states. `explain`
        names the clearance and the largest use of limits along the whole motion.

        Args:
            dt: Time between two states [s]; the last state may come later than the end of the motion, at rest. By
                default the states are those of `motion.times`.

        Raises:
            UnsupportedOperationError: There is no motion.
        """
        motion = self._motion()
        times = motion.times
        if dt is not None:
            step = check_positive("dt", dt, unit="s")
            times = np.asarray(step * np.arange(int(np.ceil(motion.duration / step - 1e-9)) + 1))
        return self._at(times, self._notes)

    def optimise(self, dt: float = 0.02) -> Solution:
        """The motion near this one with the least squares of accelerations, by SolverSQP.

        Start, goal and limits are those of this motion. It takes one step longer, as its controls are accelerations,
        constant in each step, which can't use limits as long as those of the motion. Limits hold at knots.
        Distances keep the margin also between them, where joints move with constant velocity: margins of single knots
        are raised until they do, at most seven times; `analysis.clearance(solution)` measures the result. A limit of
        the jerk bounds how fast accelerations rise from 0 at the start and fall to 0 at the end; in between they change
        slowly, and nothing bounds their differences.

        Args:
            dt: Largest time between two knots, > 0 [s].

        Raises:
            UnsupportedOperationError: There is no motion.
        """
        from trajopt.planning.optimisation import MotionProblem

        step = check_positive("dt", dt, unit="s")
        return MotionProblem(self._motion(), self.scene, self.margin, step).solve()

    def clearance(self) -> Clearance:
        """Least distance of links from each other and from obstacles along the motion, see `analysis.clearance`.

        Raises:
            UnsupportedOperationError: There is no motion.
        """
        times = self._motion().times
        parts = np.arange(FINE) / FINE
        fine = (times[:-1, None] + parts * np.diff(times)[:, None]).ravel()
        return clearance(self._at(np.append(fine, times[-1])), self.scene)

    def plot(self, path: str | PathLike[str] | None = None, *, frame: str | None = None) -> Figure:
        """Draws the motion as stick figures among the obstacles.

        Args:
            path: File to write (.png, .pdf or .svg).
            frame: Frame whose path is drawn; by default the end of the robot, if it has a single one.

        Raises:
            UnsupportedOperationError: There is no motion.
        """
        draw = above("plotting.plot_motion")
        return above("plotting.saved.saved")(
            lambda motion: draw(motion, FIGURES, frame=frame), path, self._at(self._motion().times)
        )

    def _motion(self) -> RetimedPath:
        if self.motion is None:
            raise UnsupportedOperationError(f"this plan has no motion: {self.status}")
        return self.motion

    @functools.cached_property
    def _notes(self) -> tuple[str, str]:
        """Clearance and use of limits of the whole motion, as text."""
        used = ", ".join(f"{name} {100 * part:.0f} %" for name, part in self._motion().usage().items())
        least, kept = self.clearance(), own_margin(self.margin, self.scene)
        margin = f"{self.margin:g} m" + (f", of links from each other {kept:g} m" if kept != self.margin else "")
        return (
            f"clearance: {least.distance:.4g} m between {least.bodies} (margin {margin})",
            f"limits: at most {used} of those of the plan",
        )

    def _at(self, times: Reals, notes: tuple[str, ...] = ()) -> Solution:
        motion, state = self._motion(), StateMultibody(self.robot)
        q, v, a = motion.at(times)
        torques = motion.torques(times)
        limits = _rounded(motion.limits.velocity, v), _rounded(motion.limits.torque, torques)
        accelerations = a, _rounded(motion.limits.acceleration, a)
        xs, obstacles = np.concatenate([q, v], axis=1), () if self.scene is None else as_obstacles(self.scene)
        return described_motion(
            xs,
            solver="plan",
            robot=self.robot,
            times=times,
            coordinate_names=tuple(state.coordinate_names),
            coordinate_units=coordinate_units(state),
            lines=tuple(robot_lines(state, xs, torques, limits, accelerations)),
            obstacles=list(obstacles),
            notes=notes,
        )

    def __repr__(self) -> str:
        if self.motion is None:
            return f"Plan({self.robot.name}: {self.status})"
        spent = f"search {self.seconds[0]:.3g} s, smoothing {self.seconds[1]:.3g} s, retiming {self.seconds[2]:.3g} s"
        return (
            f"Plan({self.robot.name} in {self.motion.duration:.4f} s along {len(self.corners) - 1} lines, the best of "
            f"{self.paths} paths, no optimum; {spent})"
        )


def _rounded(limits: Reals, values: Reals) -> Reals:
    """Limits (nv,), a little larger where values (n, nv) are beyond them, as retiming keeps them to a thousandth."""
    most = np.abs(values).max(axis=0, initial=0.0)
    return np.where(most <= KEPT * limits, np.maximum(limits, most), limits)
