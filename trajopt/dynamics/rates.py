"""Motion of bodies by the rates of a tree, for derivatives of points that are on a body chosen at run time."""

from __future__ import annotations

import casadi as ca
from casadi import SX

from trajopt.dynamics.frame_kinematics import world_placements
from trajopt.dynamics.tree import Tree


def rate_motions(tree: Tree) -> SX:
    """Twist (6, rates) of the bodies that each rate of the tree moves, in the world's axes about its origin."""
    worlds = world_placements(tree)
    columns = [worlds[i].motion_to_parent(s).vector() for i, link in enumerate(tree.links) for s in link.columns]
    return SX(ca.horzcat(SX(6, 0), *columns))


def rates_moving(tree: Tree, joint_id: int) -> list[int]:
    """Indices of the rates of the tree that move the frame of a joint of the model, in ascending order."""
    link, rates = tree.attachment[joint_id][0], list[int]()
    while link >= 0:
        first = tree.links[link].first
        rates += range(first, first + len(tree.links[link].columns))
        link = tree.links[link].parent
    return sorted(rates)


def velocities_of_rates(tree: Tree, nv: int) -> SX:
    """Coefficient of each velocity in each rate of the tree (rates, nv)."""
    coefficients = SX(len(tree.rates), nv)
    for rate, terms in enumerate(tree.rates):
        for velocity, coefficient in terms.items():
            coefficients[rate, velocity] = coefficient
    return coefficients
