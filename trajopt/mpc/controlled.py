"""Problems that a controller can solve again and again."""

from __future__ import annotations

from typing import Any

from trajopt.actions.integrated.base import IntegratedActionModelAbstract
from trajopt.checks import check_instance
from trajopt.errors import InvalidArgumentError, shown
from trajopt.shooting import ShootingProblem


def check_controlled(problem: Any) -> None:
    """Raises InvalidArgumentError unless x0 alone is given anew each time, and motors can hold the controls."""
    check_instance("problem", problem, ShootingProblem)
    if problem.unknowns:
        raise InvalidArgumentError(
            f"problem: expected a problem without unknowns, got one that frees {', '.join(problem.unknowns)}; "
            "solve it once, and set the parameters to the solution's in a problem that does not free them"
        )
    if problem.start != "fixed" or problem.T == 0:
        raise InvalidArgumentError(
            "problem: expected start='fixed' and T >= 1, as each measured state becomes x0, got "
            f"start={shown(problem.start)}, T = {problem.T}"
        )
    if any(isinstance(m, IntegratedActionModelAbstract) and not m.control.is_constant for m in problem.running):
        raise InvalidArgumentError(
            "problem: expected controls that are constant during a step, as motors get them, got models with "
            "control=...; leave it out"
        )
