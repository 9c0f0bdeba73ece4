"""Robot and time axis of a solution."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from trajopt.errors import InvalidArgumentError, shown
from trajopt.types import Ints, Reals

if TYPE_CHECKING:
    from trajopt.shooting import ShootingProblem
    from trajopt.solution import Solution

_RANGES = 4  # largest number of listed runs of knots [-]


def control_name(solution: Solution, control: int) -> str:
    """Name of a control in a sentence that says that it is one: without the "u:" of tables of states and controls."""
    return solution.control_names[control].removeprefix("u:")


def check_solution(solution: Any) -> Solution:
    """Checks that an argument is a Solution and returns it; raises InvalidArgumentError otherwise."""
    if not (
        hasattr(solution, "problem") and hasattr(solution, "status")
    ):  # a Solution; the import direction forbids isinstance
        cure = "; load it with Solution.load(path)" if isinstance(solution, (str, PathLike)) else ""
        raise InvalidArgumentError(f"solution: expected a Solution, got {shown(solution)}{cure}")
    checked: Solution = solution
    return checked


def robot_of(solution: Solution) -> Any:
    """Returns the Pinocchio model of a solution's robot.

    Raises:
        InvalidArgumentError: The solution has no problem and no description, or its state has no robot.
    """
    robot = check_solution(solution).robot
    if robot is None:
        check_described(solution)
        state = f", got {type(solution.description.state).__name__}" if solution.description.state else ""
        own = "plot_motion draws the skeleton of its model, " if solution.description.skeleton is not None else ""
        raise InvalidArgumentError(
            f"solution: expected a state with a robot (StateMultibody){state}; {own}plot_solution draws any state"
        )
    return robot.model


def moving_weight(model: Any) -> float:
    """Weight of the bodies of a Pinocchio model that move [N]; 0 without gravity, unlike `Robot.weight`."""
    import pinocchio as pin

    return float(pin.computeTotalMass(model) * np.linalg.norm(model.gravity.linear))


def problem_of(solution: Solution) -> ShootingProblem:
    """Returns the problem of a solution.

    Raises:
        InvalidArgumentError: The solution has none, as one from a file.
    """
    if check_solution(solution).problem is None:
        raise InvalidArgumentError(
            "solution: expected one with its problem, got none; for one from a file it is Solution.load(path, problem)"
        )
    return cast("ShootingProblem", solution.problem)


def check_described(solution: Solution) -> None:
    """Raises InvalidArgumentError if a solution has neither a problem nor the description of one."""
    if not solution.description.known:
        raise InvalidArgumentError(
            "solution: expected one with its problem, got none; its file is from an early version, so pass the "
            "problem: Solution.load(path, problem)"
        )


def time_axis(solution: Solution) -> tuple[Reals, str]:
    """Returns the time axis (T + 1,) and its label: times [s], lengths of a path, or knot numbers without times."""
    times = solution.times
    if times is None:
        return np.arange(len(solution.xs), dtype=np.float64), "knot [-]"
    unit = solution.description.step_unit
    return times, "time [s]" if unit == "s" else f"path [{unit}]"


def time_words(solution: Solution, knot: int, form: str = " ({:.3g} {})") -> str:
    """Text for the time of a knot and its unit; empty for knots without a time step."""
    times = solution.times
    return "" if times is None else form.format(times[knot], solution.description.step_unit)


def runs(knots: Ints) -> str:
    """Returns knots as text with runs: "0-4, 7, 9-12"."""
    edges = np.flatnonzero(np.diff(knots) > 1)
    firsts, lasts = knots[np.append(0, edges + 1)], knots[np.append(edges, len(knots) - 1)]
    runs = [f"{a}" if a == b else f"{a}-{b}" for a, b in zip(firsts, lasts)]
    return ", ".join(runs[:_RANGES]) + (", ..." if len(runs) > _RANGES else "")


def rounded_up(size: float) -> str:
    """Text of a size > 0 with three digits that is not below it, but for rounding: "0.434" for 0.4332."""
    step = 10.0 ** (np.floor(np.log10(size)) - 2)
    return f"{step * np.ceil(size / step * (1.0 - 1e-6)):.3g}"
