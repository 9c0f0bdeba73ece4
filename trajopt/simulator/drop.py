"""Drop test: a robot falls on a level floor and holds its posture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from trajopt.checks import check_known, check_non_negative, check_positive, check_text
from trajopt.errors import InvalidArgumentError
from trajopt.robots import Robot
from trajopt.robots.bases import base_joints
from trajopt.robots.masses import check_masses
from trajopt.simulator.end_spheres import EndEffector
from trajopt.simulator.modes import SimulatorMode
from trajopt.simulator.rollout import Rollout
from trajopt.simulator.simulator import Simulator
from trajopt.types import Reals

_STIFFNESS = 2.0  # default stiffness of a joint per weight of the robot [m/rad]
_DAMPING = 0.05  # default damping per stiffness [s]
_FASTEST = 0.25  # fraction of the stability limit that the default gains use [-]
_POSTURES = ("standing", "half_sitting")
_MOST = 1_000_000  # steps


@dataclass(frozen=True, kw_only=True)
class Drop:
    """Drop of a robot on a level floor, with a PD controller that holds the posture.

    Attributes:
        configuration: Name of the reference configuration. None for "standing" or "half_sitting", if the robot has it,
            or else zero angles.
        height: Initial height of the lowest end above the floor, ≥ 0 [m].
        duration: Duration, > 0 [s].
        dt: Time step, > 0 [s].
        kp: Stiffness of all joints, ≥ 0 [N m/rad]; None for a stable value that carries the robot.
        kd: Damping of all joints, ≥ 0 [N m s/rad]; None for a stable value.
    """

    configuration: str | None = None
    height: float = 0.1
    duration: float = 1.0
    dt: float = 1e-3
    kp: float | None = None
    kd: float | None = None

    def __post_init__(self) -> None:
        check_non_negative("height", self.height, unit="m")
        steps = check_positive("duration", self.duration, unit="s") / check_positive("dt", self.dt, unit="s")
        if not 0.5 <= steps <= _MOST:
            raise InvalidArgumentError(
                f"duration: expected duration / dt from 1 to {_MOST} steps, got {steps:.3g}; change duration or dt [s]"
            )
        for name, gain in (("kp", self.kp), ("kd", self.kd)):
            if gain is not None:
                check_non_negative(name, gain)

    def run(self, simulator: Simulator, ends: Sequence[EndEffector]) -> Rollout:
        """Sets controller and floor of a simulator, and returns the rollout.

        Args:
            simulator: Simulator of the robot.
            ends: Spheres that may touch the floor, see `trajopt.simulator.end_spheres.ends_of`; there may be none.

        Raises:
            UnknownNameError: The robot has no such configuration.
            InvalidArgumentError: The robot has no joints, or its mass matrix is singular.
        """
        robot = simulator.robot
        q, floor = self.start(robot, ends)
        simulator.set_PD_controller(*self.gains(robot, q), target=q)
        if ends:
            simulator.set_floor((0.0, 0.0, 1.0, -floor), ends)
        return simulator.rollout(np.concatenate([q, np.zeros(robot.nv)]), None, round(self.duration / self.dt), self.dt)

    def start(self, robot: Robot, ends: Sequence[EndEffector]) -> tuple[Reals, float]:
        """Configuration (nq,) and height of the floor [m]; a base that moves is placed above a floor at 0."""
        q = self._posture(robot)
        heights = [(robot.placement(q, end.frame) @ [*end.offset, 1.0])[2] - end.radius for end in ends]
        floor = float(min(heights, default=self.height)) - self.height
        if base_joints(robot.model):
            q[1 if robot.model.names[1] == "base_planar" else 2] -= floor
            floor = 0.0
        return np.array(pin.normalize(robot.model, q)), floor

    def gains(self, robot: Robot, q: Reals) -> tuple[npt.ArrayLike, npt.ArrayLike]:
        """Stiffness and damping: those of the user, or (nv,) from the weight and the inertia of each joint at q (nq,).

        An explicit damper is stable while kd dt is below twice the inertia that its joint moves on a free robot, which
        is 1/(M⁻¹)ᵢᵢ. The default is at most a quarter of that.
        """
        model = robot.model
        check_masses(model)
        inertia = 1.0 / np.diag(pin.computeMinverse(model, model.createData(), q))
        weight = pin.computeTotalMass(model) * robot.gravity
        stiffness = np.minimum(_STIFFNESS * weight, _FASTEST * inertia / self.dt**2)
        damping = np.minimum(_DAMPING * stiffness, _FASTEST * inertia / self.dt)
        return (stiffness if self.kp is None else self.kp), (damping if self.kd is None else self.kd)

    def _posture(self, robot: Robot) -> Reals:
        if self.configuration is not None:
            return robot.configuration(self.configuration)
        postures = [name for name in _POSTURES if name in robot.configurations]
        return robot.configuration(postures[0]) if postures else pin.neutral(robot.model)


def stepping_mode(name: str) -> SimulatorMode:
    """Mode of a name such as "RK1F", which is FORWARD_RK1F, or "BACKWARD_RK1F".

    Raises:
        UnknownNameError: There is no such mode, or it does not step a state.
    """
    names = [mode.name for mode in SimulatorMode if mode.name.startswith(("FORWARD_RK", "BACKWARD_RK"))]
    modes = {each.removeprefix("FORWARD_"): SimulatorMode[each] for each in names}
    return modes[check_known("mode", check_text("mode", name, such_as="RK1F").upper().removeprefix("FORWARD_"), modes)]
