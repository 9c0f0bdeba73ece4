"""A sum of named, weighted terms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import casadi as ca
import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.activations.base import ActivationModelAbstract
from trajopt.activations.quadratic import ActivationModelQuad
from trajopt.checks import check_non_negative, shape_of
from trajopt.errors import DuplicateNameError, InvalidArgumentError, unknown_name
from trajopt.instant import Instant
from trajopt.model.immutable import Immutable
from trajopt.model.parameters import Parameter
from trajopt.residuals.base import ResidualModelAbstract, check_solution
from trajopt.states.base import StateAbstract


@dataclass(frozen=True, repr=False)
class CostTerm:
    """One term: weight · a(r)."""

    name: str
    residual: ResidualModelAbstract
    activation: ActivationModelAbstract
    weight: Parameter

    def __repr__(self) -> str:
        quad = isinstance(self.activation, ActivationModelQuad)
        activation = "" if quad else f"{self.activation!r} of "
        return (
            f"{self.name}: {float(self.weight.default):g} · {activation}{self.residual.described(without=('state',))}"
        )

    def parameters(self, nu: int) -> dict[str, Parameter]:
        """Parameters by name within the stack, such as "goal.weight"."""
        named = {"weight": self.weight, **self.residual.parameters_for(nu), **self.activation.parameters()}
        return {f"{self.name}.{key}": parameter for key, parameter in named.items()}

    def value(self, instant: Instant) -> SX:
        """weight · a(r), a scalar [cost]."""
        return self.weight.symbol * self.activation.value(self.residual.evaluate(instant))

    def check_size(self, nu: int) -> None:
        """Raises InvalidArgumentError if the activation does not fit the residual where there are `nu` controls."""
        try:
            self.activation.check_size(self.residual.size(nu))
        except InvalidArgumentError as error:
            raise InvalidArgumentError(f"cost term {self.name!r}: {error}") from error


@dataclass(frozen=True)
class QuadraticCost:
    """Value and Gauss-Newton expansion of a cost in y = (x, u) and z = `Instant.solved`, at independent y and z.

    Attributes:
        cost: Value.
        Ly: Gradient (ndx + nu,).
        Lyy: Hessian (ndx + nu, ndx + nu).
        Lz: Gradient (nz,).
        Lzz: Hessian (nz, nz).
        Lzy: Mixed derivatives (nz, ndx + nu).
    """

    cost: SX
    Ly: SX
    Lyy: SX
    Lz: SX
    Lzz: SX
    Lzy: SX


class CostStack(Immutable):
    """Sum over terms of weight · a(r), with a(r) = ½ rᵀr unless an activation is given [cost].

    A term's weight and the parameters of its residual and activation are run-time parameters named "term.weight",
    "term.reference" and so on. A stack is fixed once a model uses it; several models may use one.

    Args:
        state: The state's manifold.
    """

    not_content = ("_user",)  # see `trajopt.model.content`

    def __init__(self, state: StateAbstract) -> None:
        if not isinstance(state, StateAbstract):
            raise InvalidArgumentError(f"state: expected StateVector(nx) or StateMultibody(robot), got {state!r}")
        self.state = state
        self._terms: dict[str, CostTerm] = {}
        self._user: str | None = None

    def add(
        self,
        name: str,
        residual: ResidualModelAbstract,
        weight: float,
        activation: ActivationModelAbstract | None = None,
    ) -> Self:
        """Adds a term; a residual or activation that is in the stack already gets parameters of its own.

        Args:
            name: Its name, an identifier, used once.
            residual: What is to be small.
            weight: Its weight, >= 0 [cost / unit of the residual squared].
            activation: How the residual becomes a cost; ½ rᵀr by default.

        Returns:
            The stack, so that calls can be chained.

        Raises:
            DuplicateNameError: The name is taken.
            InvalidArgumentError: Sizes do not fit, or a model uses this stack already.
        """
        self._check(name, residual, activation)
        if any(t.residual is residual for t in self._terms.values()):
            residual = residual.clone()  # parameters of its own
        if activation is not None and any(t.activation is activation for t in self._terms.values()):
            activation = activation.clone()
        if shape_of(weight) != ():
            raise InvalidArgumentError(
                f"weight: expected a number, got {weight!r}; for one weight an element use ActivationModelWeightedQuad"
            )
        value = check_non_negative("weight", weight)
        parameter = Parameter("weight", SX.sym(f"{name}.weight"), np.array(value), "cost / unit²", _weight)
        term = CostTerm(name, residual, activation or ActivationModelQuad(), parameter)
        _check_names_differ(term)
        if residual.nr is not None:
            term.check_size(0)
        self._terms[name] = term
        return self

    def _check(self, name: str, residual: ResidualModelAbstract, activation: Any) -> None:
        if self._user is not None:
            raise InvalidArgumentError(f"add: {self._user} uses this stack already; add all terms before building it")
        if not isinstance(name, str) or not name.isidentifier():
            raise InvalidArgumentError(f"name: expected an identifier such as 'goal', got {name!r}")
        if name in self._terms:
            raise DuplicateNameError(
                f"name: term {name!r} is in the stack already; choose a name other than {', '.join(self._terms)}"
            )
        if not isinstance(residual, ResidualModelAbstract):
            raise InvalidArgumentError(
                f"residual: expected a residual such as ResidualModelState(state), got {residual!r}; "
                "a function becomes one by ResidualModelSymbolic(state, function)"
            )
        if activation is not None and not isinstance(activation, ActivationModelAbstract):
            raise InvalidArgumentError(f"activation: expected an activation model or None, got {activation!r}")
        if residual.state != self.state:
            raise InvalidArgumentError(
                f"residual: it is of {residual.state!r}, the stack of {self.state!r}; make both from one state"
            )

    def freeze(self, user: str, nu: int) -> None:
        """Called by a model with `nu` controls that takes the stack: no term can be added from here on."""
        for term in self.terms:
            term.check_size(nu)
        self._user = user

    @property
    def terms(self) -> tuple[CostTerm, ...]:
        """The terms, in the order in which they were added."""
        return tuple(self._terms.values())

    def __getitem__(self, name: str) -> CostTerm:
        if name not in self._terms:
            raise unknown_name("cost term", name, self._terms)
        return self._terms[name]

    def parameters(self, nu: int) -> dict[str, Parameter]:
        """Run-time parameters of all terms where there are `nu` controls."""
        return {name: p for term in self.terms for name, p in term.parameters(nu).items()}

    def controlled_terms(self) -> list[str]:
        """Names of the terms that need a control, or what the dynamics solve for."""
        return [t.name for t in self.terms if t.residual.uses_control or t.residual.uses_solution]

    def check_solution(self, instant: Instant) -> None:
        """Raises, naming the term, if one needs a force or a motion that is not there at a model's instants."""
        for term in self.terms:
            check_solution(f"cost term {term.name!r}", term.residual, instant)

    def check_terminal(self) -> None:
        """Raises InvalidArgumentError if a term needs a control or a force, which a horizon's end does not have."""
        if self.controlled_terms():
            raise InvalidArgumentError(
                f"terminal: cost terms {', '.join(self.controlled_terms())} need a control, or forces, and the end of "
                "a horizon has none; give the terminal a CostStack without them"
            )

    def values(self, instant: Instant) -> dict[str, SX]:
        """Value of each term [cost]."""
        return {t.name: t.value(instant) for t in self.terms}

    def value(self, instant: Instant) -> SX:
        """Sum of all terms, a scalar [cost]."""
        return sum(self.values(instant).values(), SX(0))

    def quadratic(self, instant: Instant) -> QuadraticCost:
        """Value, gradient, and Gauss-Newton Hessian Rᵀ Arr R, the derivative of the residual being R = (Rx, Ru, Rz)."""
        residuals = [term.residual.evaluate(instant) for term in self.terms]
        n, s = self.state.ndx + instant.nu + instant.solved.numel(), self.state.ndx + instant.nu
        cost, gradient, hessian = SX(0), SX(n, 1), SX(n, n)
        for term, r in zip(self.terms, residuals):
            jacobian = term.residual.whole_derivative(instant)
            weight, activation = term.weight.symbol, term.activation
            cost += weight * activation.value(r)
            gradient += jacobian.T @ (weight * activation.gradient(r))
            hessian += ca.triu(jacobian.T @ (ca.diag(weight * activation.hessian(r)) @ jacobian))
        hessian = ca.triu2symm(ca.triu(hessian))
        return QuadraticCost(
            cost=cost,
            Ly=gradient[:s],
            Lyy=hessian[:s, :s],
            Lz=gradient[s:],
            Lzz=hessian[s:, s:],
            Lzy=hessian[s:, :s],
        )

    def __reduce__(self) -> tuple[Any, ...]:
        terms = [(t.name, t.residual, float(t.weight.default), t.activation) for t in self.terms]
        return (_rebuild, (self.state, terms, self._user))

    def __repr__(self) -> str:
        return f"CostStack({self.state!r}; {', '.join(repr(term) for term in self.terms) or 'no terms'})"


def _check_names_differ(term: CostTerm) -> None:
    """Raises DuplicateNameError if two parts of a term have parameters of one name."""
    names = ["weight", *term.residual.parameters(), *term.activation.parameters()]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DuplicateNameError(
            f"cost term {term.name!r}: parameter {twice[0]!r} is there twice (a term's own is 'weight', others are of "
            "its residual and its activation); choose another name"
        )


def _weight(argument: str, value: Any) -> npt.NDArray[np.float64]:
    return np.array(check_non_negative(argument, value))


def _rebuild(state: StateAbstract, terms: list[tuple[Any, ...]], user: str | None) -> CostStack:
    stack = CostStack(state)
    for term in terms:
        stack.add(*term)
    stack._user = user
    return stack
