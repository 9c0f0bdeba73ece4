"""Path of targets: converts the user's path to one row of parameters for each time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trajopt.checks import check_positive
from trajopt.errors import InvalidArgumentError, shown
from trajopt.ik.targets import target_rows
from trajopt.ik.tasks import TaskModel
from trajopt.types import Reals

LONGEST = 1_000_000
"""Largest number of steps of a path [-]."""


def course(model: TaskModel, path: Any, dt: float, duration: float | None) -> Reals:
    """Parameters at times 0, dt, ..., T dt, shape (T + 1, np).

    Args:
        model: The tasks.
        path: Values of one task's reference, one for each time, or a function of time [s]; or a mapping from parameter
            names to these.
        dt: Time step [s].
        duration: Duration of functions of time, rounded to T dt [s].

    Raises:
        UnknownNameError: There is no parameter of this name.
        InvalidArgumentError: Values do not fit their parameters, or the number of times is unknown.
    """
    values_by_name = dict(path) if isinstance(path, Mapping) else {_only_reference(model): path}
    functions = {name: value for name, value in values_by_name.items() if callable(value)}
    if not functions:
        if duration is not None:
            raise InvalidArgumentError(
                f"duration: expected None for a path of arrays, got {shown(duration)}; omit it, the arrays define it"
            )
    else:
        if duration is None:
            raise InvalidArgumentError(
                f"duration: expected a time [s] because {', '.join(functions)} is a function, got None; pass "
                "duration=4.0"
            )
        steps = round(check_positive("duration", duration, unit="s") / dt)
        if not 1 <= steps <= LONGEST:
            raise InvalidArgumentError(f"duration: expected 1 to {LONGEST:,} steps of {dt:g} s, got {duration:g} s")
        times = dt * np.arange(steps + 1)
        values_by_name |= {name: [function(float(t)) for t in times] for name, function in functions.items()}
    rows = target_rows(model.layout, model.layout.column(), values_by_name)
    if len(rows) < 2:
        raise InvalidArgumentError(
            f"path: expected at least 2 targets, got {len(rows)}; pass one for each time 0, dt, 2 dt, ..."
        )
    return rows


def _only_reference(model: TaskModel) -> str:
    """Parameter of a path without a name: the only reference of a constraint or, without one, of a cost."""
    for names in (model.constraints.names, model.costs.names):
        references = [f"{name}.reference" for name in names if f"{name}.reference" in model.layout.parameters]
        if len(references) == 1:
            return references[0]
        if references:
            break
    references_of_all = [name for name in model.layout.parameters if name.endswith(".reference")]
    raise InvalidArgumentError(
        f"path: expected a mapping, because the tasks have references {', '.join(references_of_all) or '(none)'}; pass "
        f'{{"{references_of_all[0] if references_of_all else "hand.reference"}": values}}'
    )
