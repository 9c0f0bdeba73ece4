"""A cart swings a pole up with a weak motor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.checks import check_array, check_count, check_non_negative, check_positive
from trajopt.constraints import ConstraintStack
from trajopt.problems.cart_pole import GRAVITY
from trajopt.problems.case import ProblemCase
from trajopt.problems.family import Family
from trajopt.problems.runge_kutta import ActionModelRungeKutta, ends_at
from trajopt.residuals import ResidualModelControl, ResidualModelState
from trajopt.robots.skeleton import Skeleton
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution
from trajopt.states import StateVector
from trajopt.types import Reals

UPRIGHT = np.array([0.0, np.pi, 0.0, 0.0])


class ActionModelCartPole(ActionModelRungeKutta):
    """Cart on a rail with a point mass m_p on a massless pole; x = (y, θ, dy/dt, dθ/dt), θ = 0 hanging, u = (f,).

    μ = m_c + m_p sin²θ
    μ d²y/dt² = f - c dy/dt + m_p sin θ (l (dθ/dt)² + g cos θ) + b dθ/dt cos θ / l
    d²θ/dt² = -(d²y/dt² cos θ + g sin θ) / l - b dθ/dt / (m_p l²)

    Args:
        constraints: Constraints of the knot.
        cart_mass: Mass m_c of the cart, > 0 [kg]. Run-time parameter `cart_mass`.
        pole_mass: Point mass m_p of the pole, > 0 [kg]. Run-time parameter `pole_mass`.
        length: Length l of the pole, > 0 [m]. Run-time parameter `length`.
        cart_damping: Damping c of the cart, >= 0 [N s/m]. Run-time parameter `cart_damping`.
        pole_damping: Damping b of the pole's joint, >= 0 [N m s/rad]. Run-time parameter `pole_damping`.
        **others: As in ActionModelRungeKutta.
    """

    def __init__(
        self,
        constraints: ConstraintStack,
        *,
        cart_mass: float = 1.0,
        pole_mass: float = 0.2,
        length: float = 0.5,
        cart_damping: float = 0.0,
        pole_damping: float = 0.0,
        **others: Any,
    ) -> None:
        super().__init__(1, constraints, control_names=["f"], control_units=["N"], **others)
        self.cart_mass = self.parameter("cart_mass", check_positive("cart_mass", cart_mass), unit="kg")
        self.pole_mass = self.parameter("pole_mass", check_positive("pole_mass", pole_mass), unit="kg")
        self.length = self.parameter("length", check_positive("length", length), unit="m")
        damping = {"cart_damping": (cart_damping, "N s/m"), "pole_damping": (pole_damping, "N m s/rad")}
        self.cart_damping, self.pole_damping = (
            self.parameter(name, check_non_negative(name, value), unit=unit) for name, (value, unit) in damping.items()
        )

    def rate(self, x: SX, u: SX) -> SX:
        sine, cosine = ca.sin(x[1]), ca.cos(x[1])
        inertia = self.cart_mass + self.pole_mass * sine**2  # [kg]
        friction = self.pole_damping * x[3] / self.length  # [N]
        force = u - self.cart_damping * x[2] + friction * cosine
        cart = (force + self.pole_mass * sine * (self.length * x[3] ** 2 + GRAVITY * cosine)) / inertia
        pole = -(cart * cosine + GRAVITY * sine) / self.length - friction / (self.pole_mass * self.length)
        return SX(ca.vertcat(x[2], x[3], cart, pole))

    def skeleton(self, xs: Reals, parameters: Mapping[str, Reals]) -> Skeleton:
        """Cart and point mass in the x-z plane, for animations."""
        cart = np.stack([xs[:, 0], 0.0 * xs[:, 0], 0.0 * xs[:, 0]], axis=1)
        pole = np.stack([np.sin(xs[:, 1]), 0.0 * xs[:, 0], -np.cos(xs[:, 1])], axis=1)
        bob = cart + float(parameters["length"]) * pole
        return Skeleton(points=np.stack([cart, bob], axis=1), bones=[(0, 1)], sliders=[0], tracks=[1])


def state_of_cart_pole() -> StateVector:
    """State of the cart and pole, with names and units."""
    return StateVector(4, names=["y", "theta", "dy", "dtheta"], units=["m", "rad", "m/s", "rad/s"])


def build(
    *,
    T: int = 100,
    dt: float = 0.05,
    start: npt.ArrayLike = (0.0, 0.0, 0.0, 0.0),
    force: float = 3.0,
    rail: float | None = None,
    effort: float = 0.1,
) -> ProblemCase:
    """minimise Σ dt ½ (1e-2 |x - goal|² + w_u f²), |f| at most `force`, x_T = goal = (0, π, 0, 0); Runge-Kutta steps.

    Args:
        T: Number of knots [-].
        dt: Time step [s].
        start: Initial state (4,) [m, rad, m/s, rad/s].
        force: Largest force, > 0 [N].
        rail: Largest distance of the cart from the origin, > 0 [m]; None for an infinite rail. The default motion
            needs 0.30 m.
        effort: Weight w_u of the force, > 0 [cost / N² / s].

    Source: Altro.jl, problems/cartpole.jl.
    """
    state, most = state_of_cart_pole(), check_positive("force", force, unit="N")
    rows = ConstraintStack(state).add("force", ResidualModelControl(state), lower=-most, upper=most)
    if rail is not None:
        end = [check_positive("rail", rail, unit="m"), np.inf, np.inf, np.inf]
        rows.add("rail", ResidualModelState(state), lower=[-value for value in end], upper=end)
    model = ActionModelCartPole(rows, dt=dt, goal=UPRIGHT, weight=1e-2, effort=effort)
    count, first = check_count("T", T, least=1), check_array("start", start, (4,))
    return FAMILY.case(
        problem=ShootingProblem(first, [model] * count, ends_at(state, UPRIGHT)),
        xs=np.zeros((count + 1, 4)),
        us=np.full((count, 1), 0.01),
        report=report,
    )


def report(solution: Solution) -> dict[str, str]:
    """Final angle of the pole, largest force, and largest distance of the cart."""
    angle = np.degrees(abs(np.angle(-np.exp(1j * solution.xs[-1, 1]))))
    return {
        "pole": f"{angle:.2g} deg from upright",
        "force": f"at most {np.abs(solution.us).max():.4g} N",
        "cart": f"at most {np.abs(solution.xs[:, 0]).max():.3g} m from the origin",
    }


FAMILY = Family(
    name="cart-pole-limits",
    description="A cart swings a pole up with a weak motor.",
    build=build,
    reference_cost=1.48618673,
    reference_source="IPOPT and fatrop",
)
