"""A closed loop that is ready to run: a controller, what it controls, and what disturbs it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trajopt import mpc
from trajopt.problems.case import Report, no_report
from trajopt.types import Reals


@dataclass(frozen=True, kw_only=True, eq=False)
class MPCCase:
    """A controller with its references, the plant that it controls, and what disturbs it.

    Attributes:
        name: Name of the family.
        description: The motion, in one sentence.
        controller: The controller.
        plant: What `mpc.simulate` takes as a plant; None for the controller's own model.
        x0: State at the start (nx,).
        duration: Time that shows all of it [s].
        dt_plant: Time step of the plant [s]; None for that of the controller.
        disturbance: What `mpc.simulate` takes as a disturbance; None for none.
        model_error: Parameters of the controller's own model that differ in the plant, as `mpc.simulate` takes them.
        follows: What moves along with time: the target, course, surroundings or gait; None if nothing does.
        report: Function that describes a closed loop: texts with units, by short names.
        obstacles: What pictures show beside the motion, as in ProblemCase.
        lines: Lines that pictures show beside the motion, points (n, 2) or (n, 3) each: gates, rails, outlines [m].
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
        """The closed loop of this case.

        Args:
            duration: Time [s]; that of the case by default.
            **changes: Further arguments of `mpc.simulate`, in place of those of the case.
        """
        given = {"dt_plant": self.dt_plant, "disturbance": self.disturbance, "model_error": self.model_error} | changes
        plant, x0 = given.pop("plant", self.plant), given.pop("x0", self.x0)
        return mpc.simulate(self.controller, plant, x0, self.duration if duration is None else duration, **given)
