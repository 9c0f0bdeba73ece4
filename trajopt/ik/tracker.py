"""Differential inverse kinematics step by step, for control loops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trajopt.checks import as_numbers, check_array, check_flag, check_mapping, check_non_negative, check_positive
from trajopt.errors import InvalidArgumentError, unknown_name
from trajopt.ik.stepper import Stepper
from trajopt.ik.tasks import TaskModel
from trajopt.ik.velocity import DIAGNOSTICS
from trajopt.objects.immutable import Immutable
from trajopt.robots import Robot
from trajopt.types import Reals

MEMORY = ("q", "v", "diagnostics", "p")  # of a Stepper
FIRST_CURVATURE = 1e-2  # μ of a first step


@dataclass(frozen=True, slots=True)
class IKStep:
    """One step of differential inverse kinematics.

    Attributes:
        q: Configuration at its end (nq,) [rad, m].
        v: Velocity of the step (nv,), q = q₀ ⊕ dt v [rad/s, m/s].
        distance: Norm of the violations of the constraints at q, by the step's targets [units of their rows].
    """

    q: Reals
    v: Reals
    distance: float


@dataclass(frozen=True, kw_only=True)
class Following:
    """Tasks that are followed, and within which limits.

    Attributes:
        robot: The robot.
        model: Its tasks.
        dt: Time step [s].
        bounds: Rows low, high, slowest, fastest, acceleration, (5, nv) [rad, m, per s, per s²].
        settling: Time in which costs are approached [s].
        tolerance: Violation of a row that counts as none [unit of the row].
    """

    robot: Robot
    model: TaskModel
    dt: float
    bounds: Reals
    settling: float
    tolerance: float

    @staticmethod
    def of(
        robot: Robot,
        tasks: Any,
        dt: float,
        *,
        limits: bool,
        acceleration: npt.ArrayLike | None,
        settling: float,
        tolerance: float,
    ) -> Following:
        """Checks what users give."""
        model = TaskModel.of(robot, tasks)
        return Following(
            robot=robot,
            model=model,
            dt=check_positive("dt", dt, unit="s"),
            bounds=_bounds(model, check_flag("limits", limits), acceleration),
            settling=check_non_negative("settling", settling, unit="s"),
            tolerance=check_positive("tolerance", tolerance),
        )

    def stepper(self, T: int) -> Stepper:
        """Arrays of T steps, with limits and settings."""
        stepper = Stepper(self.model, T)
        stepper.limits[:] = self.bounds
        stepper.settings[:] = self.dt, self.settling, self.tolerance
        stepper.diagnostics[0, DIAGNOSTICS.index("curvature")] = FIRST_CURVATURE
        return stepper

    def configuration(self, argument: str, q: npt.ArrayLike) -> Reals:
        """A configuration (nq,) of the robot, checked."""
        state = self.model.state
        q = check_array(argument, q, (state.nq,), cure=f"a configuration of {self.robot.name!r}")
        return state.check(state.at_rest(q), argument)[: state.nq]


class IKTracker(Immutable):
    """Differential inverse kinematics: each step moves towards targets of that time, within limits.

    A step minimises what the constraints miss at its end; costs, such as a posture, act where constraints leave room.
    Joints keep limits of position, velocity and acceleration, and stay able to stop before a limit of position; a joint
    beyond one is moved inside at a speed within the others. No step fails: where limits do not let the robot follow, or
    a target is out of reach, it comes as near as it can.

    ```python
    tracker = IKTracker(robot, tasks, q, dt=1e-3, acceleration=10.0)
    command = tracker.step({"hand.reference": target})  # in a loop; command.q, command.v
    ```

    Args:
        robot: The robot.
        tasks: A ConstraintStack, what is to be followed; or a tuple of it and a CostStack, such as a posture.
        q0: Configuration to start from, at rest (nq,) [rad, m].
        dt: Time step [s].
        limits: Whether to keep the state's limits of position and velocity, which are the robot's by default.
        acceleration: Largest accelerations, one of all or (nv,); by default there is no limit [rad/s², m/s²].
        settling: Time in which costs are approached [s].
        tolerance: Violation of a row that counts as none [unit of the row].

    Raises:
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
        acceleration: npt.ArrayLike | None = None,
        settling: float = 0.1,
        tolerance: float = 1e-4,
    ) -> None:
        self._following = Following.of(
            robot,
            tasks,
            dt,
            limits=limits,
            acceleration=acceleration,
            settling=settling,
            tolerance=tolerance,
        )
        self._stepper = self._following.stepper(1)
        self._start("q0", q0, None)

    def __repr__(self) -> str:
        model = self._following.model
        tasks = ", ".join((*model.constraints.names, *model.costs.names))
        return f"IKTracker({self._following.robot.name!r}, {tasks}, dt={self._following.dt:g})"

    def __getstate__(self) -> dict[str, Any]:
        memory = {name: getattr(self._stepper, name) for name in MEMORY}  # the kernel's call is made anew
        return {"_following": self._following, "_begins": self._begins, "memory": memory}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._following, self._begins = state["_following"], state["_begins"]
        self._stepper = self._following.stepper(1)
        for name, values in state["memory"].items():
            getattr(self._stepper, name)[:] = values

    def reset(self, q: npt.ArrayLike, v: npt.ArrayLike | None = None) -> None:
        """Starts anew, with the first targets.

        Args:
            q: Configuration (nq,) [rad, m].
            v: Velocity (nv,), by default at rest [rad/s, m/s].

        Raises:
            InvalidArgumentError: They have another size, or are not finite; the tracker stays as it was.
        """
        self._start("q", q, v)

    def _start(self, argument: str, q: npt.ArrayLike, v: npt.ArrayLike | None) -> None:
        model, stepper = self._following.model, self._stepper
        q = self._following.configuration(argument, q)
        cure = f"a velocity of {self._following.robot.name!r}"
        speed = np.zeros(model.state.nv) if v is None else check_array("v", v, (model.state.nv,), cure=cure)
        stepper.q[0], stepper.v[0], stepper.p[0], stepper.diagnostics[0] = q, speed, model.layout.column(), 0.0
        stepper.diagnostics[0, DIAGNOSTICS.index("curvature")] = FIRST_CURVATURE
        self._begins = True

    def step(self, targets: Any = None, *, q: npt.ArrayLike | None = None) -> IKStep:
        """Takes a step.

        Args:
            targets: Values of parameters by name at its end, such as {"hand.reference": pinocchio.SE3}; others stay.
            q: Measured configuration (nq,) to start from; by default where the last step has ended [rad, m].

        Raises:
            UnknownNameError: There is no parameter of this name.
            InvalidArgumentError: A value is not as the parameter needs it; the tracker stays as it was.
        """
        stepper, layout = self._stepper, self._following.model.layout
        p = stepper.p[0].copy()
        for name, value in ({} if targets is None else check_mapping("targets", targets, _MAPPING)).items():
            if name not in layout.parameters:
                raise unknown_name("parameter", name, layout.parameters)
            parameter = layout.parameters[name]
            p[layout.slices[name]] = parameter.flat(parameter.check(name, value))
        if q is not None:
            stepper.q[0] = self._following.configuration("q", q)
        stepper.p[1] = p
        if self._begins:  # there were no targets before
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


_MAPPING = 'write {"hand.reference": value}'


def _bounds(model: TaskModel, limits: bool, acceleration: npt.ArrayLike | None) -> Reals:
    """Rows low, high, slowest, fastest, acceleration, (5, nv)."""
    state, nv = model.state, model.state.nv
    rows = np.array([-1.0, 1.0, -1.0, 1.0, 1.0])[:, None] * np.full((5, nv), np.inf)
    if limits:
        rows[:4] = *model.bounds, state.lower[nv:], state.upper[nv:]
    if acceleration is not None:
        values = as_numbers("acceleration", acceleration, f"one number, or {nv}")
        if values.shape not in ((), (nv,)) or not np.all(values > 0):
            raise InvalidArgumentError(
                f"acceleration: expected a positive number, or {nv} of them, got {acceleration!r}; inf is no limit"
            )
        rows[4] = values
    return rows
