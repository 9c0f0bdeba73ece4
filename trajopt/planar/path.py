"""Timed paths in the plane: poses, speeds and turning rates, from curves or from points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trajopt.checks import as_numbers, check_array, check_flag, check_known, check_positive
from trajopt.errors import InvalidArgumentError
from trajopt.planar.wheels import wheel_rates
from trajopt.types import Reals

DIFFERENCES = ("backward", "central")
STOP = "a path has no heading where the robot stops: avoid stops, or split the path there"


@dataclass(frozen=True, kw_only=True)
class PlanarPath:
    """Path that a mobile robot drives, forwards or backwards: ẋ = v cos θ, ẏ = v sin θ, θ̇ = ω.

    ```python
    spline = scipy.interpolate.CubicHermiteSpline([0, 1], [(1, -1), (3, 4)], [(1, -3), (0, 2)])
    path = PlanarPath.of_curve(spline, np.linspace(0, 1, 100))
    rates = path.wheel_rates(radius=1.0, half_track=4.0)
    ```

    Attributes:
        times: Times (n,), ascending [s].
        poses: (x, y, θ) (n, 3) [m, m, rad]; θ is continuous.
        speeds: v (n,), negative if driving backwards [m/s].
        turn_rates: ω (n,) [rad/s].

    Raises:
        InvalidArgumentError: Sizes differ, times do not ascend, or a speed is zero.
    """

    times: Reals
    poses: Reals
    speeds: Reals
    turn_rates: Reals

    def __post_init__(self) -> None:
        t = check_times("times", self.times)
        shapes = {"poses": (len(t), 3), "speeds": (len(t),), "turn_rates": (len(t),)}
        arrays = {name: check_array(name, getattr(self, name), shape) for name, shape in shapes.items()}
        for k in np.flatnonzero(arrays["speeds"] == 0.0)[:1]:
            raise InvalidArgumentError(f"speeds: expected nonzero speeds, got 0 at time {t[k]:g}; {STOP}")
        for name, value in (arrays | {"times": t}).items():
            object.__setattr__(self, name, value)

    @classmethod
    def of_derivatives(
        cls,
        times: npt.ArrayLike,
        points: npt.ArrayLike,
        velocities: npt.ArrayLike,
        accelerations: npt.ArrayLike,
        *,
        backwards: bool = False,
    ) -> PlanarPath:
        """Builds a path with θ = atan2(ẏ, ẋ), v = |(ẋ, ẏ)| and ω = (ẋ ÿ - ẏ ẍ) / v².

        Args:
            times: Times (n,), ascending [s].
            points: Points (n, 2) [m].
            velocities: Derivatives of the points (n, 2), nowhere zero [m/s].
            accelerations: Second derivatives of the points (n, 2) [m/s²].
            backwards: Whether the robot drives backwards. If so, θ is rotated by half a turn, and v is negative.

        Raises:
            InvalidArgumentError: Sizes differ, times do not ascend, or a velocity is zero.
        """
        t = check_times("times", times)
        p, d, dd = (
            check_array(name, value, (len(t), 2), cure="pass x and y at each time")
            for name, value in (("points", points), ("velocities", velocities), ("accelerations", accelerations))
        )
        v, sign = np.hypot(*d.T), -1.0 if check_flag("backwards", backwards) else 1.0
        for k in np.flatnonzero(v < 1e-12 * max(1e-300, float(v.max())))[:1]:
            raise InvalidArgumentError(f"velocities: expected nonzero velocities, got 0 at time {t[k]:g}; {STOP}")
        heading = np.unwrap(np.arctan2(sign * d[:, 1], sign * d[:, 0]))
        along = d / v[:, None]
        turn = (along[:, 0] * dd[:, 1] - along[:, 1] * dd[:, 0]) / v
        return cls(times=t, poses=np.column_stack([p, heading]), speeds=sign * v, turn_rates=turn)

    @classmethod
    def of_curve(cls, curve: Callable[..., Any], times: npt.ArrayLike, *, backwards: bool = False) -> PlanarPath:
        """Builds a path along a curve with known derivatives, such as a spline of scipy.

        Args:
            curve: Function of (times, order) that returns points (order 0) or their derivatives (order 1, 2), (n, 2)
                [m, m/s, m/s²], as CubicHermiteSpline and CubicSpline of scipy.interpolate do.
            times: Times (n,), ascending [s].
            backwards: Whether the robot drives backwards.
        """
        if not callable(curve):
            raise InvalidArgumentError(
                f"curve: expected a function of (times, order), such as scipy.interpolate.CubicHermiteSpline, got "
                f"{type(curve).__name__}; for points without derivatives use PlanarPath.of_points"
            )
        t = check_times("times", times)
        try:
            values = [as_numbers("curve", curve(t, order), "numbers (n, 2)") for order in range(3)]
        except TypeError as error:
            raise InvalidArgumentError(
                f"curve: expected a function of (times, order) that returns points or their derivatives; the call "
                f"raised: {error}"
            ) from error
        return cls.of_derivatives(t, *values, backwards=backwards)

    @classmethod
    def of_points(
        cls, points: npt.ArrayLike, dt: float, *, differences: str = "central", backwards: bool = False
    ) -> PlanarPath:
        """Builds a path through points at times 0, dt, 2 dt, ... by finite differences, without both end points.

        ẋ is (x⁺ - x⁻) / (2 dt) or (x - x⁻) / dt, and ẍ = (x⁺ - 2 x + x⁻) / dt². The errors are of order dt² for
        central differences and of order dt for backward differences.

        Args:
            points: Points (n, 2), n >= 3 [m].
            dt: Time between points, > 0 [s].
            differences: "central" or "backward", for the velocities.
            backwards: Whether the robot drives backwards.
        """
        numbers, step = as_numbers("points", points), check_positive("dt", dt, unit="s")
        if numbers.ndim != 2 or len(numbers) < 3:
            raise InvalidArgumentError(
                f"points: expected three or more rows (x, y) [m], got shape {numbers.shape}; add points, because "
                "second derivatives need three"
            )
        p = check_array("points", numbers, (len(numbers), 2))
        central = check_known("differences", differences, DIFFERENCES) == "central"
        d = (p[2:] - p[:-2]) / (2 * step) if central else (p[1:-1] - p[:-2]) / step
        dd = (p[2:] - 2 * p[1:-1] + p[:-2]) / step / step
        return cls.of_derivatives(step * np.arange(1, len(p) - 1), p[1:-1], d, dd, backwards=backwards)

    @property
    def curvatures(self) -> Reals:
        """Curvature κ = ω / |v| (n,) [1/m], positive if the path turns left of its direction."""
        return self.turn_rates / np.abs(self.speeds)

    @property
    def length(self) -> float:
        """Length of the path by the trapezoidal rule [m]."""
        return float(np.trapezoid(np.abs(self.speeds), self.times))

    def wheel_rates(self, *, radius: float, half_track: float) -> Reals:
        """Rates (v ± L ω) / r of the right and left wheels (n, 2) [rad/s]; see `trajopt.planar.wheel_rates`."""
        return wheel_rates(self.speeds, self.turn_rates, radius=radius, half_track=half_track)

    def fastest(self, limit: float, *, radius: float, half_track: float) -> PlanarPath:
        """Retimes the path to the shortest duration in which no wheel exceeds a rate limit: r φ̇_max = |v| + L |ω|.

        The faster wheel is always at its limit, so the duration is (length + L ∫ |dθ|) / (r φ̇_max). The integral uses
        the trapezoidal rule, so pass many times. Wheel rates may jump.

        Args:
            limit: Largest rate of a wheel, > 0 [rad/s].
            radius: Radius r of the wheels, > 0 [m].
            half_track: Half of the distance between the wheels, L > 0 [m].
        """
        most = check_positive("limit", limit, unit="rad/s")
        slower = np.abs(self.wheel_rates(radius=radius, half_track=half_track)).max(axis=1) / most
        steps = 0.5 * (slower[1:] + slower[:-1]) * np.diff(self.times)
        times = self.times[0] + np.concatenate([[0.0], np.cumsum(steps)])
        return PlanarPath(
            times=times, poses=self.poses, speeds=self.speeds / slower, turn_rates=self.turn_rates / slower
        )

    def at(self, times: npt.ArrayLike) -> PlanarPath:
        """The path at other times (m,) [s] within its duration, by linear interpolation."""
        t = check_times("times", times)
        slack = 1e-9 * (self.times[-1] - self.times[0])
        if t[0] < self.times[0] - slack or t[-1] > self.times[-1] + slack:
            raise InvalidArgumentError(
                f"times: expected times within the path, {self.times[0]:g} to {self.times[-1]:g} s, got {t[0]:g} "
                f"to {t[-1]:g} s"
            )
        table = np.column_stack([self.poses, self.speeds, self.turn_rates])
        rows = np.column_stack([np.interp(t, self.times, column) for column in table.T])
        return PlanarPath(times=t, poses=rows[:, :3], speeds=rows[:, 3], turn_rates=rows[:, 4])

    def __repr__(self) -> str:
        return f"PlanarPath({len(self.times)} times, {self.times[-1] - self.times[0]:.4g} s, {self.length:.4g} m)"


def check_times(argument: str, value: npt.ArrayLike) -> Reals:
    """Returns times (n,), n >= 1, ascending; raises InvalidArgumentError if they are not."""
    numbers = as_numbers(argument, value)
    if numbers.ndim != 1 or len(numbers) < 1:
        raise InvalidArgumentError(f"{argument}: expected one or more times (n,) [s], got shape {numbers.shape}")
    t = check_array(argument, numbers, numbers.shape)
    for k in np.flatnonzero(np.diff(t) <= 0)[:1]:
        raise InvalidArgumentError(f"{argument}: expected ascending times, got {t[k + 1]:g} after {t[k]:g}; sort them")
    return t
