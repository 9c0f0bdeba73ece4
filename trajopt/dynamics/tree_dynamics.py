"""Dynamics of a tree in its rates ẏ; each quantity is built once and shared by the others."""

from __future__ import annotations

import copy
from collections.abc import Mapping

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.dynamics.composite import CompositeBody, composite_bodies, composite_inertias
from trajopt.dynamics.expression_cache import ExpressionCache
from trajopt.dynamics.mass_matrix import MassColumns, mass_columns
from trajopt.dynamics.motion import (
    Accelerations,
    RootShift,
    Velocities,
    gravity_in_links,
    is_free_root,
    link_accelerations,
    link_velocities,
    root_shift,
)
from trajopt.dynamics.newton_euler import gravity_torques, newton_euler
from trajopt.dynamics.rnea_derivatives import VelocityDerivative, configuration_derivative, velocity_derivative
from trajopt.dynamics.spatial import Inertia, Spatial, zero
from trajopt.dynamics.tree import Tree
from trajopt.types import Reals


class TreeDynamics:
    """Inverse dynamics of a tree, split as τ = M (ÿ + c) + ½ D ẏ + G.

    c is the RootShift (gravity and linear velocity of free-flyer roots), D the velocity_derivative, G the
    gravity_torques.

    Args:
        tree: The links at q.
        rates: ẏ, SX (n,).
        gravity: Acceleration of gravity in the world, (3,) [m/s²].
    """

    def __init__(self, tree: Tree, rates: SX, gravity: Reals) -> None:
        self.tree = tree
        self.rates = rates
        self.gravity = gravity
        self._cache = ExpressionCache()

    def branch(self) -> TreeDynamics:
        """Returns the same dynamics for other accelerations; both share all that does not depend on these."""
        other = copy.copy(self)
        other._cache = self._cache.branch()
        return other

    def velocities(self) -> Velocities:
        """Twists of the links."""
        return self._cache.once("velocities", lambda: link_velocities(self.tree, self.rates))

    def shift(self) -> RootShift:
        """Shift c and its derivatives."""
        return self._cache.once("shift", lambda: root_shift(self.tree, self.velocities(), self.gravity))

    def accelerations(self, relative: SX) -> Accelerations:
        """Accelerations of the links for ÿ + c, SX (n,)."""
        key = ("accelerations", self._cache.key_of(relative))
        return self._cache.own(key, lambda: link_accelerations(self.tree, self.velocities(), relative, self.gravity))

    def newton_euler(self, relative: SX, external: Mapping[int, Spatial] | None = None) -> tuple[list[Spatial], SX]:
        """Forces on the subtrees and torques τ, SX (n,), for ÿ + c, with external forces on links."""
        if external:
            return newton_euler(self.tree, self.accelerations(relative), external)
        key = ("newton_euler", self._cache.key_of(relative))
        return self._cache.own(key, lambda: newton_euler(self.tree, self.accelerations(relative)))

    def inertias(self) -> list[Inertia]:
        """Composite inertias of the subtrees."""
        return self._cache.once("inertias", lambda: composite_inertias(self.tree))

    def mass_columns(self) -> MassColumns:
        """Mass matrix M and the forces from which it is computed."""
        return self._cache.once("mass_columns", lambda: mass_columns(self.tree, self.inertias()))

    def bodies(self) -> list[CompositeBody]:
        """Composite bodies of the subtrees."""
        return self._cache.once("bodies", lambda: composite_bodies(self.tree, self.velocities(), self.inertias()))

    def velocity_derivative(self) -> VelocityDerivative:
        """Derivative D = ∂τ/∂ẏ at fixed ÿ + c."""
        return self._cache.once(
            "velocity_derivative",
            lambda: velocity_derivative(self.tree, self.velocities(), self.bodies(), self.mass_columns()),
        )

    def configuration_derivative(self, relative: SX, external: Mapping[int, Spatial] | None = None) -> SX:
        """Derivative ∂τ/∂q, SX (n, n), at fixed ÿ + c and external forces that are constant in their links' frames."""
        return configuration_derivative(
            self.tree,
            self.velocities(),
            self.accelerations(relative),
            self.newton_euler(relative, external)[0],
            self.bodies(),
            self.mass_columns(),
            self.velocity_derivative(),
        )

    def quadratic_torques(self) -> SX:
        """Torques ½ D ẏ + G, SX (n,), at ÿ + c = 0; they cost little once D is available."""
        gravity = gravity_in_links(self.tree, self.gravity)
        torques = gravity_torques(self.tree, self.inertias(), gravity)
        return ca.mtimes(self.velocity_derivative().dv, self.rates / 2) + torques

    def momentum(self) -> Spatial:
        """Momentum of all bodies: linear, and angular about the world's origin."""
        total = zero()
        for i, (link, body) in enumerate(zip(self.tree.links, self.bodies(), strict=True)):
            if link.parent < 0:
                momentum = body.momentum
                if is_free_root(link):
                    boost = Spatial(self.velocities().boost[i], SX(np.zeros(3)))
                    momentum = momentum + body.inertia.times(boost)
                total = total + link.placement.force_to_parent(momentum)
        return total
