"""Centroidal dynamics: the centre of mass and the angular momentum about it, under contact forces."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.actions.differential.reduced import DifferentialActionModelReducedAbstract
from trajopt.checks import check_positive
from trajopt.constraints.constraint_stack import ConstraintStack
from trajopt.contacts.stack import parameter_name
from trajopt.contacts.supports import SupportStack
from trajopt.costs.cost_stack import CostStack
from trajopt.errors import InvalidArgumentError
from trajopt.instant import Instant
from trajopt.model.parameters import positive
from trajopt.robots.robot import GRAVITY
from trajopt.robots.skeleton import Skeleton
from trajopt.states.state_vector import StateVector
from trajopt.types import Reals


def centroidal_state() -> StateVector:
    """State (c, v, k), (9,): centre of mass, its velocity, and the angular momentum about it [m, m/s, N m s]."""
    names = [f"{letter}{axis}" for letter in ("c", "v", "k") for axis in "xyz"]
    return StateVector(9, names=names, units=["m"] * 3 + ["m/s"] * 3 + ["N m s"] * 3)


class DifferentialActionModelCentroidal(DifferentialActionModelReducedAbstract):
    """Centroidal dynamics: dc/dt = v, m dv/dt = m g + Σ f, dk/dt = Σ ((p - c) × f + τ), contact forces as controls.

    They hold for every robot, whatever its legs do; the angular momentum k is not tied to an orientation.

    Args:
        mass: Mass m of the robot, > 0 [kg]. Run-time parameter `mass`.
        supports: Places p where the forces f and torques τ act.
        costs: Running costs on `centroidal_state()` [cost/s].
        constraints: Constraints of each knot; none by default.
        gravity: Strength of gravity along -z, > 0 [m/s²].

    Raises:
        InvalidArgumentError: `mass` or `gravity` is not positive, or the costs have another state.

    Source: Orin, Goswami and Lee, Centroidal dynamics of a humanoid robot (Autonomous Robots 2013), eqs. 1 and 2.
    """

    second_order = False

    def __init__(
        self,
        mass: float,
        supports: SupportStack,
        costs: CostStack,
        *,
        constraints: ConstraintStack | None = None,
        gravity: float = GRAVITY,
    ) -> None:
        value = check_positive("mass", mass, unit="kg")
        if not isinstance(costs, CostStack) or costs.state != centroidal_state():
            raise InvalidArgumentError(f"costs: expected a CostStack on centroidal_state(), got {costs!r}")
        super().__init__(costs.state, supports, costs, constraints=constraints)
        self.gravity = check_positive("gravity", gravity, unit="m/s²")
        self.mass = self.parameter("mass", value, unit="kg", convert=positive)

    @property
    def weight(self) -> Reals:
        return np.array([0.0, 0.0, -self.gravity * float(self.parameters()["mass"].default)])

    def centre_of_mass(self, x: Reals) -> Reals:
        return np.asarray(x[:3])

    def momentum(self, x: Reals) -> Reals:
        return np.concatenate([float(self.parameters()["mass"].default) * x[3:6], x[6:]])

    def skeleton(self, xs: Reals, parameters: Mapping[str, Reals]) -> Skeleton:
        """The centre of mass, its path, and its height above the mean of the supports at the first knot, for films."""
        names = [parameter_name("contacts", name, "reference") for name in self.supports.names]
        heights = [parameters[name][2] if parameters[name].ndim == 1 else parameters[name][2, 3] for name in names]
        below = xs[:, :3] * [1.0, 1.0, 0.0] + [0.0, 0.0, float(np.mean(heights)) if heights else 0.0]
        return Skeleton(points=np.stack([below, xs[:, :3]], axis=1), bones=((0, 1),), tracks=(1,))

    def dynamics(self, instant: Instant) -> SX:
        c, v = instant.x[:3], instant.x[3:6]
        force, torque = self.supports.wrench(instant.u, c)
        return SX(ca.vertcat(v, force / self.mass - ca.DM([0.0, 0.0, self.gravity]), torque))
