"""Durations of the phases of a gait as unknowns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from trajopt.checks import as_numbers, check_instance, check_positive
from trajopt.errors import InvalidArgumentError, shown
from trajopt.shooting import ShootingProblem

if TYPE_CHECKING:
    from trajopt.gaits.schedule import ContactSchedule


ROUNDING = 1e-9  # relative error of a duration that equals its bound


@dataclass(frozen=True)
class FreeTime:
    """Bounds of the durations of phases, within which a solver chooses; the knots of a phase share a time step.

    Paths of feet and of the centre of mass stretch with their phase. Knots and contacts stay, and so do gains of
    contacts, which belong to the schedule's time step: in steps twice as long feet on the ground swing, and in longer
    ones their error grows. For longer phases pass `GaitOptions(gains=holding_gains(longest_step))`.

    Attributes:
        lower: Shortest duration [s], > 0; one for all phases, or one for each phase that has a duration, as all but a
            last phase of a single knot have.
        upper: Longest duration [s] in the same form; equal to `lower` for a phase that keeps its duration.
        total: Duration of the whole gait [s], such as `schedule.duration` to compare rhythms; by default it is free.

    Raises:
        InvalidArgumentError: A bound is not a number or a list of numbers, lower ones are not positive or exceed upper
            ones, or `total` is not a positive number.
    """

    lower: float | Sequence[float]
    upper: float | Sequence[float]
    total: float | None = None

    def __post_init__(self) -> None:
        for name in ("lower", "upper"):
            value = as_numbers(name, getattr(self, name), "one duration or one for each phase")
            if value.ndim > 1 or np.isnan(value).any():
                raise InvalidArgumentError(
                    f"{name}: expected one number or one for each phase [s], got {shown(getattr(self, name))}"
                )
            object.__setattr__(self, name, tuple(value.tolist()) if value.ndim else float(value))
        lower, upper = np.array(self.lower), np.array(self.upper)
        if not np.all(lower > 0.0):
            raise InvalidArgumentError(
                f"lower: expected durations > 0 [s], got {shown(self.lower)}, with which time could stand still; write "
                "for example FreeTime(0.05, 1.0)"
            )
        if (lower.ndim == 0 or upper.shape in ((), lower.shape)) and np.any(lower > upper):
            raise InvalidArgumentError(
                f"lower: expected lower <= upper [s], got {shown(self.lower)} and {shown(self.upper)}; swap the two"
            )
        if self.total is not None:
            object.__setattr__(self, "total", check_positive("total", self.total, unit="s"))


def free_times(timing: FreeTime, problem: ShootingProblem, schedule: ContactSchedule) -> None:
    """Makes the time steps "dt" of a gait's problem unknown, one for each phase of its schedule.

    Raises:
        InvalidArgumentError: There are not as many bounds as phases with a duration, or the schedule has a phase
            outside of its bounds.
    """
    timed, phase = ~schedule.touchdowns[:-1], schedule.phase_of_knot[:-1]
    knots = {i: ts.tolist() for i in range(len(schedule.phases)) if (ts := np.flatnonzero(timed & (phase == i))).size}
    steps = np.array([len(each) for each in knots.values()])
    bounds = [_bound(name, getattr(timing, name), len(steps)) for name in ("lower", "upper")]
    for i, count, low, high in zip(knots, steps, *bounds):
        duration = count * schedule.dt
        if not low * (1.0 - ROUNDING) <= duration <= high * (1.0 + ROUNDING):
            raise InvalidArgumentError(
                f"timing: expected bounds around the first guess, got {low:g} to {high:g} s for phase "
                f"{schedule.phases[i].name!r}, which lasts {duration:g} s; widen them, or change its knots"
            )
    lower, upper = (bound / steps for bound in bounds)
    guess = np.clip(schedule.dt, lower, upper)
    problem.free("dt", lower, upper, guess, knots=list(knots.values()), total=timing.total)


def _bound(name: str, value: float | Sequence[float], count: int) -> npt.NDArray[np.float64]:
    """A bound of each phase (count,) [s]."""
    if np.shape(value) not in ((), (count,)):
        cure = f"one number or {count}, one for each phase"
        raise InvalidArgumentError(f"timing: {name}: expected {cure} [s], got {shown(value)}")
    return np.array(np.broadcast_to(value, count))


def check_timing(timing: FreeTime | None) -> FreeTime | None:
    """Returns `timing`; raises InvalidArgumentError unless it is a FreeTime or None."""
    return None if timing is None else check_instance("timing", timing, FreeTime, "use FreeTime(0.1, 1.0)")
