"""A ready closed loop: a controller, a plant, and disturbances."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trajopt import mpc
from trajopt.planar import OccupancyGrid, Scan
from trajopt.problems.case import Report, no_report
from trajopt.problems.family import Family
from trajopt.problems.mpc.checks import check_period
from trajopt.shooting import ShootingProblem
from trajopt.types import Reals


@dataclass(frozen=True, kw_only=True, eq=False)
class MPCCase:
    """A controller with its references, its plant, and disturbances.

    Attributes:
        name: Name of the family.
        description: The motion, in one sentence.
        controller: The controller.
        plant: Plant as in `mpc.simulate`; None for the controller's own model.
        x0: Initial state (nx,).
        duration: Duration that shows the whole motion [s].
        dt_plant: Time step of the plant [s]; None for that of the controller.
        disturbance: Disturbance as in `mpc.simulate`; None for none.
        model_error: Parameters of the controller's own model that differ in the plant, as in `mpc.simulate`.
        follows: Object that changes with time: target, course, surroundings or gait; None if nothing changes.
        report: Function that describes a closed loop: texts with units, by short names.
        obstacles: Obstacles for pictures, as in ProblemCase.
        lines: Lines for pictures, points (n, 2) or (n, 3) each: gates, rails, outlines [m].
        grid: Map of the plane for pictures; None without one.
        scanned: Function that returns the LIDAR scans of the last run, one for each control period, for pictures.
    """

    name: str
    description: str
    controller: mpc.MPCController
    x0: Reals
    duration: float
    plant: Any = None
    dt_plant: float | None = None
    disturbance: Any = None
    model_error: Any = None
    follows: Any = None
    report: Report = field(default=no_report, repr=False)
    obstacles: Reals = field(default_factory=lambda: np.zeros((0, 4)), repr=False)
    lines: tuple[Reals, ...] = field(default=(), repr=False)
    grid: OccupancyGrid | None = field(default=None, repr=False)
    scanned: Callable[[], Sequence[Scan]] = field(default=tuple, repr=False)

    @classmethod
    def of(
        cls,
        family: Family[MPCCase],
        problem: ShootingProblem,
        period: float,
        *,
        schedule: Any = None,
        options: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> MPCCase:
        """Case of a controller that solves a problem each period; by default it starts at the problem's x0.

        Args:
            family: Family of the case.
            problem: Problem of the controller.
            period: Time between measurements [s].
            schedule: Function for `MPCController.schedule`, by default also `follows`; None if nothing changes.
            options: Further options of the controller.
            **fields: Other attributes of the case.

        Raises:
            InvalidArgumentError: `period` is not positive, or longer than the window of the problem.
        """
        dt = check_period(period, problem)
        controller = mpc.MPCController(problem, options=mpc.MPCOptions(dt=dt, **(options or {})))
        if schedule is not None:
            controller.schedule(schedule)
        own = {"name": family.name, "description": family.description, "x0": problem.x0.copy(), "follows": schedule}
        return cls(controller=controller, **own | fields)

    @property
    def surroundings(self) -> dict[str, Any]:
        """Arguments `obstacles`, `lines`, `grid` and `scans` of the log's pictures after a run."""
        around = {"obstacles": self.obstacles, "lines": self.lines, "grid": self.grid}
        return around | {"scans": tuple(self.scanned())}

    def simulate(self, duration: float | None = None, **changes: Any) -> mpc.ClosedLoop:
        """Simulates the closed loop of this case.

        Args:
            duration: Duration [s]; by default that of the case.
            **changes: Further arguments of `mpc.simulate`, which replace those of the case. The case's `model_error`
                belongs to its own plant: another `plant` is taken as it is.
        """
        names = ("plant", "x0", "dt_plant", "disturbance", *(() if "plant" in changes else ("model_error",)))
        arguments = {name: getattr(self, name) for name in names} | changes
        return mpc.simulate(self.controller, duration=self.duration if duration is None else duration, **arguments)
