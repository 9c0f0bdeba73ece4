"""Parameter values that move along with time: references by name, and schedules of many parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from trajopt.checks import all_finite, as_numbers, check_array, check_flag, check_mapping, check_positive
from trajopt.errors import InvalidArgumentError, TrajoptError, function_raised, shown
from trajopt.types import Reals

ROUNDING = 1e-9  # [s] by which a time may be below a sample's and still count as it

Check = Callable[[str, Any], Reals]
"""Checks one value of a parameter, the argument's name first, and gives it as a vector."""


def check_times(argument: str, times: Any) -> Reals:
    """Times (n,) that ascend [s], at least one."""
    found = as_numbers(argument, times, "times [s]")
    if found.ndim != 1 or not found.size or not np.all(np.isfinite(found)) or np.any(np.diff(found) <= 0.0):
        raise InvalidArgumentError(f"{argument}: expected finite times [s] that ascend, (n,), got {shown(times)}")
    return found


class FunctionReference:
    """Values of a function of time.

    Args:
        name: The parameter.
        function: From a time [s] to a value of the parameter.
        check: Checks a value.
        shape: Shape of a plain value, of which all that are finite are fine; None where each has to be checked.
    """

    def __init__(
        self, name: str, function: Callable[[float], Any], check: Check, shape: tuple[int, ...] | None
    ) -> None:
        self._name, self._function, self._check, self._shape = name, function, check, shape

    def cover(self, first: float, last: float) -> None:
        """A function is there at all times."""

    def at(self, times: Reals) -> Reals:
        """Values at times (n,) [s], (n, size)."""
        values = []
        for t in times.tolist():
            try:
                values.append(self._function(t))
            except Exception as error:
                raise function_raised(f"{self._name} at {t:g} s", error) from error
        if self._shape is not None:
            try:  # all at once: a check of each takes 8 us
                found = np.array(values, dtype=np.float64)
            except (TypeError, ValueError):
                found = np.zeros(0)
            if found.shape == (len(times), *self._shape) and all_finite(found):
                return found.reshape(len(times), -1)
        return np.array([self._check(f"{self._name} at {t:g} s", value) for t, value in zip(times, values)])


class ArrayReference:
    """Values between samples: linear, or those of the last sample.

    Args:
        name: The parameter.
        times: Times of the samples (n,), ascending [s].
        values: The samples (n, ...).
        check: Checks a value.
        interpolate: Whether values between samples are linear; otherwise those of the sample before.
        hold: Whether the first and the last sample hold before and after.
    """

    def __init__(
        self, name: str, times: Any, values: Any, check: Check, *, interpolate: bool = True, hold: bool = False
    ) -> None:
        self._name, self._times = name, check_times(f"{name}: times", times)
        if not isinstance(values, (list, tuple, np.ndarray)) or len(values) != len(self._times):
            count = len(values) if hasattr(values, "__len__") else shown(values)
            raise InvalidArgumentError(f"{name}: expected one value for each of {len(self._times)} times, got {count}")
        self._interpolate, self._hold = check_flag("interpolate", interpolate), check_flag("hold", hold)
        self._values = np.array([check(f"{name} at {t:g} s", value) for t, value in zip(self._times, values)])
        if self._interpolate:
            self._check_between(check, values)

    def _check_between(self, check: Check, values: Any) -> None:
        """Raises InvalidArgumentError where the middle between two samples is no value, such as of rotations."""
        for i in range(len(self._times) - 1):
            try:
                check("value", 0.5 * (np.asarray(values[i], dtype=np.float64) + np.asarray(values[i + 1])))
            except (TrajoptError, TypeError, ValueError):
                raise InvalidArgumentError(
                    f"{self._name}: values between {self._times[i]:g} s and {self._times[i + 1]:g} s can't be linear; "
                    "pass interpolate=False, which holds each value until the next one, or a function of time"
                ) from None

    def cover(self, first: float, last: float) -> None:
        """Raises InvalidArgumentError unless there are samples for all times from `first` to `last` [s]."""
        times = self._times
        if self._hold or (times[0] <= first + ROUNDING and times[-1] >= last - ROUNDING):
            return
        raise InvalidArgumentError(
            f"{self._name}: the reference goes from {times[0]:g} s to {times[-1]:g} s, and the window needs {first:g} "
            f"to {last:g} s; give it more samples, or hold=True to keep its last value"
        )

    def at(self, times: Reals) -> Reals:
        """Values at times (n,) [s], (n, size)."""
        own, values = self._times, self._values
        before = np.clip(np.searchsorted(own, times + ROUNDING, side="right") - 1, 0, len(own) - 1)
        if not self._interpolate or len(own) == 1:
            return values[before]
        before = np.minimum(before, len(own) - 2)
        part = np.clip((times - own[before]) / (own[before + 1] - own[before]), 0.0, 1.0)[:, None]
        return (1.0 - part) * values[before] + part * values[before + 1]


class ParameterSchedule:
    """Rows of parameters over time, each until the next one, once or again and again; a function of times.

    Args:
        times: Time at which each row begins (n,), ascending [s].
        values: Rows by the names of parameters, (n, *shape) each.
        period: Time after which the rows begin anew [s], at least that of the last row; None where they do not, then
            the first row holds before, the last one after.
        advance: What is added to a parameter with each period, by name, such as the stride to places of feet; none by
            default.
    """

    def __init__(
        self,
        times: Any,
        values: Mapping[str, Any],
        *,
        period: float | None = None,
        advance: Mapping[str, Any] | None = None,
    ) -> None:
        self.times = check_times("times", times)
        given = check_mapping("values", values, "such as {'contacts.foot.active': [1, 1, 0, 0]}")
        self.values: dict[str, Reals] = {name: as_numbers(f"values[{name!r}]", rows) for name, rows in given.items()}
        for name, rows in self.values.items():
            if not rows.ndim or len(rows) != len(self.times):
                raise InvalidArgumentError(
                    f"values[{name!r}]: expected one row for each of {len(self.times)} times, got shape {rows.shape}"
                )
        self.period = None if period is None else check_positive("period", period, unit="s")
        if self.period is not None and self.period <= self.times[-1] - self.times[0]:
            raise InvalidArgumentError(
                f"period: expected more than the time from the first row to the last one, "
                f"{self.times[-1] - self.times[0]:g} s, got {self.period:g}"
            )
        self.advance = self._advances({} if advance is None else advance)

    def _advances(self, advance: Mapping[str, Any]) -> dict[str, Reals]:
        given = check_mapping("advance", advance, "such as {'foot_track.reference': [0.2, 0, 0]}")
        if given and self.period is None:
            raise InvalidArgumentError("advance: there is no period with which it is added; give period")
        for name in given:
            if name not in self.values:
                raise InvalidArgumentError(f"advance: expected names of values, got {name!r}")
        return {
            name: check_array(f"advance[{name!r}]", value, self.values[name].shape[1:]) for name, value in given.items()
        }

    def __call__(self, times: Reals) -> dict[str, Reals]:
        """Rows by name at times (n,) [s], (n, *shape) each."""
        at, turns = times + ROUNDING, np.zeros(len(times))
        if self.period is not None:
            turns = np.floor((at - self.times[0]) / self.period)
            at = at - turns * self.period
        row = np.clip(np.searchsorted(self.times, at, side="right") - 1, 0, len(self.times) - 1)
        found = {name: values[row] for name, values in self.values.items()}
        for name, stride in self.advance.items():
            found[name] = found[name] + turns.reshape(-1, *[1] * stride.ndim) * stride
        return found
