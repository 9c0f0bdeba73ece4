"""Contacts of the simulator: their geometry, velocities and force limits."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
import numpy.typing as npt
import pinocchio as pin
from casadi import SX

from trajopt.checks import (
    check_array,
    check_count,
    check_finite,
    check_instance,
    check_non_negative,
    check_text,
)
from trajopt.dynamics.robot_expressions import RobotExpressions
from trajopt.errors import InvalidArgumentError
from trajopt.model.base import Model
from trajopt.model.parameters import non_negative
from trajopt.robots import Robot
from trajopt.simulator.body_surface import Body, HasSurface, check_surface
from trajopt.simulator.laws import LawAbstract, PyramidLaw
from trajopt.simulator.surfaces import SurfaceAbstract
from trajopt.types import Reals

REST_DEPTH = 1e-3
"""Depth at which one contact of the default strength carries the robot [m]."""


@dataclass(frozen=True)
class Touch:
    """Expressions of one contact at a configuration.

    Attributes:
        jacobian: J (size, nv): the contact's velocity is J v, and its impulse p acts with Jᵀ p.
        law: Values of its law, before scaling.
        wrenches: Force and torque (6,) of p on each frame, in the frame's axes.
        force: Reported force of p, in the world's axes.
        within_joints: Whether p acts as the joint forces Jᵀ p, without wrenches.
    """

    jacobian: SX
    law: SX
    wrenches: Callable[[SX], dict[str, SX]]
    force: Callable[[SX], SX]
    within_joints: bool = False


class SimulatorContactAbstract(Model):
    """Base of contacts that follow the principle of maximal dissipation.

    Args:
        name: Name of the contact, an identifier.
    """

    example = "contacts.foot.{}"
    law: LawAbstract

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = check_text("name", name, such_as="left_foot")
        if not self.name.isidentifier():
            raise InvalidArgumentError(f"name: expected an identifier such as 'left_foot', got {name!r}; pass name=...")

    @property
    @abstractmethod
    def frames(self) -> tuple[str, ...]:
        """Names of the robot's frames on which the contact acts."""

    @property
    @abstractmethod
    def force_size(self) -> int:
        """Size of the reported force: 3, or 6 with a torque [-]."""

    @abstractmethod
    def touch(self, robot: RobotExpressions, up: Reals) -> Touch:
        """The contact at a configuration; the unit vector `up` (3,) points against gravity."""

    def resting_strength(self, robot: Robot) -> float | None:
        """Default strength, with which the contact alone carries the robot 1 mm deep; None if it has one of its own."""
        return None

    def check(self, robot: Robot) -> None:
        """Raises an error unless the robot has the contact's frames."""
        check_instance("robot", robot, Robot, "use load_robot")
        for frame in self.frames:
            robot.frame_id(frame)


class MDPContact(SimulatorContactAbstract):
    """Contact of a sphere with a surface: its force in conv{0, k b_j} dissipates the most power.

    The rays are b_j = n + friction (cos θ_j t₁ + sin θ_j t₂). The budget k = strength dᵖ limits the normal force at
    the depth d = max(radius - φ(centre), 0). There is no other force between the bodies.

    Args:
        frame: Name of the frame that carries the sphere.
        offset: Centre of the sphere in the frame (3,) [m].
        radius: Radius r, >= 0 [m].
        surface: Plane, HeightField, a trajopt.Sphere, Capsule or Box, a trajopt.gaits.Terrain, or a function that maps
            a point p (3,) to its signed distance φ(p) as an expression; the floor z = 0 by default.
        friction: Friction coefficient, >= 0 [-]. Run-time parameter `friction`.
        rays: Number n of rays, >= 3 [-], the first along t₁, for a level floor the x axis. They span a pyramid inside
            the friction cone: along a ray the friction coefficient is `friction`, and halfway between two it is
            cos(π/n) of that, 13 % less for 6, 3.4 % for 12, .9 % for 24. A body then slides 15, 3.5 and .9 % too far. A
            body that slides and spins errs most, pass 12 or 24: on a slope of 20°, with friction 0.5, (1, 0.5) m/s and
            6 rad/s a box turns by 77, 52 and 48° with 6, 12 and 24 rays, where circular cones give 46°. A step of a
            quadruped with derivatives takes 1.3 and 2.1 times as long with 12 and 24 as with 6.
        strength: Strength, >= 0 [N/mᵖ; N s/mᵖ in impulse modes]. Run-time parameter `strength`. By default, the
            contact alone carries the robot at rest 1 mm deep, see `resting_strength`. After a fall by h it is about
            d = (4 h n/(n + 1) (1 mm)³)^¼ deep, 5 mm for 20 cm, or v dt if that is more, and comes out at only v_tol
            friction cos(π/n), see `Simulator`. A strength a hundred times as large divides d by 3.2. If it still slides
            at v > friction w after the fall with speed w, it rebounds: to the full height h if it slides faster than
            w / friction until it leaves, as the most power is then dissipated at the full budget in both directions.
        exponent: p, >= 1 [-]. The step is a C² function across touch-down if p > 2.
        name: Name of the contact, an identifier; by default that of the frame.

    Raises:
        InvalidArgumentError: A number is out of its range, or the surface has another type.

    Source: Zhu, Pan and Hauser, "Contact-implicit trajectory optimization with learned deformable contacts using
        bilevel optimization" (ICRA 2021); Drumwright and Shell (WAFR 2010).
    """

    force_size = 3

    def __init__(
        self,
        frame: str,
        offset: npt.ArrayLike = (0.0, 0.0, 0.0),
        radius: float = 0.0,
        surface: SurfaceAbstract | Body | HasSurface | Callable[[SX], SX] | npt.ArrayLike = (0.0, 0.0, 1.0, 0.0),
        *,
        friction: float = 0.7,
        rays: int = 6,
        strength: float | None = None,
        exponent: float = 3.0,
        name: str | None = None,
    ) -> None:
        self.frame = check_text("frame", frame, such_as="left_foot")
        super().__init__(self.frame if name is None else name)
        self.offset = check_array("offset", offset, (3,), cure="pass the sphere's centre in the frame [m]")
        self.radius = check_non_negative("radius", radius, unit="m")
        self.surface = check_surface(surface)
        self.exponent = check_finite("exponent", exponent)
        if self.exponent < 1:
            raise InvalidArgumentError(f"exponent: expected a number >= 1, got {exponent!r}; 3 makes steps C²")
        self.law = PyramidLaw(check_count("rays", rays, least=3, most=64))
        self._friction = self.parameter("friction", friction, convert=non_negative)
        self._rests = strength is None
        first = 0.0 if strength is None else strength
        self._strength = self.parameter("strength", first, unit="N/m^exponent", convert=non_negative)

    @property
    def frames(self) -> tuple[str, ...]:
        return (self.frame,) if self.surface.body is None else (self.frame, self.surface.body)

    def check(self, robot: Robot) -> None:
        super().check(robot)
        parents = [robot.model.frames[robot.frame_id(frame)].parentJoint for frame in self.frames]
        if len(set(parents)) == 1 and (len(parents) == 2 or parents[0] == 0):
            other = "the world" if len(parents) == 1 else "the frame of its surface"
            raise InvalidArgumentError(
                f"{self.name}: expected a frame that moves relative to its surface, got {self.frame!r}, fixed to "
                f"{other}"
            )

    def resting_strength(self, robot: Robot) -> float | None:
        check_instance("robot", robot, Robot, "use load_robot")
        return resting_strength(robot, self.law.rays, self.exponent) if self._rests else None

    def touch(self, robot: RobotExpressions, up: Reals) -> Touch:
        place = _Place(robot, self, up)
        depth = ca.fmax(self.radius - place.distance, 0)
        budget = self._strength * _power(depth, self.exponent)

        law = ca.vertcat(budget, self._friction)
        return Touch(
            place.axes.T @ place.jacobian, law, lambda p: place.wrenches(place.axes @ p), lambda p: place.axes @ p
        )


class _Place:
    """A sphere and its surface at a configuration.

    Attributes:
        distance: φ(centre) (1,) [m].
        axes: Axes of contact in the world (3, 3).
        jacobian: Relative Jacobian of the material points in contact (3, nv), in the world's axes.
    """

    def __init__(self, robot: RobotExpressions, contact: MDPContact, up: Reals) -> None:
        surface = contact.surface
        self._robot, self._frames = robot, contact.frames
        R, p = robot.frame_placement(contact.frame)
        centre = p + R @ SX(ca.sparsify(ca.DM(contact.offset)))
        if surface.body is None:
            seen, turn = centre, SX.eye(3)
        else:
            turn, origin = robot.frame_placement(surface.body)
            seen = turn.T @ (centre - origin)
        self.distance = surface.distance(seen)
        self.axes = turn @ surface.axes(seen, up)
        arm = turn @ surface.normal(seen) * -contact.radius if contact.radius else SX(3, 1)
        point = SX(ca.sparsify(ca.DM(contact.offset))) + R.T @ arm
        self._arms = {contact.frame: point}
        if surface.body is not None:
            self._arms[surface.body] = turn.T @ (centre + arm - origin)
        parts = [self._point_jacobian(frame) for frame in self._frames]
        self.jacobian = parts[0] if len(parts) == 1 else parts[0] - parts[1]

    def _point_jacobian(self, frame: str) -> SX:
        """Jacobian (3, nv) of the frame's material point in contact, in the world's axes."""
        local = self._robot.frame_jacobian(frame, pin.ReferenceFrame.LOCAL)
        linear = local[:3, :] - ca.skew(self._arms[frame]) @ local[3:, :]
        return self._robot.frame_placement(frame)[0] @ ca.sparsify(linear)

    def wrenches(self, force: SX) -> dict[str, SX]:
        """Wrench (6,) on each frame, in its axes, for a force (3,) on the first frame in the world's axes."""
        wrenches = {}
        for frame, sign in zip(self._frames, (1.0, -1.0)):
            own = self._robot.frame_placement(frame)[0].T @ (sign * force)
            wrenches[frame] = SX(ca.vertcat(own, ca.cross(self._arms[frame], own)))
        return wrenches


def _power(depth: SX, exponent: float) -> SX:
    """Power dᵖ, by multiplications if p is an integer."""
    if exponent != int(exponent):
        return SX(depth**exponent)
    value = depth
    for _ in range(int(exponent) - 1):
        value = value * depth
    return value


def resting_strength(robot: Robot, rays: int, exponent: float) -> float:
    """Strength (n + 1)/n m g / dᵖ of a contact that carries the robot's weight at depth d = 1 mm [N/mᵖ].

    Args:
        robot: The robot.
        rays: Number n of rays [-].
        exponent: Exponent p [-].
    """
    return (rays + 1) / rays * weight_of(robot) / REST_DEPTH**exponent


def weight_of(robot: Robot) -> float:
    """Weight of a robot with mass, see `Robot.weight` [N].

    Raises:
        InvalidArgumentError: The robot has no mass.
    """
    if not robot.mass > 0:
        raise InvalidArgumentError(
            f"robot: expected a mass > 0, got {robot.mass}; pass barrier_weight and the strength of each contact"
        )
    return robot.weight


def default_barrier(robot: Robot, contacts: Sequence[SimulatorContactAbstract], v_tol: float) -> float:
    """Barrier weight β = m g v_tol min(friction cos(π/n) / n) / contacts [W], for contacts of n rays each.

    It is the least β of all bodies in contact: robots, and objects beside them. A body is all that moves with a joint
    of the world, and m is its mass. On contacts that share the weight m g equally, a tangential load of a fraction ρ
    of the friction cone creeps at

        v = 2 β n contacts ρ / ((1 - ρ²) friction m g) = 2 v_tol ρ / (1 - ρ²),

    exactly for many rays. A ray b_j has w_j = s / (1 + e cos θ_j) with e = 2 ρ / (1 + ρ²), from the condition
    k b_jᵀ u = β (1/w_j - 1/s) at the contact's velocity u. The cone inside the rays has the friction cos(π/n) friction.
    Without contacts, β is m g v_tol with the mass of the robot.

    Args:
        robot: The robot.
        contacts: Its contacts; those without friction count as 1 / n, and those without frames act on all bodies.
        v_tol: Creep speed [m/s].
    """
    weight, model = weight_of(robot), robot.model
    masses: dict[int, float] = {}  # of each body, by its first joint [kg]
    for inertia, support in zip(model.inertias.tolist()[1:], model.supports.tolist()[1:]):
        masses[support[1]] = masses.get(support[1], 0.0) + inertia.mass
    loads = []
    for joint, mass in masses.items():
        touching = [c for c in contacts if not c.frames or joint in (_first_joint(robot, f) for f in c.frames)]
        shares = [_smallest_friction(contact) / contact.law.rays for contact in touching]
        if shares and mass > 0.0:
            loads.append(robot.gravity * mass * min(shares) / len(shares))
    return v_tol * min(loads, default=weight)


def _first_joint(robot: Robot, frame: str) -> int:
    """Index of the joint of the world that moves a frame; 0 if the frame is fixed in the world."""
    support = robot.model.supports[robot.model.frames[robot.frame_id(frame)].parentJoint]
    return int(support[1]) if len(support) > 1 else 0


def _smallest_friction(contact: SimulatorContactAbstract) -> float:
    """First friction coefficient of a contact halfway between two rays; 1 without friction."""
    friction = float(contact.parameters()["friction"].default) if isinstance(contact, MDPContact) else 0.0
    return friction * float(np.cos(np.pi / contact.law.rays)) or 1.0
