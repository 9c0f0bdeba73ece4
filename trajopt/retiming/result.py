"""Result of retiming: the motion along the path, at any time."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trajopt.checks import as_numbers
from trajopt.errors import InvalidArgumentError, UnsupportedOperationError, shown
from trajopt.objects.lazy import above
from trajopt.retiming.joint_path import JointPath
from trajopt.retiming.limits import JointLimits, torque_terms
from trajopt.robots import Robot
from trajopt.solution import SolverStatus
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FINE = 20  # points of an interval between which the time is a cubic polynomial


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class RetimedPath:
    """Motion from rest to rest along a path; `retime` returns it.

    The squared speed along the path is b + d b' + ½ d² b'' at a distance d behind the start of an interval in τ, see
    `JointPath`.

    Attributes:
        robot: The robot.
        path: The path.
        limits: The limits.
        rest: Order at which the path begins and ends: 3 with a limit of the jerk, else 2.
        squares: b at the ends of the N intervals (N + 1,) [1/s²].
        slopes: b' at the start of each interval (N,) [1/s²].
        bends: b'' in each interval (N,) [1/s²].
        status: Why the solver stopped.
        iterations: Number of its iterations, of all numbers of intervals.
        seconds: Time that they took [s].
    """

    robot: Robot
    path: JointPath
    limits: JointLimits
    rest: int
    squares: Reals
    slopes: Reals
    bends: Reals
    status: SolverStatus
    iterations: int
    seconds: float

    @property
    def converged(self) -> bool:
        """Whether the solver found an optimum."""
        return self.status is SolverStatus.CONVERGED

    @property
    def duration(self) -> float:
        """Duration of the motion [s]; inf if the solver stopped before it moves everywhere."""
        return float(self._clock.x[-1]) if self._moves else np.inf

    @property
    def times(self) -> Reals:
        """Times at the ends of the intervals (N + 1,) [s], from 0."""
        return self._clock.x[::FINE].copy()

    @property
    def qs(self) -> Reals:
        """Configurations at these times (N + 1, nq) [rad, m]."""
        return self.at(self.times)[0]

    @property
    def vs(self) -> Reals:
        """Velocities at these times (N + 1, nv) [rad/s, m/s]."""
        return self.at(self.times)[1]

    def at(self, times: npt.ArrayLike) -> tuple[Reals, Reals, Reals]:
        """Returns configurations, velocities and accelerations at times, (n, nv) each; at rest before and after.

        Args:
            times: Times (n,), or one [s].
        """
        t = _checked(times)
        q, v, a = (values.reshape(*t.shape, values.shape[1]) for values in self._motion(t.ravel())[:3])
        return q, v, a

    def torques(self, times: npt.ArrayLike) -> Reals:
        """Torques or forces of inverse dynamics at times (n,) [s], (n, nv) [N m, N]; at rest beyond the ends."""
        t = _checked(times).ravel()
        tau, b, slope, _ = self._speed(t)
        b, slope = np.where((t >= 0.0) & (t <= self.duration), [b, slope], 0.0)
        c, m, g = torque_terms(self.robot, *self.path.derivatives(tau, self.rest)[:3])
        return c * b[:, None] + 0.5 * m * slope[:, None] + g

    def parts(self, times: npt.ArrayLike) -> dict[str, Reals]:
        """Returns velocity, acceleration, torque and jerk as parts of their limits, (n, nv) each [-].

        Those without any limit are left out.

        Args:
            times: Times (n,) within the motion [s].
        """
        t = _checked(times).ravel()
        _, v, a, jerk = self._motion(t)
        values = {"velocity": v, "acceleration": a, "torque": self.torques(t), "jerk": jerk}
        limits = {name: getattr(self.limits, name) for name in values}
        return {name: values[name] / most for name, most in limits.items() if np.isfinite(most).any()}

    def usage(self) -> dict[str, float]:
        """Largest part of each limit that a joint uses [-], at 20 times in each interval; hardly above 1."""
        return {name: float(np.abs(part).max()) for name, part in self.parts(self._clock.x).items()}

    def plot(self, path: str | PathLike[str] | None = None) -> Figure:
        """Plots velocities, accelerations, torques and jerks over time, each relative to its limit.

        Args:
            path: File to write (.png, .pdf or .svg).

        Raises:
            UnsupportedOperationError: The solver stopped before the path has a motion.
        """
        return above("plotting.saved.saved")(above("plotting.retiming.plot_retimed"), path, self)

    @functools.cached_property
    def _moves(self) -> bool:
        """Whether the speed is a number > 0 at all points between which time is a polynomial."""
        b = self._squares(np.linspace(0.0, 1.0, len(self.slopes) * FINE + 1))[0]
        return bool(np.all((b > 0.0) & np.isfinite(b)))

    @functools.cached_property
    def _clock(self) -> Any:
        """τ as a function of time, a cubic spline with the speeds √b."""
        from scipy.interpolate import CubicHermiteSpline

        if not self._moves:
            raise UnsupportedOperationError(f"motion: expected one along the whole path, but the solver {self.status}")
        N = len(self.slopes)
        tau = np.linspace(0.0, 1.0, N * FINE + 1)
        nodes, weights = np.polynomial.legendre.leggauss(4)
        inside = tau[:-1, None] + 0.5 * (nodes + 1.0) / (N * FINE)
        paces = 1.0 / np.sqrt(self._squares(inside.ravel())[0]).reshape(inside.shape)
        times = np.concatenate([[0.0], np.cumsum(paces @ weights) * 0.5 / (N * FINE)])
        return CubicHermiteSpline(times, tau, np.sqrt(self._squares(tau)[0]))

    def _squares(self, tau: Reals) -> tuple[Reals, Reals, Reals]:
        """b, b' and b'' at τ (n,)."""
        N = len(self.slopes)
        k = np.clip((tau * N).astype(int), 0, N - 1)
        d = tau - k / N
        bend = self.bends[k]
        return self.squares[k] + d * (self.slopes[k] + 0.5 * d * bend), self.slopes[k] + d * bend, bend

    def _speed(self, times: Reals) -> tuple[Reals, Reals, Reals, Reals]:
        """τ, b, b' and b'' at times (n,)."""
        tau = np.clip(self._clock(np.clip(times, 0.0, self.duration)), 0.0, 1.0)
        tau = np.where(times < self.duration, tau, 1.0)  # without rounding, so that the robot rests
        return (tau, *self._squares(tau))

    def _motion(self, times: Reals) -> tuple[Reals, Reals, Reals, Reals]:
        """Configurations, velocities, accelerations and jerks at times (n,); at rest before and after."""
        tau, b, slope, bend = (each[:, None] for each in self._speed(times))
        q, q1, q2, q3 = self.path.derivatives(tau[:, 0], self.rest)
        moves = ((times >= 0.0) & (times <= self.duration))[:, None]
        a = q2 * b + 0.5 * q1 * slope
        jerk = (q3 * b + 1.5 * q2 * slope + 0.5 * q1 * bend) * np.sqrt(b)
        return q, q1 * np.sqrt(b), np.where(moves, a, 0.0), np.where(moves, jerk, 0.0)

    def __repr__(self) -> str:
        how = "converged" if self.converged else self.status.value
        ways = f"{len(self.path.waypoints)} waypoints of {self.robot.name}"
        time = f"in {self.duration:.4f} s" if self._moves else "without a motion"
        return f"RetimedPath({ways} {time}, {how} after {self.iterations} iterations)"


def _checked(times: npt.ArrayLike) -> Reals:
    """Times, or one [s]; raises InvalidArgumentError for NaN."""
    t = as_numbers("times", times, "times [s]")
    if np.isnan(t).any():
        raise InvalidArgumentError(f"times: expected times [s] without NaN, got {shown(times)}")
    return t
