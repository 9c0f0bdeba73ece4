"""Trot of a quadruped as a function of time: contacts, heights of feet, and the commanded path; faster after a push."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from trajopt.gaits.limits import cone_name, cone_parameters
from trajopt.gaits.profiles import smooth_at
from trajopt.residuals import FrictionCone
from trajopt.robots import Robot
from trajopt.types import Reals

STEP = 5e-3  # for the integration of commanded velocities [s]
ROUNDING = 1e-6  # [s]
PUSHED = 1.0  # difference from the commanded velocity above which steps are faster [m/s]
HURRY = 0.3  # time that they stay faster [s]
ALOFT = 0.02  # height of a foot above the ground above which it is not in contact [m]


class VelocityCommand:
    """Commanded velocities, piecewise linear in time, and the resulting path.

    Args:
        rows: Rows (time, forward, left, turn), times ascending [s, m/s, m/s, rad/s].
        duration: Time up to which the path is computed [s]; after it, the last velocity continues.
    """

    def __init__(self, rows: Reals, duration: float) -> None:
        self._times, self._velocities = rows[:, 0], rows[:, 1:]
        self._grid = np.arange(0.0, duration + STEP, STEP)
        forward, left, turn = self.velocity(self._grid + STEP / 2).T
        yaw = np.concatenate([[0.0], np.cumsum(turn * STEP)])[:-1]
        middle = yaw + turn * STEP / 2
        along = np.column_stack(
            [forward * np.cos(middle) - left * np.sin(middle), forward * np.sin(middle) + left * np.cos(middle), turn]
        )
        self._path = np.vstack([np.zeros(3), np.cumsum(along * STEP, axis=0)])[:-1]

    def velocity(self, times: Reals) -> Reals:
        """Forward and left velocities and turning rate at times (n,), (n, 3) [m/s, m/s, rad/s]."""
        return np.column_stack([np.interp(times, self._times, column) for column in self._velocities.T])

    def path(self, times: Reals) -> Reals:
        """x, y and heading at times (n,), (n, 3) [m, m, rad]."""
        return np.column_stack([np.interp(times, self._grid, column) for column in self._path.T])


class Rhythm:
    """Phase of a gait τ(t) [s]: the time t, and `rate` times as fast while the robot hurries.

    Args:
        rate: Speed of the phase while the robot hurries, >= 1 [-].
    """

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self._begins, self._ends = list[float](), list[float]()

    def hurry(self, t: float) -> None:
        """Hurries from a time [s] for `HURRY`."""
        if not self._begins or t > self._ends[-1]:
            self._begins.append(t)
            self._ends.append(t)
        self._ends[-1] = t + HURRY

    def go_back(self, t: float) -> None:
        """Forgets what began at a time [s] or later, as a controller that is reset has an earlier time."""
        while self._begins and self._begins[-1] >= t:
            self._begins.pop()
            self._ends.pop()

    def __call__(self, times: Reals) -> Reals:
        """Phases at times (n,), (n,) [s]."""
        begins, ends = np.array(self._begins), np.array(self._ends)
        return times + (self.rate - 1.0) * np.clip(times[:, None] - begins, 0.0, ends - begins).sum(axis=1)


@dataclass(frozen=True, eq=False)
class Trot:
    """Parameters of the knots of a trotting quadruped, as functions of time, without prescribed footholds.

    The diagonal pairs swing in turn, each for half of the period, with all feet on the ground in between. Where a foot
    lands follows from the posture and the motion of the base. The trot reacts to measured states: after a push, seen
    as a velocity far from the commanded one, steps are faster for a while, and a foot that is late is not in contact
    at the window's first knot.

    Attributes:
        robot: The robot.
        feet: Names of the feet: left front, right front, left hind, right hind.
        standing: State at rest with the feet on the ground (nx,).
        command: Commanded velocities.
        period: Time in which each foot swings once [s].
        support: Time with all feet on the ground after each step [s].
        height: Height of a swing [m].
        ground: Height of the feet's frames on the ground [m].
        start: Time of the first lift-off [s].
        cone: Friction cone of the feet.
        rate: Rate at which contacts stop the velocities of feet [1/s].
        rhythm: Phase of the gait as a function of time.
        aloft: Whether each foot was above the ground in the last measured state (feet,).
    """

    robot: Robot
    feet: tuple[str, ...]
    standing: Reals
    command: VelocityCommand
    _: KW_ONLY
    period: float
    support: float
    height: float
    ground: float
    start: float
    cone: FrictionCone
    rate: float
    rhythm: Rhythm
    aloft: npt.NDArray[np.bool_] = field(default_factory=lambda: np.zeros(4, dtype=np.bool_))

    def see(self, t: float, x: Reals) -> None:
        """Takes a measured state (nx,) at a time [s]; hurries if its velocity is far from the commanded one."""
        self.rhythm.go_back(t)
        first = (len(x) + 1) // 2
        error = x[first : first + 2] - self.command.velocity(np.array([t]))[0, :2]
        if np.hypot(*error) > PUSHED:
            self.rhythm.hurry(t)
        data = self.robot.model.createData()
        pin.framesForwardKinematics(self.robot.model, data, x[:first])
        heights = [data.oMf[self.robot.frame_id(foot)].translation[2] for foot in self.feet]
        self.aloft[:] = np.array(heights) > self.ground + ALOFT

    def part(self, times: Reals) -> Reals:
        """Completed fraction of each foot's swing at times (n,), (n, feet) [-]; 1 for a foot on the ground."""
        swing = self.period / 2 - self.support
        late = np.array([0.0, 0.5, 0.5, 0.0]) * self.period
        phases = self.rhythm(times)[:, None] + ROUNDING
        since = (phases - self.start - late) % self.period - ROUNDING
        done = np.where(since < swing - 2 * ROUNDING, np.clip(since / swing, 0.0, 1.0), 1.0)
        return np.where(phases < self.start + late, 1.0, done)

    def active(self, times: Reals) -> Reals:
        """Contact of each foot at times (n,), 1 on the ground and 0 in the air, (n, feet)."""
        return (self.part(times) >= 1.0).astype(np.float64)

    def contacts(self, times: Reals) -> Reals:
        """Contact of each foot at the knots of a window, as `active`; at the first one without feet that are late."""
        active = self.active(times)
        active[0, self.aloft] = 0.0
        return active

    def heights(self, times: Reals) -> Reals:
        """Heights of the feet's frames at times (n,), (n, feet) [m]."""
        return self.ground + self.height * smooth_at(self.part(times))[1]

    def states(self, times: Reals) -> Reals:
        """Reference states at times (n,), (n, nx): the standing posture on the path, with the commanded velocities."""
        xs = np.tile(self.standing, (len(times), 1))
        path, velocity = self.command.path(times), self.command.velocity(times)
        nv = (xs.shape[1] - 1) // 2
        xs[:, :2] = path[:, :2]
        xs[:, 3:5], xs[:, 5], xs[:, 6] = 0.0, np.sin(path[:, 2] / 2), np.cos(path[:, 2] / 2)
        xs[:, nv + 1 : nv + 3], xs[:, nv + 6] = velocity[:, :2], velocity[:, 2]
        return xs

    def __call__(self, times: Reals) -> Mapping[str, Reals]:
        """Parameters of knots at times (n,) [s]."""
        rows = {"state.reference": self.states(times)}
        active, heights, knots = self.contacts(times), self.heights(times), [*range(len(times))]
        for i, foot in enumerate(self.feet):
            rows[f"contacts.{foot}.active"] = active[:, i]
            rows[f"{foot}_height.reference"] = np.column_stack([np.zeros((len(times), 2)), heights[:, i]])
            bounds = cone_parameters(cone_name(foot), (self.cone.lower, self.cone.upper), active[:, i], knots)
            rows |= {name: values for name, values, _ in bounds}
        return rows
