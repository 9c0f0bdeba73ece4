"""Composite bodies: inertia, momentum and rate of change of inertia of each subtree, in the frame of its root."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
from casadi import SX

from trajopt.dynamics.motion import Velocities
from trajopt.dynamics.spatial import (
    Inertia,
    Spatial,
    rotate_symmetric,
    rotate_symmetric_z,
    shift_symmetric,
    symmetric_sum,
)
from trajopt.dynamics.tree import Link, Tree
from trajopt.lie.formula import formula
from trajopt.lie.scalars import TWO, plus, times


def turned_to_parent(link: Link, a: SX) -> SX:
    """Transforms a symmetric SX (3, 3) from a link's axes to the axes of its parent."""
    if link.joint.angle is None:
        return rotate_symmetric(link.placement.rotation, a)
    return rotate_symmetric(SX(link.before.rotation), rotate_symmetric_z(*link.joint.angle, a))


def inertia_to_parent(inertia: Inertia, link: Link) -> Inertia:
    """Transforms an inertia from a link's frame to the frame of its parent."""
    placement = link.placement
    p = placement.translation
    h = ca.mtimes(placement.rotation, inertia.moment)
    rotated = turned_to_parent(link, inertia.rotational)
    # -[p][h] - [h][p] - m [p][p] is a shift by h + m p / 2; m is 0 behind a regrouped revolute joint.
    shift = shift_symmetric(p, plus(h, times(inertia.mass, p) / 2))
    return Inertia(inertia.mass, plus(h, times(inertia.mass, p)), symmetric_sum(rotated, shift))


def composite_inertias(tree: Tree) -> list[Inertia]:
    """Inertia of each subtree about the frame of its root (Featherstone 2008, eq. 6.8)."""
    result = [link.inertia for link in tree.links]
    for i in reversed(range(len(result))):
        parent = tree.links[i].parent
        if parent >= 0:
            result[parent] = result[parent] + inertia_to_parent(result[i], tree.links[i])
    return result


@dataclass(frozen=True)
class CompositeBody:
    """Composite body of a subtree: inertia, momentum (f, n) about the origin, and rate of its rotational inertia.

    They define the matrix 2B of Coriolis effects about a fixed point, 2B = [[0, -2 [f]], [0, İ - [n]]], which is
    (v ×*) I - I (v ×) + (I v) ×̄* summed over the subtree.

    Attributes:
        inertia: Inertia of the subtree.
        momentum: Momentum (f, n) about the origin.
        growth: İ, rate of the rotational inertia, SX (3, 3).
    """

    inertia: Inertia
    momentum: Spatial
    growth: SX

    def two_b(self, m: Spatial) -> Spatial:
        """Product 2B m = (2 w × f, İ w + w × n)."""
        return Spatial(*_two_b(self.momentum.linear, self.momentum.angular, self.growth, m.angular))

    def two_b_transposed(self, m: Spatial) -> SX:
        """Couple of 2Bᵀ m = (0, 2 f × v + İ w + n × w), SX (3,)."""
        return _two_b_transposed(self.momentum.linear, self.momentum.angular, self.growth, m.linear, m.angular)


@formula
def _two_b(f: SX, n: SX, growth: SX, w: SX) -> tuple[SX, SX]:
    return times(TWO, ca.cross(w, f)), plus(ca.mtimes(growth, w), ca.cross(w, n))


@formula
def _two_b_transposed(f: SX, n: SX, growth: SX, v: SX, w: SX) -> SX:
    pushed = plus(times(TWO, ca.cross(f, v)), ca.mtimes(growth, w))
    return plus(pushed, ca.cross(n, w))


def _own_body(link: Link, v: Spatial) -> CompositeBody:
    momentum = link.inertia.times(v)
    turning = ca.mtimes(ca.skew(v.angular), link.inertia.rotational)
    growth = symmetric_sum(plus(turning, turning.T), shift_symmetric(v.linear, link.inertia.moment))
    return CompositeBody(link.inertia, momentum, growth)


def composite_bodies(tree: Tree, velocities: Velocities, inertias: list[Inertia]) -> list[CompositeBody]:
    """CompositeBody of each subtree in the frame of its root; `inertias` come from `composite_inertias`."""
    bodies = [_own_body(link, v) for link, v in zip(tree.links, velocities.total, strict=True)]
    momenta = [body.momentum for body in bodies]
    growths = [body.growth for body in bodies]
    for i in reversed(range(len(bodies))):
        link = tree.links[i]
        if link.parent >= 0:
            moved = link.placement.force_to_parent(momenta[i])
            shift = shift_symmetric(link.placement.translation, moved.linear)
            rotated = turned_to_parent(link, growths[i])
            momenta[link.parent] = momenta[link.parent] + moved
            growths[link.parent] = symmetric_sum(growths[link.parent], symmetric_sum(rotated, shift))
    return [CompositeBody(*parts) for parts in zip(inertias, momenta, growths, strict=True)]
