"""Shooting problems of a gait with reduced models: a single rigid body, or centroidal dynamics."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pinocchio as pin
from casadi import SX

from trajopt.actions import ActionModelAbstract, ActionModelTerminal
from trajopt.actions.differential import (
    DifferentialActionModelCentroidal,
    DifferentialActionModelReducedAbstract,
    DifferentialActionModelSingleRigidBody,
    centroidal_state,
)
from trajopt.activations import ActivationModelWeightedQuad
from trajopt.checks import as_numbers, check_instance, check_known, shape_of
from trajopt.constraints import ConstraintStack
from trajopt.contacts import SupportStack
from trajopt.contacts.stack import parameter_name
from trajopt.costs import CostStack
from trajopt.errors import InvalidArgumentError
from trajopt.gaits.carried import carried_postures, turns
from trajopt.gaits.cones import cone_barrier, cone_residual, cones_of
from trajopt.gaits.limits import GaitLimits, cone_name, cone_parameters
from trajopt.gaits.options import INTEGRATORS, GaitOptions
from trajopt.gaits.parameters import KnotParameter, identifiers, without_copies
from trajopt.gaits.posing import foot_paths
from trajopt.gaits.schedule import ContactSchedule
from trajopt.gaits.stance import Stance, check_legged, configuration_of, foot_frame
from trajopt.gaits.timing import FreeTime, check_timing, free_times
from trajopt.objects.immutable import Immutable
from trajopt.residuals import (
    ResidualModelCoMPosition,
    ResidualModelControl,
    ResidualModelState,
    ResidualModelSymbolic,
)
from trajopt.robots import Robot, single_rigid_body
from trajopt.shooting import ShootingProblem
from trajopt.states import StateAbstract, StateMultibody
from trajopt.types import Reals

REDUCED = ("srbd", "centroidal")


class ReducedGaitModels(Immutable):
    """Action models of a robot's gaits with contact forces as controls, which all problems of one instance share.

    "srbd" is a single rigid body with the inertia of the robot in a posture; its state is that of the base. The state
    of "centroidal" is `centroidal_state()`. Feet are massless, so that they touch down without impulses.

    Cost terms are "com", "state", and "control" for the difference between the forces and equal shares of the weight.
    Each foot has a cost term "FOOT_cone", or with limits a constraint "FOOT_force". Weights are those of the whole
    robot.

    Args:
        robot: Robot with a floating base.
        stance: Stance with the robot's feet, which defines which of them are soles.
        options: Weights, friction and integrator; by default `GaitOptions()`.
        model: "srbd" or "centroidal".
        posture: Configuration (nq,) or state (nx,) of the inertia; by default "standing" or "half_sitting".
        limits: Limits that are hard constraints; of these models, cones are the only ones.

    Attributes:
        options: Weights, friction and integrator; the weights are for SI units.
        limits: Limits that are hard constraints.

    Raises:
        InvalidArgumentError: The robot has no floating base.
        UnknownNameError: A foot is not a frame of the robot, or `model` is unknown.
    """

    def __init__(
        self,
        robot: Robot,
        stance: Stance,
        options: GaitOptions | None = None,
        *,
        model: str = "srbd",
        posture: npt.ArrayLike | None = None,
        limits: bool | GaitLimits = False,
    ) -> None:
        self.robot = check_legged(robot)
        self.stance = check_instance("stance", stance, Stance, "use Stance.of(robot, feet)")
        self.model = check_known("model", model, REDUCED)
        chosen = GaitOptions() if options is None else check_instance("options", options, GaitOptions)
        for foot in stance.feet:
            foot_frame(robot, foot)
        self._q = configuration_of(robot, posture, "posture")
        self._body = single_rigid_body(robot, self._q)
        self._mass = robot.mass
        length = float(np.linalg.norm(robot.com(self._q) - stance.centre))
        self.options = chosen.absolute(self._mass, length, robot.gravity)
        self._rate = float(np.sqrt(robot.gravity / length))
        self._force = self.options.control * length**2  # a force times the length is a torque
        self.keys = identifiers(stance.names)
        self.state: StateAbstract = StateMultibody(self._body) if model == "srbd" else centroidal_state()
        self.limits = GaitLimits.of(limits)

    def problem(
        self, schedule: ContactSchedule, x0: npt.ArrayLike | None = None, *, timing: FreeTime | None = None
    ) -> ShootingProblem:
        """Builds the shooting problem of a schedule, whose touch-downs take no knot.

        Args:
            schedule: The gait.
            x0: Initial state (nx,) or configuration (nq,) of the robot; by default that of the inertia, at rest.
            timing: Bounds of the durations of the phases, see `FreeTime`; by default those of the schedule are fixed.
        """
        timing, own = check_timing(timing), without_impulses(schedule)
        self._check(own)
        problem = ShootingProblem(self.state_of(x0), [self.running] * own.T, self.terminal)
        self.set_schedule(problem, own)
        if timing is not None:
            free_times(timing, problem, own)
        return problem

    def set_schedule(self, problem: ShootingProblem, schedule: ContactSchedule) -> None:
        """Sets contacts, footholds, references and time step of one of these problems, without compilation.

        If the old or the new gait turns, references of the state follow the new one.

        Args:
            problem: Problem from the method `problem`.
            schedule: Gait with as many knots besides touch-downs.

        Raises:
            InvalidArgumentError: The schedule has other feet, or another number of knots than the problem.
        """
        own = without_impulses(schedule)
        self._check(own)
        if check_instance("problem", problem, ShootingProblem).T != own.T:
            raise InvalidArgumentError(
                f"schedule: expected as many knots as in the problem (T = {problem.T}), got T = {own.T}; build another"
            )
        for name, value, knots in self._knot_parameters(own):
            problem.set_parameter(name, value, knots)
        before = problem.schedule
        if self.model == "srbd" and (turns(own) or (before is not None and turns(before))):
            poses = carried_postures(self.robot, own, self._q)[:, :7] if turns(own) else self._q[None, :7]
            problem.set_parameter("state.reference", without_copies(np.pad(poses, ((0, 0), (0, 6)))), "all")
        problem.schedule = own

    def state_of(self, x: npt.ArrayLike | None = None) -> Reals:
        """State of the model for a state (nx,) or configuration (nq,) of the robot; by default that of the inertia."""
        q, v = self._q if x is None else configuration_of(self.robot, x), np.zeros(self.robot.nv)
        if x is not None and shape_of(x) == (self.robot.nq + self.robot.nv,):
            v = as_numbers("x", x)[self.robot.nq :]
        if self.model == "srbd":
            return np.concatenate([q[:7], v[:6]])
        data = self.robot.model.createData()
        momentum = pin.computeCentroidalMomentum(self.robot.model, data, q, v)
        return np.concatenate([data.com[0], momentum.linear / self._mass, momentum.angular])

    def _check(self, schedule: ContactSchedule) -> None:
        kinds, own = ({n: f.sole for n, f in each.feet.items()} for each in (schedule.start, self.stance))
        if list(kinds.items()) != list(own.items()):
            raise InvalidArgumentError(
                f"schedule: expected the feet {', '.join(own)} in this order, points and soles as in the stance, got "
                f"{', '.join(kinds)}"
            )

    @functools.cached_property
    def running(self) -> ActionModelAbstract:
        """Action model of all knots before the end."""
        o, state, costs, limits = self.options, self.state, self._costs(), ConstraintStack(self.state)
        for key, cone in cones_of(o, self.stance).items():
            if self.limits.cones:
                limits.add(cone_name(key), cone_residual(state, key, cone))
            else:
                costs.add(f"{key}_cone", cone_residual(state, key, cone), o.cone, cone_barrier(cone, o.min_force))
        supports = SupportStack()
        for foot, key in self.keys.items():
            place = self.stance.feet[foot]
            supports.add(key, np.vstack([place.placement, [0, 0, 0, 1]]) if place.sole else place.position)
        costs.add("control", ResidualModelControl(state, np.zeros(supports.nc)), self._force)
        dynamics: DifferentialActionModelReducedAbstract
        if self.model == "srbd":
            dynamics = DifferentialActionModelSingleRigidBody(state, supports, costs, constraints=limits)
        else:
            dynamics = DifferentialActionModelCentroidal(
                self._mass, supports, costs, constraints=limits, gravity=self.robot.gravity
            )
        return INTEGRATORS[o.integrator](dynamics, 1e-2)

    @functools.cached_property
    def terminal(self) -> ActionModelAbstract:
        """Terminal cost."""
        return ActionModelTerminal(self._costs())

    def _costs(self) -> CostStack:
        """Cost terms of the state, which running knots and the end share."""
        o, costs = self.options, CostStack(self.state)
        if self.model == "srbd":
            weights, reference = o.state_weights.squared(6), np.concatenate([self._q[:7], np.zeros(6)])
            costs.add("com", ResidualModelCoMPosition(self.state), o.com)
        else:
            inertia, speed = np.diag(self._body.model.inertias[1].inertia), o.state_weights.base_velocity
            turning = np.hypot(speed, o.state_weights.base_rotation / self._rate)  # of rates that turn the body
            weights = np.concatenate([np.zeros(3), np.full(3, speed), turning / inertia]) ** 2
            point = {"reference": np.zeros(3)}
            reference = np.zeros(9)
            costs.add("com", ResidualModelSymbolic(self.state, com_error, parameters=point, unit="m"), o.com)
        costs.add("state", ResidualModelState(self.state, reference), o.state, ActivationModelWeightedQuad(weights))
        return costs

    def _knot_parameters(self, schedule: ContactSchedule) -> Iterator[KnotParameter]:
        """Run-time parameters of all knots 0..T."""
        o, T = self.options, schedule.T
        knots, active, paths = [*range(T)], schedule.active[:T].astype(np.float64), foot_paths(schedule)
        cones, share = cones_of(o, self.stance), np.maximum(active.sum(axis=1), 1.0)
        forces = list[Reals]()
        for i, (foot, key) in enumerate(self.keys.items()):
            sole, on = self.stance.feet[foot].sole, active[:, i]
            yield parameter_name("contacts", key, "active"), on, knots
            yield parameter_name("contacts", key, "reference"), paths[:T, i] if sole else paths[:T, i, :, 3], knots
            name = cone_name(key) if self.limits.cones else f"{key}_cone"
            if self.limits.cones:
                yield from cone_parameters(name, (cones[key].lower, cones[key].upper), on, knots)
            else:
                yield f"{name}.weight", o.cone * on, knots
            yield f"{name}.rotation", without_copies(paths[:T, i, :, :3]), knots
            forces.append(np.zeros((T, 6 if sole else 3)))
            forces[-1][:, 2] = self.robot.weight * on / share
        yield "control.reference", np.hstack(forces), knots
        guided, everywhere = ~np.isnan(schedule.com_references[:, 0]), [*range(T + 1)]
        com = np.where(schedule.active.any(axis=1), o.com, o.flight)
        yield "com.weight", com * guided, everywhere
        yield "com.reference", np.where(guided[:, None], schedule.com_references, 0.0), everywhere
        yield "dt", schedule.dt, knots


def com_error(x: SX, reference: SX) -> SX:
    """Position error of the centre of mass (3,) of a centroidal state [m]."""
    return x[:3] - reference


def without_impulses(schedule: ContactSchedule) -> ContactSchedule:
    """The schedule with feet that land without impulses, so that every knot but the last has a duration."""
    check_instance("schedule", schedule, ContactSchedule)
    phases = []
    for phase in schedule.phases:
        swings = tuple(dataclasses.replace(swing, height=swing.height or 0.0) for swing in phase.swings)
        phases.append(dataclasses.replace(phase, swings=swings, impulse=False))
    return dataclasses.replace(schedule, phases=tuple(phases))


def is_reduced(problem: ShootingProblem) -> bool:
    """Whether a problem is that of a reduced model."""
    return bool(problem.running) and isinstance(
        problem.running[0].model_parts.differential, DifferentialActionModelReducedAbstract
    )
