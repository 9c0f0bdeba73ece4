"""Friction and wrench cones of a gait's feet, as residuals and as barriers of costs."""

from __future__ import annotations

import numpy as np

from trajopt.activations import ActivationModelAbstract, ActivationModelQuadraticBarrier
from trajopt.gaits.options import GaitOptions
from trajopt.gaits.parameters import identifiers
from trajopt.gaits.stance import Stance
from trajopt.residuals import (
    FrictionCone,
    ResidualModelAbstract,
    ResidualModelContactFrictionCone,
    ResidualModelContactWrenchCone,
    WrenchCone,
)
from trajopt.states import StateAbstract


def cones_of(options: GaitOptions, stance: Stance) -> dict[str, FrictionCone | WrenchCone]:
    """Cone of each foot's force, by the foot's identifier."""
    o = options
    return {
        key: WrenchCone(o.mu, o.sole, facets=o.facets, inner=o.inner)
        if stance.feet[foot].sole
        else FrictionCone(o.mu, facets=o.facets, inner=o.inner)
        for foot, key in identifiers(stance.names).items()
    }


def cone_residual(state: StateAbstract, key: str, cone: FrictionCone | WrenchCone) -> ResidualModelAbstract:
    """Cone residual of the force or impulse of the foot with an identifier."""
    if isinstance(cone, WrenchCone):
        return ResidualModelContactWrenchCone(state, key, cone)
    return ResidualModelContactFrictionCone(state, key, cone)


def cone_barrier(cone: FrictionCone | WrenchCone, min_force: float) -> ActivationModelAbstract:
    """Barrier on a cone whose apex is raised by a normal force [N]."""
    apex = np.zeros(cone.matrix.shape[1])
    apex[2] = min_force
    moved = cone.matrix @ apex
    return ActivationModelQuadraticBarrier(cone.lower + moved, cone.upper + moved)
