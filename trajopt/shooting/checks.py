"""What `ShootingProblem` checks at its door."""

from __future__ import annotations

from typing import Any

from trajopt.actions.base import ActionModelAbstract
from trajopt.actions.differential.base import DifferentialActionModelAbstract
from trajopt.actions.terminal import ActionModelTerminal
from trajopt.errors import InvalidArgumentError


def check_length(argument: str, value: Any, length: int, what: str) -> None:
    """Raises InvalidArgumentError unless `value` has this length."""
    try:
        got = len(value)
    except TypeError as error:
        raise InvalidArgumentError(f"{argument}: expected {length} {what}, got {value!r}") from error
    if got != length:
        raise InvalidArgumentError(f"{argument}: expected {length} {what}, got {got}")


def cure(name: str, model: object) -> str:
    """What came in place of an action model, and what to do."""
    if isinstance(model, DifferentialActionModelAbstract):
        return f", got {type(model).__name__}; discretise it: IntegratedActionModelEuler(model, dt=...)"
    return f"{' or a CostStack' if name == 'terminal' else ''}, got {model!r}"


def check_running(name: str, model: ActionModelAbstract) -> None:
    """Raises InvalidArgumentError if a model cannot be a running knot."""
    if isinstance(model, ActionModelTerminal):
        raise InvalidArgumentError(f"{name}: a terminal cost stack has no dynamics")
    step = model.time_step()
    if step is not None and not step > 0 and not model.instantaneous:
        raise InvalidArgumentError(f"{name}: dt is {step:g}; a running knot needs a time step > 0 [s]")
