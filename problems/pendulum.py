"""A pendulum swings up."""

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
from trajopt.problems.case import TRAJOPT, ProblemCase
from trajopt.problems.family import Family
from trajopt.residuals import ResidualModelControl, ResidualModelSymbolic
from trajopt.robots.skeleton import Skeleton
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution
from trajopt.states import StateVector
from trajopt.types import Reals

GRAVITY = 9.81  # [m/s²]
START = (0.0, 0.0)  # [rad, rad/s]


class DifferentialActionModelPendulum(DifferentialActionModelSymbolic):
    """Pendulum under a torque: m l² dv/dt = u - m g l sin q, with x = (q, v), q = 0 hanging.

    Args:
        costs: Running costs [cost/s].
        mass: Point mass m, > 0 [kg]. Run-time parameter `mass`.
        length: Rod length l, > 0 [m]. Run-time parameter `length`.
    """

    def __init__(self, costs: CostStack, *, mass: float = 1.0, length: float = 0.5) -> None:
        super().__init__(costs.state, 1, costs, control_names=["torque"], control_units=["N m"])
        self.mass = self.parameter("mass", check_positive("mass", mass), unit="kg")
        self.length = self.parameter("length", check_positive("length", length), unit="m")

    def acceleration(self, x: SX, u: SX) -> SX:
        inertia = self.mass * self.length**2  # [kg m²]
        return u / inertia - GRAVITY / self.length * ca.sin(x[0])

    def skeleton(self, xs: Reals, parameters: Mapping[str, Reals]) -> Skeleton:
        """Pivot and point mass in the x-z plane, for animations."""
        return skeleton_of_pendulum(xs, parameters)


def skeleton_of_pendulum(xs: Reals, parameters: Mapping[str, Reals]) -> Skeleton:
    """Skeleton of a pendulum whose angle 0 hangs down; `parameters` has its "length" [m]."""
    bob = float(parameters["length"]) * np.stack([np.sin(xs[:, 0]), 0.0 * xs[:, 0], -np.cos(xs[:, 0])], axis=1)
    return Skeleton(points=np.stack([0.0 * bob, bob], axis=1), bones=[(0, 1)], fixed=[(0, 0)], tracks=[1])


def from_upright(x: SX) -> SX:
    """Residual (sin q, 1 + cos q, v / 10) [-, -, 10 rad/s], zero for a pendulum at rest upright."""
    return ca.vertcat(ca.sin(x[0]), 1.0 + ca.cos(x[0]), 0.1 * x[1])


def build(*, T: int = 100, dt: float = 2e-2, start: npt.ArrayLike = START, effort: float = 0.1) -> ProblemCase:
    """minimise ∫ ½ (1e-2 |r|² + w_u u²) dt + ½ 100 |r(x_T)|², r = (sin q, 1 + cos q, v / 10), Gauss-Newton Hessian.

    Hanging at rest is a stationary point. The initial guess, a straight line from the start to upright, breaks the
    symmetry.

    Args:
        T: Number of knots [-].
        dt: Time step [s].
        start: Initial state (2,) [rad, rad/s].
        effort: Weight w_u of the torque, > 0 [cost / (N m)² / s].
    """
    state = StateVector(2, names=["q", "v"], units=["rad", "rad/s"])
    residual = ResidualModelSymbolic(state, from_upright)
    running = CostStack(state)
    running.add("upright", residual, weight=1e-2)
    running.add("torque", ResidualModelControl(state), weight=check_positive("effort", effort))
    terminal = CostStack(state).add("upright", residual, weight=100.0)
    knot = IntegratedActionModelEuler(DifferentialActionModelPendulum(running), dt=check_positive("dt", dt, unit="s"))
    first = check_array("start", start, (2,))
    return FAMILY.case(
        problem=ShootingProblem(first, [knot] * check_count("T", T, least=1), terminal),
        xs=np.linspace(first, [np.pi, 0.0], T + 1),
        report=report,
    )


def report(solution: Solution) -> dict[str, str]:
    """Final angle from upright, and largest torque."""
    angle = np.degrees(np.angle(-np.exp(1j * solution.xs[-1, 0])))
    return {"angle": f"{angle:.3g} deg from upright", "torque": f"at most {np.abs(solution.us).max():.3g} N m"}


FAMILY = Family(
    name="pendulum",
    description="A pendulum swings up.",
    build=build,
    reference_cost=0.355431766,
    reference_source=TRAJOPT,
)
