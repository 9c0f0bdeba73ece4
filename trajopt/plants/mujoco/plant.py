"""MuJoCoPlant: a robot in MuJoCo as the plant of a closed loop, or of a replay."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from trajopt.actuation.base import ActuationModelAbstract, check_actuation, effort_limits
from trajopt.checks import (
    as_numbers,
    check_array,
    check_flag,
    check_instance,
    check_items,
    check_non_negative,
    check_path,
    check_positive,
)
from trajopt.errors import InvalidArgumentError, ModelEvaluationError, shown
from trajopt.files import output_file
from trajopt.objects.extras import Extra
from trajopt.objects.immutable import Immutable
from trajopt.plants.base import PlantAbstract
from trajopt.plants.mujoco.mjcf import Joints, geom_name, mjcf_of, set_inertia
from trajopt.plants.mujoco.states import StateMap
from trajopt.robots import Robot, load_robot
from trajopt.robots.shapes import Shape
from trajopt.simulator import MDPContact
from trajopt.simulator.action import default_actuation
from trajopt.simulator.end_spheres import ends_of
from trajopt.states import StateMultibody
from trajopt.types import Reals

MUJOCO = Extra("MuJoCoPlant", "mujoco", "mujoco")


class MuJoCoPlant(Immutable, PlantAbstract):
    """A robot in MuJoCo, with its states, controls and forces in the coordinates of this package.

    A robot is converted from its Pinocchio model: bodies, joints, limits, and spheres, capsules or boxes that touch the
    ground. An MJCF file is taken as it is, and Pinocchio reads the same file for the coordinates; each of its bodies
    needs one joint with a name. `left_out` lists what MuJoCo does not have.

    MuJoCo's friction is soft: a foot within its cone creeps. Converted robots have elliptic cones and impratio = 100,
    so that friction is 100 times as stiff as normal forces. Go2's standing feet move by 2 mm in 3 s, and by 50 mm
    with MuJoCo's default of 1. A file has its own options.

    Args:
        robot: The robot, or an MJCF file (.xml).
        contacts: Spheres (MDPContact, as for a Simulator, on planes and boxes) and solids (Shape, on the floor z = 0)
            that touch the ground.
            By default, the ends of the legs of a robot with a floating base, on z = 0; none for a fixed base.
        dt: Time step [s].
        actuation: Motors that the controls drive, of this robot or of one with the same joints; by default one at each
            joint except the base.
        armature: Inertia of each motor at its joint, a number or (nv,) [kg m², kg]; by default that of the model.
        damping: Damping of each joint, a number or (nv,) [N m s/rad, N s/m]. The damping in a robot's file is not used,
            since Pinocchio does not use it either.
        dry_friction: Dry friction of each joint, MuJoCo's frictionloss, a number or (nv,) [N m, N]. That of a robot's
            file is not used either.
        friction: Friction coefficient of the default contacts and of solids, >= 0 [-].
        torque_limits: Whether controls and torques are clipped to the limits of the motors.
        joint_limits: Whether joints stop at their limits.

    Attributes:
        robot: The robot.
        state: Its state.
        nu: Number of controls [-].
        model: MuJoCo's MjModel. Change its options here, such as `plant.model.opt.impratio = 1`.
        data: MuJoCo's MjData.
        xml: The MJCF text; empty for a file.
        left_out: What could not be converted, one sentence each.

    Raises:
        MissingDependencyError: The package mujoco is not installed.
        UnsupportedOperationError: MuJoCo has no such joint, or a surface is no plane, box or terrain of them.
        InvalidArgumentError: An argument has the wrong type or size, or MuJoCo refuses the file.
    """

    takes_torques = True

    def __init__(
        self,
        robot: Robot | str | PathLike[str],
        contacts: Sequence[MDPContact | Shape] | None = None,
        dt: float = 1e-3,
        *,
        actuation: Any = None,
        armature: npt.ArrayLike | None = None,
        damping: npt.ArrayLike = 0.0,
        dry_friction: npt.ArrayLike = 0.0,
        friction: float = 0.7,
        torque_limits: bool = True,
        joint_limits: bool = True,
    ) -> None:
        options = {"actuation": actuation, "armature": armature, "damping": damping, "dry_friction": dry_friction}
        options |= {"friction": friction, "torque_limits": torque_limits, "joint_limits": joint_limits}
        self._given = (robot, contacts, dt, options)
        self._mujoco = MUJOCO.load("mujoco")
        if self._mujoco.get_mju_user_warning() is None:  # it writes a file into the working folder otherwise
            self._mujoco.set_mju_user_warning(lambda _: None)
        self.usual_step = check_positive("dt", dt, unit="s")
        path = None if isinstance(robot, Robot) else check_path("robot", robot)
        self.robot = robot if isinstance(robot, Robot) else load_robot(cast(Path, path))
        self.state = StateMultibody(self.robot)
        self._limited = check_flag("torque_limits", torque_limits)
        model, stops = self.robot.model, check_flag("joint_limits", joint_limits)
        if path is None:
            motors = model.armature if armature is None else self._at_joints("armature", armature)
            mu = check_non_negative("friction", friction)
            joints = Joints(motors, self._at_joints("damping", damping), self._at_joints("dry_friction", dry_friction))
            touching = _contacts(self.robot, contacts, mu)
            self.xml = mjcf_of(self.robot, touching, joints, limits=stops, friction=mu, dt=self.usual_step)
            self.left_out = tuple([*_left_out(self.robot, touching, stops), *_losses_left_out(self.robot, joints)])
        elif not (contacts is armature is None) or any(np.any(np.asarray(each)) for each in (damping, dry_friction)):
            raise InvalidArgumentError(
                "contacts, armature, damping, dry_friction: expected none with a file, which has its own"
            )
        else:
            self.xml, touching = "", ()
            self.left_out = tuple(_left_out(self.robot, touching, stops))
        self.model = self._compiled(path)
        self.data, self._map = self._mujoco.MjData(self.model), StateMap(model, self.model)
        own = default_actuation(self.state) if actuation is None else _motors_of(self.state, actuation)
        self._motors = own
        self.nu, self._lower, self._upper = own.nu, own.lower, own.upper
        self._most = effort_limits(model)
        self._last: Reals | None = None
        self._inertias = list(model.inertias)
        if path is None and all(isinstance(each, MDPContact) for each in touching):
            self.spheres = cast(tuple[MDPContact, ...], touching)
        self._geoms = np.array([self.model.geom(geom_name(i)).id for i in range(len(self.spheres or ()))], dtype=int)

    def __repr__(self) -> str:
        return f"MuJoCoPlant({self.robot.name!r}, {self.model.ngeom} geoms, dt={self.usual_step:g} s)"

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, self._given  # MuJoCo's own options, changed since, are not kept

    def begin(self) -> None:
        self._last = None
        self.carry(self.robot)

    def carry(self, robot: Robot) -> bool:
        if not self.xml:  # bodies of a file may be fixed to one another, and one of Pinocchio's is several of MuJoCo's
            return False
        model, changed, inertias = self.robot.model, False, check_instance("robot", robot, Robot).model.inertias
        if len(inertias) != len(model.inertias):
            raise InvalidArgumentError(f"robot: expected the joints of {self.robot.name!r}, got {robot!r}")
        for i, inertia in enumerate(inertias):
            if i and inertia != self._inertias[i]:
                set_inertia(self.model, model.names[i], inertia)
                self._inertias[i], changed = inertia, True
        if changed:
            self._mujoco.mj_setConst(self.model, self._mujoco.MjData(self.model))
        return True

    def step(self, x: Reals, u: Reals, dt: float, torque: Reals | None = None) -> Reals:
        """State (nx,) after a time dt [s] in one step of MuJoCo, with control u (nu,) and further forces (nv,) or None.

        Raises:
            InvalidArgumentError: An argument has the wrong size or value.
            ModelEvaluationError: MuJoCo warned that its state diverged.
        """
        data, seconds = self.data, check_positive("dt", dt, unit="s")
        u = check_array("u", u, (self.nu,), cure="one number for each motor")
        if self._last is None or not np.array_equal(x, self._last):  # its own state has more digits
            qpos, qvel = self._map.to_peer(self.state.check(x, "x"))
            self._mujoco.mj_resetData(self.model, data)
            data.qpos[:], data.qvel[:] = qpos, qvel
        tau = self._motors.joint_torques(np.clip(u, self._lower, self._upper) if self._limited else u)
        if self._limited:  # of joints that several controls drive
            tau = np.clip(tau, -self._most, self._most)
        data.qfrc_applied[:] = self._map.force_to_peer(x, tau if torque is None else tau + torque)
        self.model.opt.timestep = seconds
        self._mujoco.mj_step(self.model, data)
        bad = [w for w in ("mjWARN_BADQPOS", "mjWARN_BADQVEL", "mjWARN_BADQACC") if self._warned(w)]
        if bad:
            self._last = None
            raise ModelEvaluationError(
                f"plant: MuJoCo's state diverged ({bad[0]}); use a shorter step, weaker feedback, or softer contacts"
            )
        self._last = self._map.from_peer(data.qpos, data.qvel)
        return self._last.copy()

    def contact_forces(self) -> Reals:
        """Force and position of each contact in the last step, in the world (n, 6) [N, m]; it acts on the robot."""
        data, touching, wrench = self.data, self.data.contact, np.zeros(6)
        local = np.zeros((data.ncon, 3))
        for i in range(data.ncon):
            self._mujoco.mj_contactForce(self.model, data, i, wrench)
            local[i] = wrench[:3]
        local[self.model.geom_bodyid[touching.geom[:, 0]] > 0] *= -1.0  # it acts from the first on the second
        return np.hstack([np.einsum("nji,nj->ni", touching.frame.reshape(-1, 3, 3), local), touching.pos])

    def sphere_forces(self) -> dict[str, Reals]:
        """Force (3,) on each of `spheres` in the last step by name, in the world [N]."""
        return self._on_spheres(self.contact_forces()[:, :3])

    def sphere_loads(self) -> dict[str, Reals]:
        normals = self.data.contact.frame[:, :3]
        along = np.sum(self.contact_forces()[:, :3] * normals, axis=1, keepdims=True)
        return self._on_spheres(np.hstack([along * normals, np.abs(along)]))

    def _on_spheres(self, rows: Reals) -> dict[str, Reals]:
        """Sum (m,) of the rows (ncon, m) of the contacts of each sphere, by name."""
        touches = (self.data.contact.geom[:, :, None] == self._geoms).any(axis=1)
        return dict(zip((each.name for each in self.spheres or ()), touches.T.astype(float) @ rows))

    def save(self, path: str | PathLike[str]) -> Path:
        """Writes the MJCF file, for MuJoCo's own viewer, and returns its path.

        Raises:
            InvalidArgumentError: The plant was made from a file, or the folder does not exist.
        """
        if not self.xml:
            raise InvalidArgumentError("save: expected a plant from a Robot; this one was made from a file")
        target = check_path("path", path)
        with output_file(target) as file:
            file.write(self.xml.encode())
        return target

    def _warned(self, warning: str) -> bool:
        return bool(self.data.warning[int(getattr(self._mujoco.mjtWarning, warning))].number)

    def _at_joints(self, argument: str, values: npt.ArrayLike) -> Reals:
        """One number >= 0 for each velocity (nv,)."""
        nv = self.robot.nv
        numbers = as_numbers(argument, values, f"a number or shape ({nv},)")
        if numbers.shape not in ((), (1,), (nv,)):
            raise InvalidArgumentError(f"{argument}: expected a number or shape ({nv},), got {shown(values)}")
        rows = np.broadcast_to(numbers, (nv,))
        if not np.all(np.isfinite(rows)) or np.any(rows < 0.0):
            raise InvalidArgumentError(f"{argument}: expected finite numbers >= 0, got {shown(values)}")
        joints = [i for i, name in enumerate(self.robot.model.joints) if name.shortname() == _FREE]
        own = rows.copy()
        for i in joints:
            own[self.robot.model.idx_vs[i] : self.robot.model.idx_vs[i] + 6] = 0.0
        return own

    def _compiled(self, path: Path | None) -> Any:
        try:
            if path is None:
                return self._mujoco.MjModel.from_xml_string(self.xml)
            model = self._mujoco.MjModel.from_xml_path(str(path))
        except ValueError as error:
            raise InvalidArgumentError(f"robot: MuJoCo refuses {self.robot.name}: {error}") from error
        model.opt.disableflags |= int(self._mujoco.mjtDisableBit.mjDSBL_ACTUATION)
        return model


_FREE = "JointModelFreeFlyer"


def _made(robot: Any, contacts: Any, dt: float, options: dict[str, Any]) -> MuJoCoPlant:
    return MuJoCoPlant(robot, contacts, dt, **options)


def _motors_of(state: StateMultibody, actuation: Any) -> ActuationModelAbstract:
    """Returns motors; raises InvalidArgumentError for those of a robot with other joints."""
    motors = check_actuation(actuation)
    same = motors.state.coordinate_names == state.coordinate_names
    return motors if same else check_actuation(motors, state)


def _contacts(robot: Robot, contacts: Any, friction: float) -> tuple[MDPContact | Shape, ...]:
    if contacts is None:
        if not robot.floating_base or robot.source is None:
            return ()
        ends = ends_of(robot, robot.source)
        return tuple(MDPContact(end.frame, end.offset, end.radius, friction=friction) for end in ends)
    own = check_items("contacts", contacts, "contacts", cure='pass [MDPContact("foot", radius=0.02)]')
    for each in own:
        if not isinstance(each, (MDPContact, Shape)):
            raise InvalidArgumentError(f"contacts: expected MDPContact or Shape, got {shown(each)}")
    return tuple(own)


def _left_out(robot: Robot, contacts: Sequence[MDPContact | Shape], stops: bool) -> list[str]:
    """Parts of a robot that MuJoCo does not have, in sentences."""
    model, sentences = robot.model, []
    if robot.distances:
        sentences.append(f"bounds of distances of {', '.join(robot.distances)}")
    if any(isinstance(each, MDPContact) for each in contacts):
        sentences.append("strength, exponent and rays of contacts: MuJoCo's contacts have its own softness and cones")
    angles = [model.names[i] for i in range(1, model.njoints) if model.nqs[i] != model.nvs[i] and model.nvs[i] != 6]
    if stops and angles:
        sentences.append(f"limits of {', '.join(angles)}, whose coordinates are not angles")
    return sentences


def _losses_left_out(robot: Robot, joints: Joints) -> list[str]:
    """Damping and dry friction of a robot's file for which none was passed, in sentences."""
    own = {
        "damping": (robot.model.damping, joints.damping, "damping"),
        "dry friction": (robot.model.upperDryFrictionLimit, joints.dry_friction, "dry_friction"),
    }
    return [
        f"{what} of joints in the robot's file: pass {argument}=..."
        for what, (in_file, passed, argument) in own.items()
        if np.any(in_file > 0.0) and not np.any(passed > 0.0)
    ]
