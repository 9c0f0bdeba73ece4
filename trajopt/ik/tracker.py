"""Differential inverse kinematics, one step at a time, for control loops."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trajopt.checks import as_numbers, check_array, check_flag, check_mapping, check_non_negative, check_positive
from trajopt.errors import InvalidArgumentError, unknown_name
from trajopt.ik.collisions import with_collisions
from trajopt.ik.fixed import columns, fixed_joints, hold
from trajopt.ik.stepper import Stepper
from trajopt.ik.tasks import TaskModel
from trajopt.ik.velocity import DIAGNOSTICS
from trajopt.ik.weights import joint_weights, metric
from trajopt.objects.immutable import Immutable
from trajopt.robots import Robot, Scene
from trajopt.types import Reals

MEMORY = ("q", "v", "diagnostics", "p")  # attributes of a Stepper
SPEEDS = slice(2, 4)  # rows of bounds
FIRST_CURVATURE = 1e-2  # initial μ


@dataclass(frozen=True, slots=True)
class IKStep:
    """One step of differential inverse kinematics.

    Attributes:
        q: Configuration at the end of the step (nq,) [rad, m].
        v: Velocity of the step (nv,), q = q₀ ⊕ dt v [rad/s, m/s].
        distance: Norm of the hard constraints' violations at q, for the targets of the step [units of their rows].
    """

    q: Reals
    v: Reals
    distance: float


class Following:
    """Tasks to follow, and the limits of the motion.

    Args:
        robot: The robot.
        tasks: Tasks of the robot, as in `TaskModel.of`.
        dt: Time step [s].
        limits: Whether to respect limits of position and velocity.
        velocity: Largest velocity [rad/s, m/s]; None for that of the state.
        acceleration: Largest acceleration [rad/s², m/s²]; None for no limit.
        settling: Time constant with which costs are minimised [s].
        tolerance: Violation of a row that counts as zero [unit of the row].
        fixed: Coordinates of joints that do not move, by joint; None for none.
        weights: Weights of the motion of joints, by joint; None for 1.
        collisions: Whether to keep links apart from each other, or from a Scene as well.
        margin: Their least distance [m].

    Attributes:
        tasks: The tasks, with the constraint on collisions.
        model: The tasks.
        weights: Weights of the coordinates of a step (nv,), with the geometric mean 1 [-].
        bounds: Rows low, high, slowest, fastest, acceleration (5, nv) [rad, m, per s, per s²].
    """

    def __init__(
        self,
        robot: Robot,
        tasks: Any,
        dt: float,
        *,
        limits: bool,
        velocity: npt.ArrayLike | None,
        acceleration: npt.ArrayLike | None,
        settling: float,
        tolerance: float,
        fixed: Mapping[str, Any] | None = None,
        weights: Mapping[str, Any] | None = None,
        collisions: bool | Scene = False,
        margin: float = 0.01,
    ) -> None:
        self.tasks = with_collisions(robot, tasks, collisions, margin)
        self.robot, self.model = robot, TaskModel.of(robot, self.tasks)
        self.dt = check_positive("dt", dt, unit="s")
        self.bounds = _bounds(self.model, check_flag("limits", limits), velocity, acceleration)
        self.fixed = fixed_joints(self.model.state, fixed, limits=limits)
        self.weights = metric(joint_weights(self.model.state, weights, self.fixed), self.model.state.nv)
        self.bounds[SPEEDS, columns(self.model.state, self.fixed)] = 0.0
        self.settling = check_non_negative("settling", settling, unit="s")
        self.tolerance = check_positive("tolerance", tolerance)

    @functools.cached_property
    def moving(self) -> frozenset[int]:
        """Indices of the tangent coordinates that move for the tasks."""
        return frozenset(self.model.moving.tolist()).difference(columns(self.model.state, self.fixed))

    def start(self, argument: str, q: npt.ArrayLike) -> Reals:
        """Checked configuration to start from (nq,), with fixed joints in their places."""
        return hold(self.model.state, self.fixed, self.model.configuration(argument, q))

    def stepper(self, T: int) -> Stepper:
        """Arrays of T steps, with limits and settings."""
        stepper = Stepper(self.model, T)
        stepper.limits[:], stepper.weights[:] = self.bounds, self.weights
        stepper.settings[:] = self.dt, self.settling, self.tolerance
        stepper.diagnostics[0, DIAGNOSTICS.index("curvature")] = FIRST_CURVATURE
        return stepper


class IKTracker(Immutable):
    """Differential inverse kinematics: each step moves towards the current targets, within limits.

    A step minimises the violation of the constraints at its end. Costs, such as a posture, and the prices of soft rows
    act only in the remaining degrees of freedom. Joints respect limits of position, velocity and acceleration, and can
    always stop before a position limit. A joint beyond a limit moves inside with bounded speed. No step fails: if
    limits hold the robot back or a target is out of reach, it comes as close as possible.

    ```python
    tracker = IKTracker(robot, tasks, q, dt=1e-3, acceleration=10.0)
    command = tracker.step({"hand.reference": target})  # in a loop; command.q, command.v
    ```

    Args:
        robot: The robot.
        tasks: A ConstraintStack for the tasks to follow, with soft rows if some may be missed at a price; or a tuple
            with a CostStack, such as a posture.
        q0: Initial configuration, at rest (nq,) [rad, m].
        dt: Time step [s].
        limits: Whether to respect the state's limits of position and velocity, by default those of the robot.
        velocity: Largest velocity of all joints, or of each (nv,) [rad/s, m/s]; inf for none. By default the state's.
        acceleration: Largest acceleration of all joints, or of each (nv,) [rad/s², m/s²]; no limit by default.
        settling: Time constant with which costs, and the prices of soft rows, are minimised [s].
        tolerance: Violation of a row that counts as zero [unit of the row].
        fixed: Joints that do not move: the coordinates of each by its name, such as {"panda_joint4": -2.0} [m, rad];
            starts are moved there, at rest; measurements are not.
        weights: How dear the motion of joints is, > 0 by name, such as {"panda_joint4": 10.0}, and 1 for all others
            [-]: what constraints and costs leave open is done with the least Σ wᵢ vᵢ².
        collisions: Whether to keep links apart from each other, or a Scene from which to keep them apart as well: a
            constraint "collisions", as in `ConstraintStack.of_robot`, which comes before following the targets.
        margin: Least distance from obstacles, and of links from each other, there at most 0.01 m if there are any [m].

    Raises:
        UnknownNameError: `fixed` or `weights` name no joint.
        InvalidArgumentError: An argument has a wrong value.

    Source: Kanoun, Lamiraux, Wieber, Kinematic control of redundant manipulators (2011).
    """

    def __init__(
        self,
        robot: Robot,
        tasks: Any,
        q0: npt.ArrayLike,
        dt: float,
        *,
        limits: bool = True,
        velocity: npt.ArrayLike | None = None,
        acceleration: npt.ArrayLike | None = None,
        settling: float = 0.1,
        tolerance: float = 1e-4,
        fixed: Mapping[str, Any] | None = None,
        weights: Mapping[str, Any] | None = None,
        collisions: bool | Scene = False,
        margin: float = 0.01,
    ) -> None:
        self._following = Following(
            robot,
            tasks,
            dt,
            limits=limits,
            velocity=velocity,
            acceleration=acceleration,
            settling=settling,
            tolerance=tolerance,
            fixed=fixed,
            weights=weights,
            collisions=collisions,
            margin=margin,
        )
        self._stepper = self._following.stepper(1)
        self._start("q0", q0, None)

    def __repr__(self) -> str:
        model = self._following.model
        tasks = ", ".join((*model.constraints.names, *model.costs.names))
        return f"IKTracker({self._following.robot.name!r}, {tasks}, dt={self._following.dt:g})"

    def __getstate__(self) -> dict[str, Any]:
        memory = {name: getattr(self._stepper, name) for name in MEMORY}  # the kernel's call is rebuilt
        return {"_following": self._following, "_begins": self._begins, "memory": memory}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._following, self._begins = state["_following"], state["_begins"]
        self._stepper = self._following.stepper(1)
        for name, values in state["memory"].items():
            getattr(self._stepper, name)[:] = values

    def reset(self, q: npt.ArrayLike, v: npt.ArrayLike | None = None) -> None:
        """Restarts from a configuration, with the initial targets.

        Args:
            q: Configuration (nq,) [rad, m].
            v: Velocity (nv,) [rad/s, m/s]; zero by default.

        Raises:
            InvalidArgumentError: A size is wrong, or a number is not finite; the tracker does not change then.
        """
        self._start("q", q, v)

    def _start(self, argument: str, q: npt.ArrayLike, v: npt.ArrayLike | None) -> None:
        model, stepper = self._following.model, self._stepper
        q = self._following.start(argument, q)
        cure = f"pass a velocity of {self._following.robot.name!r}"
        speed = np.zeros(model.state.nv) if v is None else check_array("v", v, (model.state.nv,), cure=cure).copy()
        speed[columns(model.state, self._following.fixed)] = 0.0
        stepper.q[0], stepper.v[0], stepper.p[0], stepper.diagnostics[0] = q, speed, model.layout.column(), 0.0
        stepper.diagnostics[0, DIAGNOSTICS.index("curvature")] = FIRST_CURVATURE
        self._begins = True

    def step(self, targets: Any = None, *, q: npt.ArrayLike | None = None) -> IKStep:
        """Computes one step.

        Args:
            targets: Values of parameters at the end of the step by name, such as {"hand.reference": pinocchio.SE3};
                the others keep their values.
            q: Measured configuration (nq,) to start from [rad, m]; by default the end of the previous step.

        Raises:
            UnknownNameError: There is no parameter of this name.
            InvalidArgumentError: A value does not fit its parameter; the tracker does not change then.
        """
        stepper, layout = self._stepper, self._following.model.layout
        p = stepper.p[0].copy()
        for name, value in ({} if targets is None else check_mapping("targets", targets, _MAPPING)).items():
            if name not in layout.parameters:
                raise unknown_name("parameter", name, layout.parameters)
            parameter = layout.parameters[name]
            p[layout.slices[name]] = parameter.flat(parameter.check(name, value))
        if q is not None:
            stepper.q[0] = self._following.model.configuration("q", q)
        stepper.p[1] = p
        if self._begins:  # there were no earlier targets
            stepper.p[0] = p
        self._begins = False
        stepper.run()
        step = IKStep(
            stepper.q[1].copy(), stepper.v[1].copy(), float(stepper.diagnostics[1, DIAGNOSTICS.index("after")])
        )
        for name in MEMORY:
            array = getattr(stepper, name)
            array[0] = array[1]
        return step


_MAPPING = 'pass {"hand.reference": value}'


def _bounds(
    model: TaskModel, limits: bool, velocity: npt.ArrayLike | None, acceleration: npt.ArrayLike | None
) -> Reals:
    """Rows low, high, slowest, fastest, acceleration (5, nv)."""
    state, nv = model.state, model.state.nv
    rows = np.array([-1.0, 1.0, -1.0, 1.0, 1.0])[:, None] * np.full((5, nv), np.inf)
    if limits:
        rows[:4] = *model.bounds, state.lower[nv:], state.upper[nv:]
    if velocity is not None:
        rows[3] = _largest("velocity", velocity, nv)
        rows[2] = -rows[3]
    if acceleration is not None:
        rows[4] = _largest("acceleration", acceleration, nv)
    return rows


def _largest(argument: str, value: npt.ArrayLike, nv: int) -> Reals:
    """Checked limits of all coordinates, one number or (nv,)."""
    values = as_numbers(argument, value, f"one number, or {nv}")
    if values.shape not in ((), (nv,)) or not np.all(values > 0):
        raise InvalidArgumentError(
            f"{argument}: expected a positive number, or {nv} of them, got {value!r}; for no limit pass inf"
        )
    return values
