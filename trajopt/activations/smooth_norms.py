"""Smooth norms, whose slope stays bounded far away: errors there cost their size, and not its square."""

from __future__ import annotations

import casadi as ca
from casadi import SX

from trajopt.activations.base import ActivationModelAbstract
from trajopt.checks import check_positive
from trajopt.model.parameters import positive


class ActivationModelSmooth1Norm(ActivationModelAbstract):
    """Smooth 1-norm a(r) = Σ √(ε + rᵢ²) [cost], whose Hessian is diagonal.

    Args:
        eps: ε > 0 [unit of r²]; errors below √ε cost their square. Run-time parameter `eps`.

    Source: Crocoddyl's ActivationModelSmooth1Norm. Its Hessian is this one for ε = 1 only.
    """

    def __init__(self, eps: float = 1.0) -> None:
        self.eps = self.parameter(
            "eps", check_positive("eps", eps), unit="unit of the residual, squared", convert=positive
        )

    def value(self, r: SX) -> SX:
        return ca.sum1(ca.sqrt(self.eps + r * r))

    def gradient(self, r: SX) -> SX:
        return r / ca.sqrt(self.eps + r * r)

    def hessian(self, r: SX) -> SX:
        return self.eps / ca.sqrt(self.eps + r * r) ** 3


class ActivationModelSmooth2Norm(ActivationModelAbstract):
    """Smooth 2-norm a(r) = √(ε + |r|²) [cost].

    Args:
        eps: ε > 0 [unit of r²]; distances below √ε cost their square. Run-time parameter `eps`.

    Source: Crocoddyl's ActivationModelSmooth2Norm, whose Hessian is not that of its value.
    """

    def __init__(self, eps: float = 1.0) -> None:
        self.eps = self.parameter(
            "eps", check_positive("eps", eps), unit="unit of the residual, squared", convert=positive
        )

    def value(self, r: SX) -> SX:
        return ca.sqrt(self.eps + ca.dot(r, r))

    def gradient(self, r: SX) -> SX:
        return r / self.value(r)

    def hessian(self, r: SX) -> SX:
        size = self.value(r)
        return SX.eye(r.shape[0]) / size - r @ r.T / size**3


class ActivationModelHuber(ActivationModelAbstract):
    """Huber's function a(r) = Σ ½ rᵢ² if |rᵢ| < δ, else δ (|rᵢ| - δ/2) [cost].

    Its Hessian is min(1, δ / |rᵢ|), that of the parabola above the function with its slope: steps converge from afar,
    where the second derivative is 0.

    Args:
        delta: δ > 0 [unit of r]. Run-time parameter `delta`.

    Source: Huber, Robust Statistics, 1981, sections 3.2 and 7.8.
    """

    def __init__(self, delta: float = 1.0) -> None:
        self.delta = self.parameter(
            "delta", check_positive("delta", delta), unit="unit of the residual", convert=positive
        )

    def value(self, r: SX) -> SX:
        size = ca.fabs(r)
        return ca.sum1(ca.if_else(size < self.delta, 0.5 * r * r, self.delta * (size - 0.5 * self.delta)))

    def gradient(self, r: SX) -> SX:
        return ca.fmin(ca.fmax(r, -self.delta), self.delta)

    def hessian(self, r: SX) -> SX:
        return self.delta / ca.fmax(ca.fabs(r), self.delta)
