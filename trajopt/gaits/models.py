"""Shooting problem of a gait: one model for all knots, one for all touch-downs, and one terminal cost.

Knots differ only in run-time parameters (active contacts, weights, references), so all gaits of a robot share the same
compiled code.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trajopt.actions import ActionModelAbstract, ActionModelImpulseFwdDynamics, ActionModelTerminal
from trajopt.activations import ActivationModelAbstract, ActivationModelQuadraticBarrier, ActivationModelWeightedQuad
from trajopt.actuation import ActuationModelFloatingBase
from trajopt.checks import as_numbers, check_flag, check_instance, check_non_negative, shape_of
from trajopt.constraints import ConstraintStack
from trajopt.constraints.collisions import check_collisions
from trajopt.contacts import ContactModel3D, ContactModel6D, ContactStack, ImpulseModel3D, ImpulseModel6D, ImpulseStack
from trajopt.costs import CostStack
from trajopt.errors import InvalidArgumentError, shown
from trajopt.gaits.carried import carried_anew, carried_postures, turns
from trajopt.gaits.cones import cone_barrier, cone_residual, cones_of
from trajopt.gaits.limits import DEEPEST, GaitLimits, add_rest, cone_name, constraints_of, lowest_feet
from trajopt.gaits.on_terrain import warn_of_edges
from trajopt.gaits.options import DYNAMICS, INTEGRATORS, GaitOptions, holding_gains
from trajopt.gaits.parameters import identifiers, knot_parameters
from trajopt.gaits.plans import ReducedPlan
from trajopt.gaits.posing import warn_of_start
from trajopt.gaits.schedule import ContactSchedule
from trajopt.gaits.stance import Stance, check_legged, configuration_of, foot_frame, standing_configuration
from trajopt.gaits.terrain import Terrain
from trajopt.gaits.terrain_bodies import shanks_and_base
from trajopt.gaits.terrain_distance import ResidualModelTerrainDistance
from trajopt.gaits.timing import FreeTime, check_timing, free_times
from trajopt.objects.immutable import Immutable
from trajopt.residuals import (
    FrictionCone,
    ResidualModelAbstract,
    ResidualModelCentroidalMomentum,
    ResidualModelCoMPosition,
    ResidualModelControl,
    ResidualModelFramePlacement,
    ResidualModelFrameTranslation,
    ResidualModelFrameVelocity,
    ResidualModelState,
    WrenchCone,
)
from trajopt.robots import Robot, Scene
from trajopt.robots.round_bodies import SHORTEST, Capsule, Sphere
from trajopt.shooting import ShootingProblem
from trajopt.states import StateMultibody

if TYPE_CHECKING:
    from trajopt.solution.solution import Solution


class GaitModels(Immutable):
    """Action models of a robot's gaits, which all problems of one instance share.

    Cost terms are "com", "FOOT_track", "FOOT_velocity" and "FOOT_cone" for each foot, "state", "control" and "bounds".
    Contacts and impulses have the names of the feet. Constraints are "positions", "velocities", "torques",
    "FOOT_force" for each foot, at the end "rest", and on terrain "terrain" and "feet". Models that follow plans have a
    further term "momentum".

    Args:
        robot: Robot with a floating base.
        stance: Stance with the robot's feet, which defines which of them are soles.
        options: Weights and contact models; by default `GaitOptions()`.
        costs: Further cost terms at all knots except touch-downs and the end, on StateMultibody(robot).
        constraints: Further constraints at these knots. Bounds at some of them alone are run-time parameters,
            `problem.set_parameter("NAME.lower", ..., knots)`.
        soft: Whether feet may land without impulses; all knots then get a cost term for foot velocities.
        limits: Limits that are hard constraints: True for all, False for none, or GaitLimits.
        follows: Whether problems follow the plans of reduced models, see `ReducedGaitModels`.
        terrain: Terrain of the schedules, which bodies keep off if `limits` say so.
        collisions: Whether links keep apart from each other, or a Scene from which they keep apart as well, except at
            touch-downs: a constraint "collisions", as in `ConstraintStack.of_robot`.
        margin: Their least distance [m].

    Attributes:
        options: Weights and contact models; the weights are for SI units.
        limits: Limits that are hard constraints.

    Raises:
        InvalidArgumentError: The robot has no floating base, or `costs` or `constraints` have another robot's state.
        UnknownNameError: A foot is not a frame of the robot.
    """

    def __init__(
        self,
        robot: Robot,
        stance: Stance,
        options: GaitOptions | None = None,
        *,
        costs: CostStack | None = None,
        constraints: ConstraintStack | None = None,
        soft: bool = False,
        limits: bool | GaitLimits = False,
        follows: bool = False,
        terrain: Terrain | None = None,
        collisions: bool | Scene = False,
        margin: float = 0.0,
    ) -> None:
        self.robot = check_legged(robot)
        self.stance = check_instance("stance", stance, Stance, "use Stance.of(robot, feet)")
        chosen = GaitOptions() if options is None else options
        if not isinstance(chosen, GaitOptions):
            raise InvalidArgumentError(f"options: expected GaitOptions(...), got {options!r}")
        for foot in stance.feet:
            foot_frame(robot, foot)
        self.options = chosen
        if chosen.relative:
            self.options = chosen.absolute(robot.mass, _length(robot, stance), robot.gravity)
        self.keys = identifiers(stance.names)
        self.state = StateMultibody(robot)
        for name, stack, kind in (("costs", costs, CostStack), ("constraints", constraints, ConstraintStack)):
            if stack is not None and not (isinstance(stack, kind) and stack.state == self.state):
                expected = f"a {kind.__name__} on StateMultibody({robot.name})"
                raise InvalidArgumentError(f"{name}: expected {expected}, got {stack!r}")
        self.costs, self.constraints = costs, constraints
        self.soft = soft
        self.limits = GaitLimits.of(limits)
        self._apart: dict[str, Any] = {
            "collisions": check_collisions(collisions),
            "margin": check_non_negative("margin", margin, unit="m"),
        }
        self.follows = check_flag("follows", follows)
        self.terrain = None if terrain is None else check_instance("terrain", terrain, Terrain)

    def problem(
        self,
        schedule: ContactSchedule,
        x0: npt.ArrayLike | None = None,
        *,
        posture: npt.ArrayLike | None = None,
        timing: FreeTime | None = None,
        plan: Solution | None = None,
    ) -> ShootingProblem:
        """Builds the shooting problem of a schedule.

        Args:
            schedule: The gait.
            x0: Initial state (nx,) or configuration (nq,); by default the configuration "standing" or "half_sitting".
            posture: Reference state (nx,) or configuration (nq,) of the state cost; by default "standing" or
                "half_sitting", or x0 if the robot has neither. In gaits that turn it turns with the feet, see
                `carried_postures`.
            timing: Bounds of the durations of the phases, which the solver then chooses; by default those of the
                schedule are fixed.
            plan: Solution of a reduced model of this schedule, for models that follow plans. Its centre of mass
                replaces the references of the schedule, and its linear momentum is a reference.
        """
        self._check(schedule)
        if (plan is not None) != self.follows:
            raise InvalidArgumentError(
                f"plan: expected a plan from models with follows=True alone, which is {self.follows} here, got "
                f"{shown(plan)}"
            )
        path = None if plan is None else ReducedPlan.of(plan, schedule)
        timing = check_timing(timing)
        nq = self.robot.nq
        start = self.state.at_rest(configuration_of(self.robot, x0, "x0"))
        if x0 is not None and shape_of(x0) == (self.state.nx,):
            start[nq:] = as_numbers("x0", x0)[nq:]
        warn_of_start(self.robot, schedule, start[:nq])
        warn_of_edges(schedule, self.options.sole)
        running = [self.touchdown if hit else self.running for hit in schedule.touchdowns[:-1]]
        problem = ShootingProblem(start, running, self.terminal)
        unknown = posture is None and standing_configuration(self.robot) is None
        reference = start if unknown else configuration_of(self.robot, posture, "posture")
        states = self.state.at_rest(reference)
        if schedule.terrain is not None or turns(schedule):
            states = carried_postures(self.robot, schedule, reference)
        problem.set_parameter("state.reference", states, "all")
        self.set_schedule(problem, schedule)
        if path is not None:
            self._follow(problem, schedule, path)
        if timing is not None:
            free_times(timing, problem, schedule)
        return problem

    def _follow(self, problem: ShootingProblem, schedule: ContactSchedule, plan: ReducedPlan) -> None:
        """Sets the references of the centre of mass and of the momentum."""
        knots = [*np.flatnonzero(~schedule.touchdowns[:-1]).tolist(), schedule.T]
        weights = np.where(schedule.active.any(axis=1), self.options.com, self.options.flight)
        problem.set_parameter("com.weight", weights[knots], knots)
        problem.set_parameter("com.reference", plan.com[knots], knots)
        problem.set_parameter("momentum.reference", plan.momentum[knots], knots)

    def set_schedule(self, problem: ShootingProblem, schedule: ContactSchedule) -> None:
        """Sets active contacts, weights, references and time step of one of these problems, without compilation.

        If the old or the new gait turns or is on terrain, references of the state follow the new one, from the posture
        at the first knot.

        Args:
            problem: Problem from the method `problem`.
            schedule: Gait with touch-downs at the same knots as those of the problem.

        Raises:
            InvalidArgumentError: The schedule has other feet, or touch-downs at other knots than the problem.
        """
        self._check(schedule)
        check_instance("problem", problem, ShootingProblem)
        if [model is not self.running for model in problem.running] != schedule.touchdowns[:-1].tolist():
            raise InvalidArgumentError(
                f"schedule: expected touch-downs at the same knots as in the problem (T = {problem.T}); "
                "build another one"
            )
        nv, cones = self.state.nv, self._cones if self.limits.cones else {}
        for name, value, knots in knot_parameters(self.options, self.stance, schedule, nv, soft=self.soft, cones=cones):
            problem.set_parameter(name, value, knots)
        if self.terrain is not None and self.limits.terrain:
            problem.set_parameter("feet.lower", lowest_feet(schedule), "all")
        if problem.schedule is not None:
            first = problem.get_parameter("state.reference", 0)
            states = carried_anew(self.robot, problem.schedule, schedule, first)
            if states is not None:
                problem.set_parameter("state.reference", states, "all")
        problem.schedule = schedule

    def _check(self, schedule: ContactSchedule) -> None:
        if not isinstance(schedule, ContactSchedule):
            raise InvalidArgumentError(f"schedule: expected a ContactSchedule, got {schedule!r}")
        kinds = {name: foot.sole for name, foot in schedule.start.feet.items()}
        own = {name: foot.sole for name, foot in self.stance.feet.items()}
        if list(kinds.items()) != list(own.items()):
            raise InvalidArgumentError(
                f"schedule: expected the feet {', '.join(own)} in this order (soles: "
                f"{', '.join(n for n in own if own[n]) or 'none'}), got {', '.join(kinds)} (soles: "
                f"{', '.join(n for n in kinds if kinds[n]) or 'none'})"
            )
        if self.limits.terrain and repr(schedule.terrain) != repr(self.terrain):
            raise InvalidArgumentError(
                f"schedule: expected the terrain of the models, {self.terrain!r}, got {schedule.terrain!r}; build them "
                "with GaitModels(..., terrain=schedule.terrain)"
            )
        if schedule.soft and not self.soft:
            raise InvalidArgumentError(
                "schedule: expected touch-downs with impulses, got one with impulse=False; build the models with "
                "GaitModels(..., soft=True)"
            )

    @functools.cached_property
    def running(self) -> ActionModelAbstract:
        """Action model of all knots except touch-downs."""
        o, state = self.options, self.state
        actuation, contacts, costs = (
            ActuationModelFloatingBase(state),
            ContactStack(state),
            self._costs(landing=self.soft),
        )
        for foot, key in self.keys.items():
            sole = self.stance.feet[foot].sole
            gains = holding_gains(1e-2) if o.gains is None else o.gains  # each schedule sets its own, and references
            kind, reference = (ContactModel6D, np.eye(4)) if sole else (ContactModel3D, np.zeros(3))
            contacts.add(key, kind(state, foot, reference=reference, gains=gains))
            cone = self._cones[key]
            costs.add(f"{key}_cone", cone_residual(state, key, cone), o.cone, cone_barrier(cone, o.min_force))
        costs.add("control", ResidualModelControl(state), o.control)
        for term in self.costs.terms if self.costs is not None else ():
            costs.add(term.name, term.residual, float(term.weight.default), term.activation)
        limits = self._limits(actuation)
        for own in self.constraints.items if self.constraints is not None else ():
            limits.add(own.name, own.residual, lower=own.lower, upper=own.upper, soft=own.soft)
        dynamics = DYNAMICS[o.dynamics](state, actuation, contacts, costs, constraints=limits, damping=o.damping)
        return INTEGRATORS[o.integrator](dynamics, 1e-2, **({} if o.rows == "knot" else {"rows": o.rows}))

    @functools.cached_property
    def touchdown(self) -> ActionModelAbstract:
        """Action model of all touch-downs."""
        o, state, impulses, costs = self.options, self.state, ImpulseStack(self.state), CostStack(self.state)
        for foot, key in self.keys.items():
            impulses.add(key, (ImpulseModel6D if self.stance.feet[foot].sole else ImpulseModel3D)(state, foot))
            costs.add(f"{key}_track", self._track(foot), o.touchdown_foot)
            if o.landing_velocity:
                costs.add(f"{key}_velocity", *self._velocity(foot))
        weights = ActivationModelWeightedQuad(o.touchdown_state_weights.squared(state.nv))
        costs.add("state", ResidualModelState(state), o.touchdown_state, weights)
        return ActionModelImpulseFwdDynamics(
            state,
            impulses,
            costs,
            constraints=self._limits(None),
            restitution=o.restitution,
            damping=o.touchdown_damping,
        )

    @functools.cached_property
    def terminal(self) -> ActionModelAbstract:
        """Terminal cost, for a last knot with or without a touch-down."""
        limits = self._off_terrain(constraints_of(self.limits, self.state, None, {}, self._apart))
        if self.limits.rest:
            add_rest(limits, self.state, self.stance.names)
        return ActionModelTerminal(self._costs(landing=True), constraints=limits)

    def _limits(self, actuation: ActuationModelFloatingBase | None) -> ConstraintStack:
        """Constraints of a knot with the controls of `actuation`, or of a touch-down for None."""
        cones = {cone_name(key): cone_residual(self.state, key, cone) for key, cone in self._cones.items()}
        apart = {} if actuation is None else self._apart
        return self._off_terrain(constraints_of(self.limits, self.state, actuation, cones, apart))

    def _off_terrain(self, stack: ConstraintStack) -> ConstraintStack:
        """Adds the constraints that keep bodies and swinging feet off the terrain."""
        if self.terrain is not None and self.limits.terrain:
            feet = [Sphere(max(lift, 0.0) + SHORTEST, frame=foot) for foot, lift in self._lifts.items()]
            for name, bodies, lower in (("terrain", self._bodies, self.limits.margin), ("feet", feet, -DEEPEST)):
                stack.add(name, ResidualModelTerrainDistance(self.state, self.terrain, bodies), lower=lower)
        return stack

    @functools.cached_property
    def _lifts(self) -> dict[str, float]:
        """Distance of each standing foot from the terrain [m]."""
        assert self.terrain is not None
        places = [place.position for place in self.stance.feet.values()]
        return dict(zip(self.stance.feet, self.terrain.distances(places).tolist()))

    @functools.cached_property
    def _bodies(self) -> Sequence[Sphere | Capsule]:
        """Bodies that keep off the terrain."""
        if self.limits.bodies is not None:
            return self.limits.bodies
        assert self.terrain is not None
        soles = [name for name, place in self.stance.feet.items() if place.sole]
        bodies = shanks_and_base(self.robot, self._lifts, self.limits.margin, soles)
        if not bodies:
            raise InvalidArgumentError(
                f"limits: expected bodies that keep off the terrain, because {self.robot.name} has no collision "
                "geometry, got none; pass GaitLimits(bodies=[...]), or GaitLimits(terrain=False)"
            )
        return bodies

    def _costs(self, *, landing: bool) -> CostStack:
        """Cost terms of the state that running and terminal knots share; `landing` if feet may land at the knot."""
        o, state, costs = self.options, self.state, CostStack(self.state)
        costs.add("com", ResidualModelCoMPosition(state, (0.0, 0.0, 0.0)), o.com)
        if self.follows:
            linear = ActivationModelWeightedQuad([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
            costs.add("momentum", ResidualModelCentroidalMomentum(state), o.momentum, linear)
        for foot, key in self.keys.items():
            costs.add(f"{key}_track", self._track(foot), o.foot)
            if landing and o.landing_velocity:
                costs.add(f"{key}_velocity", *self._velocity(foot))
        weights = ActivationModelWeightedQuad(o.state_weights.squared(state.nv))
        costs.add("state", ResidualModelState(state), o.state, weights)
        if o.bounds:
            costs.add("bounds", ResidualModelState(state), o.bounds, joint_limits(state))
        return costs

    def _track(self, foot: str) -> ResidualModelAbstract:
        place = self.stance.feet[foot]
        if place.sole:
            return ResidualModelFramePlacement(self.state, foot, place.placement)
        return ResidualModelFrameTranslation(self.state, foot, place.position)

    def _velocity(self, foot: str) -> tuple[ResidualModelAbstract, float, ActivationModelAbstract | None]:
        """Residual of a foot's velocity, its weight at most knots, and its activation."""
        linear = ActivationModelWeightedQuad([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
        activation = None if self.stance.feet[foot].sole else linear  # a point foot may turn
        return ResidualModelFrameVelocity(self.state, foot), 0.0, activation

    @functools.cached_property
    def _cones(self) -> dict[str, FrictionCone | WrenchCone]:
        """Cone of each foot's force, by the foot's identifier."""
        return cones_of(self.options, self.stance)


def _length(robot: Robot, stance: Stance) -> float:
    """Distance from the middle of the feet to the centre of mass [m].

    Raises:
        InvalidArgumentError: The stance has no centre of mass, and the robot has no standing configuration.
    """
    if stance.com is not None:
        return float(np.linalg.norm(np.subtract(stance.com, stance.centre)))
    return _length(robot, Stance.of(robot, stance.names, soles=False))


def joint_limits(state: StateMultibody) -> ActivationModelQuadraticBarrier:
    """Barrier at the limits of joint positions and velocities; the base has no limits."""
    lower, upper = state.lower.copy(), state.upper.copy()
    for base in (slice(0, 6), slice(state.nv, state.nv + 6)):
        lower[base], upper[base] = -np.inf, np.inf
    return ActivationModelQuadraticBarrier(lower, upper)
