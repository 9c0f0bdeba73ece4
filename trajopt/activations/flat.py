"""Activations that are flat far away, and a barrier that keeps a residual away from zero."""

from __future__ import annotations

import casadi as ca
from casadi import SX

from trajopt.activations.base import ActivationModelAbstract
from trajopt.checks import check_flag, check_positive
from trajopt.model.parameters import positive

LEAST = 1e-12  # squared distance below which a barrier has no direction [unit of r²]


class _Flat(ActivationModelAbstract):
    """Activation with a run-time parameter `alpha` in the unit of r²."""

    def __init__(self, alpha: float = 1.0) -> None:
        unit = "unit of the residual, squared"
        self.alpha = self.parameter("alpha", check_positive("alpha", alpha), unit=unit, convert=positive)


class ActivationModelQuadFlatExp(_Flat):
    """Flat activation a(r) = 1 - exp(-|r|² / α) [cost]: like |r|² / α near 0, and at most 1.

    Its Hessian has negative eigenvalues where |r|² > α / 2, so solvers take less of it there.

    Args:
        alpha: α > 0 [unit of r²]. Run-time parameter `alpha`.

    Source: Crocoddyl's ActivationModelQuadFlatExp, which has the diagonal of this Hessian.
    """

    def _left(self, r: SX) -> SX:
        return ca.exp(-ca.dot(r, r) / self.alpha)

    def value(self, r: SX) -> SX:
        return 1.0 - self._left(r)

    def gradient(self, r: SX) -> SX:
        return 2.0 / self.alpha * self._left(r) * r

    def hessian(self, r: SX) -> SX:
        scale = 2.0 / self.alpha
        return scale * self._left(r) * (SX.eye(r.shape[0]) - scale * (r @ r.T))


class ActivationModelQuadFlatLog(_Flat):
    """Flat activation a(r) = log(1 + |r|² / α) [cost]: like |r|² / α near 0, and it grows slowly far away.

    Its Hessian has a negative eigenvalue where |r|² > α, so solvers take less of it there.

    Args:
        alpha: α > 0 [unit of r²]. Run-time parameter `alpha`.

    Source: Crocoddyl's ActivationModelQuadFlatLog, which has the diagonal of this Hessian.
    """

    def value(self, r: SX) -> SX:
        return ca.log(1.0 + ca.dot(r, r) / self.alpha)

    def gradient(self, r: SX) -> SX:
        return 2.0 * r / (self.alpha + ca.dot(r, r))

    def hessian(self, r: SX) -> SX:
        size = self.alpha + ca.dot(r, r)
        return 2.0 * SX.eye(r.shape[0]) / size - 4.0 * (r @ r.T) / size**2


class ActivationModel2NormBarrier(ActivationModelAbstract):
    """Barrier a(r) = ½ (|r| - α)² where |r| < α, else 0 [cost]: it keeps a point at a distance α.

    Args:
        alpha: α > 0 [unit of r]. Run-time parameter `alpha`.
        exact: False for the Hessian diag(rᵢ² / |r|²) of Crocoddyl, which is never negative; True for that of the value.

    Source: Crocoddyl's ActivationModel2NormBarrier.
    """

    def __init__(self, alpha: float = 0.1, exact: bool = False) -> None:
        unit = "unit of the residual"
        self.alpha = self.parameter("alpha", check_positive("alpha", alpha), unit=unit, convert=positive)
        self.exact = check_flag("exact", exact)

    def value(self, r: SX) -> SX:
        return 0.5 * ca.fmin(self._distance(r) - self.alpha, 0) ** 2

    def gradient(self, r: SX) -> SX:
        return ca.fmin(self._distance(r) - self.alpha, 0) / self._distance(r) * r

    def hessian(self, r: SX) -> SX:
        distance = self._distance(r)
        within = distance < self.alpha
        if not self.exact:
            return within * (r / distance) ** 2
        across = (distance - self.alpha) / distance
        return within * (across * SX.eye(r.shape[0]) + self.alpha / distance**3 * (r @ r.T))

    def _distance(self, r: SX) -> SX:
        return ca.sqrt(ca.fmax(ca.dot(r, r), LEAST))
