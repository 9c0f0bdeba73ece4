"""Costs of a knot: a sum of named, weighted terms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import casadi as ca
import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.activations.base import ActivationModelAbstract, as_matrix
from trajopt.activations.quadratic import ActivationModelQuad
from trajopt.checks import check_non_negative, shape_of
from trajopt.errors import InvalidArgumentError
from trajopt.instant import Instant
from trajopt.model.parameters import Parameter
from trajopt.residuals.base import ResidualModelAbstract
from trajopt.residuals.stack import ResidualStackAbstract


@dataclass(frozen=True, repr=False)
class CostTerm:
    """Named term of a cost stack: weight · a(r) [cost]."""

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

    def cure_of(self, name: str) -> str:
        """Says how to change an attribute; empty if there is no advice."""
        return f"a run-time parameter: problem.set_parameter('{self.name}.weight', value)" if name == "weight" else ""

    def parameters(self, nu: int) -> dict[str, Parameter]:
        """Run-time parameters by their names in the stack, such as "goal.weight"."""
        named = {"weight": self.weight, **self.residual.parameters_for(nu), **self.activation.parameters()}
        return {f"{self.name}.{key}": parameter for key, parameter in named.items()}

    def value(self, instant: Instant) -> SX:
        """Value weight · a(r), a scalar [cost]."""
        return self.weight.symbol * self.activation.expression(self.residual.expression(instant))

    def check_size(self, nu: int) -> None:
        """Raises InvalidArgumentError if the activation does not fit the residual of a model with `nu` controls."""
        try:
            self.activation.check_size(self.residual.size(nu))
        except InvalidArgumentError as error:
            raise InvalidArgumentError(f"cost term {self.name!r}: {error}") from error


@dataclass(frozen=True)
class QuadraticCost:
    """Value and Gauss-Newton expansion of a cost by independent y = (x, u) and z = `Instant.solved`.

    Attributes:
        cost: Value [cost].
        Ly: Gradient by y (ndx + nu,).
        Lyy: Hessian by y (ndx + nu, ndx + nu).
        Lz: Gradient by z (nz,).
        Lzz: Hessian by z (nz, nz).
        Lzy: Mixed derivatives (nz, ndx + nu).
    """

    cost: SX
    Ly: SX
    Lyy: SX
    Lz: SX
    Lzz: SX
    Lzy: SX


class CostStack(ResidualStackAbstract[CostTerm]):
    """Sum of named cost terms weight · a(r) [cost], where a(r) = ½ rᵀr unless a term has another activation.

    The weight of a term and the parameters of its residual and activation are run-time parameters, named
    "term.weight", "term.reference" and so on. A model freezes its stack; several models may share one.

    Args:
        state: The state's manifold.
    """

    kind = "cost term"

    def add(
        self,
        name: str,
        residual: ResidualModelAbstract,
        weight: float,
        activation: ActivationModelAbstract | None = None,
    ) -> Self:
        """Adds a term; it gets a copy of a residual or activation that another term uses, with parameters of its own.

        Args:
            name: Name of the term, a unique identifier.
            residual: Residual r, which the cost drives to zero.
            weight: Weight, >= 0 [cost / unit of the residual squared].
            activation: Activation a(r) that turns the residual into a cost; ½ rᵀr by default.

        Returns:
            The stack itself, so that calls can be chained.

        Raises:
            DuplicateNameError: The stack has a term of this name.
            InvalidArgumentError: Sizes do not fit, or a model has frozen the stack.
        """
        self.check_new(name, residual)
        if activation is not None and not isinstance(activation, ActivationModelAbstract):
            raise InvalidArgumentError(f"activation: expected an activation model or None, got {activation!r}")
        if any(t.residual is residual for t in self.terms):
            residual = residual.clone()  # parameters of its own
        if activation is not None and any(t.activation is activation for t in self.terms):
            activation = activation.clone()
        if shape_of(weight) != ():
            raise InvalidArgumentError(
                f"weight: expected one number, got {weight!r}; use ActivationModelWeightedQuad to weight each element"
            )
        value = check_non_negative("weight", weight)
        parameter = Parameter("weight", SX.sym(f"{name}.weight"), np.array(value), "cost / unit²", _weight)
        term = CostTerm(name, residual, activation or ActivationModelQuad(), parameter)
        self.take(term, ["weight"], residual.parameters(), term.activation.parameters())
        return self

    @property
    def terms(self) -> tuple[CostTerm, ...]:
        """The cost terms, in the order in which they were added."""
        return self.items

    def values(self, instant: Instant) -> dict[str, SX]:
        """Value of each term [cost]."""
        return {t.name: t.value(instant) for t in self.terms}

    def value(self, instant: Instant) -> SX:
        """Sum of all terms, a scalar [cost]."""
        return sum(self.values(instant).values(), SX(0))

    def bent(self, instant: Instant) -> tuple[CostTerm, ...]:
        """Terms whose residuals depend on the state alone, and bend; the others have no second derivatives by it."""
        of_state = [t for t in self.terms if not (t.residual.uses_control or t.residual.uses_solution)]
        return tuple(t for t in of_state if ca.depends_on(t.residual.derivative(instant)[0], instant.x))

    def bent_residuals(self, instant: Instant) -> tuple[SX, SX]:
        """Residuals r (nr,) of all bent terms, and their derivative Rx (nr, ndx)."""
        residuals = [term.residual for term in self.bent(instant)]
        r = ca.vertcat(SX(0, 1), *(residual.expression(instant) for residual in residuals))
        return r, ca.vertcat(SX(0, self.state.ndx), *(residual.derivative(instant)[0] for residual in residuals))

    def gradient_ahead(self, instant: Instant, dx: SX) -> tuple[SX, SX]:
        """Gradient weight · a' (nr,) of the cost by bent residuals, and its first-order change weight · a'' Rx dx.

        Args:
            instant: The knot.
            dx: Step of the state (ndx,).
        """
        gradients, changes = [SX(0, 1)], [SX(0, 1)]
        for term in self.bent(instant):
            r, along = term.residual.expression(instant), term.residual.derivative(instant)[0] @ dx
            gradients.append(term.weight.symbol * term.activation.gradient(r))
            bend = term.activation.hessian(r)
            changes.append(term.weight.symbol * (bend * along if bend.shape[1] == 1 else bend @ along))
        return ca.vertcat(*gradients), ca.vertcat(*changes)

    def quadratic(self, instant: Instant) -> QuadraticCost:
        """Value, gradient and Gauss-Newton Hessian Rᵀ Arr R, where R = (Rx, Ru, Rz) is the residual's derivative."""
        residuals = [term.residual.expression(instant) for term in self.terms]
        n, s = self.state.ndx + instant.nu + instant.solved.numel(), self.state.ndx + instant.nu
        cost, gradient, hessian = SX(0), SX(n, 1), SX(n, n)
        for term, r in zip(self.terms, residuals):
            jacobian = term.residual.whole_derivative(instant)
            weight, activation = term.weight.symbol, term.activation
            cost += weight * activation.expression(r)
            gradient += jacobian.T @ (weight * activation.gradient(r))
            hessian += ca.triu(jacobian.T @ (as_matrix(weight * activation.hessian(r)) @ jacobian))
        hessian = ca.triu2symm(ca.triu(hessian))
        return QuadraticCost(
            cost=cost,
            Ly=gradient[:s],
            Lyy=hessian[:s, :s],
            Lz=gradient[s:],
            Lzz=hessian[s:, s:],
            Lzy=hessian[s:, :s],
        )

    def curvature(self, instant: Instant, delta: SX | None = None) -> tuple[SX, SX]:
        """Hessian (ndx + nu, ndx + nu) of the terms with a closed form, and the sum of all other terms [cost].

        Closed forms are shorter: the placement of a UR5 takes 2,000 instructions instead of 7,100 by automatic
        differentiation.

        Args:
            instant: The knot.
            delta: Multipliers δ (nr,) that add δᵀ r to the cost, with r the bent residuals; none by default.
        """
        bent = () if delta is None else self.bent(instant)
        hessian, rest = SX(self.state.ndx + instant.nu, self.state.ndx + instant.nu), SX(0)
        first = 0
        for term in self.terms:
            r, weight, activation = term.residual.expression(instant), term.weight.symbol, term.activation
            more = SX.zeros(r.shape)
            if any(term is each for each in bent):
                assert delta is not None
                more = delta[first : first + r.shape[0]]
                first += r.shape[0]
            slope = weight * activation.gradient(r) + more
            bend = weight * activation.hessian(r)
            own = term.residual.curvature(instant, slope, bend) if bend.shape[1] == 1 else None
            if own is None:
                rest += weight * activation.expression(r) + ca.dot(more, r)
            else:
                hessian += own
        return hessian, rest

    def arguments_of(self, item: CostTerm) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return (item.name, item.residual, float(item.weight.default), item.activation), {}


def _weight(argument: str, value: Any) -> npt.NDArray[np.float64]:
    return np.array(check_non_negative(argument, value))
