"""DiffNERobotModel: a robot from a URDF with posture, end effectors and simulator."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from trajopt.checks import as_numbers, check_array, check_instance, check_items, check_path, check_texts
from trajopt.errors import InvalidArgumentError, TrajoptError
from trajopt.objects.immutable import Immutable
from trajopt.robots.geometry import load_geometry
from trajopt.robots.on_base import load_on_base
from trajopt.robots.robot import Robot
from trajopt.simulator import Plane, Simulator, SimulatorMode
from trajopt.simulator.diffne.body import ArticulatedBody, links_of
from trajopt.simulator.diffne.end_effectors import EndEffectorBounds
from trajopt.simulator.diffne.posture import Posture
from trajopt.simulator.diffne.world import WorldRobot
from trajopt.types import Reals

P = ParamSpec("P")
R = TypeVar("R")


def _of_simulator(method: Callable[Concatenate[Simulator, P], R]) -> Callable[Concatenate[DiffNERobotModel, P], R]:
    """Method of a robot model that calls one of its simulator."""
    expected = inspect.signature(method)

    @functools.wraps(method, updated=())  # so that its own wrong calls are explained
    def call(model: DiffNERobotModel, *args: P.args, **kwargs: P.kwargs) -> R:
        expected.bind(model, *args, **kwargs)  # wrong arguments are named before a missing simulator
        return method(model.simulator, *args, **kwargs)

    call.__qualname__, call.__module__ = f"DiffNERobotModel.{method.__name__}", __name__
    return call


class DiffNERobotModel(Immutable):
    """Robot with a posture, a PD controller, a floor and a simulator, with the names of the DiffNE library.

    q is the configuration (nq,) without the eliminated joints, and qdq = (q, v). A new simulator keeps the PD
    controller and the floor.

    Args:
        world: World of another package that shows the robot, see `WorldRobot` and `update_world`; or None.
        path: URDF of the robot, or a name as in `load_robot`.
        base: Motion of the root link, see `trajopt.robots.bases.with_base`. By default it is a free flyer for a URDF
            whose root link has a mass, or else the robot's own base.
        package_dirs: Folders in which "package://..." paths of meshes are searched.

    Raises:
        InvalidArgumentError: The file cannot be read, or is not a URDF.
        UnknownNameError: There is no robot or base of this name.
    """

    def __init__(
        self,
        world: Any,
        path: str | PathLike[str],
        *,
        base: str | None = None,
        package_dirs: Sequence[str | PathLike[str]] = (),
    ) -> None:
        self._source = path if isinstance(path, str) else str(check_path("path", path))
        self._package_dirs = check_items("package_dirs", package_dirs, "folders")
        robot = load_on_base(self._source, base, self._package_dirs)
        self._name, self._whole = robot.name, robot.model
        self._links = links_of(self._whole)
        self._posture = Posture(self._whole)
        self._simulator: Simulator | None = None
        self._world = None if world is None else WorldRobot(world, self._source)
        self._PD: tuple[npt.ArrayLike, npt.ArrayLike, Reals] | None = None
        self._floor: tuple[Plane, tuple[EndEffectorBounds, ...], dict[str, Any]] | None = None
        self._take_joints()

    @property
    def robot(self) -> Robot:
        """The robot without the eliminated joints."""
        return self._robot

    @property
    def body(self) -> ArticulatedBody:
        """The tree of the robot's joints."""
        return self._body

    @property
    def qdq(self) -> Reals:
        """Configuration and zero velocity (nq + nv,): an initial state for `simulate`."""
        return np.concatenate([self._posture.q, np.zeros(self._robot.nv)])

    @property
    def simulator(self) -> Simulator:
        """The simulator.

        Raises:
            InvalidArgumentError: `create_simulator` has not been called.
        """
        if self._simulator is None:
            raise InvalidArgumentError(
                "simulator: expected one, got none; call create_simulator(accuracy=64), also after eliminate_joints"
            )
        return self._simulator

    def eliminate_joints(self, names: str | Iterable[str]) -> None:
        """Fixes joints at their current angles.

        Args:
            names: Beginnings of names of links or joints; every match is fixed.

        Raises:
            UnknownNameError: No name begins with one of them.
        """
        prefixes = (names,) if isinstance(names, str) else check_texts("names", names)
        joints = [joint for prefix in prefixes for joint in self._body.beginning_with(prefix)]
        self._posture.eliminate(joint.name for joint in joints)
        self._take_joints()

    def set_joint_angle(self, prefix: str, value: float) -> None:
        """Sets every joint whose name, or whose link's name, begins with `prefix` to an angle [rad] or a length [m].

        Raises:
            UnknownNameError: No name begins with it.
            InvalidArgumentError: One of the joints has several degrees of freedom, or the value is not finite.
        """
        self._posture.set_angle(self._body.beginning_with(prefix), value)

    def set_qdq(self, qdq: npt.ArrayLike) -> None:
        """Sets the posture to the configuration q of (q, v), shape (nq,) or (nq + nv,)."""
        values = as_numbers("qdq", qdq)
        size = self._robot.nq if values.size == self._robot.nq else self._robot.nq + self._robot.nv
        q = check_array("qdq", values, (size,), cure=f"(q, v) has {self._robot.nq} + {self._robot.nv} numbers")
        self._posture.set(pin.normalize(self._robot.model, q[: self._robot.nq]))

    def original_configuration(self, q: npt.ArrayLike) -> Reals:
        """Configuration of the robot with all joints, from a reduced one (nq,)."""
        return self._posture.whole_configuration(q)

    def reduced_configuration(self, q: npt.ArrayLike) -> Reals:
        """Configuration (nq,) without the eliminated joints, from one of the whole robot."""
        return self._posture.left_configuration(q)

    def update_world(self, q: npt.ArrayLike | None = None) -> None:
        """Shows a configuration (nq,), by default the posture, in the world.

        Raises:
            InvalidArgumentError: The model has no world.
        """
        if self._world is None:
            raise InvalidArgumentError("world: expected a world, got None; pass one with DiffNERobotModel(world, path)")
        whole = self.original_configuration(self._posture.q if q is None else q)
        self._world.show(self._whole, self._links, whole)

    def create_simulator(
        self, accuracy: int = 64, mode: SimulatorMode = SimulatorMode.FORWARD_RK1F, **options: Any
    ) -> None:
        """Creates the simulator, and replaces an earlier one; PD controller and floor are kept.

        Args:
            accuracy: 64 for compiled doubles, or a larger number of bits for slow, precise arithmetic.
            mode: Quantity that `simulate` computes, see `SimulatorMode`.
            options: Further options of `Simulator`.
        """
        self._simulator = Simulator(self._robot, mode=mode, accuracy=accuracy, **options)
        self._set_up()

    def set_PD_controller(self, kp: npt.ArrayLike, kd: npt.ArrayLike) -> None:
        """Sets the default torque τ = kp (q* - q) - kd v, which holds the present posture q*; the base has none.

        Args:
            kp: Stiffness of all joints, or of each velocity (nv,) [N m/rad].
            kd: Damping of all joints, or of each velocity (nv,) [N m s/rad].
        """
        self._set("_PD", (kp, kd, self.original_configuration(self._posture.q)))

    def set_floor(self, plane: npt.ArrayLike, ees: Iterable[EndEffectorBounds], **options: Any) -> None:
        """Sets a floor that end effectors can touch, and replaces an earlier one.

        Args:
            plane: Plane (a, b, c, d), shape (4,); points with a x + b y + c z + d ≥ 0 are above it.
            ees: Spheres that may touch the floor.
            options: Friction, rays, strength and exponent of `MDPContact`. With the default strength, a robot at rest
                on one end effector sinks by 1 mm; see `MDPContact` for falls.

        Raises:
            InvalidArgumentError: (a, b, c) is zero, or an end effector has no sphere.
        """
        spheres = check_items("ees", ees, "EndEffectorBounds", cure="pass [EndEffectorBounds(i), ...]")
        for sphere in spheres:
            check_instance("ees", sphere, EndEffectorBounds, "pass [EndEffectorBounds(i), ...]").on(self._body)
        self._set("_floor", (Plane(plane), spheres, options))

    set_threads = _of_simulator(Simulator.set_threads)
    simulate = _of_simulator(Simulator.simulate)
    simulate_batched = _of_simulator(Simulator.simulate_batched)

    def _set(self, name: str, value: Any) -> None:
        """Sets an attribute of the simulator; it stays as it was if the simulator rejects the value."""
        before = getattr(self, name)
        setattr(self, name, value)
        try:
            self._set_up()
        except TrajoptError:
            setattr(self, name, before)
            raise

    def _take_joints(self) -> None:
        """Rebuilds robot and body after joints were eliminated; the simulator must be created again."""
        self._robot = Robot(self._posture.reduced(), name=self._name)
        self._body = ArticulatedBody(self._robot.model, self._links, self._shapes)
        self._simulator = None

    def _shapes(self, kind: str) -> pin.GeometryModel:
        return load_geometry(self._source, self._robot.model, kind, self._package_dirs)

    def _set_up(self) -> None:
        """Passes PD controller and floor to the simulator, if it exists."""
        if self._simulator is None:
            return
        if self._PD is not None:
            kp, kd, whole = self._PD
            self._simulator.set_PD_controller(kp, kd, target=self._posture.left_configuration(whole))
        if self._floor is not None:
            plane, spheres, options = self._floor
            ends = [sphere.on(self._body) for sphere in spheres]
            self._simulator.set_floor(plane.coefficients, ends, **options)

    def __repr__(self) -> str:
        gone = self._posture.eliminated
        without = f" without {len(gone)} joints" if gone else ""
        return f"DiffNERobotModel({self._name!r}{without}, nq={self._robot.nq}, nv={self._robot.nv})"
