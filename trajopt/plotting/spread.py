"""Covariance ellipsoids of the points whose paths are drawn."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from trajopt.analysis import StateCovariance
from trajopt.checks import check_instance, check_positive
from trajopt.plotting.film import body_of
from trajopt.types import Reals

_STEP = np.finfo(float).eps ** (1 / 3)  # step of central differences


@dataclass(frozen=True, kw_only=True)
class Ellipsoids:
    """Ellipsoids (p - centre)ᵀ P⁻¹ (p - centre) = k² of points p, one per knot, with k standard deviations.

    Attributes:
        centres: Points (n, T + 1, 3) [m].
        covariances: Covariances P (n, T + 1, 3, 3) [m²].
        sigmas: Number k of standard deviations [-].
    """

    centres: Reals
    covariances: Reals
    sigmas: float

    @property
    def axes(self) -> tuple[Reals, Reals]:
        """Semi-axes, the longest last, (n, T + 1, 3) [m], and rotations to them (n, T + 1, 3, 3) [-]."""
        values, vectors = np.linalg.eigh(self.covariances)
        vectors[..., 0] *= np.where(np.linalg.det(vectors) < 0.0, -1.0, 1.0)[..., None]
        return self.sigmas * np.sqrt(np.maximum(values, 0.0)), vectors


def ellipsoids_of(covariance: StateCovariance, sigmas: float = 2.0) -> Ellipsoids:
    """Returns the covariance ellipsoids J P Jᵀ of a tool, of feet, of a body, or of other points with drawn paths.

    J is the derivative of a point by the tangent coordinates of the state, from central differences.

    Args:
        covariance: Covariances along a solution, `Solution.covariance(noise)`.
        sigmas: Size in standard deviations, > 0; size 2 contains 74 % of the points in space and 86 % in a plane [-].

    Raises:
        InvalidArgumentError: There is no robot, pose or skeleton in the solution.
    """
    solution = check_instance("covariance", covariance, StateCovariance, "such as Solution.covariance(noise)").solution
    state = solution.problem.state  # type: ignore[union-attr]

    def places(tangent: Reals) -> Reals:
        xs = np.array([state.integrate(x, tangent) for x in solution.xs])
        return np.reshape(body_of(replace(solution, xs=xs))[1], (-1, len(xs), 3))

    steps = _STEP * np.eye(state.ndx)
    J = np.stack([(places(step) - places(-step)) / (2.0 * _STEP) for step in steps], axis=-1)
    centres = places(np.zeros(state.ndx))
    P = J @ covariance.P @ J.swapaxes(-1, -2)
    return Ellipsoids(centres=centres, covariances=P, sigmas=check_positive("sigmas", sigmas))
