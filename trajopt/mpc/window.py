"""The moving window of a controller: times of its knots, and parameters that change over time."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from trajopt.checks import check_mapping
from trajopt.errors import InvalidArgumentError, function_raised, shown
from trajopt.mpc.references import ArrayReference, FunctionReference
from trajopt.mpc.shift import SAME
from trajopt.shooting import ShootingProblem
from trajopt.shooting.knots import Index, index_of
from trajopt.types import Reals

_log = logging.getLogger(__name__)

Schedule = Callable[[Reals], Mapping[str, Any]]
"""Function from the times of all knots (N + 1,) [s] to rows (N + 1, *shape) by parameter name.

Its method `see(t, x)`, where it has one, gets each measured state.
"""

Places = tuple[Index, slice]
"""Knots, and the columns of a parameter in their rows."""


class Window:
    """Sets the parameters of a problem from references and schedules, evaluated at the absolute time of each knot.

    Args:
        problem: The problem.
        dt: Time between knots of a problem without time steps [s].

    Attributes:
        offsets: Time of each knot relative to the first one (N + 1,) [s].
        cost_offsets: Likewise the times of their costs, see `ShootingProblem.reference_times`.
    """

    def __init__(self, problem: ShootingProblem, dt: float | None) -> None:
        self._problem = problem
        self.offsets = self._times(problem, dt)
        own = problem.reference_times
        self.cost_offsets = self.offsets if own is None else own
        self._references: dict[str, FunctionReference | ArrayReference] = {}
        self._offsets: dict[str, Reals] = {}
        self._schedules: list[tuple[Schedule, str]] = []
        self._stored_places: dict[tuple[str, str], list[Places]] = {}

    @staticmethod
    def _times(problem: ShootingProblem, dt: float | None) -> Reals:
        times = problem.times
        if times is None:
            if dt is None:
                raise InvalidArgumentError(
                    "options.dt: expected a time [s], as the problem's knots have no time step; pass MPCOptions(dt=...)"
                )
            return dt * np.arange(problem.T + 1, dtype=np.float64)
        for knot in np.flatnonzero(np.diff(times) <= 0.0)[:1]:
            raise InvalidArgumentError(
                f"problem: expected knots of positive duration, got 0 s at knot {knot}, such as for an impulse; build "
                "the gait without impulses"
            )
        return times

    @property
    def duration(self) -> float:
        """Time from the first knot to the last one [s]."""
        return float(self.offsets[-1])

    def period(self, dt: float | None) -> float:
        """Time between measurements [s], by default the duration of the first knot; at most that of the window."""
        knot, dt = float(self.offsets[1]), float(self.offsets[1]) if dt is None else dt
        if dt > (1.0 + SAME) * self.duration:
            raise InvalidArgumentError(
                f"dt: expected at most the window's duration {self.duration:g} s, got {dt:g} s; use a smaller dt or "
                "more knots"
            )
        if dt > (1.0 + SAME) * knot:
            _log.warning(
                "dt: %g s is longer than the first knot, %g s, for which its control is planned: the loop may diverge; "
                "measure more often, or build the problem with longer knots",
                dt,
                knot,
            )
        return dt

    def follow(self, name: str, reference: Any, **how: bool) -> None:
        """Sets the reference of a parameter; None removes it."""
        if isinstance(reference, str) and not isinstance(name, str):
            raise InvalidArgumentError(
                f"name: expected the name of a parameter, got {shown(name)}; it comes first: "
                f"follow({reference!r}, function)"
            )
        table = self._problem.table
        table.places(name)  # raises for an unknown parameter
        if name == "dt":
            raise InvalidArgumentError("name: expected a parameter other than 'dt', as the times of knots are fixed")
        if reference is None:
            self._references.pop(name, None)
            return
        check, self._offsets[name] = partial(_checked, table.check, name), self._offsets_of(name)
        if callable(reference):
            self._references[name] = FunctionReference(name, reference, check, table.plain_shape(name))
        elif isinstance(reference, (list, tuple)) and len(reference) == 2:
            self._references[name] = ArrayReference(name, reference[0], reference[1], check, **how)
        else:
            raise InvalidArgumentError(
                f"reference: expected a function of time [s] or a pair (times, values), got {shown(reference)}; for a "
                f"constant value use controller.problem.set_parameter({name!r}, value)"
            )

    def schedule(self, table: Schedule, knots: str) -> None:
        """Adds a schedule for "all" or for "running" knots, after checking its values."""
        if not callable(table):
            raise InvalidArgumentError(
                f"table: expected a ParameterSchedule, or a function from times (N + 1,) to rows by name, got "
                f"{shown(table)}"
            )
        if not isinstance(knots, str) or knots not in ("all", "running"):
            raise InvalidArgumentError(f"knots: expected 'all' or 'running', got {shown(knots)}")
        self._scheduled(table, knots, self.offsets, checked=True)
        self._schedules.append((table, knots))

    def see(self, t: float, x: Reals) -> None:
        """Tells schedules with a method `see` a measured state (nx,) and its time [s]."""
        for table, _ in self._schedules:
            see = getattr(table, "see", None)
            if callable(see):
                try:
                    see(t, x.copy())
                except Exception as error:
                    raise function_raised("table.see", error) from error

    def check(self, first: float, last: float) -> None:
        """Raises InvalidArgumentError if a reference does not cover the times from `first` to `last` [s]."""
        for reference in self._references.values():
            reference.cover(first, last)

    def move(self, t: float) -> None:
        """Sets all parameters for a window that begins at time t [s]; sets none if a reference fails."""
        times = t + self.offsets
        self.check(t, float(times[-1]))
        values = self._problem.table.values
        settings = [pair for each, knots in self._schedules for pair in self._scheduled(each, knots, times)]
        for name, reference in self._references.items():
            rows = reference.at(t + self._offsets[name])
            settings += [(places, rows[places[0]]) for places in self._places(name, "all")]
        for places, rows in settings:
            values[places] = rows

    def first_row(self, t: float) -> Reals:
        """Parameters of the first knot, with references at its begin t [s], also of costs in the middle of its step."""
        row, slices = self._problem.table.values[0].copy(), self._problem.kinds[0].layout.slices
        for name, reference in self._references.items():
            if self._offsets[name][0] > 0.0 and name in slices:  # some exist at the end alone
                row[slices[name]] = reference.at(np.array([t]))[0]
        return row

    def _offsets_of(self, name: str) -> Reals:
        """Times relative to the first knot (N + 1,) at which a parameter is compared [s]."""
        stacks = [kind.model.model_parts.costs for kind in self._problem.kinds]
        of_costs = any(name.split(".")[0] == term.name for stack in stacks if stack for term in stack.terms)
        return self.cost_offsets if of_costs else self.offsets

    def _scheduled(
        self, table: Schedule, knots: str, times: Reals, *, checked: bool = False
    ) -> list[tuple[Places, Reals]]:
        """Places and rows that a schedule sets."""
        settings: list[tuple[Places, Reals]] = []
        try:
            rows_of = table(times)
        except Exception as error:
            raise function_raised("table", error) from error
        given = check_mapping("table: rows", rows_of, "return {'goal.weight': rows (N + 1,)}")
        arrays = {name: np.asarray(row_values, dtype=np.float64) for name, row_values in given.items()}
        if checked or not _is_plain(list(arrays.values()), len(times)):
            arrays = {name: self._checked_rows(name, row_values, times) for name, row_values in given.items()}
        for name, rows in arrays.items():
            if rows.ndim > 2:  # parameters are stored in column order
                rows = rows.transpose(0, *range(rows.ndim - 1, 0, -1))
            flat = rows.reshape(len(rows), -1)
            settings += [(places, flat[places[0]]) for places in self._places(name, knots)]
        return settings

    def _places(self, name: str, knots: str) -> list[Places]:
        """Places of a parameter, one pair for each kind of knots."""
        if (name, knots) not in self._stored_places:
            places = self._problem.table.places(name, knots)
            self._stored_places[name, knots] = [(index_of(ts), columns) for ts, columns in places]
        return self._stored_places[name, knots]

    def _checked_rows(self, name: str, rows: Any, times: Reals) -> Reals:
        if len(rows) != len(times):
            raise InvalidArgumentError(f"{name}: expected one row for each of {len(times)} knots, got {len(rows)}")
        for t, row in zip(times, rows):
            self._problem.table.check(name, row, f"{name} at {t:g} s")
        return np.asarray(rows, dtype=np.float64)


def _is_plain(arrays: list[Reals], count: int) -> bool:
    """Whether all arrays have `count` rows without NaN; one look at all of them, as each look takes 3 µs."""
    if not all(each.ndim and len(each) == count for each in arrays):
        return False
    flat = [each.reshape(count, -1) for each in arrays]
    return not flat or not math.isnan(np.concatenate(flat, axis=1).min(initial=np.inf))


def _checked(check: Callable[[str, Any, str], Reals], name: str, argument: str, value: Any) -> Reals:
    return check(name, value, argument)
