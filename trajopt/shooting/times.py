"""Times of the knots of a problem, and of what its costs compare with references."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trajopt.shooting.kinds import Kind
from trajopt.shooting.parameters import ParameterTable
from trajopt.types import Reals


def steps_of(kinds: Sequence[Kind], table: ParameterTable, T: int) -> Reals | None:
    """Duration of each running knot (T,) [s]; None if a knot has no time step."""
    steps = np.zeros(T)
    for kind in kinds[:-1]:
        step, column = kind.model.time_step(), kind.layout.slices.get("dt")
        if step is None:
            return None
        steps[list(kind.knots)] = step if column is None else table.values[kind.knots, column].ravel()
    return steps


def knot_times(kinds: Sequence[Kind], table: ParameterTable, T: int) -> Reals | None:
    """Time of each knot (T + 1,) [s], starting at 0; None if a knot has no time step."""
    steps = steps_of(kinds, table, T)
    return None if steps is None else np.concatenate([[0.0], np.cumsum(steps)])


def reference_times(kinds: Sequence[Kind], table: ParameterTable, T: int) -> Reals | None:
    """Mean time of each knot's costs (T + 1,) [s], see `ActionModelAbstract.cost_time`."""
    steps = steps_of(kinds, table, T)
    if steps is None:
        return None
    parts = np.zeros(T)
    for kind in kinds[:-1]:
        parts[list(kind.knots)] = kind.model.cost_time
    return np.concatenate([[0.0], np.cumsum(steps)]) + np.append(parts * steps, 0.0)
