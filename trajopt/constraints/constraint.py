"""A named constraint: bounds on a residual, hard or soft."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from casadi import SX

from trajopt.constraints.bounds import check_bound
from trajopt.constraints.softness import check_slack_weight
from trajopt.errors import InvalidArgumentError
from trajopt.model.parameters import Parameter
from trajopt.residuals.base import ResidualModelAbstract
from trajopt.types import Reals

BOUNDS = ("lower", "upper")


@dataclass(frozen=True, repr=False, eq=False)
class Constraint:
    """Named constraint lower <= r(x, u) <= upper on one residual; each element of r is a row.

    A soft row may violate its bounds by a slack s >= 0, which costs linear · s + ½ quadratic · s².

    Attributes:
        name: Name in the stack.
        residual: Residual r, with parameters of its own.
        lower: Initial lower bounds, one for all rows or one for each; -inf for no bound [unit of the residual].
        upper: Initial upper bounds, one for all rows or one for each; inf for no bound [unit of the residual].
        soft: Initial weights (linear, quadratic) of the slacks, each one for all rows or one for each row [cost / unit
            of the residual, cost / unit²]; None if the rows are hard.
    """

    not_content = ("lower", "upper", "soft")  # values of run-time parameters, see `trajopt.model.content`

    name: str
    residual: ResidualModelAbstract
    lower: Reals
    upper: Reals
    soft: tuple[Reals, Reals] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "_is_soft", self.soft is not None)  # content: soft rows have more parameters

    def cure_of(self, name: str) -> str:
        """Says how to change an attribute; empty if there is no advice."""
        return f"a run-time parameter: problem.set_parameter('{self.name}.{name}', value)" if name in BOUNDS else ""

    @property
    def own_parameters(self) -> tuple[str, ...]:
        """Names of the parameters that belong to the constraint, not to its residual."""
        return BOUNDS if self.soft is None else (*BOUNDS, "linear", "quadratic")

    @functools.cached_property
    def _own_by_size(self) -> dict[int, dict[str, Parameter]]:
        """Own parameters of the constraint for each number of rows that was used."""
        return {}

    def _own(self, size: int) -> dict[str, Parameter]:
        if size not in self._own_by_size:
            parameters = {}
            for key, first in zip(self.own_parameters, (self.lower, self.upper, *(self.soft or ()))):
                check: Callable[[str, Any], Reals] = functools.partial(check_slack_weight, size=size)
                unit = f"cost / {'unit' if key == 'linear' else 'unit²'}"
                if key in ("lower", "upper"):
                    check, unit = functools.partial(check_bound, size=size, lower=key == "lower"), self.residual.unit
                parameters[key] = Parameter(key, SX.sym(f"{self.name}.{key}", size), check(key, first), unit, check)
            self._own_by_size[size] = parameters
        return self._own_by_size[size]

    def parameters(self, nu: int) -> dict[str, Parameter]:
        """Run-time parameters by their names in the stack, such as "tool.upper", for a model with `nu` controls."""
        named = {**self._own(self.residual.size(nu)), **self.residual.parameters_for(nu)}
        return {f"{self.name}.{key}": parameter for key, parameter in named.items()}

    def check_size(self, nu: int) -> None:
        """Raises InvalidArgumentError if bounds or weights do not fit the residual of a model with `nu` controls."""
        rows = self.residual.size(nu)
        try:
            self._own(rows)
        except InvalidArgumentError as error:
            where = f" with {nu} control{'s' * (nu != 1)}" if self.residual.nr is None else ""
            raise InvalidArgumentError(
                f"constraint {self.name!r}: {error}; {type(self.residual).__name__} has {rows} "
                f"row{'s' * (rows != 1)}{where}"
            ) from error

    def __repr__(self) -> str:
        residual = self.residual.described(without=("state",))
        tail = "" if self.soft is None else f" (soft: {_short(self.soft[0])}, {_short(self.soft[1])})"
        if np.all(self.lower == self.upper):
            return f"{self.name}: {residual} = {_short(self.lower)}{tail}"
        low = f"{_short(self.lower)} <= " if np.any(np.isfinite(self.lower)) else ""
        high = f" <= {_short(self.upper)}" if np.any(np.isfinite(self.upper)) else ""
        return f"{self.name}: {low}{residual}{high}{tail}"


def _short(values: Reals) -> str:
    return f"{float(values):g}" if values.ndim == 0 else np.array2string(values, precision=6, threshold=50)
