"""Robot and time axis of a solution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.errors import InvalidArgumentError
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.solution import Solution


def robot_of(solution: Solution) -> Any:
    """The Pinocchio model of a solution's robot.

    Raises:
        InvalidArgumentError: The solution has no problem, or the state of the problem has no robot.
    """
    state = getattr(solution.problem, "state", None)
    if state is None:
        raise InvalidArgumentError(
            "solution: expected one with its problem, got none; a loaded solution gets it from Solution.load"
        )
    if not hasattr(state, "model"):
        raise InvalidArgumentError(
            f"solution: expected a state with a robot (StateMultibody), got {type(state).__name__}; "
            "plot_solution draws any state"
        )
    return state.model


def time_axis(solution: Solution) -> tuple[Reals, str]:
    """Abscissa of the knots, shape (T + 1,), and its label: times [s], or knot numbers if the problem has no times."""
    times = getattr(solution.problem, "times", None)
    if times is None:
        return np.arange(len(solution.xs), dtype=np.float64), "knot [-]"
    return np.asarray(times, dtype=np.float64), "time [s]"
