"""Map from the velocities of a model to the rates of its elementary joints, ẏ = H(q) v, and back for torques."""

from __future__ import annotations

import casadi as ca
import pinocchio as pin
from casadi import SX

from trajopt.dynamics.joint_table import simple_joints
from trajopt.dynamics.rates import velocities_of_rates
from trajopt.dynamics.tree import Tree


class VelocityMap:
    """The map ẏ = H v: the identity except for mimic joints (constant rows) and ellipsoid joints (H depends on q).

    Args:
        model: Pinocchio's model.
        tree: The kinematic tree with its rates.
        q: Configuration, SX (nq,).
        v: Velocity, SX (nv,), or None.
    """

    def __init__(self, model: pin.Model, tree: Tree, q: SX, v: SX | None) -> None:
        self._q, self._v = q, v
        self._map = velocities_of_rates(tree, model.nv)
        self._direct = tree.is_direct and len(tree.rates) == model.nv
        self._bend = None if self._map.is_constant() else _bend(model)

    def rates(self, v: SX) -> SX:
        """Rates ẏ, SX (n,)."""
        return v if self._direct else ca.densify(ca.mtimes(self._map, v))

    def accelerations(self, a: SX) -> SX:
        """Accelerations ÿ = H a + Ḣ v, SX (n,)."""
        if self._direct:
            return a
        result = ca.densify(ca.mtimes(self._map, a))
        if self._bend is None or self._v is None:
            return result
        return result + ca.mtimes(self._bend(self._q, self._v, a, 0)[0], self._v)

    def torques(self, torques: SX) -> SX:
        """Torques Hᵀ τ, SX (nv,)."""
        return torques if self._direct else ca.densify(ca.mtimes(self._map.T, torques))

    def mass_matrix(self, matrix: SX) -> SX:
        """Mass matrix Hᵀ M H, SX (nv, nv)."""
        return matrix if self._direct else ca.mtimes([self._map.T, matrix, self._map])

    def torque_derivatives(self, torques: SX, dq: SX, dv: SX, mass: SX, a: SX) -> tuple[SX, SX]:
        """∂(Hᵀ τ)/∂q and ∂(Hᵀ τ)/∂v, SX (nv, nv) each, from the derivatives of τ in the coordinates of the tree.

        With y' = H v and y'' = H a + Ḣ v: Hᵀ (∂τ/∂y H + ∂τ/∂y' ∂y'/∂q + M ∂y''/∂q) + ∂(Hᵀ τ)/∂q at fixed τ, and
        Hᵀ (∂τ/∂y' H + 2 M Ḣ), since Ḣ v is quadratic in v.
        """
        if self._direct:
            return dq, dv
        by_q, by_v = ca.mtimes(dq, self._map), ca.mtimes(dv, self._map)
        if self._bend is None or self._v is None:
            return ca.mtimes(self._map.T, by_q), ca.mtimes(self._map.T, by_v)
        slope, rates_by_q, accelerations_by_q, torques_by_q = self._bend(self._q, self._v, a, torques)
        by_q = by_q + ca.mtimes(dv, rates_by_q) + ca.mtimes(mass, accelerations_by_q)
        by_v = by_v + 2 * ca.mtimes(mass, slope)
        return ca.mtimes(self._map.T, by_q) + torques_by_q, ca.mtimes(self._map.T, by_v)


def _bend(model: pin.Model) -> ca.Function:
    """(q, v, a, τ) -> Ḣ (n, nv), ∂(H v)/∂q, ∂(H a + Ḣ v)/∂q (n, nv), ∂(Hᵀ τ)/∂q (nv, nv); a call inlines it."""
    q, v, a = SX.sym("q", model.nq), SX.sym("v", model.nv), SX.sym("a", model.nv)
    tree = Tree(model, q)
    tau = SX.sym("tau", len(tree.rates))
    rate_map = velocities_of_rates(tree, model.nv)
    # Only ellipsoid joints make H depend on q; their tangent vectors are plain: dq = δ.
    tangent = SX(model.nq, model.nv)
    for joint in simple_joints(model):
        if joint.shortname() == "JointModelEllipsoid":
            for i in range(3):
                tangent[joint.idx_q + i, joint.idx_v + i] = 1

    def by_q(expression: SX) -> SX:
        return ca.mtimes(ca.jacobian(expression, q), tangent)

    rates_by_q = by_q(ca.mtimes(rate_map, v))  # equals Ḣ, since H is the gradient of y(q)
    accelerations = ca.mtimes(rate_map, a) + ca.mtimes(rates_by_q, v)
    outputs = [rates_by_q, rates_by_q, by_q(accelerations), by_q(ca.mtimes(rate_map.T, tau))]
    return ca.Function("bend", [q, v, a, tau], outputs)
