"""A trajectory that is not solved yet, with what a view asks of a solution."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from trajopt.analysis.lines import coordinate_units
from trajopt.robots import Robot
from trajopt.shooting import controls
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.shooting import ShootingProblem


@dataclass(frozen=True, kw_only=True, eq=False)
class ShownIterate:
    """A trajectory of a problem, as a body and its paths need it: nothing is evaluated, so that a solve may go on.

    Attributes:
        problem: The problem.
        xs: States (T + 1, nx).
        times: Time of each knot (T + 1,) [s]; None if the problem has no times.
        parameters: Values of the problem's parameters by name.
        status: None: it is no outcome.
        description: None, as it has a problem.
    """

    problem: ShootingProblem
    xs: Reals
    times: Reals | None
    parameters: Mapping[str, Reals] = field(repr=False)
    status: None = None
    description: None = None

    @classmethod
    def at_rest(cls, problem: ShootingProblem) -> ShownIterate:
        """The first state at all knots."""
        xs = np.tile(problem.x0, (problem.T + 1, 1))
        return cls(problem=problem, xs=xs, times=problem.times, parameters=problem.parameter_values())

    @property
    def robot(self) -> Robot | None:
        """The robot; None if the state has none."""
        return getattr(self.problem.state, "robot", None)

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """Name of each coordinate of a state (nx,)."""
        return tuple(self.problem.state.coordinate_names)

    @property
    def coordinate_units(self) -> tuple[str, ...]:
        """Unit of each."""
        return coordinate_units(self.problem.state)

    @property
    def control_names(self) -> tuple[str, ...]:
        """Name of each control (nu,)."""
        return controls(self.problem).names

    def frame_path(self, frame: str) -> Reals:
        """Positions of a frame of the robot in the world (T + 1, 3) [m]."""
        robot = self.robot
        assert robot is not None
        return robot.placement(self.xs[:, : robot.nq], frame)[:, :3, 3].copy()
