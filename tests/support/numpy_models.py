"""Action models in plain numpy: black boxes for the solvers, and what the slow twins of the solvers run on."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trajopt.actions import ActionData, ActionModelAbstract
from trajopt.constraints import ConstraintStack
from trajopt.states.base import StateAbstract

Reals = npt.NDArray[np.float64]


class UnicycleNumpy(ActionModelAbstract):
    """x⁺ = (x + v cos θ h, y + v sin θ h, θ + ω h), cost ½ |w₀ x|² + ½ |w₁ u|²; terminal ½ |w₀ x|².

    Args:
        state: State of size 3.
        weights: (w₀, w₁).
        step: h [s].
        constraints: What holds at a knot.
    """

    def __init__(
        self,
        state: StateAbstract,
        weights: tuple[float, float] = (10.0, 1.0),
        step: float = 0.1,
        constraints: ConstraintStack | None = None,
    ) -> None:
        super().__init__(state, 2, constraints=constraints)
        self.squares, self.step = (weights[0] ** 2, weights[1] ** 2), step

    def calc(self, data: ActionData, x: Reals, u: Reals | None = None) -> None:
        data.cost = 0.5 * self.squares[0] * x @ x
        if u is not None:
            data.xnext = x + self.step * np.array([u[0] * np.cos(x[2]), u[0] * np.sin(x[2]), u[1]])
            data.cost += 0.5 * self.squares[1] * u @ u

    def calc_diff(self, data: ActionData, x: Reals, u: Reals | None = None) -> None:
        data.Lx, data.Lxx = self.squares[0] * x, self.squares[0] * np.eye(3)
        if u is not None:
            sine, cosine = np.sin(x[2]), np.cos(x[2])
            data.Fx = np.eye(3) + self.step * np.outer([-u[0] * sine, u[0] * cosine, 0], [0, 0, 1])
            data.Fu = self.step * np.array([[cosine, 0], [sine, 0], [0, 1]])
            data.Lu, data.Luu, data.Lxu = self.squares[1] * u, self.squares[1] * np.eye(2), np.zeros((3, 2))


class PendulumNumpy(ActionModelAbstract):
    """The pendulum of `problems.load("pendulum")`, with its Gauss-Newton Hessian.

    Args:
        state: State of size 2.
        step: h [s].
    """

    mass, length, gravity = 1.0, 0.5, 9.81  # [kg, m, m/s²]
    goal, effort, end = 1e-2, 0.1, 100.0  # weights

    def __init__(self, state: StateAbstract, step: float = 2e-2) -> None:
        super().__init__(state, 1)
        self.step = step

    def calc(self, data: ActionData, x: Reals, u: Reals | None = None) -> None:
        r = np.array([np.sin(x[0]), 1 + np.cos(x[0]), 0.1 * x[1]])
        if u is None:
            data.cost = 0.5 * self.end * r @ r
            return
        inertia = self.mass * self.length**2
        rate = x[1] + self.step * (u[0] / inertia - self.gravity / self.length * np.sin(x[0]))
        data.xnext = [x[0] + self.step * rate, rate]
        data.cost = 0.5 * self.step * (self.goal * r @ r + self.effort * u @ u)

    def calc_diff(self, data: ActionData, x: Reals, u: Reals | None = None) -> None:
        r = np.array([np.sin(x[0]), 1 + np.cos(x[0]), 0.1 * x[1]])
        R = np.array([[np.cos(x[0]), 0], [-np.sin(x[0]), 0], [0, 0.1]])
        weight = self.end if u is None else self.step * self.goal
        data.Lx, data.Lxx = weight * R.T @ r, weight * R.T @ R
        if u is not None:
            h, pull = self.step, -self.step * self.gravity / self.length * np.cos(x[0])
            data.Fx = [[1 + h * pull, h], [pull, 1]]
            data.Fu = np.array([[h**2], [h]]) / (self.mass * self.length**2)
            data.Lu, data.Luu, data.Lxu = h * self.effort * u, [[h * self.effort]], np.zeros((2, 1))


class CartPoleNumpy(ActionModelAbstract):
    """The cart-pole of `problems.load("cart-pole", hessian="exact")`; formulas in problems/cart_pole.py.

    Args:
        state: State of size 4.
        effort: Weight of the squared force.
        end: Weight of the end.
    """

    cart, pole, length, gravity, step = 1.0, 0.1, 0.5, 9.81, 0.05  # [kg, kg, m, m/s², s]

    def __init__(self, state: StateAbstract, effort: float = 1.0, end: float = 1.0) -> None:
        super().__init__(state, 1)
        self.effort, self.end = effort, end

    def calc(self, data: ActionData, x: Reals, u: Reals | None = None) -> None:
        upright = 1 - np.cos(x[1]) + 0.5 * (1e-2 * x[0] ** 2 + 1e-6 * x[2] ** 2 + 1e-6 * x[3] ** 2)
        if u is None:
            data.cost = self.end * upright
            return
        rates = x[2:] + self.step * np.array(self.accelerations(x[1], x[3], u[0]))
        data.xnext = np.concatenate([x[:2] + self.step * rates, rates])
        data.cost = upright + 0.5 * self.effort * u[0] ** 2

    def calc_diff(self, data: ActionData, x: Reals, u: Reals | None = None) -> None:
        weight = self.end if u is None else 1.0
        data.Lx = weight * np.array([1e-2 * x[0], np.sin(x[1]), 1e-6 * x[2], 1e-6 * x[3]])
        data.Lxx = weight * np.diag([1e-2, np.cos(x[1]), 1e-6, 1e-6])
        if u is None:
            return
        data.Lu, data.Luu, data.Lxu = self.effort * u, [[self.effort]], np.zeros((4, 1))
        by_angle, by_rate, by_force = self.derivatives(x[1], x[3], u[0])
        h, rows = self.step, np.eye(4)[2:]
        rows += h * np.array([[0, by_angle[i], 0, by_rate[i]] for i in range(2)])
        data.Fx = np.vstack([np.eye(4)[:2] + h * rows, rows])
        data.Fu = np.concatenate([h**2 * by_force, h * by_force])[:, None]

    def accelerations(self, angle: float, rate: float, force: float) -> tuple[float, float]:
        """Of the cart [m/s²] and of the pole [rad/s²]."""
        s, c = np.sin(angle), np.cos(angle)
        cart = (force + self.pole * s * (self.gravity * c - self.length * rate**2)) / (self.cart + self.pole * s**2)
        return cart, (cart * c + self.gravity * s) / self.length

    def derivatives(self, angle: float, rate: float, force: float) -> tuple[Reals, Reals, Reals]:
        """Derivatives of both accelerations by angle, rate and force, (2,) each."""
        s, c, m, g = np.sin(angle), np.cos(angle), self.pole, self.gravity
        inertia, cart = self.cart + m * s**2, self.accelerations(angle, rate, force)[0]
        of_cart = np.array(
            [
                (m * (g * np.cos(2 * angle) - self.length * c * rate**2) - 2 * m * s * c * cart) / inertia,
                -2 * m * self.length * s * rate / inertia,
                1 / inertia,
            ]
        )
        of_pole = (c * of_cart + np.array([g * c - s * cart, 0, 0])) / self.length
        by_angle, by_rate, by_force = np.column_stack([of_cart, of_pole]).reshape(3, 2)
        return by_angle, by_rate, by_force
