"""Constraint rows of all knots: bounds, weights of slacks, and checks before a solve."""

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
HELD = 1e-6  # smaller violations count as satisfied

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class RowValues:
    """Bounds of all constraint rows and weights of their slacks, for one set of parameter values.

    Attributes:
        read: The parameter values that they follow from.
        lower: Lower bounds (T + 1, nc), -inf for no bound.
        upper: Upper bounds (T + 1, nc), inf for no bound.
        linear: Linear weights of slacks (T + 1, nc), inf for hard rows.
        quadratic: Quadratic weights of slacks (T + 1, nc), 0 for hard rows.
        valid: True if lower <= upper and each slack has a positive weight.
    """

    read: Reals
    lower: Reals
    upper: Reals
    linear: Reals
    quadratic: Reals
    valid: bool


class RowTable:
    """Bounds of all constraint rows and weights of their slacks, updated only when a parameter has changed.

    Args:
        kinds: Kinds of the knots.
        table: Parameter values, one row for each knot 0..T; it is read at each call.

    Attributes:
        nc: Largest number of rows of a knot [-].
    """

    def __init__(self, kinds: Sequence[Kind], table: Reals) -> None:
        self._kinds, self._table = list(kinds), table
        self.nc = max(kind.nc for kind in kinds)
        self._last: RowValues | None = None
        self._softened: tuple[float, float] | None = None
        self._ignored = np.zeros(self.nc, dtype=np.bool_)

    @functools.cached_property
    def given_rows(self) -> npt.NDArray[np.bool_]:
        """Mask (nc,) of the rows of knot 0 that depend on x0 only, so that no solver can change them."""
        mask = np.zeros(self.nc, dtype=np.bool_)
        for kind in self._kinds:
            if 0 in kind.knots and kind.nc and not kind.terminal:
                mask[: kind.nc] = kind.model.rows_free_of_control
        return mask

    def now(self) -> RowValues:
        """Returns bounds and slack weights of all rows for the current parameters; do not write into them."""
        last, read = self._last, self._table.take(self._read)
        if last is None or not np.array_equal(last.read, read):
            last = self._last = self._gathered(read)
        return last

    @functools.cached_property
    def _read(self) -> Ints:
        """Flat indices into the table of the values that bounds and weights follow from."""
        mask = np.zeros(self._table.shape, dtype=np.bool_)
        for kind in self._kinds:
            for name in kind.row_sizes():
                for key in KEYS:
                    if f"{name}.{key}" in kind.layout.slices:
                        mask[list(kind.knots), kind.layout.slices[f"{name}.{key}"]] = True
        return np.flatnonzero(mask)

    def bounds(self) -> tuple[Reals, Reals]:
        """Current lower and upper bounds (T + 1, nc); new arrays."""
        now = self.now()
        return now.lower.copy(), now.upper.copy()

    def softness(self) -> tuple[Reals, Reals]:
        """Current linear and quadratic weights of slacks (T + 1, nc); new arrays."""
        now = self.now()
        return now.linear.copy(), now.quadratic.copy()

    def _gathered(self, read: Reals) -> RowValues:
        table = self._table.copy()  # first, since another thread may set parameters meanwhile
        lower, upper, linear, quadratic = (each.of(table) for each in self._selections)
        if self._softened is not None:
            hard = self.free & np.isinf(linear)
            linear[hard], quadratic[hard] = self._softened
        if self._at_stages.any():
            single = self._single(lower, upper) & self._at_stages
            lower[:-1][single], upper[:-1][single] = -np.inf, np.inf
        lower[0, self._ignored], upper[0, self._ignored] = -np.inf, np.inf
        valid = not (np.any(lower > upper) or np.any((linear == 0.0) & (quadratic == 0.0)))
        return RowValues(read, lower, upper, linear, quadratic, valid)

    @functools.cached_property
    def _selections(self) -> list[_Selection]:
        """Selections for lower bounds, upper bounds, linear and quadratic weights, found with a table of indices."""
        places: Reals = np.arange(1.0, self._table.size + 1.0, dtype=np.float64).reshape(self._table.shape)
        bounds = _gathered(self._kinds, places, self.nc, Kind.row_bounds, (-np.inf, np.inf))
        weights = _gathered(self._kinds, places, self.nc, Kind.row_softness, (np.inf, 0.0))
        return [_Selection.seen(values) for values in (*bounds, *weights)]

    @functools.cached_property
    def free(self) -> npt.NDArray[np.bool_]:
        """Mask (T + 1, nc) of the rows of constraints that read no control."""
        free = np.zeros((len(self._table), self.nc), dtype=np.bool_)
        for kind in self._kinds:
            free[list(kind.knots), : kind.nc] = True if kind.terminal else kind.model.rows_of_states
        return free

    @functools.cached_property
    def _at_stages(self) -> npt.NDArray[np.bool_]:
        """Mask (T, nc) of the rows at later stages of integrators."""
        mask = np.zeros((len(self._table) - 1, self.nc), dtype=np.bool_)
        for kind in self._kinds[:-1]:
            mask[list(kind.knots), : kind.nc] = np.repeat([bool(b.place) for b in kind.row_blocks], _sizes(kind))
        return mask

    @functools.cached_property
    def _next(self) -> Ints:
        """Row of the same constraint and number at the next knot (T, nc); -1 where the next knot has none."""
        found = np.full((len(self._table) - 1, self.nc), -1, dtype=np.int64)
        kind_of = {t: kind for kind in self._kinds for t in kind.knots}
        pairs = {t: (kind_of[t], kind_of[t + 1]) for t in range(len(found))}
        rows = {pair: _same_rows(*pair) for pair in set(pairs.values())}
        for t, pair in pairs.items():
            found[t, : pair[0].nc] = rows[pair]
        return found

    def single_equations(self) -> npt.NDArray[np.bool_]:
        """Mask (T, nc) of equations on the state of a knot alone: the next knot has no bounds of that constraint."""
        now = self.now()
        return self._single(now.lower, now.upper)

    def _single(self, lower: Reals, upper: Reals) -> npt.NDArray[np.bool_]:
        equation = (lower == upper) & np.isfinite(lower) & self.free
        bounded, at = np.isfinite(lower) | np.isfinite(upper), np.arange(1, len(lower))[:, None]
        single: npt.NDArray[np.bool_] = equation[:-1] & ~((self._next >= 0) & bounded[at, self._next])
        return single

    def soften(self, weights: tuple[float, float] | None) -> None:
        """Gives slacks to hard rows of constraints that read no control, so that a state may violate them.

        Args:
            weights: Linear and quadratic weight of a slack [cost per unit of the row, and per its square]; None makes
                these rows hard again.
        """
        self._softened, self._last = weights, None

    def ignore(self, rows: npt.NDArray[np.bool_]) -> None:
        """Removes the bounds of rows of knot 0, a mask (nc,); those of other rows are restored."""
        self._ignored, self._last = rows.copy(), None

    def check(self) -> None:
        """Checks values that may have changed since the models were built.

        Raises:
            InvalidArgumentError: A lower bound exceeds the upper one, or a soft row has no weight; the message names
                the constraint and the knot.
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
            together = len(crossed) > 1 and crossed == list(range(crossed[0], crossed[-1] + 1))
            knots = range(crossed[0], crossed[-1] + 1) if together else crossed if len(crossed) > 1 else crossed[0]
            raise InvalidArgumentError(
                f"constraint {name} at knot {t}: expected lower <= upper, got {low:g} and {high:g}; raise "
                f"{which}.upper to at least {low:g}, or lower {which}.lower to at most {high:g}: problem.set_parameter("
                f"'{which}.upper', value, knots={knots})"
            )
        for t, row in np.argwhere((now.linear == 0.0) & (now.quadratic == 0.0)):
            which = _name(self._kinds, t, row).split("[")[0]
            raise InvalidArgumentError(
                f"constraint {which!r} at knot {t}: expected a linear or quadratic slack weight > 0, got 0 and 0; set "
                "a weight, or infinite bounds to switch the row off"
            )

    def warn_of_given(self, rows: Reals) -> None:
        """Warns of equations at knot 0 that x0 violates.

        Args:
            rows: Rows at knot 0 (nc,).
        """
        now = self.now()
        lower, upper = now.lower[0], now.upper[0]
        beyond = self.given_rows & (lower == upper) & ~(np.abs(rows - lower) < HELD)
        for row in np.flatnonzero(beyond):
            _logger.warning(
                "x0: constraint %s is %g at knot 0 but should be %g; it depends on x0 only, so it cannot be enforced",
                _name(self._kinds, 0, int(row)),
                rows[row],
                lower[row],
            )


@dataclass(frozen=True, eq=False)
class _Selection:
    """Array whose entries are selected from the table of parameters; some entries are fixed at infinity or 0.

    Attributes:
        otherwise: Array (T + 1, nc) with the fixed entries.
        at: Flat indices of the selected entries in this array.
        source: Flat indices of their values in the table.
    """

    otherwise: Reals
    at: Ints
    source: Ints

    @classmethod
    def seen(cls, entries: Reals) -> _Selection:
        """Finds the selection from entries (T + 1, nc) that were gathered from a table of indices, counted from 1."""
        selected = np.isfinite(entries) & (entries > 0.0)
        at = np.flatnonzero(selected)
        return cls(entries, at, entries.ravel()[at].astype(np.int64) - 1)

    def of(self, table: Reals) -> Reals:
        """Fills in the values from a table; returns a new array (T + 1, nc)."""
        values = self.otherwise.copy()
        values.reshape(-1)[self.at] = table.take(self.source)
        return values


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


def _sizes(kind: Kind) -> list[int]:
    return [block.size for block in kind.row_blocks]


def _same_rows(kind: Kind, after: Kind) -> Ints:
    """Row of `after`, at its knots, of the constraint and number of each row of a kind (nc,); -1 where it has none."""
    first = np.cumsum([0, *_sizes(after)])
    places = {(b.name, i): int(start) + i for b, start in zip(after.row_blocks, first) for i in range(b.size)}
    rows = [places.get((b.constraint, i), -1) for b in kind.row_blocks for i in range(b.size)]
    return np.array(rows, dtype=np.int64)


def _name(kinds: Sequence[Kind], t: int, row: int) -> str:
    """Name of a constraint row, such as "tool[2]"."""
    kind = next(kind for kind in kinds if t in kind.knots)
    return kind.model.row_names[row]
