"""Stance: the footholds of all feet, at the start or the end of a gait."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from trajopt.checks import (
    as_numbers,
    check_flag,
    check_instance,
    check_known,
    check_mapping,
    check_positive,
    check_texts,
)
from trajopt.errors import InvalidArgumentError, UnknownNameError, unknown_name
from trajopt.gaits.foothold import Foothold, Vector3, as_point, check_heading, heading_of, yaw_rotation
from trajopt.robots import Robot
from trajopt.robots.robot import GRAVITY
from trajopt.types import Reals

_logger = logging.getLogger(__name__)

POSTURES = ("standing", "half_sitting")
"""Names of standing reference configurations; the first one that a robot has is used."""

_FLAT = np.cos(np.radians(15.0))  # cosine of the largest tilt of a sole that counts as flat [-]
_STANDS = 0.5  # cosine of the largest tilt of a sole on which robots stand [-]
_SOLE = re.compile("sole", re.IGNORECASE)
_FOOT = re.compile(r"foot|sole|toe|ankle|paw|heel", re.IGNORECASE)


@dataclass(frozen=True)
class Stance:
    """Footholds of a robot, and its centre of mass.

    Attributes:
        feet: Foothold of each foot, by the name of its frame; a point (3,) [m], or a pinocchio.SE3 for a sole, is
            converted. The columns of a schedule have the same order; each gait documents the order that it expects.
        com: Centre of mass in the world [m]; None if no phase has a reference for it.
        gravity: Strength of gravity, > 0 [m/s²]; `Stance.of` takes that of the robot. Flights take their time from it.

    Raises:
        InvalidArgumentError: There are no feet, a foothold has a wrong shape, or gravity is not positive.
    """

    feet: Mapping[str, Foothold]
    com: Vector3 | None = None
    gravity: float = GRAVITY

    def __post_init__(self) -> None:
        if not isinstance(self.feet, Mapping) or not self.feet:
            raise InvalidArgumentError(
                f"feet: expected the foothold of each foot by name, such as {{'LF_FOOT': (0.4, 0.2, 0.0)}}, got "
                f"{self.feet!r}; to read it from a robot, use Stance.of(robot, names)"
            )
        check_texts("feet", self.feet.keys())
        places = {name: Foothold.of(place, f"feet[{name!r}]") for name, place in self.feet.items()}
        object.__setattr__(self, "feet", places)
        if self.com is not None:
            object.__setattr__(self, "com", as_point("com", self.com))
        object.__setattr__(self, "gravity", check_positive("gravity", self.gravity, unit="m/s²"))

    @classmethod
    def of(
        cls,
        robot: Robot,
        feet: Iterable[str],
        x: npt.ArrayLike | None = None,
        *,
        soles: bool | None = None,
        heading: float | None = None,
    ) -> Self:
        """Computes the stance of a robot in a state.

        Args:
            robot: Robot with a floating base.
            feet: Names of the frames of its feet.
            x: State (nx,) or configuration (nq,); by default the configuration "standing" or "half_sitting".
            soles: True for soles, which have an orientation, False for points. The default is points, with a warning
                if the names of frames contain "sole". A sole that is tilted by less than 15 degrees counts as flat on
                the ground.
            heading: Angle of flat soles and of point feet about the vertical [rad]; by default that of the state, of
                its base for point feet.

        Raises:
            InvalidArgumentError: The robot has no floating base, a foot is named twice, or `x` has a wrong size.
            UnknownNameError: The robot has no frame of this name; the message lists frames that look like feet.
        """
        heading = None if heading is None else check_heading("heading", heading)
        names = [feet] if isinstance(feet, str) else list(check_texts("feet", feet))
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InvalidArgumentError(f"feet: foot {twice!r} is listed twice; remove one")
        model, q = check_legged(robot).model, configuration_of(robot, x)
        flat = soles is not None and check_flag("soles", soles)
        ids = [foot_frame(robot, name) for name in names]
        data = model.createData()
        pin.framesForwardKinematics(model, data, q)
        com = pin.centerOfMass(model, data, q)
        named = [name for name in names if _SOLE.search(name)]
        if soles is None and named:
            _logger.warning(
                "feet: the name %r says sole, but the foot becomes a point, which may turn and tip; pass soles=True "
                "to Stance.of, or soles=False to confirm points",
                named[0],
            )
        base = heading_of(pin.Quaternion(q[3:7]).matrix())
        _warn_of_normals([data.oMf[i] for i in ids] if flat else [], names)
        places = {name: _place(data.oMf[i], flat, heading, base) for name, i in zip(names, ids)}
        if names and all(place.position[2] > com[2] for place in places.values()):
            _logger.warning(
                "x: all feet are above the centre of mass, so the base may be upside down: the order of its quaternion "
                "x[3:7] is (x, y, z, w), and (0, 0, 0, 1) is upright"
            )
        return cls(places, as_point("com", com), robot.gravity)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the feet."""
        return tuple(self.feet)

    @property
    def centre(self) -> Reals:
        """Mean of the feet's positions (3,) [m]."""
        return np.mean([f.position for f in self.feet.values()], axis=0)

    @property
    def height(self) -> float:
        """Mean height of the feet's frames [m]."""
        return float(self.centre[2])

    def stepped(self, places: Mapping[str, Foothold], com: Vector3 | None = None) -> Stance:
        """Returns the stance with new footholds of some feet; a sole that gets a point keeps its orientation."""
        check_mapping("places", places, "pass {foot: foothold}")
        for name in places:
            check_known("places: foot", name, self.feet)
        places = {name: Foothold.of(place, f"places[{name!r}]") for name, place in places.items()}
        kept = {
            name: replace(place, quaternion=self.feet[name].quaternion) if not place.sole else place
            for name, place in places.items()
        }
        return replace(self, feet={**self.feet, **kept}, com=com)

    def motion_to(self, other: Stance) -> pin.SE3:
        """Turn about the vertical and translation that best move these feet to those of another stance."""
        check_instance("other", other, Stance)
        for name in self.feet:
            check_known("other: foot", name, other.feet)
        here = np.array([f.position for f in self.feet.values()])
        there = np.array([other.feet[name].position for name in self.feet])
        a, b = here - here.mean(axis=0), there - there.mean(axis=0)
        cross = float(np.sum(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]))
        rotation = yaw_rotation(float(np.arctan2(cross, np.sum(a[:, :2] * b[:, :2]))) if len(here) > 1 else 0.0)
        return pin.SE3(rotation, there.mean(axis=0) - rotation @ here.mean(axis=0))


def check_legged(robot: Any) -> Robot:
    """Returns the robot; raises InvalidArgumentError unless it has a floating base.

    Raises:
        InvalidArgumentError: `robot` is not a Robot, or has no floating base.
    """
    if not isinstance(robot, Robot):
        raise InvalidArgumentError(f"robot: expected a Robot, got {type(robot).__name__}; use load_robot(...)")
    if not robot.floating_base:
        raise InvalidArgumentError(
            f"robot: expected a robot with a floating base, got {robot.name!r}, which is fixed to the world; load it "
            "with load_robot(..., floating_base=True)"
        )
    return robot


def configuration_of(robot: Robot, x: npt.ArrayLike | None, argument: str = "x") -> Reals:
    """Configuration (nq,) of a state (nx,) or a configuration (nq,); for None the standing configuration.

    Raises:
        InvalidArgumentError: `x` has a wrong size, or is None for a robot without a configuration in `POSTURES`.
    """
    if x is None:
        q = standing_configuration(robot)
        if q is None:
            names = ", ".join(robot.configurations) or "none"
            raise InvalidArgumentError(
                f"{argument}: expected a value, because {robot.name} has no configuration {' or '.join(POSTURES)} (it "
                f"has {names}); pass a state ({robot.nq + robot.nv},) or a configuration ({robot.nq},)"
            )
        return q
    array = as_numbers(argument, x, cure="pass robot.configurations[name] for one with a name")
    if array.shape not in ((robot.nq,), (robot.nq + robot.nv,)):
        raise InvalidArgumentError(
            f"{argument}: expected a state ({robot.nq + robot.nv},) or configuration ({robot.nq},), got {array.shape}"
        )
    if not np.all(np.isfinite(array)):
        i = int(np.flatnonzero(~np.isfinite(array))[0])
        raise InvalidArgumentError(f"{argument}: expected finite numbers, got {array[i]} at index {i}")
    return array[: robot.nq]


def standing_configuration(robot: Robot) -> Reals | None:
    """Standing reference configuration of a robot (nq,); None if it has none of `POSTURES`."""
    configurations = robot.configurations
    return next((configurations[name] for name in POSTURES if name in configurations), None)


def foot_frame(robot: Robot, name: str) -> int:
    """Index of a foot's frame.

    Raises:
        UnknownNameError: The robot has no frame of this name; the message lists the frames that look like feet.
    """
    if name in robot.frame_names:
        return robot.frame_id(name)
    feet = [frame for frame in robot.frame_names if _FOOT.search(frame)]
    if not feet:
        raise unknown_name(f"{robot.name}: foot", name, robot.frame_names)
    message = str(unknown_name(f"{robot.name}: foot", name, feet)).replace("Known:", "Frames that look like feet:")
    raise UnknownNameError(message)


def _warn_of_normals(soles: list[pin.SE3], names: list[str]) -> None:
    """Warns if no sole has a z axis that points up, as the frames of some robots' files do."""
    upright = [float(sole.rotation[2, 2]) for sole in soles]
    if upright and max(upright) < _STANDS:
        _logger.warning(
            "feet: the z axis of %r is %.0f° from the vertical, but it is the normal of the sole's contact; pass a "
            "frame whose z axis points up, or add one to the model",
            names[0],
            np.degrees(np.arccos(np.clip(upright[0], -1.0, 1.0))),
        )


def _place(frame: pin.SE3, sole: bool, heading: float | None, base: float) -> Foothold:
    if not sole:
        return replace(Foothold.of(frame.translation), heading=base if heading is None else heading)
    if frame.rotation[2, 2] < _FLAT:
        return Foothold.of(frame)
    yaw = heading_of(frame.rotation) if heading is None else heading
    return Foothold.of(pin.SE3(yaw_rotation(yaw), frame.translation))
