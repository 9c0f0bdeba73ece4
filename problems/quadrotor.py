"""Quadrotor: a rigid body with four thrusts."""

from __future__ import annotations

import casadi as ca
import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.actions.differential import DifferentialActionModelSymbolic
from trajopt.checks import check_array, check_positive
from trajopt.constraints import ConstraintStack
from trajopt.costs import CostStack
from trajopt.states import StateProduct, StateSE3, StateVector

GRAVITY = 9.81  # [m/s²]
BODY = StateSE3()
INERTIA, ARM, DRAG = (0.01, 0.01, 0.02), 0.2, 0.02  # [kg m²], [m], [N m / N]


class DifferentialActionModelQuadrotor(DifferentialActionModelSymbolic):
    """Quadrotor: m (dv/dt + ω x v) = (0, 0, Σ u) - m g Rᵀ e_z and J dω/dt + ω x J ω = τ(u), with body twist (v, ω).

    The state is (pose in SE(3), twist). The controls u (4,) [N] are thrusts along the body's z axis, of rotors at +x,
    +y, -x and -y with alternating directions: τ = (l (u₂ - u₄), l (u₃ - u₁), d (u₁ - u₂ + u₃ - u₄)).

    Args:
        costs: Running costs [cost/s].
        constraints: Constraints of the knot.
        mass: Mass m, > 0 [kg]. Run-time parameter `mass`.
        inertia: Diagonal of J (3,), > 0 [kg m²]. Run-time parameter `inertia`.
        arm: Arm length l, > 0 [m]. Run-time parameter `arm`.
        drag: Ratio d of a rotor's torque to its thrust, > 0 [N m / N]. Run-time parameter `drag`.

    Source: Mellinger, Kumar, Minimum snap trajectory generation and control for quadrotors, 2011, section III.
    """

    def __init__(
        self,
        costs: CostStack,
        *,
        constraints: ConstraintStack | None = None,
        mass: float = 1.0,
        inertia: npt.ArrayLike = INERTIA,
        arm: float = ARM,
        drag: float = DRAG,
    ) -> None:
        names = {"control_names": ["front", "left", "rear", "right"], "control_units": ["N"] * 4}
        super().__init__(costs.state, 4, costs, constraints=constraints, **names)
        self.mass = self.parameter("mass", check_positive("mass", mass), unit="kg")
        self.inertia = self.parameter("inertia", check_array("inertia", inertia, (3,)), unit="kg m²")
        self.arm = self.parameter("arm", check_positive("arm", arm), unit="m")
        self.drag = self.parameter("drag", check_positive("drag", drag), unit="m")

    def acceleration(self, x: SX, u: SX) -> SX:
        """Rate of the twist (6,) [m/s², rad/s²]."""
        v, w = x[7:10], x[10:]
        up = BODY.sx_rotation(x[:7]).T[:, 2]  # z axis of the world in the body's axes
        thrust = ca.vertcat(0, 0, ca.sum1(u)) / self.mass
        roll, pitch = self.arm * (u[1] - u[3]), self.arm * (u[2] - u[0])
        yaw = self.drag * (u[0] - u[1] + u[2] - u[3])
        turn = (ca.vertcat(roll, pitch, yaw) - ca.cross(w, self.inertia * w)) / self.inertia
        return SX(ca.vertcat(thrust - GRAVITY * up - ca.cross(w, v), turn))


def state_of_quadrotor() -> StateProduct:
    """State of the quadrotor, with names and units."""
    names = ["vx", "vy", "vz", "wx", "wy", "wz"]
    return StateProduct(BODY, StateVector(6, names=names, units=["m/s"] * 3 + ["rad/s"] * 3))


def hovering(position: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """State (13,) at rest and level, at a position (3,) [m]."""
    x = state_of_quadrotor().zero()
    x[:3] = check_array("position", position, (3,))
    return x
