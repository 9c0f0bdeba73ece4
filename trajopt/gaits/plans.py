"""Motion of a reduced model as a plan for the whole robot: centre of mass and base at each knot of a schedule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pinocchio as pin

from trajopt.actions.differential import DifferentialActionModelReducedAbstract
from trajopt.errors import InvalidArgumentError, shown
from trajopt.gaits.schedule import ContactSchedule
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.solution.solution import Solution


@dataclass(frozen=True)
class ReducedPlan:
    """Motion of a reduced model over the n = T + 1 knots of a schedule of the whole robot.

    Attributes:
        com: Centre of mass (n, 3) [m].
        momentum: Linear momentum, and the angular one about the centre of mass (n, 6) [N s, N m s].
        rotations: Rotation of the base (n, 3, 3) [-]; None for centroidal dynamics.
    """

    com: Reals
    momentum: Reals
    rotations: Reals | None

    @classmethod
    def of(cls, solution: Solution, schedule: ContactSchedule) -> ReducedPlan:
        """Reads the plan from a solution; a touch-down of the schedule has the state after it.

        Raises:
            InvalidArgumentError: The solution is not that of a reduced model, or has another number of knots.
        """
        dynamics, xs = _dynamics(solution), solution.xs
        place = np.concatenate([[0], np.cumsum(~schedule.touchdowns[:-1])])
        if len(xs) != place[-1] + 1:
            raise InvalidArgumentError(
                f"plan: expected {place[-1]} knots as those of the schedule without touch-downs, got {len(xs) - 1}; "
                "plan the same schedule"
            )
        com, momentum = (np.array([read(x) for x in xs]) for read in (dynamics.centre_of_mass, dynamics.momentum))
        turns = None
        if dynamics.state.nx == 13:
            turns = np.array([pin.Quaternion(x[3:7]).matrix() for x in xs])[place]
        return cls(com[place], momentum[place], turns)


def _dynamics(solution: Any) -> DifferentialActionModelReducedAbstract:
    problem = getattr(solution, "problem", None)
    running = getattr(problem, "running", None) or [None]
    dynamics = getattr(getattr(running[0], "model_parts", None), "differential", None)
    if not isinstance(dynamics, DifferentialActionModelReducedAbstract):
        raise InvalidArgumentError(
            f"plan: expected a solution of gait_problem(..., model='srbd' or 'centroidal'), got {shown(solution)}"
        )
    return dynamics
