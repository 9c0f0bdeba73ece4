"""Soft constraints that a plant violates by more than noise does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from trajopt.analysis.constraints import ConstraintRows
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.mpc.log import ClosedLoop

PART = 0.1
"""Violation that counts, relative to half the width of the bounds, or to the size of a single one [-]."""
NEAR = 0.01
"""Violation of a distance that counts, beyond its margin [m]."""


def broken(log: ClosedLoop, constraints: Sequence[ConstraintRows]) -> tuple[ConstraintRows, ...]:
    """Soft constraints of a closed loop that are violated by more than a small part of their bounds.

    A distance counts where nothing is left of its margin.

    Args:
        log: The closed loop.
        constraints: Constraints at the samples of its motion.
    """
    soft = [rows for rows in constraints if rows.name in log.soft]
    return tuple(rows for rows in soft if np.any((rows.violations > _most(rows))[:-1]))


def _most(rows: ConstraintRows) -> Reals:
    """Violations that do not count (T + 1, n); inf of rows whose bounds tell no size, as those of forces >= 0."""
    lower, upper = rows.lower, rows.upper
    single = np.where(np.isfinite(lower), np.abs(lower), 0.0) + np.where(np.isfinite(upper), np.abs(upper), 0.0)
    size = np.where(np.isfinite(upper - lower), 0.5 * (upper - lower), single)
    part = np.where(size > 0.0, PART * size, np.inf)
    metres, of_bodies = np.array(rows.units) == "m", np.array(rows.coordinates) < 0
    distances = metres & of_bodies & np.isinf(upper) & (lower >= 0.0)
    return np.asarray(np.where(distances, lower + NEAR, part))


def broken_words(log: ClosedLoop, constraints: Sequence[ConstraintRows]) -> str:
    """Text such as "the plant violates posts by 0.6 m at 9.4 s"; empty if no constraint is broken."""
    words = []
    for each in broken(log, constraints):
        knot, row, size = each.largest(each.violations)
        unit = f" {each.units[row]}" if each.units[row] else ""
        bodies = f"[{each.bodies[knot][row]}]" if each.bodies else ""
        words.append(f"{each.name}{bodies} by {size:.3g}{unit} at {log.sample_times[knot]:.4g} s")
    return f"the plant violates {', '.join(words)}" if words else ""


def cure_of(log: ClosedLoop, constraints: Sequence[ConstraintRows]) -> str:
    """Advice on broken constraints; empty if there are none."""
    words = broken_words(log, constraints)
    if not words:
        return ""
    status = "although all steps are solved" if log.counts["solved"] == len(log) else "as they are soft"
    return (
        f"{words}, {status}: allow more iterations (MPCOptions.iterations), measure more often (MPCOptions.dt), follow "
        "a way on which they hold, or raise the weights of their slacks"
    )
