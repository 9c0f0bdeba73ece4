"""Hessian of the Lagrangian of an implicit step, from second derivatives of a single number.

The unknown k solves r(x, u, k) = 0, the equation of motion at the stage y = x ⊕ c dt k. With the Lagrangian
Φ(x, u, k) = dt l(y, u) + λᵀ (f ⊖ x⁺) + yᵀ c, μ = r_k⁻ᵀ Φ_k and K = dk/d(x, u), the Hessian of Φ(x, u, k(x, u)) is

    (1; K)ᵀ ∇²(Φ - μᵀ r) (1; K)      with μ held constant.

For a robot r is the inverse dynamics RNEA(q, v, a) - B u; else it is k - f(y, u).
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
from casadi import SX

from trajopt.actions.differential.base import DifferentialActionModelAbstract
from trajopt.actions.expansion import Multipliers
from trajopt.actions.integrated.stage_rows import StageRows
from trajopt.actions.lagrangian import lagrangian, symmetric
from trajopt.instant import Instant
from trajopt.kernels.derivatives import jacobian
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.newton import add_quotient
from trajopt.model.parts import Bindings, named_call


@dataclass(frozen=True)
class ImplicitStage:
    """An implicit step as expressions.

    Attributes:
        instant: Symbols x and u of the knot.
        k: Symbol of the unknown (size,).
        y: State of the stage (nx,).
        xnext: State at the end (nx,).
        dt: Time step (1,) [s].
    """

    instant: Instant
    k: SX
    y: SX
    xnext: SX
    dt: SX

    def residual(self, d: DifferentialActionModelAbstract) -> SX:
        """The equation r = 0 of the unknown (size,)."""
        at = d.instant()
        implicit = None if d.exact_hessian else d.implicit(at)
        if implicit is None:
            return self.at(self.k - d.dynamics(at), at)
        return self.at(SX(ca.substitute(implicit.residual, implicit.symbol, self.k)), at)

    def values(self, d: DifferentialActionModelAbstract, later: StageRows | None) -> dict[str, SX]:
        """Expressions "cost", "xnext" and, if there are constraints, "rows", whose last ones are those of the stage."""
        at = d.instant()
        cost = sum(d.term_values(at).values(), SX(0))
        values = {"cost": self.dt * self.at(cost, at), "xnext": self.xnext}
        if d.constraints.constraints:
            rows = d.row_values(self.instant)
            stages = [] if later is None else [self.at(later.of(d.row_values(at)), at)]
            values["rows"] = ca.vertcat(rows, *stages)
        return values

    def at(self, value: SX, instant: Instant) -> SX:
        """A value of an instant, at the stage."""
        return SX(ca.substitute(value, ca.vertcat(instant.x, instant.u), ca.vertcat(self.y, self.instant.u)))


def add_hessian(
    d: DifferentialActionModelAbstract,
    program: Program,
    stage: ImplicitStage,
    inputs: Bindings,
    kept: tuple[Array, Array],
    multipliers: Multipliers,
    later: StageRows | None = None,
) -> Array:
    """Adds the steps that compute the Hessian of the Lagrangian (n, n) of an implicit step.

    Args:
        d: Continuous-time model with `exact_hessian` or `implicit` dynamics.
        program: Program that gets the steps.
        stage: The step.
        inputs: Symbols x, u and parameters, each with its array.
        kept: The unknown k (size,) and its derivative by x and u (size, n).
        multipliers: λ and y.
        later: Constraint rows of the stage, which follow those of the knot; None if it has none.
    """
    i, k, state, r = stage.instant, stage.k, d.state, stage.residual(d)
    total, reached, bindings = lagrangian(state, stage.values(d, later), multipliers)
    arguments: Bindings = [*inputs, (k, kept[0]), *bindings]
    slope = ca.substitute(jacobian(total, k).T, reached, stage.xnext)
    first = {"M": jacobian(r, k).T, "slope": ca.densify(slope)}
    found = named_call(program, "Lagrangian of an implicit step: adjoint", arguments, first)
    quotient = add_quotient(program, found["M"], found["slope"])
    step, mu = SX.sym("dx", state.ndx), SX.sym("mu", k.numel())
    variables = ca.vertcat(step, i.u, k)
    moved = ca.substitute(total - ca.dot(mu, r), i.x, state.sx_integrate(i.x, step))
    hessian = symmetric(jacobian(jacobian(moved, variables).T, variables))
    hessian = ca.substitute(hessian, ca.vertcat(step, reached), ca.vertcat(SX.zeros(state.ndx), stage.xnext))
    by = SX.sym("K", *kept[1].shape)
    results = {"H": ca.densify(hessian), "by": ca.densify(ca.vertcat(SX.eye(by.shape[1]), by))}
    arguments += [(mu, quotient), (by, kept[1])]
    h = named_call(program, "Lagrangian of an implicit step: Hessian", arguments, results)
    return program.matmul(h["by"], program.matmul(h["H"], h["by"]), transpose_a=True)
