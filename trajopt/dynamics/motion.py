"""Velocities and accelerations of the links in their own frames.

Dynamics are the same in a frame that moves at constant velocity, and gravity is equivalent to an acceleration of the
world. For a free-flyer root (linear velocity v, angular velocity w, gravity g, all in its frame) the recursions
therefore use v = 0, no gravity, and the relative acceleration a + c with c = w × v - g. The effect of v and g on the
torques is M c, and derivatives by v and by the orientation of the root need no recursion.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.dynamics.spatial import Spatial, symmetric, zero
from trajopt.dynamics.tree import Link, Tree
from trajopt.lie.formula import formula
from trajopt.lie.scalars import plus, scalars, times
from trajopt.types import Reals


def is_free_root(link: Link) -> bool:
    """True if a link is a free flyer on the world; the recursions leave out its linear velocity."""
    return link.parent < 0 and link.joint.kind == "free_flyer"


@dataclass(frozen=True)
class Velocities:
    """Twists of the links in their own frames, relative to the linear velocity of free-flyer roots.

    Attributes:
        carried: v_λ, twist of the parent, in the link's frame.
        total: v_i = v_λ + S ẏ.
        relative: S ẏ.
        squares: [w]², SX (3, 3), of the link's angular velocity w.
        boost: Linear velocity of the free-flyer root in the link's frame, SX (3,); `total` does not contain it.
    """

    carried: list[Spatial]
    total: list[Spatial]
    relative: list[Spatial]
    squares: list[SX]
    boost: list[SX]


def link_velocities(tree: Tree, rates: SX) -> Velocities:
    """Twists of all links for the rates ẏ, SX (n,)."""
    result = Velocities([], [], [], [], [])
    for link in tree.links:
        carried = link.placement.motion_to_child(result.total[link.parent]) if link.parent >= 0 else zero()
        relative = combine(link, rates)
        if is_free_root(link):
            boost = relative.linear
            relative = Spatial(SX.zeros(3), relative.angular)
        else:
            boost = _turned(link, result.boost)
        total = carried + relative
        result.carried.append(carried)
        result.total.append(total)
        result.relative.append(relative)
        result.squares.append(_skew_square(total.angular))
        result.boost.append(boost)
    return result


@dataclass(frozen=True)
class Accelerations:
    """Classical accelerations of the links in their own frames, relative to a world that falls with gravity.

    A point r fixed to the link has the acceleration linear + field r.

    Attributes:
        linear: Classical acceleration of the frame's origin, SX (3,).
        angular: dw/dt, SX (3,).
        field: U = [dw/dt] + [w]², SX (3, 3).
        carried_linear: Acceleration of the parent's point at the link's origin, in the link's frame.
        carried_angular: dw/dt of the parent, in the link's frame.
    """

    linear: list[SX]
    angular: list[SX]
    field: list[SX]
    carried_linear: list[SX]
    carried_angular: list[SX]


def link_accelerations(tree: Tree, velocities: Velocities, rates: SX, gravity: Reals) -> Accelerations:
    """Classical accelerations of the links for relative accelerations ÿ + c, SX (n,), see `root_shift`.

    Source: Khalil & Dombre 2002, eqs. 9.87-9.91, for any motion subspace.
    """
    result = Accelerations([], [], [], [], [])
    for i, link in enumerate(tree.links):
        rt = link.placement.inverse_rotation
        if is_free_root(link):
            linear, angular = SX.zeros(3), SX.zeros(3)
        elif link.parent < 0:
            linear, angular = ca.mtimes(rt, SX(-np.asarray(gravity))), SX.zeros(3)
        else:
            at_joint = ca.mtimes(result.field[link.parent], link.placement.translation)
            linear = ca.mtimes(rt, plus(result.linear[link.parent], at_joint))
            angular = ca.mtimes(rt, result.angular[link.parent])
        result.carried_linear.append(linear)
        result.carried_angular.append(angular)
        own, rate = combine(link, rates), velocities.relative[i]
        around = plus(velocities.carried[i].angular, velocities.total[i].angular)  # parent's rotation plus its own
        linear = plus(plus(linear, own.linear), ca.cross(around, rate.linear))
        angular = plus(plus(angular, own.angular), ca.cross(velocities.carried[i].angular, rate.angular))
        result.linear.append(linear)
        result.angular.append(angular)
        result.field.append(plus(ca.skew(angular), velocities.squares[i]))
    return result


@dataclass(frozen=True)
class RootShift:
    """Shift c of the accelerations due to free-flyer roots, for all rates of the tree; the recursions use a + c.

    Attributes:
        value: c, SX (n,): w × v - g in the linear rows of free-flyer roots, 0 elsewhere.
        dq: ∂c/∂q in tangent space, SX (n, n).
        dv: ∂c/∂ẏ, SX (n, n).
    """

    value: SX
    dq: SX
    dv: SX


def root_shift(tree: Tree, velocities: Velocities, gravity: Reals) -> RootShift:
    """Returns c = ω × v - g in the linear rows of free-flyer roots, with derivatives; it is added to accelerations."""
    n = len(tree.rates)
    value, dq, dv = SX(np.zeros(n)), SX(n, n), SX(n, n)
    for link, v, w in zip(tree.links, velocities.boost, velocities.total, strict=True):
        if is_free_root(link):
            at = slice(link.first, link.first + 3)
            around = slice(link.first + 3, link.first + 6)
            g = ca.mtimes(link.placement.rotation.T, SX(np.asarray(gravity)))
            value[at] = ca.cross(w.angular, v) - g
            dq[at, around] = ca.skew(-g)
            dv[at, at] = ca.skew(w.angular)
            dv[at, around] = ca.skew(-v)
    return RootShift(value, dq, dv)


def gravity_in_links(tree: Tree, gravity: Reals) -> list[SX]:
    """Gravity vector in each link's frame, SX (3,)."""
    result: list[SX] = []
    for link in tree.links:
        parent = result[link.parent] if link.parent >= 0 else SX(np.asarray(gravity))
        result.append(ca.mtimes(link.placement.inverse_rotation, parent))
    return result


def combine(link: Link, rates: SX) -> Spatial:
    """Returns the twist S ẏ of one link, from the rates ẏ of all links, SX (n,)."""
    total = zero()
    for k, column in enumerate(link.columns):
        rate = rates[link.first + k]
        total = total + Spatial(times(column.linear, rate), times(column.angular, rate))
    return total


def _turned(link: Link, vectors: list[SX]) -> SX:
    return ca.mtimes(link.placement.inverse_rotation, vectors[link.parent]) if link.parent >= 0 else SX.zeros(3)


@formula
def _skew_square(w: SX) -> SX:
    """Matrix [w]² = w wᵀ - |w|² 1, SX (3, 3)."""
    x, y, z = scalars(w)
    xx, yy, zz = times(x, x), times(y, y), times(z, z)
    xy, yz, zx = times(x, y), times(y, z), times(z, x)
    return symmetric(-plus(yy, zz), xy, zx, -plus(zz, xx), yz, -plus(xx, yy))
