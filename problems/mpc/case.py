"""A ready closed loop: a controller, a plant, and disturbances."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trajopt import mpc
from trajopt.problems.case import Report, no_report
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

    def simulate(self, duration: float | None = None, **changes: Any) -> mpc.ClosedLoop:
        """Simulates the closed loop of this case.

        Args:
            duration: Duration [s]; by default that of the case.
            **changes: Further arguments of `mpc.simulate`, which replace those of the case.
        """
        arguments = {
            "dt_plant": self.dt_plant,
            "disturbance": self.disturbance,
            "model_error": self.model_error,
        } | changes
        plant, x0 = arguments.pop("plant", self.plant), arguments.pop("x0", self.x0)
        return mpc.simulate(self.controller, plant, x0, self.duration if duration is None else duration, **arguments)
