"""Run-time parameters of a robot: masses, centres and inertias of bodies, friction and placement of joints, frames."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pinocchio as pin
from casadi import SX

from trajopt.checks import check_array, check_non_negative, check_texts
from trajopt.errors import DuplicateNameError, InvalidArgumentError, close_names, unknown_name
from trajopt.model.parameters import Parameter, positive
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.robots.robot import Robot

PREFIX = "robot."
"""Problems name the parameter "forearm.mass" of their robot "robot.forearm.mass"."""

BODY_QUANTITIES = ("mass", "com", "inertia")
PAYLOAD = "payload"
"""Quantity of a parameter that is the mass of a payload."""
PLACEMENT_QUANTITIES = ("translation", "rotation")
JOINT_QUANTITIES = ("damping", "friction", "armature", *PLACEMENT_QUANTITIES)
QUANTITIES = (*BODY_QUANTITIES, *JOINT_QUANTITIES)

MOST = 1.01
"""A moment of inertia above this multiple of the sum of the other two belongs to no body, even if rounded [-]."""
_ROUND_OFF = 1e-9  # relative tolerance of symmetry, and of moments >= 0 [-]


@dataclass(frozen=True, eq=False, repr=False)
class RobotParameter:
    """Quantity of a robot that can change at run time.

    Attributes:
        name: Name, such as "forearm.mass".
        quantity: The part of the name behind the last dot.
        joint: Index of the joint, or of the joint that moves the body.
        placement: Placement of the body's frame in the frame of its joint, homogeneous (4, 4) [-, m].
        parameter: Symbol, value in the robot's model, unit and check of new values.
        frame: Index of the frame whose placement it is; None for all others.
    """

    name: str
    quantity: str
    joint: int
    placement: Reals
    parameter: Parameter
    frame: int | None = None

    @property
    def value(self) -> Reals:
        """Value in the robot's model; a copy."""
        return self.parameter.default.copy()

    @property
    def unit(self) -> str:
        """Unit of the value."""
        return self.parameter.unit

    def __repr__(self) -> str:
        value = f"{float(self.value):g}" if self.value.ndim == 0 else np.array2string(self.value, precision=6)
        return f"{self.name} = {value} {self.unit}"

    @property
    def of_body(self) -> bool:
        """True for a quantity of a body, False for one of a joint."""
        return self.quantity in (*BODY_QUANTITIES, PAYLOAD)


def robot_parameters(robot: Robot, names: Iterable[str]) -> dict[str, RobotParameter]:
    """Parameters by name; see `Robot.with_parameters`.

    Raises:
        UnknownNameError: A frame, joint or quantity does not exist.
        DuplicateNameError: Two names of one body have different frames.
        InvalidArgumentError: A body does not move or has no mass, or a joint has no velocity.
    """
    parameters: dict[str, RobotParameter] = {}
    owners: dict[int, str] = {}
    for name in dict.fromkeys(check_texts("names", names)):
        owner, _, quantity = name.rpartition(".")
        if quantity in BODY_QUANTITIES:
            parameters[name] = _of_body(robot, name, owner, quantity)
            other = owners.setdefault(parameters[name].joint, owner)
            if other != owner:
                raise DuplicateNameError(
                    f"names: {other!r} and {owner!r} are on one rigid body; use one of them for all its parameters"
                )
        elif quantity in PLACEMENT_QUANTITIES and owner not in robot.joint_names and owner in robot.frame_names:
            parameters[name] = _of_frame(robot, name, owner, quantity)
        elif quantity in JOINT_QUANTITIES:
            parameters[name] = _of_joint(robot, name, owner, quantity)
        else:
            choices = [f"FRAME.{each}" for each in BODY_QUANTITIES] + [f"JOINT.{each}" for each in JOINT_QUANTITIES]
            meant = [f"{owner}.{each}" for each in close_names(quantity, QUANTITIES)]
            raise unknown_name("parameter of a robot", name, choices, suggest=meant)
    return parameters


def robot_as_solved(robot: Robot | None, solved: Mapping[str, Reals]) -> Robot | None:
    """The robot with those values of its parameters in a solve, one a knot, that are the same at all knots."""
    own = {} if robot is None else robot.parameters
    knots = {name: solved[PREFIX + name] for name in own if PREFIX + name in solved}
    values = {name: each[0] for name, each in knots.items() if len(each) and np.all(each == each[0])}
    return None if robot is None else robot_with(robot, {PREFIX + name: value for name, value in values.items()})


def robot_with(robot: Robot, values: Mapping[str, Any]) -> Robot:
    """The robot with values of its parameters, named as in problems; itself if they are those of its model."""
    own = {
        name: p.parameter.check(name, values[PREFIX + name])
        for name, p in robot.parameters.items()
        if PREFIX + name in values
    }
    changed = {name: value for name, value in own.items() if not np.array_equal(value, robot.parameters[name].value)}
    return robot.with_values(changed) if changed else robot


def with_numbers(model: pin.Model, parameters: Mapping[str, RobotParameter], values: Mapping[str, Reals]) -> pin.Model:
    """Copy of a model in which the quantities of these parameters have other values.

    Args:
        model: The model.
        parameters: Parameters by name. A mass without an inertia scales the inertia.
        values: Values of some of them.
    """
    changed = model.copy()
    for name in values:
        p = parameters[name]
        if p.quantity == PAYLOAD:
            rest, load = parts_with_payload(model, p)
            frame = model.getFrameId(name.rpartition(".")[0])
            scale = float(values[name]) / model.frames[frame].inertia.mass
            changed.frames[frame].inertia = scaled(model.frames[frame].inertia, scale)
            changed.inertias[p.joint] = rest + scaled(load, scale)
        elif p.of_body:
            own = {q.quantity: values.get(q.name) for q in parameters.values() if q.of_body and q.joint == p.joint}
            changed.inertias[p.joint] = _body(model.inertias[p.joint], _placement(p), own)
        elif p.quantity in PLACEMENT_QUANTITIES:
            place = changed.jointPlacements[p.joint] if p.frame is None else changed.frames[p.frame].placement
            if p.quantity == "translation":
                place.translation = values[name]
            else:
                place.rotation = place.rotation @ pin.exp3(np.asarray(values[name]))
        else:
            array = np.array(getattr(changed, p.quantity))
            array[_velocities(model, p.joint)] = values[name]
            setattr(changed, p.quantity, array)
    return changed


def parts_with_payload(model: pin.Model, parameter: RobotParameter) -> tuple[pin.Inertia, pin.Inertia]:
    """The body without its payload, and the payload, both in the frame of the joint."""
    frame = model.frames[model.getFrameId(parameter.name.rpartition(".")[0])]
    load = frame.placement.act(frame.inertia)
    return model.inertias[parameter.joint] - load, load


def scaled(body: pin.Inertia, scale: float) -> pin.Inertia:
    """A body of the same shape with another mass."""
    changed = pin.Inertia(scale * body.mass, body.lever, np.eye(3))
    changed.inertia = scale * np.array(body.inertia)
    return changed


def is_payload(frame: pin.Frame) -> bool:
    """Whether a frame is that of `Robot.with_payload`: only such operational frames have a mass."""
    return bool(frame.type == pin.FrameType.OP_FRAME and frame.inertia.mass > 0)


def check_inertias(values: Mapping[str, Reals]) -> None:
    """Raises InvalidArgumentError for an inertia about the centre of mass that is not positive semidefinite."""
    for name, value in values.items():
        if name.endswith(".inertia"):
            matrix = np.zeros((3, 3))
            matrix[np.triu_indices(3)] = value
            sizes = np.linalg.eigvalsh(matrix, UPLO="U")
            if sizes[0] < -1e-9 * abs(sizes[2]):
                raise InvalidArgumentError(
                    f"{name}: expected (xx, xy, xz, yy, yz, zz) of a positive semidefinite matrix, got {value}, which "
                    "no body has"
                )


def are_moments(moments: Reals) -> bool:
    """True if a body can have an inertia (3, 3): symmetric, no moment negative or above the sum of the other two."""
    least, middle, largest = np.linalg.eigvalsh(moments)
    small = _ROUND_OFF * max(largest, 0.0)
    symmetric = np.abs(moments - moments.T).max() <= small
    return bool(symmetric and least >= -small and largest <= MOST * (least + middle))


def flat_inertia(inertia: Reals) -> Reals:
    """Elements (xx, xy, xz, yy, yz, zz) of a symmetric matrix (3, 3)."""
    return np.asarray(inertia)[np.triu_indices(3)]


def _of_body(robot: Robot, name: str, frame: str, quantity: str) -> RobotParameter:
    placed = robot.model.frames[robot.frame_id(frame)]
    joint = int(placed.parentJoint)
    body = robot.model.inertias[joint]
    if joint == 0 or not body.mass > 0:
        why = "fixed to the world" if joint == 0 else f"of mass {body.mass}"
        raise InvalidArgumentError(
            f"names: expected frames on moving bodies with a mass, got {name!r}, whose body is {why}"
        )
    if is_payload(placed):
        if quantity != "mass":
            raise InvalidArgumentError(
                f"names: expected '{frame}.mass', the parameter of a payload, got {name!r}; other numbers are those of "
                "with_payload, and the inertia scales with the mass"
            )
        own = _parameter(name, np.array(placed.inertia.mass), "kg", positive)
        return RobotParameter(name, PAYLOAD, joint, placed.placement.homogeneous, own)
    seen = placed.placement.actInv(body)
    if quantity == "mass":
        parameter = _parameter(name, np.array(body.mass), "kg", positive)
    elif quantity == "com":
        parameter = _parameter(name, np.array(seen.lever), "m")
    else:
        parameter = _parameter(name, flat_inertia(seen.inertia), "kg m²")
    return RobotParameter(name, quantity, joint, placed.placement.homogeneous, parameter)


def _of_joint(robot: Robot, name: str, joint_name: str, quantity: str) -> RobotParameter:
    model, joint = robot.model, robot.joint_id(joint_name)
    if quantity in PLACEMENT_QUANTITIES:
        return RobotParameter(name, quantity, joint, np.eye(4), _of_place(name, quantity, model.jointPlacements[joint]))
    at = _velocities(model, joint)
    if at.start == at.stop:
        raise InvalidArgumentError(f"names: expected a joint with a velocity of its own, got {name!r}, a mimic joint")
    values = np.array(getattr(model, quantity))[at]
    units = {"damping": "N m s/rad, N s/m", "friction": "N m, N", "armature": "kg m², kg"}[quantity].split(", ")
    kind = model.joints[joint].shortname()
    unit = units[kind.startswith("JointModelP")] if at.stop - at.start == 1 else ", ".join(units)
    default = values if len(values) > 1 else np.array(values[0])
    convert = functools.partial(_non_negative, shape=default.shape)
    return RobotParameter(name, quantity, joint, np.eye(4), _parameter(name, default, unit, convert))


def _of_frame(robot: Robot, name: str, frame_name: str, quantity: str) -> RobotParameter:
    index = robot.frame_id(frame_name)
    frame = robot.model.frames[index]
    place = _of_place(name, quantity, frame.placement)
    return RobotParameter(name, quantity, int(frame.parentJoint), np.eye(4), place, index)


def _of_place(name: str, quantity: str, placement: pin.SE3) -> Parameter:
    if quantity == "translation":
        return _parameter(name, np.array(placement.translation), "m")
    return _parameter(name, np.zeros(3), "rad")


def _parameter(name: str, default: Reals, unit: str, convert: Callable[[str, Any], Reals] | None = None) -> Parameter:
    full = PREFIX + name
    return Parameter(full, _symbol(full, int(default.size)), default, unit, convert)


@functools.cache
def _symbol(name: str, size: int) -> SX:
    """Symbol (size,) of a parameter, which all robots share, so that copies of a robot have the same expressions."""
    return SX.sym(name, size)


def _velocities(model: pin.Model, joint: int) -> slice:
    return slice(model.idx_vs[joint], model.idx_vs[joint] + model.joints[joint].nv)


def _placement(parameter: RobotParameter) -> pin.SE3:
    return pin.SE3(parameter.placement)


def _body(body: pin.Inertia, placement: pin.SE3, values: Mapping[str, Reals | None]) -> pin.Inertia:
    """An inertia with other values, which are given in the frame at `placement`; keys are those that may change."""
    seen = placement.actInv(body)
    mass, com, inertia = (values.get(each) for each in BODY_QUANTITIES)
    m = seen.mass if mass is None else float(mass)
    if inertia is None:
        about_com = np.array(seen.inertia) * (1.0 if "inertia" in values else m / seen.mass)
    else:
        about_com = np.zeros((3, 3))
        about_com[np.triu_indices(3)] = inertia
        about_com = about_com + np.triu(about_com, 1).T
    changed = pin.Inertia(m, np.array(seen.lever) if com is None else com, np.eye(3))
    changed.inertia = about_com  # unlike the constructor, this takes matrices that are not positive
    return placement.act(changed)


def _non_negative(argument: str, value: Any, shape: tuple[int, ...]) -> Reals:
    if not shape:
        return np.array(check_non_negative(argument, value))
    values = check_array(argument, value, shape)
    if np.any(values < 0):
        raise InvalidArgumentError(f"{argument}: expected numbers >= 0, got {values}")
    return values
