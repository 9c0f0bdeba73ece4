"""A pendulum swings up with a motor that is too weak to lift it directly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.checks import check_array, check_count, check_non_negative, check_positive
from trajopt.constraints import ConstraintStack
from trajopt.problems.case import ProblemCase
from trajopt.problems.family import Family
from trajopt.problems.pendulum import GRAVITY, skeleton_of_pendulum
from trajopt.problems.runge_kutta import ActionModelRungeKutta, ends_at
from trajopt.residuals import ResidualModelControl
from trajopt.robots.skeleton import Skeleton
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution
from trajopt.states import StateVector
from trajopt.types import Reals

START = (0.0, 0.0)  # [rad, rad/s]
UPRIGHT = np.array([np.pi, 0.0])


class ActionModelPendulum(ActionModelRungeKutta):
    """Damped pendulum under a torque: m l² dv/dt = u - m g l sin q - b v, with x = (q, v), q = 0 hanging.

    Args:
        constraints: Constraints of the knot.
        dt: As in ActionModelRungeKutta.
        weight: As in ActionModelRungeKutta, for the distance from upright.
        effort: As in ActionModelRungeKutta.
        mass: Point mass m, > 0 [kg]. Run-time parameter `mass`.
        length: Rod length l, > 0 [m]. Run-time parameter `length`.
        damping: Damping b, >= 0 [N m s/rad]. Run-time parameter `damping`.
    """

    def __init__(
        self,
        constraints: ConstraintStack,
        *,
        mass: float = 1.0,
        length: float = 0.5,
        damping: float = 0.1,
        **others: Any,
    ) -> None:
        super().__init__(1, constraints, goal=UPRIGHT, control_names=["torque"], control_units=["N m"], **others)
        self.mass = self.parameter("mass", check_positive("mass", mass), unit="kg")
        self.length = self.parameter("length", check_positive("length", length), unit="m")
        self.damping = self.parameter("damping", check_non_negative("damping", damping), unit="N m s/rad")

    def rate(self, x: SX, u: SX) -> SX:
        inertia = self.mass * self.length**2  # [kg m²]
        return SX(ca.vertcat(x[1], (u - self.damping * x[1]) / inertia - GRAVITY / self.length * ca.sin(x[0])))

    def skeleton(self, xs: Reals, parameters: Mapping[str, Reals]) -> Skeleton:
        """Pivot and point mass in the x-z plane, for animations."""
        return skeleton_of_pendulum(xs, parameters)


def build(
    *, T: int = 50, dt: float = 0.06, start: npt.ArrayLike = START, torque: float = 3.0, effort: float = 1e-3
) -> ProblemCase:
    """minimise Σ dt ½ (1e-3 |x - (π, 0)|² + w_u u²), |u| at most `torque`, x_T = (π, 0); 1 kg at 0.5 m, Runge-Kutta.

    Gravity's torque is 4.9 N m if the rod is horizontal, so the pendulum must swing to and fro.

    Args:
        T: Number of knots [-].
        dt: Time step [s].
        start: Initial state (2,) [rad, rad/s].
        torque: Largest torque, > 0 [N m]; 1.5 N m is too weak for 3 s.
        effort: Weight w_u of the torque, > 0 [cost / (N m)² / s].

    Source: Altro.jl, problems/pendulum.jl.
    """
    state = StateVector(2, names=["q", "v"], units=["rad", "rad/s"])
    most = check_positive("torque", torque, unit="N m")
    limits = ConstraintStack(state).add("torque", ResidualModelControl(state), lower=-most, upper=most)
    model = ActionModelPendulum(limits, dt=dt, weight=1e-3, effort=effort)
    count, first = check_count("T", T, least=1), check_array("start", start, (2,))
    return FAMILY.case(
        problem=ShootingProblem(first, [model] * count, ends_at(state, UPRIGHT)),
        xs=np.zeros((count + 1, 2)),
        us=np.full((count, 1), 0.1),
        report=report,
    )


def report(solution: Solution) -> dict[str, str]:
    """Final angle from upright, and largest torque."""
    angle = np.degrees(abs(np.angle(-np.exp(1j * solution.xs[-1, 0]))))
    return {"angle": f"{angle:.2g} deg from upright", "torque": f"at most {np.abs(solution.us).max():.4g} N m"}


FAMILY = Family(
    name="pendulum-limits",
    description="A pendulum swings up with a motor too weak to lift it directly.",
    build=build,
    reference_cost=0.0184046275,
    reference_source="IPOPT and fatrop",
)
