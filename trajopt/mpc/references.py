"""Parameter values that change over time: references of one parameter, and schedules of several parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from trajopt.checks import all_finite, as_numbers, check_array, check_flag, check_mapping, check_positive
from trajopt.errors import InvalidArgumentError, TrajoptError, function_raised, shown
from trajopt.objects.immutable import Immutable
from trajopt.types import Reals

ROUNDING = 1e-9  # times that differ by less count as equal [s]

Check = Callable[[str, Any], Reals]
"""Function that takes the argument's name and a parameter value, checks the value and returns it as a vector."""


def check_times(argument: str, times: Any) -> Reals:
    """Checks ascending times and returns them, (n,) with n >= 1 [s]."""
    checked = as_numbers(argument, times, "times [s]")
    if checked.ndim != 1 or not checked.size or not np.all(np.isfinite(checked)) or np.any(np.diff(checked) <= 0.0):
        raise InvalidArgumentError(f"{argument}: expected finite ascending times (n,) [s], got {shown(times)}")
    return checked


class FunctionReference:
    """Reference from a function of time.

    Args:
        name: Name of the parameter.
        function: Function from a time [s] to a value of the parameter.
        check: Check of a value.
        shape: Shape of a value for which any finite numbers are valid; None if each value needs the check.
    """

    def __init__(
        self, name: str, function: Callable[[float], Any], check: Check, shape: tuple[int, ...] | None
    ) -> None:
        self._name, self._function, self._check, self._shape = name, function, check, shape

    def cover(self, first: float, last: float) -> None:
        """Does nothing: a function covers all times."""

    def at(self, times: Reals) -> Reals:
        """Values at times (n,) [s], shape (n, size)."""
        values = []
        for t in times.tolist():
            try:
                values.append(self._function(t))
            except Exception as error:
                raise function_raised(f"{self._name} at {t:g} s", error) from error
        if self._shape is not None:
            try:  # one conversion of all values: checking each takes 8 us
                array = np.array(values, dtype=np.float64)
            except (TypeError, ValueError):
                array = np.zeros(0)
            if array.shape == (len(times), *self._shape) and all_finite(array):
                return array.reshape(len(times), -1)
        return np.array([self._check(f"{self._name} at {t:g} s", value) for t, value in zip(times, values)])


class ArrayReference:
    """Reference from samples, with linear interpolation or constant values between them.

    Args:
        name: Name of the parameter.
        times: Times of the samples (n,), ascending [s].
        values: The samples (n, ...).
        check: Check of a value.
        interpolate: True to interpolate linearly, False to keep each sample until the next one.
        hold: Whether to use the first and the last sample before and after the samples.
    """

    def __init__(
        self, name: str, times: Any, values: Any, check: Check, *, interpolate: bool = True, hold: bool = False
    ) -> None:
        self._name, self._times = name, check_times(f"{name}: times", times)
        several = isinstance(values, (list, tuple)) or (isinstance(values, np.ndarray) and values.ndim > 0)
        if not several or len(values) != len(self._times):
            count = len(values) if several else shown(values)
            raise InvalidArgumentError(f"{name}: expected one value for each of {len(self._times)} times, got {count}")
        self._interpolate, self._hold = check_flag("interpolate", interpolate), check_flag("hold", hold)
        self._values = np.array([check(f"{name} at {t:g} s", value) for t, value in zip(self._times, values)])
        if self._interpolate:
            self._check_between(check, values)

    def _check_between(self, check: Check, values: Any) -> None:
        """Raises InvalidArgumentError if the mean of two samples is not a valid value, as for rotations."""
        for i in range(len(self._times) - 1):
            try:
                check("value", 0.5 * (np.asarray(values[i], dtype=np.float64) + np.asarray(values[i + 1])))
            except (TrajoptError, TypeError, ValueError):
                raise InvalidArgumentError(
                    f"{self._name}: cannot interpolate linearly between the values at {self._times[i]:g} s and "
                    f"{self._times[i + 1]:g} s; pass interpolate=False, or a function of time"
                ) from None

    def cover(self, first: float, last: float) -> None:
        """Raises InvalidArgumentError unless the samples cover the times from `first` to `last` [s]."""
        times = self._times
        if self._hold or (times[0] <= first + ROUNDING and times[-1] >= last - ROUNDING):
            return
        raise InvalidArgumentError(
            f"{self._name}: expected samples from {first:g} s to {last:g} s, as the window needs them, got samples "
            f"from {times[0]:g} s to {times[-1]:g} s; add samples, or pass hold=True to keep the last value"
        )

    def at(self, times: Reals) -> Reals:
        """Values at times (n,) [s], shape (n, size)."""
        own, values = self._times, self._values
        before = np.clip(np.searchsorted(own, times + ROUNDING, side="right") - 1, 0, len(own) - 1)
        if not self._interpolate or len(own) == 1:
            return values[before]
        before = np.minimum(before, len(own) - 2)
        part = np.clip((times - own[before]) / (own[before + 1] - own[before]), 0.0, 1.0)[:, None]
        return (1.0 - part) * values[before] + part * values[before + 1]


class ParameterSchedule(Immutable):
    """Piecewise constant values of parameters over time, optionally periodic; callable with times.

    Args:
        times: Time at which each row begins (n,), ascending [s].
        values: Rows by parameter name, (n, *shape) each.
        period: Period with which the rows repeat [s], longer than the time from the first to the last row. None for no
            repetition: then the first row holds before its time, and the last row for ever.
        advance: Values that are added to a parameter in each period, by name, such as the stride to positions of feet.
            None for no change.
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
        rows_of = check_mapping("values", values, "such as {'contacts.foot.active': [1, 1, 0, 0]}")
        self.values: dict[str, Reals] = {name: as_numbers(f"values[{name!r}]", rows) for name, rows in rows_of.items()}
        for name, rows in self.values.items():
            if not rows.ndim or len(rows) != len(self.times):
                raise InvalidArgumentError(
                    f"values[{name!r}]: expected one row for each of {len(self.times)} times, got shape {rows.shape}"
                )
        self.period = None if period is None else check_positive("period", period, unit="s")
        if self.period is not None and self.period <= self.times[-1] - self.times[0]:
            raise InvalidArgumentError(
                f"period: expected more than {self.times[-1] - self.times[0]:g} s, the time from the first row to the "
                f"last one, got {self.period:g} s"
            )
        self.advance = self._advances({} if advance is None else advance)

    def _advances(self, advance: Mapping[str, Any]) -> dict[str, Reals]:
        steps = check_mapping("advance", advance, "such as {'foot_track.reference': [0.2, 0, 0]}")
        if steps and self.period is None:
            raise InvalidArgumentError("advance: expected a period with it, as it is added once a period; pass period")
        for name in steps:
            if name not in self.values:
                raise InvalidArgumentError(f"advance: expected names in values: {', '.join(self.values)}, got {name!r}")
        return {
            name: check_array(f"advance[{name!r}]", value, self.values[name].shape[1:]) for name, value in steps.items()
        }

    def __call__(self, times: Reals) -> dict[str, Reals]:
        """Rows at times (n,) [s] by parameter name, (n, *shape) each."""
        at, turns = times + ROUNDING, np.zeros(len(times))
        if self.period is not None:
            turns = np.floor((at - self.times[0]) / self.period)
            at = at - turns * self.period
        row = np.clip(np.searchsorted(self.times, at, side="right") - 1, 0, len(self.times) - 1)
        rows = {name: values[row] for name, values in self.values.items()}
        for name, stride in self.advance.items():
            rows[name] = rows[name] + turns.reshape(-1, *[1] * stride.ndim) * stride
        return rows
