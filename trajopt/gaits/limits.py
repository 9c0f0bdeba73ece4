"""Hard limits of a gait: friction cones of forces, and torques, velocities and positions of the joints."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.actuation import ActuationModelAbstract
from trajopt.checks import check_flag, check_items, check_non_negative
from trajopt.constraints import ConstraintStack
from trajopt.errors import InvalidArgumentError
from trajopt.residuals import ResidualModelAbstract, ResidualModelState
from trajopt.robots.round_bodies import Capsule, Sphere
from trajopt.states import StateMultibody
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.gaits.schedule import ContactSchedule


DEEPEST = 1e-3
"""Depth to which a swinging foot may be below the ground, as a standing one is by the error of its contact [m]."""


@dataclass(frozen=True, kw_only=True)
class GaitLimits:
    """Selects the limits of a gait that are hard constraints, for SolverSQP and other solvers with constraints.

    Attributes:
        cones: Whether contact forces, and impulses at touch-downs, stay within friction cones, or wrench cones for
            soles, and only push.
        torques: Whether joint torques stay within the robot's limits.
        velocities: Whether joint velocities do, also before and after touch-downs, and at the end.
        positions: Whether joint positions do.
        rest: Whether the robot is at rest at the end: its base, and the joints that no foot on the ground holds.
        terrain: Whether bodies and swinging feet keep off the terrain of the schedule, if it has one.
        bodies: Spheres and Capsules on frames that do; by default the shanks and the base, from the robot's collision
            geometry.
        margin: Distance of these bodies from the terrain, >= 0 [m].

    Raises:
        InvalidArgumentError: A value has a wrong type.
    """

    cones: bool = True
    torques: bool = True
    velocities: bool = True
    positions: bool = True
    rest: bool = False
    terrain: bool = True
    bodies: Sequence[Sphere | Capsule] | None = None
    margin: float = 0.01

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            if field.type == "bool":
                object.__setattr__(self, field.name, check_flag(field.name, getattr(self, field.name)))
        object.__setattr__(self, "margin", check_non_negative("margin", self.margin, unit="m"))
        if self.bodies is not None:
            object.__setattr__(self, "bodies", check_items("bodies", self.bodies, "spheres or capsules"))

    @classmethod
    def none(cls) -> GaitLimits:
        """Selects no limits."""
        return cls(cones=False, torques=False, velocities=False, positions=False, terrain=False)

    @classmethod
    def of(cls, limits: bool | GaitLimits) -> GaitLimits:
        """Converts True to all limits, and False to none.

        Raises:
            InvalidArgumentError: The argument is not True, False or a GaitLimits.
        """
        if isinstance(limits, GaitLimits):
            return limits
        if not isinstance(limits, (bool, np.bool_)):
            raise InvalidArgumentError(
                f"limits: expected True, False or GaitLimits(...), got {limits!r}; for example "
                "GaitLimits(positions=False)"
            )
        return cls() if limits else cls.none()


def constraints_of(
    limits: GaitLimits,
    state: StateMultibody,
    actuation: ActuationModelAbstract | None,
    cones: dict[str, ResidualModelAbstract],
    apart: Mapping[str, Any],
) -> ConstraintStack:
    """Constraints of a knot: "positions", "velocities", "torques", "collisions", and a cone for each foot.

    Args:
        limits: Selected limits.
        state: State of the robot.
        actuation: Maps controls to torques; None at knots without controls.
        cones: Residual of each foot's cone, by name of the constraint.
        apart: `collisions` and `margin` of `ConstraintStack.of_robot`; empty to let links touch.
    """
    torques = limits.torques and actuation is not None
    stack = ConstraintStack.of_robot(
        state, actuation, positions=limits.positions, velocities=limits.velocities, torques=torques, **apart
    )
    for name, cone in cones.items() if limits.cones else ():
        stack.add(name, cone)
    return stack


def add_rest(stack: ConstraintStack, state: StateMultibody, feet: Sequence[str]) -> None:
    """Adds the constraint "rest": no velocity of the base, nor of joints between it and none of the feet.

    Joints of legs follow: equations that hold their velocities, too, would depend on those of the contacts.

    Args:
        stack: Constraints of the end.
        state: State of the robot.
        feet: Frames of the feet.
    """
    model = state.robot.model
    legs = {j for foot in feet for j in model.supports[model.frames[state.robot.frame_id(foot)].parentJoint][2:]}
    moves = [model.joints[j] for j in range(1, model.njoints) if j not in legs]
    elements = [state.nv + joint.idx_v + i for joint in moves for i in range(joint.nv)]
    stack.add("rest", ResidualModelState(state, elements=elements), equals=0.0)


def cone_name(key: str) -> str:
    """Name of the constraint on a foot's force or impulse, from the foot's identifier."""
    return f"{key}_force"


def cone_parameters(
    name: str, bounds: tuple[Reals, Reals], active: Reals, knots: list[int]
) -> Iterator[tuple[str, Reals, list[int]]]:
    """Bounds of a foot's cone at knots: those of the cone in contact, infinite without contact.

    Args:
        name: Name of the constraint.
        bounds: Lower and upper bounds of the cone (rows,) [N, N m].
        active: Whether the foot is in contact at each knot (T + 1,).
        knots: The knots.
    """
    on = np.asarray(active, dtype=np.bool_)[knots, None]
    for key, own, free in (("lower", bounds[0], -np.inf), ("upper", bounds[1], np.inf)):
        yield f"{name}.{key}", np.where(on, own, free), knots


def lowest_feet(schedule: ContactSchedule) -> Reals:
    """Least distances of the feet from each surface of the terrain at each knot (T + 1, feet · surfaces) [m].

    They are infinite for a foot that stands or lands, and where it lifts off.
    """
    assert schedule.terrain is not None
    stands = schedule.active
    swings = ~(stands | np.vstack([stands[:1] | True, stands[:-1]]))
    return np.repeat(np.where(swings, -DEEPEST, -np.inf), len(schedule.terrain.surfaces), axis=1)
