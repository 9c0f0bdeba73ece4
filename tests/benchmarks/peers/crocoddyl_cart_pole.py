"""The cart-pole of Crocoddyl's notebook 02 as a Crocoddyl model in Python.

State x = (y, θ, ẏ, θ̇): cart position y [m], pole angle θ from upright [rad] and their rates; control u = (f,), the
force on the cart [N]. With cart mass m_c = 1 kg, pole mass m_p = 0.1 kg at distance l = 0.5 m, g = 9.81 m/s²:

    μ = m_c + m_p sin²θ
    ÿ = (f + m_p sin θ (g cos θ - l θ̇²)) / μ
    θ̈ = (ÿ cos θ + g sin θ) / l

Semi-implicit Euler with h = 0.05 s: (ẏ, θ̇)⁺ = (ẏ, θ̇) + h (ÿ, θ̈), then (y, θ)⁺ = (y, θ) + h (ẏ, θ̇)⁺.

Cost of a node, not multiplied by h, with r = (sin θ, 1 - cos θ, y, ẏ, θ̇, f) and w = (1, 1, 0.1, 1e-3, 1e-3, 1):

    ½ Σᵢ (wᵢ rᵢ)² = (1 - cos θ) + ½ (1e-2 y² + 1e-6 ẏ² + 1e-6 θ̇² + f²)

The terminal node costs the same without f, or with weights of its own. The Hessian is the exact one, here Lxx =
diag(1e-2, cos θ, 1e-6, 1e-6), Luu = 1, Lxu = 0; it is indefinite
past θ = 90°, and Gauss-Newton would take 1 in place of cos θ.
"""

from typing import Any

import crocoddyl
import numpy as np

CART_MASS = 1.0  # [kg]
POLE_MASS = 0.1  # [kg]
LENGTH = 0.5  # [m]
GRAVITY = 9.81  # [m/s²]
STEP = 5e-2  # [s]
WEIGHTS = np.array([1.0, 1.0, 0.1, 1e-3, 1e-3, 1.0])  # of sin θ, 1 - cos θ, y, ẏ, θ̇, f; squared in the cost


class ActionModelCartPole(crocoddyl.ActionModelAbstract):
    """One node of the cart-pole, running with a control and terminal without one (formulas: module docstring).

    Args:
        weights: w (6,), squared in the cost.
    """

    def __init__(self, weights: np.ndarray = WEIGHTS) -> None:
        crocoddyl.ActionModelAbstract.__init__(self, crocoddyl.StateVector(4), 1, 6)
        self.weights = weights

    def calc(self, data: Any, x: np.ndarray, u: np.ndarray | None = None) -> None:
        """Write the next state (4,) and the cost [cost] into `data`."""
        y, angle, y_rate, angle_rate = x
        force = 0.0 if u is None else u[0]
        data.r[:] = self.weights * [np.sin(angle), 1.0 - np.cos(angle), y, y_rate, angle_rate, force]
        data.cost = 0.5 * data.r @ data.r
        if u is None:
            data.xnext[:] = x
            return
        rates = x[2:] + STEP * np.array(accelerations(angle, angle_rate, force))
        data.xnext[:] = np.concatenate([x[:2] + STEP * rates, rates])

    def calcDiff(self, data: Any, x: np.ndarray, u: np.ndarray | None = None) -> None:
        """Write the Jacobians of the next state and the exact derivatives of the cost into `data`."""
        y, angle, y_rate, angle_rate = x
        squared = self.weights**2
        data.Lx[:] = squared[[2, 0, 3, 4]] * [y, np.sin(angle), y_rate, angle_rate]
        data.Lxx[:, :] = np.diag(squared[[2, 0, 3, 4]] * [1.0, np.cos(angle), 1.0, 1.0])
        if u is None:
            data.Fx[:, :] = np.eye(4)
            return
        data.Lu[:] = squared[5] * u
        data.Luu[:, :] = squared[5]
        by_state, by_force = acceleration_derivatives(angle, angle_rate, u[0])
        identity = np.eye(4)
        rates_by_state = identity[2:] + STEP * by_state
        data.Fx[:, :] = np.vstack([identity[:2] + STEP * rates_by_state, rates_by_state])
        data.Fu[:] = np.concatenate([STEP**2 * by_force, STEP * by_force])


def accelerations(angle: float, angle_rate: float, force: float) -> tuple[float, float]:
    """Accelerations (ÿ [m/s²], θ̈ [rad/s²])."""
    sine, cosine = np.sin(angle), np.cos(angle)
    inertia = CART_MASS + POLE_MASS * sine**2
    cart = (force + POLE_MASS * sine * (GRAVITY * cosine - LENGTH * angle_rate**2)) / inertia
    return cart, (cart * cosine + GRAVITY * sine) / LENGTH


def acceleration_derivatives(angle: float, angle_rate: float, force: float) -> tuple[np.ndarray, np.ndarray]:
    """Derivatives of (ÿ, θ̈): by (y, θ, ẏ, θ̇), shape (2, 4), and by the force, shape (2,)."""
    sine, cosine = np.sin(angle), np.cos(angle)
    inertia = CART_MASS + POLE_MASS * sine**2
    cart, _ = accelerations(angle, angle_rate, force)
    cart_by_angle = POLE_MASS * (GRAVITY * np.cos(2.0 * angle) - LENGTH * cosine * angle_rate**2)
    cart_by_angle = (cart_by_angle - 2.0 * POLE_MASS * sine * cosine * cart) / inertia
    cart_by_rate = -2.0 * POLE_MASS * LENGTH * sine * angle_rate / inertia
    pole_by_angle = (cosine * cart_by_angle - sine * cart + GRAVITY * cosine) / LENGTH
    by_state = np.array(
        [[0.0, cart_by_angle, 0.0, cart_by_rate], [0.0, pole_by_angle, 0.0, cosine * cart_by_rate / LENGTH]]
    )
    return by_state, np.array([1.0, cosine / LENGTH]) / inertia
