"""Quadratic activation: half the squared norm."""

from __future__ import annotations

import casadi as ca
from casadi import SX

from trajopt.activations.base import ActivationModelAbstract


class ActivationModelQuad(ActivationModelAbstract):
    """Quadratic activation a(r) = ½ rᵀr [cost], the default of a cost term."""

    def value(self, r: SX) -> SX:
        return 0.5 * ca.sumsqr(r)

    def gradient(self, r: SX) -> SX:
        return r

    def hessian(self, r: SX) -> SX:
        return SX.ones(r.shape[0])
