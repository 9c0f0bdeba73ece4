"""Named program arrays of a knot: the point of evaluation, values, and expansions.

A model gives `Values` or an `Expansion` of a knot at a `Point`. A continuous-time model gives an integrator
`StageValues` or a `StageExpansion` at a `Stage`. Derivatives are by z = (dx, du), of size n = ndx + nu, with dx in the
tangent space.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from casadi import SX

from trajopt.kernels.steps import Array
from trajopt.model.parts import ParameterArray


@dataclass(frozen=True, kw_only=True)
class Point:
    """Point of a trajectory at which a knot is evaluated.

    Attributes:
        x: State (nx,).
        u: Control (nu,); None at the end of a horizon.
        parameters: All run-time parameters of the model, in the order of its `layout`.
        following: State of the next knot (nx,), if the program has it.
    """

    x: Array
    u: Array | None
    parameters: Array
    following: Array | None = None


@dataclass(frozen=True, kw_only=True)
class Multipliers:
    """Multipliers of the Lagrangian l + λᵀ x⁺ + yᵀ c + δᵀ r, whose Hessian is computed; None counts as zero.

    Attributes:
        dynamics: λ (ndx,), in the tangent space at x⁺.
        rows: y (nc,).
        residuals: δ (nr,), with r the bent residuals of `ActionModelExpression.end_costs` at the end of a horizon, and
            of `running_costs` at each stage of a running knot.
    """

    dynamics: Array | None = None
    rows: Array | None = None
    residuals: Array | None = None


@dataclass(frozen=True, kw_only=True)
class Implicit:
    """Quantity a(x, u) that the equation r(x, u, a) = 0 defines, as expressions.

    Attributes:
        symbol: Symbol of a (na,).
        residual: r (na,) as an expression of x, u and the symbol.
        adjoint: Function that maps b (na,) to (∂r/∂a)⁻ᵀ b.
    """

    symbol: SX
    residual: SX
    adjoint: Callable[[SX], SX]


@dataclass(frozen=True, kw_only=True)
class Values:
    """Next state, cost and constraint rows of a knot.

    Attributes:
        xnext: Next state x⁺ = f(x, u), (nx,); None at the end of a horizon.
        cost: l(x, u), (1,) [cost].
        rows: Constraint rows c(x, u), (nc,); None if the model has none.
    """

    xnext: Array | None = None
    cost: Array
    rows: Array | None = None

    @classmethod
    def of(cls, results: Mapping[str, Array]) -> Values:
        """Creates values from arrays by name, "xnext" and "rows" only if they exist."""
        return cls(**_own(cls, results))


@dataclass(frozen=True, kw_only=True)
class Lift:
    """Position rows of F as a function of its velocity rows Fv: Fq = J0 (1, 0, 0) + dt J1 Fv.

    This holds if q⁺ = q ⊕ dt v⁺: for symplectic Euler steps of second-order systems, and for impulses, with dt = 0.
    The derivatives J0 and J1 of q ⊕ dt v⁺ are the identity outside of a leading block of nb rows and columns.

    Attributes:
        dt: Time step (1,) [s].
        J0: Leading block of J0 (nb, nb).
        J1: Leading block of dt J1 (nb, nb).
        Fv: Velocity rows of F (ndx / 2, n).
    """

    dt: Array
    J0: Array
    J1: Array
    Fv: Array


@dataclass(frozen=True, kw_only=True)
class Expansion:
    """Values and derivatives of a knot in tangent coordinates: dx⁺ = F z, or F z + gap if the model provides a gap.

    Columns are those of z. A model with constant states θ behind its other states x has F and a lift of these and of
    the control alone, and E: dx⁺ = F (dx, du) + Eᵀ dθ.

    Attributes:
        xnext: Next state (nx,); None at the end of a horizon, and if the model provides a gap.
        F: Derivative of the next state (ndx, n); None at the end, and if there is a lift.
        cost: Cost (1,) [cost].
        g: Gradient of the cost (n,).
        H: Hessian (n, n) of the cost, Gauss-Newton or exact depending on the model; of the Lagrangian with
            multipliers.
        rows: Constraint rows (nc,); None if the model has none.
        C: Derivative of the rows (nc, n).
        gap: Difference x⁺ ⊖ following (ndx,) of a model that linearises r(x, u, x⁺) = 0 at the state of the next knot;
            None if the difference is xnext ⊖ following.
        lift: Lift from which F follows; None unless one was requested.
        E: Derivative of x⁺ by the constant states, as rows (k, ndx - k); None without such states, and at the end.
        kept: Arrays that the Hessian of the Lagrangian reads, with the shapes of the model's `kept_shapes`.
    """

    xnext: Array | None = None
    F: Array | None = None
    cost: Array
    g: Array
    H: Array
    rows: Array | None = None
    C: Array | None = None
    gap: Array | None = None
    lift: Lift | None = None
    E: Array | None = None
    kept: tuple[Array, ...] = ()

    @classmethod
    def of(cls, results: Mapping[str, Array], *, F: Array | None = None, lift: Lift | None = None) -> Expansion:
        """Creates an expansion from arrays by name, and F or the lift unless F is among them."""
        return cls(**({"F": F} | _own(cls, results)), lift=lift)


@dataclass(frozen=True, kw_only=True, eq=False)
class Stage:
    """Instant of a knot at which an integrator evaluates a continuous-time model.

    Attributes:
        x: State (nx,).
        u: Control (nu,).
        parameters: Run-time parameters, which include those of the model.
        weight: Factor of the cost (1,) [s].
        has_rows: Whether constraint rows are computed.
    """

    x: Array
    u: Array
    parameters: ParameterArray
    weight: Array
    has_rows: bool = True

    @property
    def arrays(self) -> dict[str, Array]:
        """The arrays by the names of the inputs of functions."""
        return {"x": self.x, "u": self.u, "weight": self.weight}


@dataclass(frozen=True, kw_only=True)
class StageValues:
    """Dynamics, cost and constraint rows of a continuous-time model at one stage.

    Attributes:
        f: Acceleration (ndx / 2,), or the rate of the state (ndx,) for a first-order system.
        cost: Weighted cost (1,) [cost].
        rows: Constraint rows (nc,), not weighted; None if there are none, and for stages without rows.
    """

    f: Array
    cost: Array
    rows: Array | None = None


@dataclass(frozen=True, kw_only=True)
class StageExpansion:
    """Values and derivatives of a continuous-time model.

    Attributes:
        f: As in `StageValues`.
        Df: Derivative of f (size of f, n).
        cost: Weighted cost (1,) [cost].
        g: Gradient of the cost (n,).
        H: Gauss-Newton Hessian of the cost (n, n).
        rows: As in `StageValues`.
        C: Derivative of the rows (nc, n).
    """

    f: Array
    Df: Array
    cost: Array
    g: Array
    H: Array
    rows: Array | None = None
    C: Array | None = None

    @classmethod
    def of(cls, results: Mapping[str, Array]) -> StageExpansion:
        """Creates an expansion from arrays by name, "rows" and "C" only if they exist."""
        return cls(**_own(cls, results))


def _own(cls: type[Any], results: Mapping[str, Array]) -> dict[str, Any]:
    """Results that are fields of a data class."""
    return {field.name: results[field.name] for field in fields(cls) if field.name in results}
