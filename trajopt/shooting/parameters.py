"""Run-time parameters of a problem by name, and their values: one row per knot."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trajopt.checks import shape_of, unwrapped
from trajopt.errors import InvalidArgumentError, TrajoptError, UnknownNameError, unknown_name
from trajopt.model.parameters import Parameter
from trajopt.robots.parameters import PREFIX, QUANTITIES
from trajopt.shooting.kinds import Kind
from trajopt.shooting.knots import Knots, describe, knot_numbers
from trajopt.shooting.row_values import RowTable
from trajopt.states.state_multibody import StateMultibody
from trajopt.types import Reals


@dataclass(frozen=True)
class ParameterInfo:
    """Description of a named parameter of a problem.

    Attributes:
        name: Name of the parameter.
        shape: Shape of its value at one knot; () for a number, None if it differs between knots.
        unit: Unit of the parameter.
        knots: Numbers of the knots that have it, from 0..T; T is the terminal knot.
    """

    name: str
    shape: tuple[int, ...] | None
    unit: str
    knots: tuple[int, ...]

    def __repr__(self) -> str:
        return f"ParameterInfo({self.name!r}, shape={self.shape}, unit={self.unit!r}, {describe(self.knots)})"


class ParameterTable:
    """Values of all parameters, one row per knot 0..T.

    Attributes:
        values: Array of shape (T + 1, largest number of scalars of a knot); it never moves.
        rows: Bounds and slack weights of the constraint rows, which follow from the values.
    """

    def __init__(self, kinds: Sequence[Kind], T: int) -> None:
        self._kinds = list(kinds)
        self._kind_of = {t: kind for kind in kinds for t in kind.knots}
        self._T = T
        width = max((sum(p.size for p in kind.parameters.values()) for kind in kinds), default=0)
        self.values: Reals = np.zeros((T + 1, max(width, 1)))
        for kind in kinds:
            for name, parameter in kind.parameters.items():
                self.values[list(kind.knots), kind.layout.slices[name]] = parameter.flat(parameter.default)
        self.rows = RowTable(kinds, self.values)

    @functools.cached_property
    def infos(self) -> dict[str, ParameterInfo]:
        """Descriptions of all parameters by name."""
        infos: dict[str, ParameterInfo] = {}
        for kind in self._kinds:
            for name, p in kind.parameters.items():
                info = infos.get(name, ParameterInfo(name, p.shape, p.unit, ()))
                shape = p.shape if info.shape == p.shape else None
                unit = p.unit if info.unit == p.unit else f"{info.unit} or {p.unit}"
                infos[name] = ParameterInfo(name, shape, unit, tuple(sorted((*info.knots, *kind.knots))))
        return infos

    def get(self, name: str, knots: Knots = None) -> Reals:
        """Value of a parameter, of its own shape if all these knots agree; else one per knot, (n, *shape)."""
        where = self._where(name, knots)
        values = [self._value(name, t) for t in where]
        for t, value in zip(where, values):
            if value.shape != values[0].shape:
                raise InvalidArgumentError(
                    f"knots: {name} has shape {values[0].shape} at knot {where[0]} and {value.shape} at knot {t}; "
                    "select knots where it has one shape"
                )
        rows = np.array(values)
        return rows[0] if np.all(rows == rows[0]) else rows

    def at(self, t: int) -> dict[str, Reals]:
        """Returns the current values of the parameters that knot t has, by name."""
        return {name: self._value(name, t) for name in self._kind_of[t].parameters}

    def snapshot(self) -> ParameterValues:
        """Current values of all parameters."""
        return ParameterValues(self._kinds, self.infos, self.values.copy())

    def load(self, table: Mapping[str, Reals]) -> None:
        """Sets parameters by name to tables of values; row i belongs to the i-th knot that has the parameter."""
        for name, info in self.infos.items():
            if (values := table.get(name)) is None:
                continue
            flat = _flattened(np.asarray(values, dtype=np.float64))[: len(info.knots)]
            where, has = np.array(info.knots[: len(flat)], dtype=int), np.zeros(len(self.values), dtype=bool)
            rows = np.empty((len(has), flat.shape[1]))
            rows[where], has[where] = flat, True
            for kind in self._kinds:
                if name in kind.parameters:
                    size = kind.parameters[name].size if info.shape is None else None
                    knots = [t for t in kind.knots if has[t]]
                    self.values[knots, kind.layout.slices[name]] = rows[knots, :size]

    def take(self, other: ParameterTable) -> None:
        """Takes values of another table, from its knot t for knot t, from its end for the end, where both have them."""
        for t, source in [*((t, t) for t in range(min(self._T, other._T))), (self._T, other._T)]:
            kind, like = self._kind_of[t], other._kind_of[source]
            for name, p in kind.parameters.items():
                if name in like.parameters and like.parameters[name].shape == p.shape:
                    self.values[t, kind.layout.slices[name]] = other.values[source, like.layout.slices[name]]

    def set(self, name: str, value: Any, knots: Knots = None) -> None:
        """Sets one value at these knots, or one value per knot if `value` is a sequence.

        If one value is wrong, no knot changes.
        """
        where = self._where(name, knots)
        first = self._kind_of[where[0]].parameters[name]
        plain = isinstance(value, (np.ndarray, list, tuple, float, int))
        value = value if plain or _fits(first, value) else unwrapped(value)
        if knots is None and not _is_sequence(first, value):
            self._refuse_if_different(name, where)
        for t, flat in zip(where, self._checked(name, value, where)):
            self.values[t, self._kind_of[t].layout.slices[name]] = flat

    def check(self, name: str, value: Any, argument: str) -> Reals:
        """Returns one value of a parameter as a checked flat vector; messages name `argument`.

        Raises:
            UnknownNameError: No knot has such a parameter.
            InvalidArgumentError: The value does not fit.
        """
        p = self._kind_of[self._where(name, None)[0]].parameters[name]
        return p.flat(p.check(argument, value))

    def plain_shape(self, name: str) -> tuple[int, ...] | None:
        """Shape (), (n,) of a parameter whose values are used as they are; None for converted values and matrices."""
        parameters = [kind.parameters[name] for kind in self._kinds if name in kind.parameters]
        plain = all(p.convert is None and p.shape == parameters[0].shape for p in parameters)
        return parameters[0].shape if plain and len(parameters[0].shape) < 2 else None

    def places(self, name: str, knots: Knots = None) -> list[tuple[list[int], slice]]:
        """Knots that have a parameter and the columns of its values, as one pair for each kind of knot."""
        where = self._where(name, knots)
        pairs = [([t for t in kind.knots if t in where], kind) for kind in self._kinds if name in kind.parameters]
        return [(ts, kind.layout.slices[name]) for ts, kind in pairs if ts]

    def _checked(self, name: str, value: Any, where: list[int]) -> list[Reals]:
        """Returns the flat value for each of these knots, checked by the knot's model."""
        if not _is_sequence(self._kind_of[where[0]].parameters[name], value):
            kinds = {id(self._kind_of[t]): self._kind_of[t].parameters[name] for t in where}
            flat = {key: p.flat(p.check(name, value)) for key, p in kinds.items()}
            return [flat[id(self._kind_of[t])] for t in where]
        if len(value) != len(where):
            extra = len(value) == self._T + 1 and where == list(range(self._T))
            shape = self._kind_of[where[0]].parameters[name].shape
            end = f"; {name} exists at the running knots 0..{self._T - 1} only" if extra else ""
            raise InvalidArgumentError(
                f"value: expected one value of {name}, or one for each of {len(where)} knots, got {len(value)} "
                f"values{end}{f'; one value has shape {shape}' if shape else ''}"
            )
        parameters = [self._kind_of[t].parameters[name] for t in where]
        return [p.flat(p.check(f"{name} at knot {t}", v)) for t, p, v in zip(where, parameters, value)]

    def _value(self, name: str, t: int) -> Reals:
        kind = self._kind_of[t]
        return kind.parameters[name].shaped(self.values[t, kind.layout.slices[name]])

    def _where(self, name: str, knots: Knots) -> list[int]:
        infos = self.infos
        if not isinstance(name, str) or name not in infos:
            self._refuse_undeclared(name)
            of_term = [each for each in infos if each.startswith(f"{name}.")]
            raise unknown_name("parameter", name, infos, suggest=of_term[:4])
        having = infos[name].knots
        if knots is None:
            return list(having)
        numbers = knot_numbers(knots, self._T)
        if isinstance(knots, str):
            numbers = [t for t in numbers if t in having]
        missing = [t for t in numbers if t not in having]
        if missing or not numbers:
            absent = describe(missing) if missing else f"any of {knots!r}"
            raise InvalidArgumentError(f"knots: {name} does not exist at {absent}; it exists at {describe(having)}")
        return numbers

    def _refuse_undeclared(self, name: Any) -> None:
        """Raises UnknownNameError for a quantity that the robot has, but not as a parameter."""
        state = self._kinds[0].model.state
        if isinstance(state, StateMultibody) and isinstance(name, str) and name.rpartition(".")[2] in QUANTITIES:
            short = name.removeprefix(PREFIX)
            try:
                state.robot.with_parameters(short)
            except TrajoptError:
                return
            raise UnknownNameError(
                f"parameter {name!r} not found; build the problem with robot.with_parameters({short!r}), then it is "
                f"{PREFIX + short!r}"
            )

    def _refuse_if_different(self, name: str, where: list[int]) -> None:
        """Raises InvalidArgumentError if values differ between running and terminal knots."""
        if self._T not in where or len(where) < 2:
            return
        terminal = self._value(name, self._T)
        for t in where[:-1]:
            running = self._value(name, t)
            if running.shape != terminal.shape or np.any(running != terminal):
                raise InvalidArgumentError(
                    f"{name} differs between running and terminal knots ({_brief(running)} at knot {t}, "
                    f"{_brief(terminal)} at the end); choose the knots to set: knots='running', 'terminal' or 'all'"
                )


class ParameterValues(Mapping[str, Reals]):
    """Values of all parameters by name at the time of construction, one row for each knot that has it; computed lazily.

    If the shape differs between knots, rows are flat and padded with NaN.

    Args:
        kinds: Kinds of the problem's knots.
        infos: Descriptions of the parameters.
        values: Table of values as in `ParameterTable`.
    """

    def __init__(self, kinds: Sequence[Kind], infos: Mapping[str, ParameterInfo], values: Reals) -> None:
        self._kinds, self._infos, self._values = kinds, infos, values

    def __getitem__(self, name: str) -> Reals:
        info = self._infos[name]
        kinds = [kind for kind in self._kinds if name in kind.parameters]
        rows = np.full((len(self._values), max(kind.parameters[name].size for kind in kinds)), np.nan)
        for kind in kinds:
            rows[kind.knots, : kind.parameters[name].size] = self._values[kind.knots, kind.layout.slices[name]]
        flat = rows[list(info.knots)]
        return flat if info.shape is None else _unflattened(flat, info.shape)

    def __iter__(self) -> Iterator[str]:
        return iter(self._infos)

    def __len__(self) -> int:
        return len(self._infos)

    def __repr__(self) -> str:
        return repr(dict(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return (dict, (dict(self),))


def _is_sequence(parameter: Parameter, value: Any) -> bool:
    """True if `value` is a sequence with one value per knot rather than a single value."""
    single = isinstance(value, np.ndarray) and value.ndim == 0
    if single or _fits(parameter, value) or not isinstance(value, (list, tuple, np.ndarray)) or len(value) == 0:
        return False
    return _fits(parameter, value[0]) or all(shape_of(v) == parameter.shape for v in value)


def _fits(parameter: Parameter, value: Any) -> bool:
    try:
        parameter.check("", value)
    except (InvalidArgumentError, TypeError, ValueError):
        return False
    return True


def _unflattened(flat: Reals, shape: tuple[int, ...]) -> Reals:
    """Reshapes rows of scalars to values of a shape; scalars are in column-major order, as symbols are."""
    values = flat.reshape(len(flat), *shape[::-1])
    return values.transpose(0, *range(values.ndim - 1, 0, -1)).copy()


def _flattened(values: Reals) -> Reals:
    """Reshapes values, one for each row, to rows of scalars: the inverse of `_unflattened`."""
    return values.transpose(0, *range(values.ndim - 1, 0, -1)).reshape(len(values), math.prod(values.shape[1:]))


def _brief(value: Reals) -> str:
    return f"{float(value):g}" if value.ndim == 0 else np.array2string(value.ravel(), precision=4, threshold=8)
