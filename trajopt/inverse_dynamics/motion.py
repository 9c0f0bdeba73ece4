"""Motions: configurations over time with their velocities and accelerations."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from trajopt.checks import as_numbers, check_array, check_instance, check_non_negative, check_positive, shape_of
from trajopt.errors import InvalidArgumentError, unknown_name
from trajopt.robots import Robot
from trajopt.types import Reals

EVEN = 1e-6  # largest relative difference between time steps [-]


@dataclass(frozen=True, kw_only=True)
class Motion:
    """Configurations, velocities and accelerations of a robot at N times.

    Attributes:
        robot: The robot.
        times: Times (N,), ascending [s].
        positions: Configurations (N, nq).
        velocities: Velocities (N, nv), in the convention of Pinocchio.
        accelerations: Time derivatives of the velocities (N, nv).
    """

    robot: Robot
    times: Reals
    positions: Reals
    velocities: Reals
    accelerations: Reals

    def __post_init__(self) -> None:
        robot = check_instance("robot", self.robot, Robot, "use load_robot")
        shape = np.shape(as_numbers("positions", self.positions))
        count = shape[0] if len(shape) == 2 else 0
        for name, size in (("positions", robot.nq), ("velocities", robot.nv), ("accelerations", robot.nv)):
            value = check_array(name, getattr(self, name), (count, size), cure="one row for each time")
            object.__setattr__(self, name, value)
        object.__setattr__(self, "times", _ascending(self.times, count, "one time for each row of positions"))
        if not count:
            raise InvalidArgumentError(f"positions: expected shape (N, {robot.nq}) with N >= 1, got shape {shape}")
        norms = pin_norms(robot, self.positions)
        if (off := np.abs(norms - 1.0)).max(initial=0.0) > 1e-3:
            raise InvalidArgumentError(
                f"positions: expected rotations of norm 1, got norm {norms.flat[off.argmax()]:g}; "
                "normalize them with pinocchio.normalize(model, q)"
            )

    def __len__(self) -> int:
        return len(self.times)

    def __repr__(self) -> str:
        return f"Motion({self.robot.name}, {len(self)} times from {self.times[0]:g} to {self.times[-1]:g} s)"

    @staticmethod
    def check(motion: Any) -> Motion:
        """Returns `motion`; raises InvalidArgumentError if it is not a Motion."""
        return check_instance("motion", motion, Motion, "use Motion.of(robot, positions, times)")

    @staticmethod
    def of(
        robot: Robot,
        positions: npt.ArrayLike,
        times: npt.ArrayLike,
        *,
        differences: str = "central",
        smoothing: float | str | None = None,
    ) -> Motion:
        """Builds a motion from recorded configurations.

        Differences d_i = q_{i+1} ⊖ q_i on the manifold give, with a time step dt,

            "central"   v_i = (d_i + d_{i-1}) / 2 dt,   a_i = (d_i - d_{i-1}) / dt²; second order in dt
            "euler"     v_i = d_{i-1} / dt,             the same a_i: exactly those of a solution with Euler steps
            "forward"   v_i = d_i / dt, a_i = (d_{i+1} - d_i) / dt², as in Nimble

        The motion therefore has two times fewer than there are configurations: it lacks the first and the last, or
        with "forward" the last two.

        Args:
            robot: The robot.
            positions: Configurations (n, nq), n >= 3.
            times: Times (n,), evenly spaced, or only the time step [s].
            differences: "central", "euler" or "forward", as above.
            smoothing: Smoothing by splines, against white noise. "auto" chooses their stiffness by generalized
                cross-validation; a number is the stiffness λ [s³], see `scipy.interpolate.make_smoothing_spline`; None
                does not smooth.

        Raises:
            InvalidArgumentError: There are fewer than 3 configurations (5 with smoothing), sizes do not fit, numbers
                are not finite, or times are not evenly spaced.
        """
        check_instance("robot", robot, Robot, "use load_robot")
        recorded = as_numbers("positions", positions)
        least = 3 if smoothing is None else 5
        if recorded.ndim != 2 or len(recorded) < least:
            raise InvalidArgumentError(
                f"positions: expected at least {least} rows of {robot.nq} numbers, got shape {recorded.shape}; record "
                "more configurations, because an acceleration needs three of them"
            )
        q = _normal(robot, check_array("positions", recorded, (len(recorded), robot.nq)))
        at, dt = _grid(times, len(q))
        if smoothing is not None:
            q = _smoothed(robot, q, at, smoothing)
        d = np.array([pin.difference(robot.model, *pair) for pair in itertools.pairwise(q)])
        a = (d[1:] - d[:-1]) / dt**2
        if differences == "forward":
            inner, v = slice(None, -2), d[:-1] / dt
        elif differences in ("central", "euler"):
            inner, v = slice(1, -1), (d[:-1] if differences == "euler" else 0.5 * (d[:-1] + d[1:])) / dt
        else:
            raise unknown_name("differences", differences, ("central", "euler", "forward"))
        return Motion(robot=robot, times=at[inner], positions=q[inner], velocities=v, accelerations=a)


def _grid(times: npt.ArrayLike, count: int) -> tuple[Reals, float]:
    """Times (count,) and their step, both [s]."""
    if shape_of(times) == ():
        dt = check_positive("times", times, unit="s")
        return dt * np.arange(count, dtype=float), dt
    at = _ascending(times, count, "one time for each configuration, or only the time step")
    steps = np.diff(at)
    dt = float(steps.mean())
    if np.abs(steps - dt).max() > EVEN * dt + 1e-12 * np.abs(at).max():
        raise InvalidArgumentError(
            f"times: expected an even step, got steps from {steps.min():g} to {steps.max():g} s; "
            "interpolate the configurations first (scipy.interpolate.make_interp_spline)"
        )
    return at, dt


def _ascending(times: npt.ArrayLike, count: int, cure: str) -> Reals:
    """Times (count,) [s]; raises InvalidArgumentError unless each is later than the one before."""
    at = check_array("times", times, (count,), cure=cure)
    for row in np.flatnonzero(np.diff(at) <= 0)[:1]:
        raise InvalidArgumentError(f"times: expected ascending times, got {at[row + 1]:g} s after {at[row]:g} s")
    return at


def _rotations(robot: Robot) -> list[slice]:
    """Slices of coordinates that are unit vectors: quaternions (4,), and (cos, sin) of continuous joints (2,)."""
    parts = []
    for joint in robot.model.joints[1:]:
        start, (nq, nv) = joint.idx_q, (joint.nq, joint.nv)
        if (nq, nv) in ((7, 6), (4, 3)) and "Planar" not in joint.shortname():
            parts.append(slice(start + nq - 4, start + nq))
        elif nq == nv + 1:
            parts.append(slice(start + nq - 2, start + nq))
    return parts


def pin_norms(robot: Robot, q: Reals) -> Reals:
    """Norms of the rotations in configurations (N, nq), (N, number of rotations) [-]."""
    return np.array([np.linalg.norm(q[:, part], axis=1) for part in _rotations(robot)]).T.reshape(len(q), -1)


def _normal(robot: Robot, q: Reals) -> Reals:
    """Normalizes the rotations in configurations, and flips quaternions so that successive ones do not change sign."""
    q = q.copy()
    for part in _rotations(robot):
        size = np.linalg.norm(q[:, part], axis=1, keepdims=True)
        if np.abs(size - 1.0).max() > 0.1:
            row = int(np.abs(size - 1.0).argmax())
            raise InvalidArgumentError(
                f"positions[{row}]: expected a rotation of norm 1 in elements {part.start} to {part.stop - 1}, got "
                f"norm {size[row, 0]:g}; quaternions are (x, y, z, w), continuous joints (cos, sin)"
            )
        q[:, part] /= size
        if part.stop - part.start == 4:
            turns = np.sign(np.sum(q[1:, part] * q[:-1, part], axis=1))
            q[1:, part] *= np.cumprod(np.where(turns < 0, -1.0, 1.0))[:, None]
    return q


def _smoothed(robot: Robot, q: Reals, times: Reals, smoothing: Any) -> Reals:
    """Fits a smoothing spline to each coordinate; rotations are normalized again."""
    from scipy.interpolate import make_smoothing_spline  # takes 0.2 s, so it is imported only here

    if isinstance(smoothing, str) and smoothing != "auto":
        raise unknown_name("smoothing", smoothing, ("auto",))
    lam = None if smoothing == "auto" else check_non_negative("smoothing", smoothing, unit="s³")
    columns = []
    for column in q.T:
        still = np.ptp(column) < 1e-12  # cross-validation needs variation
        columns.append(column if still else make_smoothing_spline(times, column, lam=lam)(times))
    return _normal(robot, np.array(columns).T)
