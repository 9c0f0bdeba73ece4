"""Constraint rows of all knots: bounds, weights of slacks, and what a solve can't start with."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trajopt.errors import InvalidArgumentError
from trajopt.shooting.kinds import Kind
from trajopt.types import Ints, Reals

KEYS = ("lower", "upper", "linear", "quadratic")  # parameters of a constraint
HELD = 1e-6  # violations below it count as held

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class RowValues:
    """Bounds of all rows and weights of their slacks, for parameter values as they were.

    Attributes:
        read: The parameter values that they follow from.
        lower: Lower bounds (T + 1, nc), -inf where there is none.
        upper: Upper bounds (T + 1, nc), inf where there is none.
        linear: Linear weights of slacks (T + 1, nc), inf of hard rows.
        quadratic: Quadratic weights of slacks (T + 1, nc), 0 of hard rows.
        valid: Whether bounds leave room, and slacks cost something.
    """

    read: Reals
    lower: Reals
    upper: Reals
    linear: Reals
    quadratic: Reals
    valid: bool


class RowTable:
    """Bounds of all rows and weights of their slacks, gathered anew only when a parameter has changed.

    Args:
        kinds: The kinds of the knots.
        table: Parameter values, one row for each of 0..T; it is read at each call.

    Attributes:
        nc: Largest number of rows of a knot [-].
    """

    def __init__(self, kinds: Sequence[Kind], table: Reals) -> None:
        self._kinds, self._table = list(kinds), table
        self.nc = max(kind.nc for kind in kinds)
        self._last: RowValues | None = None
        self._softened: tuple[float, float] | None = None

    @functools.cached_property
    def given(self) -> npt.NDArray[np.bool_]:
        """Mask (nc,) of the rows of knot 0 that follow from x0 alone, so that no solver can do anything about them."""
        given = np.zeros(self.nc, dtype=np.bool_)
        for kind in self._kinds:
            if 0 in kind.knots and kind.nc and not kind.terminal:
                given[: kind.nc] = kind.model.rows_free_of_control
        return given

    def now(self) -> RowValues:
        """Those of the parameter values as they are now; not to be written into."""
        last, read = self._last, self._table.take(self._read)
        if last is None or not np.array_equal(last.read, read):
            last = self._last = self._gathered(read)
        return last

    @functools.cached_property
    def _read(self) -> Ints:
        """Places of the values that bounds and weights follow from, in the table as one row."""
        mask = np.zeros(self._table.shape, dtype=np.bool_)
        for kind in self._kinds:
            for name in kind.row_sizes():
                for key in KEYS:
                    if f"{name}.{key}" in kind.layout.slices:
                        mask[list(kind.knots), kind.layout.slices[f"{name}.{key}"]] = True
        return np.flatnonzero(mask)

    def bounds(self) -> tuple[Reals, Reals]:
        """Lower and upper bounds (T + 1, nc) as they are now; new arrays."""
        now = self.now()
        return now.lower.copy(), now.upper.copy()

    def softness(self) -> tuple[Reals, Reals]:
        """Linear and quadratic weights of slacks (T + 1, nc) as they are now; new arrays."""
        now = self.now()
        return now.linear.copy(), now.quadratic.copy()

    def _gathered(self, read: Reals) -> RowValues:
        table = self._table.copy()  # first: another thread may set parameters meanwhile
        lower, upper, linear, quadratic = (each.of(table) for each in self._selections)
        if self._softened is not None:
            hard = self.free & np.isinf(linear)
            linear[hard], quadratic[hard] = self._softened
        valid = not (np.any(lower > upper) or np.any((linear == 0.0) & (quadratic == 0.0)))
        return RowValues(read, lower, upper, linear, quadratic, valid)

    @functools.cached_property
    def _selections(self) -> list[_Selection]:
        """Those of lower and upper bounds, linear and quadratic weights, as they show on a table of places."""
        places: Reals = np.arange(1.0, self._table.size + 1.0, dtype=np.float64).reshape(self._table.shape)
        bounds = _gathered(self._kinds, places, self.nc, Kind.row_bounds, (-np.inf, np.inf))
        weights = _gathered(self._kinds, places, self.nc, Kind.row_softness, (np.inf, 0.0))
        return [_Selection.seen(found) for found in (*bounds, *weights)]

    @functools.cached_property
    def free(self) -> npt.NDArray[np.bool_]:
        """Mask (T + 1, nc) of the rows that are free of the control."""
        free = np.zeros((len(self._table), self.nc), dtype=np.bool_)
        for kind in self._kinds:
            free[list(kind.knots), : kind.nc] = True if kind.terminal else kind.model.rows_free_of_control
        return free

    def soften(self, weights: tuple[float, float] | None) -> None:
        """From now on hard rows that are free of the control have slacks: a state may violate them.

        Args:
            weights: Linear and quadratic weight of a slack [cost by unit of the row, and by its square]; None to have
                them hard again.
        """
        self._softened, self._last = weights, None

    def check(self) -> None:
        """Checks values that may have changed since the models were built.

        Raises:
            InvalidArgumentError: Bounds cross, or a soft row costs nothing; the message names constraint and knot.
        """
        now = self.now()
        if now.valid:
            return
        for t, row in np.argwhere(now.lower > now.upper):
            name = _name(self._kinds, t, row)
            which = name.split("[")[0]
            crossed = [int(k) for k in np.flatnonzero(now.lower[:, row] > now.upper[:, row])]
            crossed = [k for k in crossed if _name(self._kinds, k, row) == name]
            low, high = now.lower[t, row], now.upper[t, row]
            raise InvalidArgumentError(
                f"constraint {name} at knot {t}: expected lower <= upper, got {low:g} and {high:g}; raise "
                f"{which}.upper to at least {low:g}, or lower {which}.lower to at most {high:g}: problem.set_parameter("
                f"'{which}.upper', value, knots={crossed[0] if len(crossed) == 1 else crossed})"
            )
        for t, row in np.argwhere((now.linear == 0.0) & (now.quadratic == 0.0)):
            which = _name(self._kinds, t, row).split("[")[0]
            raise InvalidArgumentError(
                f"constraint {which!r} at knot {t}: expected a linear or a quadratic weight > 0 of its slack, got 0 "
                "and 0; infinite bounds switch a row off"
            )

    def warn_of_given(self, rows: Reals) -> None:
        """Warns of equations at knot 0 that x0 violates.

        Args:
            rows: Rows at knot 0 (nc,).
        """
        now = self.now()
        lower, upper = now.lower[0], now.upper[0]
        beyond = self.given & (lower == upper) & ~(np.abs(rows - lower) < HELD)
        for row in np.flatnonzero(beyond):
            _logger.warning(
                "x0: constraint %s is %g at knot 0 and should be %g; the state is given there, so that the equation is "
                "not enforced",
                _name(self._kinds, 0, int(row)),
                rows[row],
                lower[row],
            )


@dataclass(frozen=True, eq=False)
class _Selection:
    """Values that are entries of the table of parameters, but for some that are infinite or 0.

    Attributes:
        otherwise: Values (T + 1, nc), of which entries of the table are to be filled in.
        at: Places of these, as in one row.
        source: Places in the table, as in one row.
    """

    otherwise: Reals
    at: Ints
    source: Ints

    @classmethod
    def seen(cls, found: Reals) -> _Selection:
        """That of values (T + 1, nc) gathered from a table of places, counted from 1."""
        selected = np.isfinite(found) & (found > 0.0)
        at = np.flatnonzero(selected)
        return cls(found, at, found.ravel()[at].astype(np.int64) - 1)

    def of(self, table: Reals) -> Reals:
        """The values for a table, a new array (T + 1, nc)."""
        found = self.otherwise.copy()
        found.reshape(-1)[self.at] = table.take(self.source)
        return found


def _gathered(
    kinds: Sequence[Kind],
    table: Reals,
    nc: int,
    values_of: Callable[[Kind, Reals], tuple[Reals, Reals]],
    otherwise: tuple[float, float],
) -> tuple[Reals, Reals]:
    first, second = (np.full((len(table), nc), value) for value in otherwise)
    for kind in kinds:
        knots = list(kind.knots)
        first[knots, : kind.nc], second[knots, : kind.nc] = values_of(kind, kind.rows(table))
    return first, second


def _name(kinds: Sequence[Kind], t: int, row: int) -> str:
    """Name of a row, such as "tool[2]"."""
    kind = next(kind for kind in kinds if t in kind.knots)
    return kind.model.row_names[row]
