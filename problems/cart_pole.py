"""A cart balances a pole, or swings it up."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.actions.differential import DifferentialActionModelSymbolic
from trajopt.actions.integrated import IntegratedActionModelEuler
from trajopt.checks import check_array, check_count, check_positive
from trajopt.costs import CostStack
from trajopt.problems.case import CROCODDYL, ProblemCase
from trajopt.problems.family import Family
from trajopt.problems.upright import upright_cost
from trajopt.residuals import ResidualModelControl
from trajopt.robots.skeleton import Skeleton
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution
from trajopt.solvers import FDDPOptions
from trajopt.states import StateVector
from trajopt.types import Reals

GRAVITY = 9.81  # [m/s²]
STEP = 5e-2  # [s]
START = (0.0, 0.0, 1.0, 0.5)  # [m, rad, m/s, rad/s]
WEIGHTS = (1e-2, 1.0, 1e-6, 1e-6)  # of y, θ and their rates, per knot


class DifferentialActionModelCartPole(DifferentialActionModelSymbolic):
    """Cart on a rail with a point mass m_p on a massless pole; x = (y, θ, dy/dt, dθ/dt), θ = 0 upright, u = (f,).

    μ = m_c + m_p sin²θ
    d²y/dt² = (f + m_p sin θ (g cos θ - l (dθ/dt)²)) / μ
    d²θ/dt² = (d²y/dt² cos θ + g sin θ) / l

    Args:
        costs: Running costs [cost/s].
        cart_mass: Mass m_c of the cart, > 0 [kg]. Run-time parameter `cart_mass`.
        pole_mass: Point mass m_p of the pole, > 0 [kg]. Run-time parameter `pole_mass`.
        length: Length l of the pole, > 0 [m]. Run-time parameter `length`.

    Source: Crocoddyl's notebook 02.
    """

    def __init__(
        self, costs: CostStack, *, cart_mass: float = 1.0, pole_mass: float = 0.1, length: float = 0.5
    ) -> None:
        super().__init__(costs.state, 1, costs, control_names=["f"], control_units=["N"])
        self.cart_mass = self.parameter("cart_mass", check_positive("cart_mass", cart_mass), unit="kg")
        self.pole_mass = self.parameter("pole_mass", check_positive("pole_mass", pole_mass), unit="kg")
        self.length = self.parameter("length", check_positive("length", length), unit="m")

    def acceleration(self, x: SX, u: SX) -> SX:
        sine, cosine = ca.sin(x[1]), ca.cos(x[1])
        inertia = self.cart_mass + self.pole_mass * sine**2  # [kg]
        cart = (u + self.pole_mass * sine * (GRAVITY * cosine - self.length * x[3] ** 2)) / inertia
        return ca.vertcat(cart, (cart * cosine + GRAVITY * sine) / self.length)

    def skeleton(self, xs: Reals, parameters: Mapping[str, Reals]) -> Skeleton:
        """Cart and point mass in the x-z plane, for animations."""
        pole = float(parameters["length"]) * np.stack([-np.sin(xs[:, 1]), 0.0 * xs[:, 0], np.cos(xs[:, 1])], axis=1)
        cart = np.stack([xs[:, 0], 0.0 * xs[:, 0], 0.0 * xs[:, 0]], axis=1)
        return Skeleton(points=np.stack([cart, cart + pole], axis=1), bones=[(0, 1)], sliders=[0], tracks=[1])


def build(
    *,
    T: int = 50,
    start: npt.ArrayLike = START,
    effort: float = 1.0,
    end: float = 1.0,
    hessian: str = "gauss-newton",
) -> ProblemCase:
    """minimise Σ (1 - cos θ) + ½ (1e-2 y² + 1e-6 (dy/dt)² + 1e-6 (dθ/dt)² + w_f f²), time step 50 ms.

    The terminal cost is the same without the force, times `end`. With the default options the pole is balanced. To
    swing it up, use start=(0, 3.14, 0, 0), effort=1e-2, end=1e3 (156 iterations of FDDP).

    Args:
        T: Number of knots [-].
        start: Initial state (4,) [m, rad, m/s, rad/s].
        effort: Weight w_f of the force, > 0 [cost / N²].
        end: Weight of the terminal cost, > 0 [-].
        hessian: Hessian of 1 - cos θ: "gauss-newton", or "exact", which is indefinite beyond 90 degrees.

    Source: Crocoddyl's notebook 02.
    """
    state = StateVector(4, names=["y", "theta", "dy", "dtheta"], units=["m", "rad", "m/s", "rad/s"])
    residual, upright = upright_cost(state, WEIGHTS, (1,), hessian)
    running = CostStack(state)  # the time step multiplies costs, unlike in the notebook
    running.add("upright", residual, weight=1.0 / STEP, activation=upright)
    running.add("force", ResidualModelControl(state), weight=check_positive("effort", effort) / STEP)
    terminal = CostStack(state).add("upright", residual, weight=check_positive("end", end), activation=upright)
    knot = IntegratedActionModelEuler(DifferentialActionModelCartPole(running), dt=STEP)
    first = check_array("start", start, (4,))
    return FAMILY.case(
        problem=ShootingProblem(first, [knot] * check_count("T", T, least=1), terminal),
        options=FDDPOptions(max_iterations=300),
        report=report,
    )


def report(solution: Solution) -> dict[str, str]:
    """Position of the cart and angle of the pole at the end."""
    y, angle = solution.xs[-1, :2]
    return {"cart": f"{y:.3g} m", "pole": f"{np.degrees(np.angle(np.exp(1j * angle))):.3g} deg from upright"}


FAMILY = Family(
    name="cart-pole",
    description="A cart on a rail balances a pole.",
    build=build,
    reference_cost=4.843614219835,
    reference_source=f"{CROCODDYL} on its notebook 02",
)
