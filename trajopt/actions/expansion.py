"""Named program arrays of a knot: the point of evaluation, values, and expansions.

A knot is at a `Point`, where its model gives `Values` or an `Expansion`. An integrator evaluates a continuous-time
model at a `Stage`, where it gives `StageValues` or a `StageExpansion`. Derivatives are by z = (dx, du), of size
n = ndx + nu, with dx in the tangent space.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from casadi import SX

from trajopt.kernels.steps import Array
from trajopt.model.parts import ParameterArray


@dataclass(frozen=True, kw_only=True)
class Point:
    """A knot of a trajectory.

    Attributes:
        x: State (nx,).
        u: Control (nu,); None at the end of a horizon.
        parameters: All run-time parameters of the model, as its `layout` has them.
        following: State of the next knot (nx,), where a program has it.
    """

    x: Array
    u: Array | None
    parameters: Array
    following: Array | None = None


@dataclass(frozen=True, kw_only=True)
class Multipliers:
    """Multipliers of the Lagrangian l + λᵀ x⁺ + yᵀ c + δᵀ r, where its Hessian is wanted; None is zero.

    Attributes:
        dynamics: λ (ndx,), in the tangent space at x⁺.
        rows: y (nc,).
        residuals: δ (nr,), with r the residuals of `ActionModelExpression.end_costs`, at the end of a horizon.
    """

    dynamics: Array | None = None
    rows: Array | None = None
    residuals: Array | None = None


@dataclass(frozen=True, kw_only=True)
class Implicit:
    """A quantity a(x, u) that r(x, u, a) = 0 defines, as expressions.

    Attributes:
        symbol: Symbol of a (na,).
        residual: r (na,) of x, u and the symbol.
        adjoint: (∂r/∂a)⁻ᵀ b of b (na,).
    """

    symbol: SX
    residual: SX
    adjoint: Callable[[SX], SX]


@dataclass(frozen=True, kw_only=True)
class Values:
    """Values of a knot.

    Attributes:
        xnext: Next state x⁺ = f(x, u), (nx,); None at the end of a horizon.
        cost: l(x, u), (1,) [cost].
        rows: Constraint rows c(x, u), (nc,); None if the model has none.
    """

    xnext: Array | None
    cost: Array
    rows: Array | None = None

    @classmethod
    def of(cls, found: Mapping[str, Array]) -> Values:
        """Collects the results of one call by the names of the attributes."""
        return cls(xnext=found.get("xnext"), cost=found["cost"], rows=found.get("rows"))


@dataclass(frozen=True, kw_only=True)
class Lift:
    """Position rows of F as a function of its velocity rows Fv: Fq = J0 (1, 0, 0) + dt J1 Fv.

    So it is where q⁺ = q ⊕ dt v⁺: symplectic Euler steps of second-order systems, and impulses, with dt = 0. J0 and J1,
    the derivatives of q ⊕ dt v⁺, are the identity outside of a leading block of nb rows and columns.

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
    """Values and derivatives of a knot, in tangent coordinates: dx⁺ = F z, or F z + gap where a model gives its gap.

    Columns are those of z; more of them, such as derivatives by a time step, would follow after those of the control.

    Attributes:
        xnext: Next state (nx,); None at the end of a horizon, and where a model gives its gap.
        F: Derivative of the next state (ndx, n); None at the end, and where there is a lift.
        cost: Cost (1,).
        g: Its gradient (n,).
        H: Its Hessian (n, n), Gauss-Newton or exact as the model says; that of the Lagrangian with multipliers.
        rows: Constraint rows (nc,); None if the model has none.
        C: Their derivative (nc, n).
        gap: What x⁺ has beyond the state of the next knot (ndx,), of a model of r(x, u, x⁺) = 0 linearised at that
            state; None if it is xnext ⊖ following.
        lift: What F follows from, if it was asked for.
        kept: What the Hessian of the Lagrangian reads, of the shapes of the model's `kept_shapes`.
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
    kept: tuple[Array, ...] = ()

    @classmethod
    def of(cls, found: Mapping[str, Array], *, F: Array | None = None, lift: Lift | None = None) -> Expansion:
        """Collects the results of one call by the names of the attributes, with an F or a lift from elsewhere."""
        return cls(
            xnext=found.get("xnext"),
            F=found.get("F", F),
            cost=found["cost"],
            g=found["g"],
            H=found["H"],
            rows=found.get("rows"),
            C=found.get("C"),
            gap=found.get("gap"),
            lift=lift,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Stage:
    """An instant of a knot at which an integrator evaluates a continuous-time model.

    Attributes:
        x: State (nx,).
        u: Control (nu,).
        parameters: Run-time parameters, those of the model among them.
        weight: What the cost is multiplied by (1,) [s].
        at_knot: Whether it is the knot itself, where constraint rows are wanted.
    """

    x: Array
    u: Array
    parameters: ParameterArray
    weight: Array
    at_knot: bool = True

    @property
    def arrays(self) -> dict[str, Array]:
        """The arrays by the names that functions give them."""
        return {"x": self.x, "u": self.u, "weight": self.weight}


@dataclass(frozen=True, kw_only=True)
class StageValues:
    """Values of a continuous-time model.

    Attributes:
        f: Acceleration (ndx / 2,), or rate of the state (ndx,) of a first-order system.
        cost: Weighted cost (1,) [cost].
        rows: Constraint rows (nc,), not weighted; None if there are none, and beside the knot.
    """

    f: Array
    cost: Array
    rows: Array | None = None


@dataclass(frozen=True, kw_only=True)
class StageExpansion:
    """Values and derivatives of a continuous-time model.

    Attributes:
        f: As in `StageValues`.
        Df: Its derivative (size of f, n).
        cost: Weighted cost (1,) [cost].
        g: Its gradient (n,).
        H: Its Gauss-Newton Hessian (n, n).
        rows: As in `StageValues`.
        C: Their derivative (nc, n).
    """

    f: Array
    Df: Array
    cost: Array
    g: Array
    H: Array
    rows: Array | None = None
    C: Array | None = None
