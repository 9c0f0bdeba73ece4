"""Inverse dynamics: Newton-Euler forces and torques in body frames."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
from casadi import SX

from trajopt.dynamics.motion import Accelerations, is_free_root
from trajopt.dynamics.spatial import Inertia, Spatial, dot
from trajopt.dynamics.tree import Tree
from trajopt.lie.formula import formula
from trajopt.lie.scalars import minus, plus, scalars, times


def newton_euler(
    tree: Tree, accelerations: Accelerations, external: Mapping[int, Spatial] | None = None
) -> tuple[list[Spatial], SX]:
    """Force F on each subtree at its root's origin, and torques τ = Sᵀ F, SX (n,).

    `external` holds external forces on links, in their frames; they are subtracted from F.

    Each body contributes the sum over its mass points r of (a, r × a), with a = p̈ + U r:
        force = m p̈ + U h,   couple = h × p̈ + vee(U J - (U J)ᵀ),
    with second moments J = Σ m r rᵀ. Source: Khalil & Dombre 2002, sec. 9.3.2, and 9.4.2 for the regrouping.
    """
    forces: list[Spatial] = []
    for i, link in enumerate(tree.links):
        body, linear, field = link.inertia, accelerations.linear[i], accelerations.field[i]
        own = Spatial(*_own_force(body.mass, body.moment, link.second_moments, linear, field))
        forces.append(own - external[i] if external and i in external else own)
    torques: list[SX] = []
    for i in reversed(range(len(tree.links))):
        link = tree.links[i]
        torques.extend(dot(column, forces[i]) for column in reversed(link.columns))
        if link.parent >= 0:
            forces[link.parent] = forces[link.parent] + link.placement.force_to_parent(forces[i])
    return forces, ca.vertcat(*reversed(torques))


@formula
def _own_force(mass: SX, moment: SX, second_moments: SX, linear: SX, field: SX) -> tuple[SX, SX]:
    uj = ca.mtimes(field, second_moments)
    _, yx, zx, xy, _, zy, xz, yz, _ = scalars(uj)
    turning = SX(ca.vcat([minus(zy, yz), minus(xz, zx), minus(yx, xy)]))
    force = plus(times(mass, linear), ca.mtimes(field, moment))
    return force, plus(ca.cross(moment, linear), turning)


def gravity_torques(tree: Tree, inertias: list[Inertia], gravity: list[SX]) -> SX:
    """Torques against gravity from composite inertias, SX (n,): τ = Sᵀ (-m g, -h × g).

    They are zero in trees with a free-flyer root, where `root_shift` accounts for gravity.
    """
    torques: list[SX] = []
    falling: list[bool] = []
    for i, link in enumerate(tree.links):
        falling.append(is_free_root(link) or (link.parent >= 0 and falling[link.parent]))
        force = Spatial(-inertias[i].mass * gravity[i], ca.cross(gravity[i], inertias[i].moment))
        torques.extend(SX(0) if falling[i] else dot(column, force) for column in link.columns)
    return ca.vertcat(*torques)
