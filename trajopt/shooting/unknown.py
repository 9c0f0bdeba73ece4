"""An unknown run-time parameter: its bounds, and the checks of `ShootingProblem.free`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from trajopt.actions.expression import ActionModelExpression
from trajopt.actions.integrated.base import IntegratedActionModelAbstract
from trajopt.checks import as_numbers
from trajopt.errors import InvalidArgumentError, UnsupportedOperationError, shown, shown_numbers
from trajopt.shooting.kinds import Kind
from trajopt.shooting.parameters import ParameterTable
from trajopt.shooting.row_values import KEYS
from trajopt.types import Reals

MOVED = 1e-3  # relative change of one element of a parameter, which shows whether it depends on the others


@dataclass(frozen=True, eq=False)
class Unknown:
    """Run-time parameter that a solver chooses, one value for all knots.

    Attributes:
        name: Name of the parameter.
        lower: Lower bounds, of the parameter's shape, in its unit; -inf for no bound.
        upper: Upper bounds, of the parameter's shape, in its unit; inf for no bound.
        unit: Unit of the parameter.
    """

    name: str
    lower: Reals
    upper: Reals
    unit: str

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the value; () for a number."""
        return self.lower.shape

    @property
    def size(self) -> int:
        """Number of scalars [-]."""
        return int(self.lower.size)

    @property
    def bounds(self) -> tuple[Reals, Reals]:
        """Lower and upper bounds of the scalars (size,), column by column."""
        return self.lower.ravel(order="F"), self.upper.ravel(order="F")

    @property
    def labels(self) -> list[str]:
        """Name of each scalar, column by column: "mass", or "wind[0]", "wind[1]"."""
        return [self.name] if self.shape == () else [f"{self.name}[{i}]" for i in range(self.size)]

    def __repr__(self) -> str:
        bounds = f"{self.lower:g} to {self.upper:g}" if self.shape == () else f"{self.lower} to {self.upper}"
        return f"{self.name} from {bounds}{'' if self.unit == '-' else f' {self.unit}'}"


def check_unknown(table: ParameterTable, kinds: Sequence[Kind], name: Any, lower: Any, upper: Any) -> Unknown:
    """Returns a checked unknown; see `ShootingProblem.free`."""
    table.places(name)  # raises for unknown names
    _check_readers(name, [kind for kind in kinds if name in kind.parameters])
    info = table.infos[name]
    if info.shape is None:
        raise InvalidArgumentError(
            f"name: expected a parameter of one shape, got {name!r}, which differs between knots"
        )
    low, high = (_bound(argument, bound, info.shape) for argument, bound in (("lower", lower), ("upper", upper)))
    if np.any(low > high) or np.any(low == np.inf) or np.any(high == -np.inf):
        raise InvalidArgumentError(
            f"lower: expected lower <= upper for {name}, got {shown(lower)} and {shown(upper)}; swap the two"
        )
    if name == "dt" and not np.all(low > 0.0):
        raise InvalidArgumentError(
            f"lower: expected a time step > 0 [s], got {shown(lower)}, with which time could stand still; write "
            f"for example lower=1e-3"
        )
    return Unknown(name, low, high, info.unit)


def _bound(argument: str, value: Any, shape: tuple[int, ...]) -> Reals:
    """A bound as an array of the parameter's shape."""
    cure = f"one number or shape {shape}, ±inf for no bound"
    numbers = as_numbers(argument, value, cure)
    if numbers.shape not in ((), shape) or np.isnan(numbers).any():
        raise InvalidArgumentError(f"{argument}: expected {cure}, got {shown(value)}")
    return np.array(np.broadcast_to(numbers, shape))


def _check_readers(name: str, kinds: Sequence[Kind]) -> None:
    """Raises InvalidArgumentError for a weight, a bound, a black box, and a parameter that nothing reads."""
    owner, _, key = name.rpartition(".")
    if key in ("weight", "weights") or (key in KEYS and any(owner in kind.row_sizes() for kind in kinds)):
        raise InvalidArgumentError(
            f"name: expected a parameter of the motion, got {name!r}: weights and bounds say what is wanted, and the "
            "cheapest ones want nothing; free a time step, a mass, a length or a reference"
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
    try:
        _, values = model.knot_expressions(terminal=kind.terminal)
    except UnsupportedOperationError:
        return True
    return bool(ca.depends_on(ca.veccat(*values.values()), model.layout.columns[name]))


def set_guess(table: ParameterTable, unknown: Unknown, kinds: Sequence[Kind], guess: Any) -> None:
    """Sets an unknown to its guess at all knots, by default to its value at the knots that read it.

    Raises:
        InvalidArgumentError: The guess is no value of the parameter, it is outside of the bounds, or knots differ.
    """
    name = unknown.name
    if guess is None:
        guess = table.get(name, [t for kind in kinds if reads(kind, name) for t in kind.knots])
        if np.shape(guess) != unknown.shape:
            raise InvalidArgumentError(
                f"guess: expected one value of {name} for all knots, but it differs between knots; pass guess=..."
            )
    value, (lower, upper) = table.check(name, guess, "guess"), unknown.bounds
    _check_independent(unknown, kinds, value)
    if np.any(value < lower) or np.any(value > upper):
        raise InvalidArgumentError(
            f"guess: expected a value within the bounds, {unknown}, got {shown_numbers(value)}; widen them, or pass "
            "guess=..."
        )
    table.set(name, guess, "all")


def _check_independent(unknown: Unknown, kinds: Sequence[Kind], value: Reals) -> None:
    """Raises InvalidArgumentError for a parameter whose elements depend on each other, such as a rotation."""
    parameter = next(kind.parameters[unknown.name] for kind in kinds if unknown.name in kind.parameters)
    for i in range(value.size if unknown.shape else 0):
        moved = value.copy()
        moved[i] += MOVED * max(1.0, abs(moved[i]))
        try:
            same = np.array_equal(parameter.flat(parameter.check("value", parameter.shaped(moved))), moved)
        except InvalidArgumentError:
            same = False
        if not same:
            raise InvalidArgumentError(
                f"name: expected a parameter with independent elements, got {unknown.name!r}, such as a rotation or a "
                "unit vector; write a model with angles as parameters"
            )
