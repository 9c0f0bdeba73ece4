"""Derivatives of inverse dynamics, by a recursion on composite bodies in body frames.

Number of operations of ∂τ/∂q, ∂τ/∂v and M together (casadi 3.8, constants and outputs included):

| way                                               | talos_arm | solo12 | talos  |
|---------------------------------------------------|-----------|--------|--------|
| this file                                         | 3,807     | 7,191  | 30,861 |
| the same formulas in the root's (or world) frame  | 5,665     | 8,686  | 36,011 |
| ca.jacobian of this RNEA in tangent coordinates   | 7,837     | 13,170 | 81,399 |

In body frames the S of a revolute joint is a unit vector and a rotation about z costs 6 operations. In one common frame
the transports vanish, but every product is dense. ca.cse removes 2 to 5 % of the first row.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.dynamics.composite import CompositeBody
from trajopt.dynamics.mass_matrix import MassColumns
from trajopt.dynamics.motion import Accelerations, Velocities, is_free_root
from trajopt.dynamics.spatial import Spatial, cross_force, cross_motion, dot, zero
from trajopt.dynamics.tree import Link, Tree
from trajopt.lie.scalars import plus


@dataclass(frozen=True)
class VelocityColumn:
    """Quantities of one rate k of a link at the velocity level.

    Attributes:
        s: S_k; 0 for the linear rates of a free-flyer root, whose effects are in RootShift.
        s1: S' = v_λ × S, the rate of S when carried by the parent.
        s3: S' + v_i × S.
    """

    s: Spatial
    s1: Spatial
    s3: Spatial


@dataclass(frozen=True)
class VelocityDerivative:
    """Derivative ∂τ/∂ẏ in the rates of the tree, SX (n, n), and the quantities that ∂τ/∂q shares with it.

    Attributes:
        dv: ∂τ/∂ẏ without RootShift. It depends on (q, ẏ) only, and τ is quadratic in ẏ: Coriolis forces are dv ẏ / 2.
        columns: VelocityColumns of each link.
        couples: For each rate of link i, the couple of 2Bᵀ S in the frames of i, its parent, ... to the root.
    """

    dv: SX
    columns: list[list[VelocityColumn]]
    couples: list[list[SX]]


def velocity_derivative(
    tree: Tree, velocities: Velocities, bodies: list[CompositeBody], mass: MassColumns
) -> VelocityDerivative:
    """Derivative ∂τ/∂ẏ, computed from composite bodies.

    With (I, 2B) of the composite body of link i, and j a rate of i or of its ancestors:

        ∂τ_i/∂ẏ_j = S_j · 2Bᵀ S_i + (S'_j + v_j × S_j) · I S_i,   ∂τ_j/∂ẏ_i = S_j · (2B S_i + I (S'_i + v_i × S_i)).

    The factors of S_j are computed in the frame of i, where S_i is a unit vector, and transformed to each ancestor;
    2Bᵀ S is a pure couple, which is only rotated.

    Source: Singh, Russell & Wensing 2022, "Efficient analytical derivatives of rigid-body dynamics using spatial
    vector algebra", eqs. 30-37.
    """
    n = len(tree.rates)
    result = VelocityDerivative(SX(n, n), [_columns(tree.links[i], i, velocities) for i in range(len(tree.links))], [])
    for i, link in enumerate(tree.links):
        for k, column in enumerate(result.columns[i]):
            force = bodies[i].two_b(column.s) + bodies[i].inertia.times(column.s3)
            couple = bodies[i].two_b_transposed(link.columns[k])
            for j, s in enumerate(link.columns):
                result.dv[link.first + j, link.first + k] = dot(s, force)
            result.couples.append([couple])
            _carry_velocity_column(tree, i, link.first + k, force, mass, result)
    return result


def _columns(link: Link, i: int, velocities: Velocities) -> list[VelocityColumn]:
    result = []
    for k, s in enumerate(link.columns):
        if is_free_root(link) and k < 3:
            result.append(VelocityColumn(zero(), zero(), zero()))
            continue
        s1 = cross_motion(velocities.carried[i], s)
        # For one rate v × S = v_λ × S, and the sum is twice the same vector.
        s3 = s1 + (s1 if len(link.columns) == 1 else cross_motion(velocities.total[i], s))
        result.append(VelocityColumn(s, s1, s3))
    return result


def _carry_velocity_column(
    tree: Tree, i: int, row: int, force: Spatial, mass: MassColumns, result: VelocityDerivative
) -> None:
    for by_a in mass.forces[row][1:]:
        up = tree.links[i].placement
        force = up.force_to_parent(force)
        couple = ca.mtimes(up.rotation, result.couples[row][-1])
        result.couples[row].append(couple)
        i = tree.links[i].parent
        for k, other in enumerate(result.columns[i]):
            at = tree.links[i].first + k
            result.dv[at, row] = dot(tree.links[i].columns[k], force)
            result.dv[row, at] = plus(ca.dot(other.s.angular, couple), dot(other.s3, by_a))


def configuration_derivative(
    tree: Tree,
    velocities: Velocities,
    accelerations: Accelerations,
    forces: list[Spatial],
    bodies: list[CompositeBody],
    mass: MassColumns,
    by_velocity: VelocityDerivative,
) -> SX:
    """Derivative ∂τ/∂q in the tangent space of the tree's coordinates, SX (n, n), without RootShift.

    With S''_j = a_λ × S_j + v_λ × S'_j and F the force on the subtree of link i:
        ∂τ_i/∂q_j = S'_j · 2Bᵀ S_i + S''_j · I S_i,   ∂τ_j/∂q_i = S_j · (2B S'_i + I S''_i + S_i ×* F),
    where S_i ×* F is absent for j in link i. Source: as velocity_derivative.
    """
    n = len(tree.rates)
    dq = SX(n, n)
    columns = by_velocity.columns
    seconds = [
        [_second(s, velocities, accelerations, i) for s in ([] if is_free_root(link) else link.columns)]
        for i, link in enumerate(tree.links)
    ]
    for i, link in enumerate(tree.links):
        for k, s in enumerate(link.columns):
            row = link.first + k
            force = zero()
            if seconds[i]:
                force = bodies[i].inertia.times(seconds[i][k]) + bodies[i].two_b(columns[i][k].s1)
                for j, other in enumerate(link.columns):
                    dq[link.first + j, row] = dot(other, force)
            force = force + cross_force(s, forces[i])
            at = i
            for by_a, couple in zip(mass.forces[row][1:], by_velocity.couples[row][1:], strict=True):
                force = tree.links[at].placement.force_to_parent(force)
                at = tree.links[at].parent
                first = tree.links[at].first
                for j, other in enumerate(tree.links[at].columns):
                    dq[first + j, row] = dot(other, force)
                for j, second in enumerate(seconds[at]):
                    dq[row, first + j] = plus(ca.dot(columns[at][j].s1.angular, couple), dot(second, by_a))
    return dq


def _second(s: Spatial, velocities: Velocities, accelerations: Accelerations, i: int) -> Spatial:
    """S'' in classical terms: (p̈ × s + 2 v × (w × s) + U s_l, U s) of the carried motion, s_l the linear part of S."""
    v, p = velocities.carried[i], accelerations.carried_linear[i]
    ws = ca.cross(v.angular, s.angular)
    linear = ca.cross(p, s.angular) + 2 * ca.cross(v.linear, ws) + _field(v.angular, accelerations, i, s.linear)
    return Spatial(linear, _field(v.angular, accelerations, i, s.angular))


def _field(w: SX, accelerations: Accelerations, i: int, r: SX) -> SX:
    if r.is_constant() and not np.any(np.array(ca.DM(r))):
        return SX(np.zeros(3))
    return ca.cross(accelerations.carried_angular[i], r) + ca.cross(w, ca.cross(w, r))
