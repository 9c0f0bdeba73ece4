"""Run-time parameters that a solver chooses: their bounds, and the problem with them as constant states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from trajopt.actions.expression import ActionModelExpression
from trajopt.actions.freed import ActionModelFreed
from trajopt.actions.integrated.base import IntegratedActionModelAbstract
from trajopt.checks import as_numbers
from trajopt.errors import InvalidArgumentError, UnsupportedOperationError, shown
from trajopt.shooting.kinds import Kind
from trajopt.shooting.parameters import ParameterTable, ParameterValues
from trajopt.shooting.row_values import KEYS
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.shooting.problem import ShootingProblem

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
    def labels(self) -> list[str]:
        """Name of each element, column by column: "mass", or "wind[0]", "wind[1]"."""
        return [self.name] if self.lower.shape == () else [f"{self.name}[{i}]" for i in range(self.lower.size)]

    def __repr__(self) -> str:
        bounds = f"{self.lower:g} to {self.upper:g}" if self.shape == () else f"{self.lower} to {self.upper}"
        return f"{self.name} from {bounds}{'' if self.unit == '-' else f' {self.unit}'}"


def check_unknown(table: ParameterTable, kinds: tuple[Kind, ...], name: Any, lower: Any, upper: Any) -> Unknown:
    """Returns a checked unknown; see `ShootingProblem.free`."""
    having = table.places(name)  # raises for unknown names
    info = table.infos[name]
    _check_can_be_free(name, [kind for kind in kinds if name in kind.parameters])
    if info.shape is None:
        raise InvalidArgumentError(f"name: expected a parameter of one shape, got {name!r}, whose shape depends on knots")
    bounds = []
    for argument, bound in (("lower", lower), ("upper", upper)):
        value = as_numbers(argument, bound, f"a number, or numbers of shape {info.shape}, in {info.unit}")
        if value.shape not in ((), info.shape) or np.isnan(value).any():
            raise InvalidArgumentError(
                f"{argument}: expected a number or shape {info.shape} as {name} has, ±inf for no bound, got {shown(bound)}"
            )
        bounds.append(np.array(np.broadcast_to(value, info.shape)))
    low, high = bounds
    if np.any(low > high) or np.any(low == np.inf) or np.any(high == -np.inf):
        raise InvalidArgumentError(f"lower: expected lower <= upper for {name}, got {lower} > {upper}; swap the two")
    if name.rpartition(".")[2] == "dt" and not np.all(low > 0.0):
        raise InvalidArgumentError(
            f"lower: expected a time step > 0 [s], got {shown(lower)}, with which time could stand still; write for "
            f"example lower={0.1 * float(table.values[having[0][0][0], having[0][1]][0]):g}"
        )
    return Unknown(name, low, high, info.unit)


def _check_can_be_free(name: str, kinds: list[Kind]) -> None:
    """Raises InvalidArgumentError for a weight, a bound, a black box, and a parameter that nothing reads."""
    owner, _, key = name.rpartition(".")
    if key in ("weight", "weights") or (key in KEYS and any(owner in kind.row_sizes() for kind in kinds)):
        raise InvalidArgumentError(
            f"name: expected a parameter of the motion, got {name!r}: weights and bounds say what is wanted, and a "
            "solver would choose those that want nothing; free a time step, a mass or a reference"
        )
    if not any(_reads(kind, name) for kind in kinds):
        raise InvalidArgumentError(
            f"name: expected a parameter that changes the motion or its cost, got {name!r}, which no dynamics, cost or "
            "constraint reads; problem.set_parameter sets it"
        )


def _reads(kind: Kind, name: str) -> bool:
    """Whether the expressions of a knot read a parameter."""
    model = kind.model
    if not isinstance(model, ActionModelExpression):
        return False
    if name == "dt" and isinstance(model, IntegratedActionModelAbstract):
        return not kind.terminal
    try:
        _, values = model.knot_expressions(terminal=kind.terminal)
    except UnsupportedOperationError:  # with contacts; then anything may depend on it
        return True
    return bool(ca.depends_on(ca.veccat(*values.values()), model.layout.columns[name]))


def guess_of(table: ParameterTable, unknown: Unknown, kinds: tuple[Kind, ...], guess: Any) -> None:
    """Sets an unknown to its guess at all knots, by default its value at the knots that read it.

    Raises:
        InvalidArgumentError: The guess is no value of the parameter, it is outside of the bounds, or knots differ.
    """
    name = unknown.name
    if guess is None:
        readers = [t for kind in kinds if name in kind.parameters and _reads(kind, name) for t in kind.knots]
        guess = table.get(name, readers)
        if np.shape(guess) != unknown.shape:
            raise InvalidArgumentError(
                f"guess: expected one value of {name} for all knots, got different ones; pass guess=..."
            )
    value = table.check(name, guess, "guess")
    _check_independent(table, unknown, kinds, value)
    low, high = (bound.ravel(order="F") for bound in (unknown.lower, unknown.upper))
    if np.any(value < low) or np.any(value > high):
        raise InvalidArgumentError(
            f"guess: expected a value within the bounds, {unknown}, got {shown(guess)}; widen them, or pass guess=..."
        )
    table.set(name, guess, "all")


def _check_independent(table: ParameterTable, unknown: Unknown, kinds: tuple[Kind, ...], value: Reals) -> None:
    """Raises InvalidArgumentError for a parameter whose elements depend on each other, such as a rotation."""
    parameter = next(kind.parameters[unknown.name] for kind in kinds if unknown.name in kind.parameters)
    for i in range(value.size if parameter.shape else 0):
        moved = value.copy()
        moved[i] += MOVED * max(1.0, abs(moved[i]))
        try:
            same = np.array_equal(parameter.flat(parameter.check("value", parameter.shaped(moved))), moved)
        except InvalidArgumentError:
            same = False
        if not same:
            raise InvalidArgumentError(
                f"name: expected a parameter whose elements are independent, got {unknown.name!r}, such as a rotation or "
                "a unit vector; write a model with angles as parameters"
            )


class FreedProblem:
    """A problem with unknowns, and the problem that a solver sees: the unknowns θ are constant states behind x.

    Args:
        problem: The problem.
        unknowns: Its unknowns.

    Attributes:
        problem: The problem with states (x, θ); `follow` updates it.
        unknowns: The unknowns.
    """

    def __init__(self, problem: ShootingProblem, unknowns: Mapping[str, Unknown]) -> None:
        self.unknowns, self._own = dict(unknowns), problem
        labels = {name: unknown.labels for name, unknown in unknowns.items()}
        freed = {id(model): _freed(model, labels) for model in (*problem.running, problem.terminal)}
        self._models = (*problem.running, problem.terminal)
        running = [freed[id(model)] for model in problem.running]
        x0 = np.concatenate([problem.x0, self.guess()])
        self.problem = type(problem)(x0, running, freed[id(problem.terminal)], start=self._start())

    def fits(self) -> bool:
        """False once the models of the problem have changed."""
        own = (*self._own.running, self._own.terminal)
        return len(own) == len(self._models) and all(a is b for a, b in zip(own, self._models))

    def follow(self) -> ShootingProblem:
        """Takes over parameter values and x0 of the own problem; returns the one with states (x, θ)."""
        own, whole = self._own, self.problem
        whole.table.values[:] = own.table.values
        whole.replace_x0(np.concatenate([own.x0, self.guess()]), start=self._start())
        if own.start == "fixed":
            self._switch_given_rows_off()
        return whole

    def _start(self) -> tuple[Reals, Reals]:
        """Bounds of the start: those of x_0 (equal ones if it is fixed), then those of θ."""
        own = self._own
        low, high = np.full(own.state.ndx, -np.inf), np.full(own.state.ndx, np.inf)
        if own.start == "fixed":
            low = high = own.state.difference(own.state.zero(), own.x0)
        elif not isinstance(own.start, str):
            low, high = own.start
        lower = [unknown.lower.ravel(order="F") for unknown in self.unknowns.values()]
        upper = [unknown.upper.ravel(order="F") for unknown in self.unknowns.values()]
        return np.concatenate([low, *lower]), np.concatenate([high, *upper])

    def _switch_given_rows_off(self) -> None:
        """Removes the bounds of the rows of knot 0 that a fixed x0 determines, as solvers do with a fixed start."""
        kind = next(kind for kind in self.problem.kinds if 0 in kind.knots)
        if kind.terminal or not kind.nc:
            return
        given, at, row = kind.model.rows_free_of_control, 0, self.problem.table.values[0]
        for name, size in kind.row_sizes().items():
            for key, bound in (("lower", -np.inf), ("upper", np.inf)):
                place = kind.layout.slices[f"{name}.{key}"]
                row[place] = np.where(given[at : at + size], bound, row[place])
            at += size

    def guess(self) -> Reals:
        """Present values of the unknowns (k,), within their bounds."""
        table, values = self._own.table, list[Reals]()
        for name, unknown in self.unknowns.items():
            knots, columns = table.places(name)[0]
            low, high = (bound.ravel(order="F") for bound in (unknown.lower, unknown.upper))
            values.append(np.clip(table.values[knots[0], columns], low, high))
        return np.concatenate(values)

    def flat(self, values: Mapping[str, Reals]) -> Reals:
        """Values of the unknowns (k,), those that are missing from their guesses."""
        theta, end = self.guess(), 0
        for name, unknown in self.unknowns.items():
            size = unknown.lower.size
            if name in values and np.shape(values[name]) == unknown.shape:
                theta[end : end + size] = np.asarray(values[name]).ravel(order="F")
            end += size
        return theta

    def shaped(self, theta: Reals) -> dict[str, Reals]:
        """Values by name of flat ones (k,)."""
        values, end = dict[str, Reals](), 0
        for name, unknown in self.unknowns.items():
            size = unknown.lower.size
            values[name] = theta[end : end + size].reshape(unknown.shape, order="F").copy()
            end += size
        return values

    def parameters_at(self, theta: Reals) -> ParameterValues:
        """Values of all parameters of the own problem where the unknowns are θ (k,)."""
        own, end = self._own, 0
        values = own.table.values.copy()
        for name, unknown in self.unknowns.items():
            for knots, columns in own.table.places(name):
                values[knots, columns] = theta[end : end + unknown.lower.size]
            end += unknown.lower.size
        return ParameterValues(own.kinds, own.parameters, values)


def _freed(model: Any, labels: Mapping[str, list[str]]) -> ActionModelFreed:
    """The model with unknowns, which is built once, so that its programs are reused."""
    if not isinstance(model, ActionModelExpression):
        raise InvalidArgumentError(
            f"free: expected models that are expressions, got {type(model).__name__}, a black box, whose derivatives by "
            "a parameter are unknown; write it as an expression"
        )
    key = ("freed", *((name, tuple(each)) for name, each in labels.items()))
    if key not in model.built:
        model.built[key] = ActionModelFreed(model, labels)
    freed: ActionModelFreed = model.built[key]
    return freed
