"""Derivatives of inverse dynamics, by a recursion on composite bodies in body frames."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
from casadi import SX

from trajopt.dynamics.composite import CompositeBody
from trajopt.dynamics.inverse_dynamics import Accelerations, Velocities
from trajopt.dynamics.mass_matrix import MassColumns
from trajopt.dynamics.spatial import Spatial, cross_force, cross_motion, dot
from trajopt.dynamics.tree import Link, Tree


@dataclass(frozen=True)
class _Column:
    """What one rate k of a link needs: S, S' = v_λ × S, S'' = a_λ × S + v_λ × S', and S' + v × S."""

    s: Spatial
    s1: Spatial
    s2: Spatial
    s3: Spatial


def rnea_derivatives(
    tree: Tree,
    velocities: Velocities,
    accelerations: Accelerations,
    forces: list[Spatial],
    bodies: list[CompositeBody],
    mass: MassColumns,
) -> tuple[SX, SX]:
    """∂τ/∂q (tangent) and ∂τ/∂v in the tree's rates, SX (n, n) each.

    For a rate j of link i or of an ancestor of i, with the composite body (I, 2B) and the subtree's force F of i:
        ∂τ_i/∂q_j = S'_j · 2Bᵀ S_i + S''_j · I S_i      ∂τ_i/∂v_j = S_j · 2Bᵀ S_i + (S'_j + v_j × S_j) · I S_i
        ∂τ_j/∂q_i = S_j · (2B S'_i + I S''_i + S_i ×* F)  ∂τ_j/∂v_i = S_j · (2B S_i + I (S'_i + v_i × S_i))
    where S_i ×* F is absent for j in link i. The vectors beside S_j and S_i are made in the frame of i, where S_i is
    a unit vector, and carried up to each ancestor; 2Bᵀ S is a pure couple, which turns only.

    Source: Singh, Russell & Wensing 2022, "Efficient analytical derivatives of rigid-body dynamics using spatial
    vector algebra", eqs. 30-37.
    """
    n = len(tree.rates)
    dq, dv = SX(n, n), SX(n, n)
    columns = [_link_columns(link, i, velocities, accelerations) for i, link in enumerate(tree.links)]
    for i, link in enumerate(tree.links):
        body = bodies[i]
        for k, column in enumerate(columns[i]):
            by_q = body.inertia.times(column.s2) + body.two_b(column.s1)
            by_v = body.two_b(column.s) + body.inertia.times(column.s3)
            couple = body.two_b_transposed(column.s)
            for j, other in enumerate(link.columns):
                dq[link.first + j, link.first + k] = dot(other, by_q)
                dv[link.first + j, link.first + k] = dot(other, by_v)
            by_q = by_q + cross_force(column.s, forces[i])
            _carry_up(tree, columns, i, link.first + k, (by_q, by_v, couple), mass.forces[link.first + k], (dq, dv))
    return dq, dv


def _link_columns(link: Link, i: int, velocities: Velocities, accelerations: Accelerations) -> list[_Column]:
    result = []
    for s in link.columns:
        s1 = cross_motion(velocities.carried[i], s)
        s2 = cross_motion(accelerations.carried[i], s) + cross_motion(velocities.carried[i], s1)
        # For one rate v × S = v_λ × S, and the sum is twice the same vector.
        s3 = s1 + (s1 if len(link.columns) == 1 else cross_motion(velocities.total[i], s))
        result.append(_Column(s, s1, s2, s3))
    return result


def _carry_up(
    tree: Tree,
    columns: list[list[_Column]],
    i: int,
    row: int,
    carried: tuple[Spatial, Spatial, SX],
    mass_forces: list[Spatial],
    out: tuple[SX, SX],
) -> None:
    by_q, by_v, couple = carried
    dq, dv = out
    for by_a in mass_forces[1:]:
        up = tree.links[i].placement
        by_q, by_v = up.force_to_parent(by_q), up.force_to_parent(by_v)
        couple = ca.mtimes(up.rotation, couple)
        i = tree.links[i].parent
        for k, other in enumerate(columns[i]):
            at = tree.links[i].first + k
            dq[at, row] = dot(other.s, by_q)
            dv[at, row] = dot(other.s, by_v)
            dq[row, at] = ca.dot(other.s1.angular, couple) + dot(other.s2, by_a)
            dv[row, at] = ca.dot(other.s.angular, couple) + dot(other.s3, by_a)
