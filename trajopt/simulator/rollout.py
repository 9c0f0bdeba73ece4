"""Rollouts: successive steps of the simulator, with the contact forces of each."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from trajopt.checks import check_array, check_count
from trajopt.errors import ModelEvaluationError, function_raised
from trajopt.objects.attributes import ExplainsAttributes
from trajopt.objects.lazy import above
from trajopt.robots import Robot
from trajopt.robots.parameters import robot_with
from trajopt.simulator.contact import SimulatorContactAbstract
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from trajopt.simulator.simulator import Simulator
    from trajopt.solution import Solution

_MOST = 1_000_000  # steps
_TOGETHER = 100  # steps of one call, after which Ctrl-C ends a rollout
_FILM_STEP = 0.01  # time between two states of a film [s]
Controller = Callable[[float, Reals], npt.ArrayLike]
Motion = Callable[[float, Reals, Reals | None, int], tuple[Reals, dict[str, Reals]]]


@dataclass(frozen=True, kw_only=True)
class Rollout(ExplainsAttributes):
    """Motion computed by the simulator.

    `solution()` has it with all that a Solution offers without a problem, such as `show`, `torques` and `frame_path`.

    Attributes:
        robot: The robot.
        contacts: Contacts of the robot.
        times: Times (T + 1,) [s].
        xs: States (q, v), (T + 1, nx).
        taus: Torques of the motors in each step (T, nv) [N m, N], after limits.
        friction: Friction coefficient of each contact that has one, by name [-].
        forces: Force of each contact in each step, in the world's axes, by name, (T, 3) or (T, 6) [N, N m]. In modes
            with impulses p, it is the mean p / dt.
        limited: Time for which the requested torque of a joint exceeded its limit, by name of the joint [s]; only
            joints with a time > 0.
    """

    robot: Robot
    contacts: Sequence[SimulatorContactAbstract]
    times: Reals
    xs: Reals
    taus: Reals
    friction: Mapping[str, float]
    forces: Mapping[str, Reals]
    limited: Mapping[str, float] = field(default_factory=dict)

    attribute_hints: ClassVar[Mapping[str, str]] = {
        "us": "taus",
        "contact_forces": "forces, by name",
        "table": "to_csv(path)",
        "explain": "trajopt.plotting.rollout.rollout_report(rollout)",
        "animate": "trajopt.plotting.animate_rollout(rollout, path)",
        "load": "trajopt.Solution.load(path)",
        **{name: f"solution().{name}" for name in ("show", "to_dict", "torques", "frame_path", "com_path")},
        **{name: f"solution().{name}" for name in ("coordinate_names", "coordinate_units", "control_names")},
    }

    def __repr__(self) -> str:
        limited = "".join(f", {name} {time:g} s at its torque limit" for name, time in self.limited.items())
        return f"Rollout({self.robot.name!r}, {len(self.times) - 1} steps, {self.times[-1]:g} s{limited})"

    def solution(self) -> Solution:
        """The motion as a Solution without a problem, with its times, names, units and contact forces.

        Controls are the torques at all velocities, (T, nv) [N m, N].
        """
        motion: Solution = above("solution.motions.motion_of_rollout")(self)
        return motion

    def to_csv(self, path: str | Path) -> Path:
        """Writes a table to a .csv file with a row for each state, and returns its path; see `Solution.to_csv`.

        Columns are time, coordinates, torques "u:JOINT", and the elements of each contact force.

        Raises:
            InvalidArgumentError: The folder does not exist or cannot be written, or the suffix is not .csv.
        """
        return self.solution().to_csv(path)

    def save(self, path: str | Path) -> Path:
        """Writes a .npz file and returns its path; `Solution.load` reads it, as the Solution of `solution()`.

        Raises:
            InvalidArgumentError: The folder does not exist or cannot be written, or the suffix is not .npz.
        """
        return self.solution().save(path)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draws base, joints and contact forces over time; see `trajopt.plotting.plot_rollout`.

        Args:
            path: File to write (.png, .pdf or .svg).
        """
        return above("plotting.saved.saved")(above("plotting.plot_rollout"), path, self)

    def film(self, path: str | os.PathLike[str], **options: Any) -> Path:
        """Writes the motion as a film with the robot's meshes (.mp4, .gif, .png); see `trajopt.display.film`.

        Args:
            path: File to write.
            **options: `fps`, `speed`, `seconds`, `time`, `size`, `camera`, `obstacles`, `lines` and `progress`.
        """
        written: Path = above("display.film")(
            above("analysis.rollouts.thinned")(self, _FILM_STEP).solution(), path, **options
        )
        return written


def roll_out(simulator: Simulator, motion: Motion, x0: npt.ArrayLike, taus: Any, steps: int, dt: float) -> Rollout:
    """Computes successive steps from a state; see `Simulator.rollout`.

    `motion(dt, x, taus, most)` computes the states and forces of at least one and at most `most` steps from x.
    """
    steps, state = check_count("steps", steps, least=1, most=_MOST), simulator.state
    xs, torques = np.empty((steps + 1, state.nx)), np.zeros((steps, state.nv))
    xs[0] = state.check(x0, "x0")
    first = {name: parameter.default for name, parameter in simulator.model.parameters().items()}
    scale = 1.0 / float(dt) if simulator.mode.name.endswith("I") else 1.0  # impulse modes report impulses
    values = {**first, **simulator.parameter_values()}
    if taus is not None and not callable(taus):
        torques[:] = check_array("taus", taus, (steps, state.nv))
    forces: dict[str, Reals] = {name: np.empty((steps, k)) for name, k in simulator.model.force_sizes.items()}
    t = 0
    while t < steps:
        if callable(taus):
            torques[t] = _asked(taus, t * dt, xs[t], state.nv)
        most = 1 if callable(taus) else min(steps - t, _TOGETHER)
        reached, felt = motion(dt, xs[t], None if taus is None else torques[t : t + most], most)
        end = t + len(reached)
        if len(lost := np.flatnonzero(~np.isfinite(reached).all(axis=1))):
            raise ModelEvaluationError(
                f"the motion diverges: its state is not finite at {(t + lost[0] + 1) * dt:g} s; use a smaller dt, or "
                "smaller gains of the controller"
            )
        xs[t + 1 : end + 1] = reached
        for name, force in felt.items():
            forces[name][t:end] = force * scale
        if taus is None:
            torques[t:end] = [simulator.controller_torque(x) for x in xs[t:end]]
        t = end
    limits = values.get("torque_limits")
    motors = torques if limits is None else np.clip(torques, -limits, limits)
    beyond = np.count_nonzero(motors != torques, axis=0)
    joints = [name.removeprefix("q:") for name in state.tangent_names]
    return Rollout(
        robot=robot_with(simulator.robot, simulator.parameter_values()),
        contacts=simulator.model.contacts,
        times=float(dt) * np.arange(steps + 1, dtype=np.float64),
        xs=xs,
        taus=motors,
        friction={n: float(values[f]) for n in simulator.model.names if (f := f"contacts.{n}.friction") in values},
        forces=forces,
        limited={joints[i]: float(dt) * float(beyond[i]) for i in np.flatnonzero(beyond)},
    )


def _asked(taus: Controller, time: float, x: Reals, nv: int) -> Reals:
    """Torque (nv,) that a user's function returns at a time [s]."""
    name = f"taus({time:g}, x)"
    try:
        torque = taus(time, x.copy())
    except Exception as error:
        raise function_raised(name, error) from error
    return check_array(name, torque, (nv,))
