"""Named constraints: residuals within bounds."""

from __future__ import annotations

import functools
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Self

import casadi as ca
import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.constraints.bounds import check_bound, first_bounds
from trajopt.errors import DuplicateNameError, InvalidArgumentError, unknown_name
from trajopt.instant import Instant
from trajopt.model.immutable import Immutable
from trajopt.model.parameters import Parameter
from trajopt.residuals.base import ResidualModelAbstract, check_solution
from trajopt.states.base import StateAbstract
from trajopt.types import Reals


@dataclass(frozen=True, repr=False, eq=False)
class Constraint:
    """Rows lower <= r(x, u) <= upper of one residual.

    Attributes:
        name: Its name in the stack.
        residual: r, with parameters of its own.
        lower: First lower bounds: one of all rows, or one a row; -inf where there is none [unit of the residual].
        upper: First upper bounds, inf where there is none.
    """

    not_content = ("lower", "upper")  # values of run-time parameters, see `trajopt.model.content`

    name: str
    residual: ResidualModelAbstract
    lower: Reals
    upper: Reals

    @functools.cached_property
    def _bounds_by_size(self) -> dict[int, dict[str, Parameter]]:
        """The parameters of the bounds for each number of rows that was asked for."""
        return {}

    def _bounds(self, size: int) -> dict[str, Parameter]:
        if size not in self._bounds_by_size:
            self._bounds_by_size[size] = {
                key: Parameter(
                    key,
                    SX.sym(f"{self.name}.{key}", size),
                    check_bound(key, first, size, key == "lower"),
                    self.residual.unit,
                    functools.partial(check_bound, size=size, lower=key == "lower"),
                )
                for key, first in (("lower", self.lower), ("upper", self.upper))
            }
        return self._bounds_by_size[size]

    def parameters(self, nu: int) -> dict[str, Parameter]:
        """Parameters by name within the stack, such as "tool.upper", where there are `nu` controls."""
        named = {**self._bounds(self.residual.size(nu)), **self.residual.parameters_for(nu)}
        return {f"{self.name}.{key}": parameter for key, parameter in named.items()}

    def check_size(self, nu: int) -> None:
        """Raises InvalidArgumentError if the bounds do not fit the residual where there are `nu` controls."""
        try:
            self._bounds(self.residual.size(nu))
        except InvalidArgumentError as error:
            raise InvalidArgumentError(f"constraint {self.name!r}: {error}") from error

    def __repr__(self) -> str:
        residual = self.residual.described(without=("state",))
        if np.all(self.lower == self.upper):
            return f"{self.name}: {residual} = {_short(self.lower)}"
        low = f"{_short(self.lower)} <= " if np.any(np.isfinite(self.lower)) else ""
        high = f" <= {_short(self.upper)}" if np.any(np.isfinite(self.upper)) else ""
        return f"{self.name}: {low}{residual}{high}"


class ConstraintStack(Immutable):
    """Named constraints lower <= r(x, u) <= upper of a knot, one row for each element of their residuals.

    Bounds are run-time parameters named "constraint.lower" and "constraint.upper"; ±inf switches a row off, equal
    bounds make it an equation. Residuals may depend on what the dynamics solve for: contact forces, accelerations. Rows
    are those at the knot itself, whatever the integrator, and are not multiplied by the time step. A stack is fixed
    once a model uses it; several models may use one.

    Args:
        state: The state's manifold.
    """

    not_content = ("_user",)  # see `trajopt.model.content`

    def __init__(self, state: StateAbstract) -> None:
        if not isinstance(state, StateAbstract):
            raise InvalidArgumentError(f"state: expected StateVector(nx) or StateMultibody(robot), got {state!r}")
        self.state = state
        self._constraints: dict[str, Constraint] = {}
        self._user: str | None = None

    def add(
        self,
        name: str,
        residual: ResidualModelAbstract,
        *,
        lower: npt.ArrayLike | None = None,
        upper: npt.ArrayLike | None = None,
        equals: npt.ArrayLike | None = None,
    ) -> Self:
        """Adds a constraint; its residual gets parameters of its own, also if a cost has the same residual.

        Args:
            name: Its name, an identifier, used once.
            residual: What is to be within bounds.
            lower: Lower bounds: one of all rows, or one a row; -inf, the default, for none [unit of the residual].
            upper: Upper bounds; inf, the default, for none.
            equals: What the residual is to be, in place of bounds.

        Returns:
            The stack, so that calls can be chained.

        Raises:
            DuplicateNameError: The name is taken.
            InvalidArgumentError: Bounds do not fit, or a model uses this stack already.
        """
        self._check(name, residual)
        try:
            bounds = first_bounds(lower, upper, equals)
        except InvalidArgumentError as error:
            raise InvalidArgumentError(f"constraint {name!r}: {error}") from error
        constraint = Constraint(name, residual.clone(), *bounds)
        _check_names_differ(constraint)
        if residual.nr is not None:
            constraint.check_size(0)
        self._constraints[name] = constraint
        return self

    def _check(self, name: str, residual: ResidualModelAbstract) -> None:
        if self._user is not None:
            raise InvalidArgumentError(
                f"add: {self._user} uses this stack already; add all constraints before building it"
            )
        if not isinstance(name, str) or not name.isidentifier():
            raise InvalidArgumentError(f"name: expected an identifier such as 'torque', got {name!r}")
        if name in self._constraints:
            known = ", ".join(self._constraints)
            raise DuplicateNameError(
                f"name: constraint {name!r} is in the stack already; choose a name other than {known}"
            )
        if not isinstance(residual, ResidualModelAbstract):
            raise InvalidArgumentError(
                f"residual: expected a residual such as ResidualModelControl(state), got {residual!r}; "
                "a function becomes one by ResidualModelSymbolic(state, function)"
            )
        if residual.state != self.state:
            raise InvalidArgumentError(
                f"residual: it is of {residual.state!r}, the stack of {self.state!r}; make both from one state"
            )

    @staticmethod
    def of(
        constraints: ConstraintStack | None, user: str, state: StateAbstract, nu: int, others: Collection[str] = ()
    ) -> ConstraintStack:
        """The stack that a model was given, or an empty one; it is fixed from here on.

        Args:
            constraints: What the model was given.
            user: The model, for messages.
            state: Its state.
            nu: Its number of controls [-].
            others: Names of parameters that it has beside.

        Raises:
            InvalidArgumentError: It is no stack, or of another state, or bounds do not fit `nu` controls.
            DuplicateNameError: A parameter has the name of another one.
        """
        stack = ConstraintStack(state) if constraints is None else constraints
        if not isinstance(stack, ConstraintStack):
            raise InvalidArgumentError(f"constraints: expected a ConstraintStack or None, got {stack!r}")
        if stack.state != state:
            raise InvalidArgumentError(
                f"constraints: they are of {stack.state!r}, the model of {state!r}; make both from one state"
            )
        stack.freeze(user, nu)
        twice = [name for name in stack.parameters(nu) if name in others]
        if twice:
            raise DuplicateNameError(
                f"constraints: {twice[0]!r} is a parameter of a constraint and of a cost term; "
                f"give one of them another name than {twice[0].split('.')[0]!r}"
            )
        return stack

    def freeze(self, user: str, nu: int) -> None:
        """Called by a model with `nu` controls that takes the stack: no constraint can be added from here on."""
        for constraint in self.constraints:
            constraint.check_size(nu)
        self._user = self._user or user

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The constraints, in the order in which they were added."""
        return tuple(self._constraints.values())

    def __getitem__(self, name: str) -> Constraint:
        if name not in self._constraints:
            raise unknown_name("constraint", name, self._constraints)
        return self._constraints[name]

    def sizes(self, nu: int) -> dict[str, int]:
        """Number of rows of each constraint where there are `nu` controls [-]."""
        return {c.name: c.residual.size(nu) for c in self.constraints}

    def row_names(self, nu: int) -> list[str]:
        """Name of each row: "tool[2]", or "height" of a constraint that has one row."""
        return [name if size == 1 else f"{name}[{i}]" for name, size in self.sizes(nu).items() for i in range(size)]

    def parameters(self, nu: int) -> dict[str, Parameter]:
        """Run-time parameters of all constraints where there are `nu` controls."""
        return {name: p for c in self.constraints for name, p in c.parameters(nu).items()}

    def controlled(self) -> list[str]:
        """Names of the constraints that need a control, or what the dynamics solve for."""
        return [c.name for c in self.constraints if c.residual.uses_control or c.residual.uses_solution]

    def check_solution(self, instant: Instant) -> None:
        """Raises, naming the constraint, if one needs a force or a motion that is not there at a model's instants."""
        for constraint in self.constraints:
            check_solution(f"constraint {constraint.name!r}", constraint.residual, instant)

    def check_terminal(self) -> None:
        """Raises InvalidArgumentError if one needs a control or a force, which a horizon's end does not have."""
        if self.controlled():
            raise InvalidArgumentError(
                f"terminal: constraints {', '.join(self.controlled())} need a control, or forces, and the end of a "
                "horizon has none; give the terminal a ConstraintStack without them"
            )

    def rows(self, instant: Instant) -> SX:
        """All rows (nc,)."""
        return SX(ca.vertcat(SX(0, 1), *(c.residual.evaluate(instant) for c in self.constraints)))

    def derivative(self, instant: Instant) -> SX:
        """Derivative of all rows along (x, u, z), z = `Instant.solved`, at independent x, u and z, (nc, ndx + nu + nz).

        Call `rows`, and evaluate whatever else may ask for the motion, before.
        """
        n = self.state.ndx + instant.nu + instant.solved.numel()
        return SX(ca.vertcat(SX(0, n), *(c.residual.whole_derivative(instant) for c in self.constraints)))

    def __reduce__(self) -> tuple[Any, ...]:
        constraints = [(c.name, c.residual, c.lower, c.upper) for c in self.constraints]
        return (_rebuild, (self.state, constraints, self._user))

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self.constraints))
        return f"ConstraintStack({self.state!r}; {shown or 'no constraints'})"


def _check_names_differ(constraint: Constraint) -> None:
    """Raises DuplicateNameError if the residual has a parameter with the name of a bound."""
    twice = sorted({"lower", "upper"} & constraint.residual.parameters().keys())
    if twice:
        raise DuplicateNameError(
            f"constraint {constraint.name!r}: parameter {twice[0]!r} is there twice (a constraint's own are 'lower' "
            "and 'upper', others are of its residual); choose another name"
        )


def _short(bounds: Reals) -> str:
    return f"{float(bounds):g}" if bounds.ndim == 0 else np.array2string(bounds, precision=6, threshold=50)


def _rebuild(state: StateAbstract, constraints: list[tuple[Any, ...]], user: str | None) -> ConstraintStack:
    stack = ConstraintStack(state)
    for name, residual, lower, upper in constraints:
        stack.add(name, residual, lower=lower, upper=upper)
    stack._user = user
    return stack
