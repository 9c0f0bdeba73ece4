"""Drop test: a robot falls on a level floor and holds its posture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from trajopt.checks import check_known, check_non_negative, check_positive, check_text
from trajopt.errors import InvalidArgumentError
from trajopt.robots.bases import base_joints
from trajopt.robots.masses import check_masses
from trajopt.simulator import Rollout, SimulatorMode
from trajopt.simulator.diffne.end_effectors import EndEffectorBounds
from trajopt.simulator.diffne.robot_model import DiffNERobotModel
from trajopt.types import Reals

_SLAB = 0.02  # thickness of the end of a link to which a sphere is fitted [m]
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

    def run(self, m: DiffNERobotModel) -> Rollout:
        """Sets posture, controller and floor of a robot with a simulator, and returns the rollout.

        Raises:
            UnknownNameError: The robot has no such configuration.
            InvalidArgumentError: The robot has no simulator or no joints, or its mass matrix is singular.
        """
        ends = ends_of(m)
        q, floor = self.start(m, ends)
        m.set_qdq(q)
        m.set_PD_controller(*self.gains(m))
        if ends:
            m.set_floor((0.0, 0.0, 1.0, -floor), ends)
        return m.simulator.rollout(m.qdq, None, round(self.duration / self.dt), self.dt)

    def start(self, m: DiffNERobotModel, ends: list[EndEffectorBounds]) -> tuple[Reals, float]:
        """Configuration (nq,) and height of the floor [m]; a base that moves is placed above a floor at 0."""
        q = self._posture(m)
        spheres = [end.on(m.body) for end in ends]
        heights = [(m.robot.placement(q, s.frame) @ [*s.offset, 1.0])[2] - s.radius for s in spheres]
        floor = float(min(heights, default=self.height)) - self.height
        if not base_joints(m.robot.model):
            return q, floor
        q[1 if m.robot.model.names[1] == "base_planar" else 2] -= floor
        return q, 0.0

    def gains(self, m: DiffNERobotModel) -> tuple[npt.ArrayLike, npt.ArrayLike]:
        """Stiffness and damping: those of the user, or (nv,) from the weight and the inertia of each joint.

        An explicit damper is stable while kd dt is below twice the inertia that its joint moves on a free robot, which
        is 1/(M⁻¹)ᵢᵢ. The default is at most a quarter of that.
        """
        model = m.robot.model
        check_masses(model)
        inertia = 1.0 / np.diag(pin.computeMinverse(model, model.createData(), m.qdq[: model.nq]))
        weight = pin.computeTotalMass(model) * float(np.linalg.norm(model.gravity.linear))
        stiffness = np.minimum(_STIFFNESS * weight, _FASTEST * inertia / self.dt**2)
        damping = np.minimum(_DAMPING * stiffness, _FASTEST * inertia / self.dt)
        return (stiffness if self.kp is None else self.kp), (damping if self.kd is None else self.kd)

    def _posture(self, m: DiffNERobotModel) -> Reals:
        if self.configuration is not None:
            return m.robot.configuration(self.configuration)
        postures = [name for name in _POSTURES if name in m.robot.configurations]
        return m.robot.configuration(postures[0]) if postures else m.qdq[: m.robot.nq]


def stepping_mode(name: str) -> SimulatorMode:
    """Mode of a name such as "RK1F", which is FORWARD_RK1F, or "BACKWARD_RK1F".

    Raises:
        UnknownNameError: There is no such mode, or it does not step a state.
    """
    names = [mode.name for mode in SimulatorMode if mode.name.startswith(("FORWARD_RK", "BACKWARD_RK"))]
    known = [known.removeprefix("FORWARD_") for known in names]
    short = check_text("mode", name, such_as="RK1F").upper().removeprefix("FORWARD_")
    return SimulatorMode[names[known.index(check_known("mode", short, known))]]


def ends_of(m: DiffNERobotModel) -> list[EndEffectorBounds]:
    """Sphere at the end of each joint without children: fitted to its shapes, or else a point at its last frame."""
    ends = []
    for i in range(1, m.body.nrJ()):
        if m.body.children(i, True):
            continue
        end = EndEffectorBounds(i)
        if m.body.shapes(i, "collision") or m.body.shapes(i, "visual"):
            end.detectEndEffector(m.body)
            centre = end.localPos
            distance = float(np.linalg.norm(centre))
            if distance > 0:
                end.detectEndEffector(m.body, m.body.rotation_at_zero(i) @ (-_SLAB / distance * centre))
        else:
            end = EndEffectorBounds(i, localPos=m.body.farthest_frame(i))
        ends.append(end)
    return ends
