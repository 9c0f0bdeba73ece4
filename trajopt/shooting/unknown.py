"""An unknown run-time parameter: its bounds, and the checks of `ShootingProblem.free`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from trajopt.actions.expression import ActionModelExpression
from trajopt.actions.integrated.base import IntegratedActionModelAbstract
from trajopt.checks import as_numbers, check_finite, shape_of
from trajopt.errors import InvalidArgumentError, UnsupportedOperationError, shown, shown_numbers
from trajopt.shooting.kinds import Kind
from trajopt.shooting.knots import describe
from trajopt.shooting.parameters import ParameterTable
from trajopt.shooting.phases import phases_of
from trajopt.shooting.row_values import KEYS
from trajopt.types import Reals

ROUNDING = 1e-9  # relative error of a total that equals the sum of bounds
MOVED = 1e-3  # relative change of one element of a parameter, which shows whether it depends on the others


@dataclass(frozen=True, eq=False)
class Unknown:
    """Run-time parameter that a solver chooses, one value for all knots or one for each phase.

    Attributes:
        name: Name of the parameter.
        lower: Lower bounds of the parameter's shape, or (phases, *shape), in its unit; -inf for no bound.
        upper: Upper bounds in the same form; inf for no bound.
        unit: Unit of the parameter.
        phases: Knots of each phase; empty for one value at all knots.
        total: Sum of the values at all knots of the phases, in the parameter's unit; None if it is free.
    """

    name: str
    lower: Reals
    upper: Reals
    unit: str
    phases: tuple[tuple[int, ...], ...] = ()
    total: float | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the value; () for a number, (phases,) for a number in each phase."""
        return self.lower.shape

    @property
    def knots(self) -> tuple[tuple[int, ...] | None, ...]:
        """Knots of each phase; one phase with None, which stands for all knots, without phases."""
        return self.phases or (None,)

    def rows(self, value: Reals) -> Reals:
        """Value of each phase, column by column, (phases, scalars); one row without phases."""
        return value.ravel(order="F").reshape(len(self.knots), -1, order="F")

    @property
    def size(self) -> int:
        """Number of scalars [-]."""
        return int(self.lower.size)

    @property
    def bounds(self) -> tuple[Reals, Reals]:
        """Lower and upper bounds of the scalars (size,), column by column."""
        return self.lower.ravel(order="F"), self.upper.ravel(order="F")

    @property
    def counts(self) -> Reals:
        """Number of knots of each phase (phases,) [-]."""
        return np.array([float(len(phase)) for phase in self.phases])

    def feasible(self, values: Reals) -> Reals:
        """Returns scalars (size,) moved to within their bounds, by equal changes to where they have the total."""
        lower, upper = self.bounds
        if self.total is None:
            return np.clip(values, lower, upper)
        from scipy.optimize import brentq

        total, counts = self.total, self.counts

        def excess(move: float) -> float:
            return float(counts @ np.clip(values + move, lower, upper)) - total

        ends = np.abs([values, *(np.where(np.isfinite(bound), bound, 0.0) for bound in (lower, upper))])
        far = 1.0 + abs(total) + float(counts @ ends.sum(axis=0))
        low, high = max(float((lower - values).min()), -far), min(float((upper - values).max()), far)
        move = low if excess(low) >= 0.0 else high if excess(high) <= 0.0 else float(brentq(excess, low, high))
        found = np.clip(values + move, lower, upper)
        inside = (found > lower) & (found < upper)
        found[inside] += (total - counts @ found) / counts[inside].sum()  # rounding
        return found

    @property
    def labels(self) -> list[str]:
        """Name of each scalar, column by column: "mass", or "wind[0]", "wind[1]"."""
        return labels_of(self.name, self.shape)

    def __repr__(self) -> str:
        bounds = f"{self.lower:g} to {self.upper:g}" if self.shape == () else f"{self.lower} to {self.upper}"
        where = f" at {' and '.join(describe(phase) for phase in self.phases)}" if self.phases else ""
        unit = "" if self.unit == "-" else f" {self.unit}"
        total = "" if self.total is None else f", {self.total:g}{unit} in all"
        return f"{self.name} from {bounds}{unit}{where}{total}"


def labels_of(name: str, shape: tuple[int, ...]) -> list[str]:
    """Name of each scalar of a value, column by column: "mass", "wind[0]", or "wind[0, 1]"."""
    indices = [index[::-1] for index in np.ndindex(shape[::-1])]
    return [f"{name}[{', '.join(map(str, index))}]" if index else name for index in indices]


def freed_parameter(
    table: ParameterTable,
    kinds: Sequence[Kind],
    name: Any,
    lower: Any,
    upper: Any,
    knots: Any,
    guess: Any,
    total: Any,
    others: Mapping[str, Unknown],
) -> Unknown:
    """Returns a checked unknown beside others, and sets its parameter to the guess; see `ShootingProblem.free`."""
    table.places(name)  # raises for unknown names
    phases, several = phases_of(table, name, knots)
    for phase in phases or ((),):
        _check_readers(name, [k for k in kinds if name in k.parameters and (not phase or set(phase) & set(k.knots))])
    info = table.infos[name]
    if info.shape is None:
        raise InvalidArgumentError(
            f"name: expected a parameter of one shape, got {name!r}, which differs between knots"
        )
    shapes = [(), info.shape, *([(len(phases), *info.shape)] if several else [])]
    low, high = (_bound(argument, bound, shapes) for argument, bound in (("lower", lower), ("upper", upper)))
    if np.any(low > high) or np.any(low == np.inf) or np.any(high == -np.inf):
        raise InvalidArgumentError(
            f"lower: expected lower <= upper for {name}, got {shown(lower)} and {shown(upper)}; swap the two"
        )
    if name == "dt" and not np.all(low > 0.0):
        raise InvalidArgumentError(
            f"lower: expected a time step > 0 [s], got {shown(lower)}, with which time could stand still; write "
            f"for example lower=1e-3"
        )
    if info.shape == ():
        for argument, bound in (("lower", low), ("upper", high)):
            for value in bound[np.isfinite(bound)]:
                table.check(name, value, argument)
    with_total = [each for each, other in others.items() if other.total is not None and each != name]
    if total is not None and with_total:
        raise InvalidArgumentError(f"total: expected one parameter with a total, got {with_total[0]} and {name}")
    unknown = Unknown(name, low, high, info.unit, phases, _total(name, total, low, high, phases if several else ()))
    _set_guess(table, unknown, kinds, guess)
    return unknown


def _bound(argument: str, value: Any, shapes: Sequence[tuple[int, ...]]) -> Reals:
    """A bound of the last one of the shapes that it may have."""
    cure = f"one number or shape {' or '.join(map(str, dict.fromkeys(shapes[1:])))}, ±inf for no bound"
    numbers = as_numbers(argument, value, cure)
    if numbers.shape not in shapes or np.isnan(numbers).any():
        raise InvalidArgumentError(f"{argument}: expected {cure}, got {shown(value)}")
    return np.array(np.broadcast_to(numbers, shapes[-1]))


def _total(name: str, total: Any, lower: Reals, upper: Reals, phases: Sequence[Sequence[int]]) -> float | None:
    """A checked total of a number in each phase."""
    if total is None:
        return None
    if len(phases) < 2 or lower.ndim != 1:
        raise InvalidArgumentError(
            f"total: expected phases of a number, got {name!r} with one value for all or of shape {lower.shape}; pass "
            "a list of two or more phases as knots, such as knots=[range(0, 20), range(20, 50)]"
        )
    value, counts = check_finite("total", total), np.array([len(phase) for phase in phases])
    least, most = float(counts @ lower), float(counts @ upper)
    if not least * (1.0 - ROUNDING) <= value <= most * (1.0 + ROUNDING):
        raise InvalidArgumentError(
            f"total: expected a sum of {name} between those of the bounds, {least:g} and {most:g}, got {value:g}; "
            "widen the bounds"
        )
    return value


def _check_readers(name: str, kinds: Sequence[Kind]) -> None:
    """Raises InvalidArgumentError for a weight, a bound, a switch, a black box, and a parameter that nothing reads."""
    owner, _, key = name.rpartition(".")
    if key in ("weight", "weights") or (key in KEYS and any(owner in kind.row_sizes() for kind in kinds)):
        raise InvalidArgumentError(
            f"name: expected a parameter of the motion, got {name!r}: weights and bounds say what is wanted, and the "
            "cheapest ones want nothing; free a time step, a mass, a length or a reference"
        )
    if key == "active":
        raise InvalidArgumentError(
            f"name: expected a parameter between its bounds, got {name!r}, which is 0 or 1; free the time steps of the "
            "phases that it switches, such as by timing=FreeTime(...) of a gait"
        )
    if not any(reads(kind, name) for kind in kinds):
        raise InvalidArgumentError(
            f"name: expected a parameter that changes the motion or its cost, got {name!r}, which no dynamics, cost or "
            "constraint of an expression reads; set it with problem.set_parameter"
        )


def reads(kind: Kind, name: str) -> bool:
    """Whether the expressions of a knot read a parameter; True where there are none, as of a simulator."""
    model = kind.model
    if not isinstance(model, ActionModelExpression) or name not in kind.parameters:
        return False
    if name == "dt" and isinstance(model, IntegratedActionModelAbstract):
        return not kind.terminal
    values = _values(model, kind.terminal)
    return values is None or bool(ca.depends_on(values, model.layout.columns[name]))


def _values(model: ActionModelExpression, terminal: bool) -> ca.SX | None:
    """Expressions of a knot, kept by the model as many names are asked for; None if it has none."""
    name = ("values of a knot", terminal)
    if name not in model.built:
        try:
            model.built[name] = ca.veccat(*model.knot_expressions(terminal=terminal)[1].values())
        except UnsupportedOperationError:
            model.built[name] = None
    values: ca.SX | None = model.built[name]
    return values


def _set_guess(table: ParameterTable, unknown: Unknown, kinds: Sequence[Kind], guess: Any) -> None:
    """Sets an unknown to its guess at its knots, by default to its value at those of them that read it.

    Raises:
        InvalidArgumentError: The guess is no value of the parameter, it is outside of the bounds, or knots differ.
    """
    name, shape = unknown.name, table.infos[unknown.name].shape
    each = len(unknown.shape) > len(shape or ()) and shape_of(guess) == unknown.shape
    guesses = list(guess) if each else [guess] * len(unknown.knots)
    reading, bounds = {t for kind in kinds if reads(kind, name) for t in kind.knots}, [unknown.rows(unknown.lower)]
    bounds.append(unknown.rows(unknown.upper))
    for i, knots in enumerate(unknown.knots):
        if guesses[i] is None:
            guesses[i] = table.get(name, sorted(reading if knots is None else reading & set(knots)))
            if np.shape(guesses[i]) != shape:
                where = "all knots" if knots is None else describe(knots)
                raise InvalidArgumentError(
                    f"guess: expected one value of {name} for {where}, but it differs between knots; pass guess=..."
                )
        value, (lower, upper) = table.check(name, guesses[i], "guess"), (rows[i] for rows in bounds)
        _check_independent(name, kinds, value)
        if np.any(value < lower) or np.any(value > upper):
            raise InvalidArgumentError(
                f"guess: expected a value within the bounds, {unknown}, got {shown_numbers(value)}; widen them, or "
                "pass guess=..."
            )
    for knots, value in zip(unknown.knots, guesses):
        table.set(name, value, "all" if knots is None else knots)


def _check_independent(name: str, kinds: Sequence[Kind], value: Reals) -> None:
    """Raises InvalidArgumentError for a parameter whose elements depend on each other, such as a rotation."""
    parameter = next(kind.parameters[name] for kind in kinds if name in kind.parameters)
    for i in range(value.size if parameter.shape else 0):
        moved = value.copy()
        moved[i] += MOVED * max(1.0, abs(moved[i]))
        try:
            same = np.array_equal(parameter.flat(parameter.check("value", parameter.shaped(moved))), moved)
        except InvalidArgumentError:
            same = False
        if not same:
            raise InvalidArgumentError(
                f"name: expected a parameter with independent elements, got {name!r}, such as a rotation or a "
                "unit vector; write a model with angles as parameters"
            )
