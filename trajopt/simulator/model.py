"""Fixed parts of a simulator: robot, contacts and mode, with the run-time parameters of all of them."""

from __future__ import annotations

import functools
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np
import pinocchio as pin
from casadi import SX

from trajopt.checks import check_positive
from trajopt.dynamics.friction import SmoothFriction
from trajopt.dynamics.robot_expressions import RobotExpressions
from trajopt.errors import DuplicateNameError, InvalidArgumentError
from trajopt.kernels.derivatives import jacobian
from trajopt.model.base import Model
from trajopt.model.parameters import Parameter, ParameterLayout, positive
from trajopt.robots import Robot
from trajopt.simulator.black_box import BlackBoxColumns, told_name
from trajopt.simulator.contact import (
    SimulatorContactAbstract,
    Touch,
    default_barrier,
)
from trajopt.simulator.distance_limit import distance_limits
from trajopt.simulator.external_wrench import ExternalWrench
from trajopt.simulator.interior_point import TOLERANCE
from trajopt.simulator.joint_stops import check_joint_stops, stops_of
from trajopt.simulator.modes import SimulatorMode, Variant
from trajopt.simulator.torque_limits import check_positive_bounds, check_torque_limits
from trajopt.states.state_multibody import StateMultibody
from trajopt.states.world_axes import WorldAxesStep
from trajopt.types import Reals

_LOG = logging.getLogger(__name__)
_LONG = 1.0  # a longer time step is probably a mistake in the unit [s]
_STAGES = ("FORWARD_RK2I", "FORWARD_RK4I")  # modes with poses other than those of their input
_GIVING = ("INVERSE_I", "INVERSE_LF")  # modes that compute torques
_STOPPING = ("FORWARD_RK1F", "BACKWARD_RK1F", "INVERSE_BACKWARD_RK1F")  # modes with joint stops
REFERENCE_TIME = 1e-3  # time to which the barrier weight of impulses refers [s]


class SimulatorModel(Model):
    """Robot with contacts and a mode, and the values of them that can change at run time.

    Run-time parameters are `dt`, `barrier_weight`, those of each contact, such as `contacts.LF_FOOT.friction`, and
    those of the robot, such as `robot.base_link.mass`.

    Args:
        robot: The robot.
        contacts: Contacts of the robot; limits of its distance joints are added.
        mode: Equation of a step.
        variant: Variant of the modes RK1I to RK4I.
        barrier_weight: β > 0 [W]. The weight μ of the barrier is β dt in force modes, β · 1 ms in impulse modes, and β
            for limiting forces. The default follows from `v_tol`, see `default_barrier`.
        v_tol: Creep speed of resting contacts, > 0 [m/s]; it only sets the default β.
        joint_friction: "smooth" for the damping and dry friction in the robot's file, a SmoothFriction, or None for no
            friction.
        joint_stops: Joints with stops, see `check_joint_stops`.
        torque_limits: Largest torques, see `check_torque_limits`.
        dt: Time step [s].

    Attributes:
        state: State (q, v).
        names: Names of the contacts.
        stops: Joint stops.
        torque_limits: Symbol of the largest torques (nv,) [N m, N]; None without limits.
    """

    def __init__(
        self,
        robot: Robot,
        contacts: Sequence[SimulatorContactAbstract],
        mode: SimulatorMode,
        *,
        variant: Variant = Variant.PROJECTED,
        barrier_weight: float | None = None,
        v_tol: float = 1e-4,
        joint_friction: SmoothFriction | str | None = None,
        joint_stops: Any = False,
        torque_limits: Any = None,
        dt: float = 1e-3,
    ) -> None:
        super().__init__()
        self._unknowns = SX(0, 1)
        self.state = StateMultibody(robot)
        self.nq, self.nv = self.state.nq, self.state.nv
        self.contacts = (*contacts, *distance_limits(robot))
        self.names = tuple(contact.name for contact in self.contacts)
        for name in self.names:
            if self.names.count(name) > 1:
                raise DuplicateNameError(f"contacts: two contacts have the name {name!r}; pass name=... to one of them")
        for contact in self.contacts:
            contact.check(robot)
        self.mode, self.variant = mode, variant
        if self.black_boxes and mode.name in _STAGES and variant is not Variant.PROJECTED:
            raise InvalidArgumentError(
                f"{self.black_boxes[0].name}: expected columns as a formula, got a black box, which {mode.name} with "
                f"variant {variant.name.lower()!r} cannot evaluate within a step; use variant='projected'"
            )
        self.stops = stops_of(self.state, check_joint_stops(joint_stops, self.state))
        if self.stops and mode.name not in _STOPPING:
            raise InvalidArgumentError(
                f"joint_stops: expected None for {mode.name}, got stops for {self.stops[0].name!r}; stops need one of "
                f"the modes {', '.join(_STOPPING)}"
            )
        limits, nv = check_torque_limits(torque_limits, self.state), self.nv
        self.torque_limits: SX | None = None
        if limits is not None:
            if mode.name in _GIVING:
                raise InvalidArgumentError(
                    f"torque_limits: expected None for {mode.name}, got limits; it computes torques"
                )
            convert = functools.partial(check_positive_bounds, size=nv)
            self.torque_limits = self.parameter("torque_limits", limits, unit="N m, N", convert=convert)
        self.joint_friction = SmoothFriction.for_robot(joint_friction, robot, "joint_friction")
        self.dt = self.parameter("dt", dt, unit="s", convert=_time_step)
        check_positive("v_tol", v_tol, unit="m/s")
        if barrier_weight is None:
            sticking = () if mode.name.endswith("I") else contacts  # impulses end before forces push
            barrier_weight = default_barrier(robot, sticking, v_tol)
        self.barrier_weight = self.parameter("barrier_weight", barrier_weight, unit="W", convert=positive)
        self.tolerance = self.parameter("tolerance", TOLERANCE, convert=positive)

    def parameters(self) -> dict[str, Parameter]:
        parameters = super().parameters()
        for contact in self.contacts:
            own = contact.parameters()
            if (strength := contact.resting_strength(self.state.robot)) is not None:
                own["strength"] = replace(own["strength"], default=np.array(self._level_time * strength))
            parameters |= {f"contacts.{contact.name}.{name}": p for name, p in own.items()}
        return parameters | self.state.parameters()

    @property
    def black_boxes(self) -> list[ExternalWrench]:
        """Contacts whose columns are numerical functions instead of formulas."""
        return [c for c in self.contacts if isinstance(c, ExternalWrench) and c.black_box is not None]

    @functools.cached_property
    def layout(self) -> ParameterLayout:
        """Layout of the run-time parameters, and of the black boxes' values at the pose of a state."""
        values = {}
        for contact in self.black_boxes:
            symbol, size = contact.told, BlackBoxColumns.size_of(contact.law.rays)
            assert symbol is not None
            values[told_name(contact.name)] = Parameter("told", symbol, np.zeros(size))
        return ParameterLayout(self.parameters() | values)

    @property
    def _level_time(self) -> float:
        """Time by which strengths of forces are multiplied: 1 ms for impulses [s], 1 for forces."""
        return REFERENCE_TIME if self.mode.name.endswith("I") else 1.0

    @functools.cached_property
    def world_axes(self) -> WorldAxesStep:
        """Euler step of the robot, with free joints stepped in world axes."""
        return WorldAxesStep(self.state)

    @functools.cached_property
    def force_sizes(self) -> dict[str, int]:
        """Size of the reported force of each contact, by name [-]."""
        return {contact.name: contact.force_size for contact in self.contacts}

    @functools.cached_property
    def up(self) -> Reals:
        """Unit vector against gravity (3,) [-]; the z axis if there is no gravity."""
        gravity = np.array(self.state.model.gravity.linear)
        norm = float(np.linalg.norm(gravity))
        return -gravity / norm + 0.0 if norm else np.array([0.0, 0.0, 1.0])

    def robot(self, q: SX, v: SX | None, *, weightless: bool = False) -> RobotExpressions:
        """Expressions of the robot with derivatives; without gravity and friction if `weightless`."""
        model, friction = self.state.model, self.joint_friction
        if weightless:
            model, friction = model.copy(), None
            model.gravity = pin.Motion.Zero()
        parameters = self.state.robot.parameters
        return RobotExpressions(model, q, v, friction=friction, parameters=parameters, with_derivatives=True)

    @property
    def unknowns(self) -> SX:
        """Symbols (k,) of unknown run-time parameters θ, see `freed`; none by default."""
        return self._unknowns

    def freed(self, unknowns: SX) -> SimulatorModel:
        """Returns the same model with unknowns θ (k,): derivatives by q in its steps become those by (q, θ)."""
        model = object.__new__(type(self))
        vars(model).update(vars(self), _unknowns=unknowns)
        return model

    def by_time(self, rate: SX) -> SX:
        """Derivative (n, nv + k) by (q, θ) of a quantity that changes by `rate` (n,) with dt."""
        return ca.horzcat(SX(rate.numel(), self.nv), ca.mtimes(rate, jacobian(self.dt, self.unknowns)))

    def touches(self, robot: RobotExpressions) -> list[Touch]:
        """Returns Jacobian, law, wrenches and force of each contact at the configuration of `robot`, as expressions."""
        return [contact.touch(robot, self.up) for contact in self.contacts]

    def basis(self, q: SX) -> SX:
        """Returns the derivative (nq, nv) of q ⊕ δ by the tangent vector δ (nv,), at δ = 0."""
        whole = self.state.sx_tangent_basis(ca.vertcat(q, SX(np.zeros(self.nv))))
        return whole[: self.nq, : self.nv]


def _time_step(argument: str, value: Any) -> Reals:
    step = check_positive(argument, value, unit="s")
    if step > _LONG and argument:  # without a name the value is only tried
        _LOG.warning("%s: %g s is long for a time step of a robot; the unit is seconds, so try 0.001", argument, step)
    return np.array(step)
