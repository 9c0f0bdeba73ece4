"""The knots of a problem by kind, and the values of their run-time parameters.

A kind is a model used at some knots. Knots of one kind share their kernels; each has a row of parameter values.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trajopt.actions.base import ActionModelAbstract
from trajopt.actions.expression import ActionModelExpression
from trajopt.errors import InvalidArgumentError, unknown_name
from trajopt.model import Parameter

Reals = npt.NDArray[np.float64]
Knots = int | slice | range | Iterable[int] | str | None


@dataclass(frozen=True)
class Kind:
    """A model and the knots that use it.

    Attributes:
        model: The model.
        knots: Its knots, ascending.
        terminal: Whether it is the end of the horizon.
        layout: For each parameter, where its scalars are in a row of values.
    """

    model: ActionModelAbstract
    knots: tuple[int, ...]
    terminal: bool
    parameters: dict[str, Parameter]
    layout: dict[str, slice]

    @property
    def compiled(self) -> bool:
        """Whether the model is an expression; else it is a black box."""
        return isinstance(self.model, ActionModelExpression)


@dataclass(frozen=True)
class ParameterInfo:
    """A named parameter of a problem.

    Attributes:
        name: Its name.
        shape: Shape of its value at one knot; () is a number.
        unit: Its unit.
        knots: The knots that have it, of 0..T, T being the terminal.
    """

    name: str
    shape: tuple[int, ...]
    unit: str
    knots: tuple[int, ...]


def kinds_of(running: Sequence[ActionModelAbstract], terminal: ActionModelAbstract) -> list[Kind]:
    """Kinds of knots 0..T in the order in which they first occur; the terminal is the last one."""
    where: dict[int, list[int]] = {}
    models: dict[int, ActionModelAbstract] = {}
    for t, model in enumerate(running):
        where.setdefault(id(model), []).append(t)
        models[id(model)] = model
    kinds = [_kind(models[i], knots, terminal=False) for i, knots in where.items()]
    return [*kinds, _kind(terminal, [len(running)], terminal=True)]


def _kind(model: ActionModelAbstract, knots: list[int], *, terminal: bool) -> Kind:
    parameters, layout, size = model.parameters(), {}, 0
    for name, parameter in parameters.items():
        layout[name] = slice(size, size + parameter.size)
        size += parameter.size
    return Kind(model, tuple(knots), terminal, parameters, layout)


class ParameterTable:
    """Values of all parameters, one row a knot 0..T.

    Attributes:
        values: Shape (T + 1, largest number of scalars); the array never moves.
    """

    def __init__(self, kinds: Sequence[Kind], T: int) -> None:
        self._kinds = list(kinds)
        self._kind_of = {t: kind for kind in kinds for t in kind.knots}
        self._T = T
        width = max((sum(p.size for p in kind.parameters.values()) for kind in kinds), default=0)
        self.values: Reals = np.zeros((T + 1, max(width, 1)))
        for kind in kinds:
            for name, parameter in kind.parameters.items():
                self.values[list(kind.knots), kind.layout[name]] = parameter.flat(parameter.default)

    @functools.cached_property
    def infos(self) -> dict[str, ParameterInfo]:
        """Every parameter by name."""
        infos: dict[str, ParameterInfo] = {}
        for kind in self._kinds:
            for name, p in kind.parameters.items():
                known = infos[name].knots if name in infos else ()
                infos[name] = ParameterInfo(name, p.shape, p.unit, tuple(sorted((*known, *kind.knots))))
        return infos

    def get(self, name: str, knots: Knots = None) -> Reals:
        """The value, of the parameter's shape, if all these knots agree; else one a knot, (n, *shape)."""
        where = self._where(name, knots)
        rows = np.array([self._value(name, t) for t in where])
        return rows[0] if np.all(rows == rows[0]) else rows

    def table(self) -> dict[str, Reals]:
        """Every parameter's values, one row a knot that has it."""
        table = {}
        for name, info in self.infos.items():
            table[name] = np.empty((len(info.knots), *info.shape))
            place = {t: i for i, t in enumerate(info.knots)}
            for kind in self._kinds:
                if name in kind.parameters:
                    flat = self.values[list(kind.knots), kind.layout[name]]
                    values = flat.reshape(len(flat), *info.shape[::-1])  # columns first, as the symbols are read
                    table[name][[place[t] for t in kind.knots]] = values.transpose(0, *range(values.ndim - 1, 0, -1))
        return table

    def load(self, table: Mapping[str, Reals]) -> None:
        """Sets all values that `table` gives."""
        for name, info in self.infos.items():
            for t, value in zip(info.knots, table.get(name, ())):
                kind = self._kind_of[t]
                self.values[t, kind.layout[name]] = kind.parameters[name].flat(np.asarray(value))

    def set(self, name: str, value: Any, knots: Knots = None) -> None:
        """Sets a value at these knots; an array with one more dimension has one value a knot."""
        where = self._where(name, knots)
        if knots is None:
            self._refuse_if_different(name, where)
        parameter = self._kind_of[where[0]].parameters[name]
        if self._is_sequence(parameter, value):
            if len(value) != len(where):
                raise InvalidArgumentError(
                    f"value: {name} has shape {parameter.shape} at each of {len(where)} knots, got {len(value)} values"
                )
            checked = [self._kind_of[t].parameters[name].check(name, v) for t, v in zip(where, value)]
        else:
            checked = [parameter.check(name, value)] * len(where)
        for t, array in zip(where, checked):
            p = self._kind_of[t].parameters[name]
            if p.shape != array.shape:
                raise InvalidArgumentError(f"value: {name} has shape {p.shape} at knot {t}, got {array.shape}")
            self.values[t, self._kind_of[t].layout[name]] = p.flat(array)

    def _is_sequence(self, parameter: Parameter, value: Any) -> bool:
        """Whether `value` holds one value a knot."""
        if isinstance(value, (list, tuple)) and value and not np.isscalar(value[0]) and parameter.convert is not None:
            return np.ndim(value[0]) == max(parameter.default.ndim, 1) or not isinstance(value[0], (list, tuple, np.ndarray))
        return np.ndim(value) == parameter.default.ndim + 1

    def _value(self, name: str, t: int) -> Reals:
        kind = self._kind_of[t]
        return kind.parameters[name].shaped(self.values[t, kind.layout[name]])

    def _where(self, name: str, knots: Knots) -> list[int]:
        infos = self.infos
        if name not in infos:
            raise unknown_name("parameter", name, infos)
        having = infos[name].knots
        if knots is None:
            return list(having)
        asked = knot_numbers(knots, self._T)
        if isinstance(knots, str):
            asked = [t for t in asked if t in having]
        missing = [t for t in asked if t not in having]
        if missing or not asked:
            raise InvalidArgumentError(f"knots: {name} is not at {missing or knots}; it is at {describe(having)}")
        return asked

    def _refuse_if_different(self, name: str, where: list[int]) -> None:
        """Refuses to overwrite values that differ between running and terminal knots."""
        if self._T not in where or len(where) < 2:
            return
        terminal = self._value(name, self._T)
        for t in where[:-1]:
            running = self._value(name, t)
            if running.shape != terminal.shape or np.any(running != terminal):
                raise InvalidArgumentError(
                    f"{name} differs between running and terminal knots ({_brief(running)} at knot {t}, "
                    f"{_brief(terminal)} at the end): say which you mean with knots='running', knots='terminal' or knots='all'"
                )


def knot_numbers(knots: Knots, T: int) -> list[int]:
    """Numbers of 0..T that `knots` means: a number, a range, a slice, numbers, "running", "terminal" or "all"."""
    words = {"running": range(T), "terminal": range(T, T + 1), "all": range(T + 1)}
    if isinstance(knots, str):
        if knots not in words:
            raise unknown_name("knots:", knots, words)
        return list(words[knots])
    if isinstance(knots, slice):
        return list(range(T + 1))[knots]
    numbers = [knots] if isinstance(knots, (int, np.integer)) else list(knots or ())
    resolved = []
    for t in numbers:
        if isinstance(t, bool) or not isinstance(t, (int, np.integer)) or not -T - 1 <= t <= T:
            raise InvalidArgumentError(f"knots: expected numbers from 0 to {T} (the terminal), got {t!r}")
        resolved.append(int(t) % (T + 1))
    return resolved


def describe(knots: Sequence[int]) -> str:
    """Knots in words."""
    if len(knots) > 1 and list(knots) == list(range(knots[0], knots[-1] + 1)):
        return f"knots {knots[0]}..{knots[-1]}"
    shown = ", ".join(str(t) for t in knots[:12])
    return f"knot{'s' if len(knots) > 1 else ''} {shown}{', ...' if len(knots) > 12 else ''}"


def _brief(value: Reals) -> str:
    return f"{float(value):g}" if value.ndim == 0 else np.array2string(value.ravel(), precision=4, threshold=8)
