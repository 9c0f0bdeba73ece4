"""Plant from the simulator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trajopt.errors import InvalidArgumentError
from trajopt.plants.base import PlantAbstract
from trajopt.simulator import MDPContact, Simulator
from trajopt.simulator.action import default_actuation
from trajopt.types import Reals

STEP = 1e-3
"""Default time step of simulators [s]."""


class SimulatorPlant(PlantAbstract):
    """Plant from a simulator, which detects contacts itself.

    Args:
        simulator: The simulator.
        actuation: Motors that the controls drive; None for one motor at each joint except the base.
        nu: Number of controls of the controller.
    """

    usual_step = STEP
    takes_torques = True

    def __init__(self, simulator: Simulator, actuation: Any, nu: int) -> None:
        self._simulator = simulator
        motors = default_actuation(simulator.state) if actuation is None else actuation
        if motors.nu != nu:
            raise InvalidArgumentError(
                f"plant: expected a simulator with one motor for each of the controller's {nu} controls, got "
                f"{motors.nu} motors; pass a function (x, u, dt) -> x_next that computes torques from controls"
            )
        self._motors = motors
        self.spheres = tuple(each for each in simulator.model.contacts if isinstance(each, MDPContact))
        self._forces: Mapping[str, Reals] = {}

    def step(self, x: Reals, u: Reals, dt: float, torque: Reals | None = None) -> Reals:
        tau = self._motors.joint_torques(u)
        xnext, self._forces = self._simulator.step(dt, x, tau if torque is None else tau + torque)
        return xnext

    def sphere_forces(self) -> Mapping[str, Reals]:
        return {each.name: self._forces[each.name][:3] for each in self.spheres or ()}
