"""Recursive Newton-Euler algorithm in body frames."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.dynamics.spatial import Array, Spatial, cross_force, cross_motion, dot, spatial, zero
from trajopt.dynamics.tree import Tree


@dataclass(frozen=True)
class Velocities:
    """Body twists of the links.

    Attributes:
        carried: Twist of the parent, seen from the link's frame: v_λ.
        rate: Twist across the joint: S ẏ.
        total: v_i = v_λ + S ẏ.
    """

    carried: list[Spatial]
    rate: list[Spatial]
    total: list[Spatial]


def link_velocities(tree: Tree, rates: SX) -> Velocities:
    """Twists of all links in their own frames for the tree's rates ẏ, SX (n,)."""
    result = Velocities([], [], [])
    for link in tree.links:
        carried = link.placement.motion_to_child(result.total[link.parent]) if link.parent >= 0 else zero()
        rate = _combine(link.columns, rates, link.first)
        result.carried.append(carried)
        result.rate.append(rate)
        result.total.append(carried + rate)
    return result


@dataclass(frozen=True)
class Accelerations:
    """Spatial accelerations of the links in their own frames: what the parent carries, and the total."""

    carried: list[Spatial]
    total: list[Spatial]


def link_accelerations(tree: Tree, velocities: Velocities, rates: SX, root: Spatial) -> Accelerations:
    """a_i = a_λ + S ÿ + v_λ × S ẏ, from the world's acceleration `root` (minus gravity, or 0)."""
    result = Accelerations([], [])
    for i, link in enumerate(tree.links):
        parent = result.total[link.parent] if link.parent >= 0 else root
        carried = link.placement.motion_to_child(parent)
        bias = cross_motion(velocities.carried[i], velocities.rate[i])
        result.carried.append(carried)
        result.total.append(carried + _combine(link.columns, rates, link.first) + bias)
    return result


def _combine(columns: list[Spatial], rates: SX, first: int) -> Spatial:
    total = zero()
    for k, column in enumerate(columns):
        total = total + Spatial(column.linear * rates[first + k], column.angular * rates[first + k])
    return total


def gravity_root(gravity: Array) -> Spatial:
    """Gravity as an acceleration -g of the world (Featherstone 2008, sec. 5.3)."""
    return spatial(np.r_[-np.asarray(gravity, dtype=np.float64), np.zeros(3)])


def newton_euler(tree: Tree, velocities: Velocities, accelerations: Accelerations) -> tuple[list[Spatial], SX]:
    """Forces that act on each subtree, f_i = I a + v ×* I v + Σ children, and τ = Sᵀ f, SX (n,).

    Source: Featherstone 2008, table 5.1.
    """
    forces: list[Spatial] = []
    for link, v, a in zip(tree.links, velocities.total, accelerations.total, strict=True):
        forces.append(link.inertia.times(a) + cross_force(v, link.inertia.times(v)))
    torques: list[SX] = []
    for i in reversed(range(len(tree.links))):
        link = tree.links[i]
        torques.extend(dot(column, forces[i]) for column in reversed(link.columns))
        if link.parent >= 0:
            forces[link.parent] = forces[link.parent] + link.placement.force_to_parent(forces[i])
    return forces, ca.vertcat(*reversed(torques))
