"""Text about the constraints of a solution: violations, active constraints, multipliers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from trajopt.analysis.basics import runs, time_words
from trajopt.analysis.constraints import HELD, ConstraintRows, violated_at_start
from trajopt.analysis.gaps import no_motion
from trajopt.analysis.held import where_held
from trajopt.analysis.row_names import FRICTION
from trajopt.analysis.touching import touching_distance
from trajopt.solution.solution import Solution
from trajopt.types import Reals

MOST = 8
"""Largest number of listed constraints."""
NOISE = 1e-3
"""Violations and forces below this fraction of the largest one in their unit are negligible [-]."""
LITTLE = 1e-3
"""Violations below this fraction of the sizes of their units may vanish in some more iterations [-]."""
LENGTHS = ("m", "rad")
"""Units of rows that say where something is."""
FORCES = ("N", "N m")
"""Units of rows that are impulses at touch-downs."""
_NAMED = 3  # largest number of named rows [-]


def constraint_lines(solution: Solution, constraints: Sequence[ConstraintRows]) -> list[str]:
    """Returns lines of text about the constraints of a solution; empty without constraints.

    Args:
        solution: The solution.
        constraints: Its constraints, see `constraint_rows`.
    """
    if not constraints:
        return []
    moves = not no_motion(solution)
    lines = _violated(solution, constraints, moves=moves)
    listed = sorted(constraints, key=lambda rows: -held_knots(rows))[:MOST]
    priced = moves and not by_violation(constraints)  # otherwise multipliers come from a growing penalty
    least = _least(constraints)
    lines += [f"    {_use(solution, rows, _of(rows, least), priced=priced)}" for rows in listed if len(rows.knots)]
    if len(constraints) > MOST:
        lines.append(f"    and {len(constraints) - MOST} more")
    return lines + (_dearest(solution, constraints) if moves else [])


def nearly_met(constraints: Sequence[ConstraintRows]) -> bool:
    """Whether constraints are violated, but by little beside the values and bounds of their units."""
    sizes = sizes_by_unit(constraints)
    parts = [
        excesses(rows)[:, i].max(initial=0.0) / max(sizes[unit], 1e-300)
        for rows in by_violation(constraints)
        for i, unit in enumerate(rows.units)
    ]
    return bool(parts) and max(parts) <= LITTLE


def sizes_by_unit(constraints: Sequence[ConstraintRows]) -> dict[str, float]:
    """Largest absolute value or bound of all rows, by their unit."""
    sizes: dict[str, float] = {}
    for rows in constraints:
        for i, unit in enumerate(rows.units):
            numbers = np.abs([array[:, i] for array in (rows.values, rows.lower, rows.upper)])
            sizes[unit] = max(sizes.get(unit, 0.0), float(np.max(numbers, where=np.isfinite(numbers), initial=0.0)))
    return sizes


def moving_the_start(solution: Solution, constraints: Sequence[ConstraintRows]) -> str:
    """Advises to move an initial state that is beyond a bound; empty if it is within."""
    violated = violated_at_start(constraints)
    if not violated:
        return ""
    rows, row, excess = violated[0]
    low, high = float(rows.lower[0, row]), float(rows.upper[0, row])
    side, bound = ("above", high) if rows.values[0, row] > high else ("below", low)
    return (
        f"move x0, which is {excess:.3g}{unit_of(solution, rows, 0, row)} {side} {bound:.4g} of {rows.title(row)!r}, "
        "or widen that bound until the motion is within it"
    )


def time_may_help(constraints: Sequence[ConstraintRows]) -> bool:
    """Whether the most violated constraint may hold in a longer motion.

    A goal at the end may, and limits of velocities and forces. A place that a motion passes on its way stays where it
    is, and so does a bound that x0 violates.
    """
    ordered = by_violation(constraints)
    if not ordered:
        return True
    first = ordered[0]
    knot, row, _ = first.largest(excesses(first))
    if any(rows is first for rows, _, _ in violated_at_start(constraints)):
        return False
    return knot == len(first.values) - 1 or first.units[row] not in LENGTHS


def excesses(rows: ConstraintRows) -> npt.NDArray[np.float64]:
    """Violations of the rows that a solver enforces."""
    return np.where(rows.enforced, rows.violations, 0.0)


def beyond_or_at(rows: ConstraintRows) -> npt.NDArray[np.bool_]:
    """Rows that are at a bound or beyond it, without equations."""
    return rows.active & rows.enforced & ~rows.equations


def held_back(rows: ConstraintRows, least: Reals | float = HELD) -> npt.NDArray[np.bool_]:
    """Rows that are at a bound, and not beyond it by more than a least violation, one number or (n,)."""
    return beyond_or_at(rows) & (rows.violations <= least)


def held_knots(rows: ConstraintRows) -> int:
    """Number of knots at which an inequality is at a bound or beyond it [-]."""
    return int(beyond_or_at(rows).any(axis=1).sum())


def by_violation(constraints: Sequence[ConstraintRows]) -> list[ConstraintRows]:
    """Hard constraints that are violated, the worst first, without those with negligible violations."""
    least = _least(constraints)
    violated = [rows for rows in constraints if not rows.soft and np.any(excesses(rows) > _of(rows, least))]
    return sorted(violated, key=lambda rows: -excesses(rows).max())


def _least(constraints: Sequence[ConstraintRows]) -> dict[str, float]:
    """Least violation, by unit, that is not negligible beside the largest one of a hard constraint in this unit."""
    least: dict[str, float] = {}
    for rows in constraints:
        for unit, worst in zip(rows.units, excesses(rows).max(axis=0, initial=0.0).tolist()):
            least[unit] = max(least.get(unit, HELD), 0.0 if rows.soft else NOISE * worst)
    return least


def _of(rows: ConstraintRows, least: dict[str, float]) -> Reals:
    """Least violation of each row (n,), from those by unit."""
    return np.array([least[unit] for unit in rows.units])


def _violated(solution: Solution, constraints: Sequence[ConstraintRows], *, moves: bool) -> list[str]:
    """Lines about the most violated constraint, other violated ones, soft ones, and those that x0 violates."""
    hard = [rows for rows in constraints if not rows.soft]
    worst = max((float(excesses(rows).max(initial=0.0)) for rows in hard), default=0.0)
    kind = "" if len(hard) == len(constraints) else " hard"
    at_start = violated_at_start(constraints)
    but = ", but for x0" if at_start else ""
    held = f"  all{kind} constraints {where_held(solution, hard)}{but} (largest violation {worst:.1g})"
    lines = [held] if worst <= HELD and hard and moves else []
    ordered = by_violation(constraints)
    for rows in ordered[:MOST]:
        _, row, words = _worst(solution, rows)
        named = "" if len(rows.rows) == 1 or rows.rows[row] == str(row) else f"{rows.rows[row]} "
        if rows is ordered[0]:
            lines.append(f"  constraint {rows.name!r}, row {row}, is violated most: {named}{words}")
        else:
            lines.append(f"    also violated: {rows.title(row)!r}, {words}")
    for rows in constraints:
        if rows.prices is not None and excesses(rows).max(initial=0.0) > HELD:
            _, row, words = _worst(solution, rows)
            price = float(rows.prices.sum())
            lines.append(
                f"  soft constraint {rows.title(row)!r} is exceeded {words}; its slacks cost {price:.4g} in all"
            )
    for rows, row, excess in at_start:
        beyond = f"{excess:.3g}{unit_of(solution, rows, 0, row)}"
        lines.append(f"  x0 itself violates {rows.title(row)!r} by {beyond}: no control changes that")
    return lines


def _worst(solution: Solution, rows: ConstraintRows) -> tuple[int, int, str]:
    """Knot and row of the largest violation, and text about it."""
    knot, row, excess = rows.largest(excesses(rows))
    beyond, unit = _beyond(rows, knot, row), unit_of(solution, rows, knot, row)
    return knot, row, f"by {excess:.3g}{unit} at knot {knot}{time_words(solution, knot)}: {beyond}"


def _beyond(rows: ConstraintRows, knot: int, row: int) -> str:
    value, low, high = (float(array[knot, row]) for array in (rows.values, rows.lower, rows.upper))
    side, bound = ("below", low) if value < low else ("above", high)
    digits = next((n for n in range(4, 17) if f"{value:.{n}g}" != f"{bound:.{n}g}"), 17)
    return f"{value:.{digits}g} is {side} {bound:.{digits}g}"


def _use(solution: Solution, rows: ConstraintRows, least: Reals, *, priced: bool) -> str:
    """Text about the use of a constraint: knots beyond or at a bound, or the closest distance; largest multiplier."""
    held, beyond = held_back(rows, least), excesses(rows) > least
    active = held.any(axis=1)
    words = ["soft"] if rows.soft else []
    equations = np.flatnonzero((rows.equations & rows.enforced).any(axis=1))
    if len(equations):
        words.append(f"equation at knot{'' if len(equations) == 1 else 's'} {runs(equations)}")
    words += _at_knots(solution, rows, beyond, "exceeded" if rows.soft else "violated")
    words += _at_knots(solution, rows, held, "at a bound")
    knot, row, excess = rows.largest(excesses(rows))
    if HELD < excess <= least[row]:
        words.append(f"off by at most {excess:.2g}{unit_of(solution, rows, knot, row)}")
    if not (active.any() or beyond.any() or len(equations)):
        knots = len(rows.knots)
        words.append(f"never at a bound ({knots} knot{'' if knots == 1 else 's'}){_closest(solution, rows)}")
    if rows.multipliers is not None and priced:
        knot, row, size = rows.largest(_loaded(solution, rows))
        if size > 0.0 and (active.any() or beyond.any() or len(equations)):
            words.append(f"largest multiplier {rows.multipliers[knot, row]:.3g} at knot {knot}")
    return f"{rows.name!r}: {', '.join(words)}"


def _at_knots(solution: Solution, rows: ConstraintRows, flags: npt.NDArray[np.bool_], words: str) -> list[str]:
    """Text about the rows and knots with a flag (T + 1, n): "p at a bound at 3 of 40 knots (0-2)"; empty without."""
    knots = np.flatnonzero(flags.any(axis=1))
    if not len(knots):
        return []
    which = f"{_torques(solution, rows)}{_rows_of(rows, flags)} " if len(rows.rows) > 1 else ""
    total = len(rows.knots)
    note = _impulses(solution, rows, flags)
    return [f"{which}{words} at {len(knots)} of {total} knot{'' if total == 1 else 's'} ({runs(knots)}{note})"]


def _torques(solution: Solution, rows: ConstraintRows) -> str:
    """Text that says that rows on motors are torques where controls are accelerations; empty elsewhere."""
    inverse = any(name.startswith("a:") for name in solution.control_names)
    joints = solution.robot.joint_names if solution.robot is not None else ()
    return "torques of " if inverse and set(rows.units) <= set(FORCES) and set(rows.rows) <= set(joints) else ""


def _impulses(solution: Solution, rows: ConstraintRows, flags: npt.NDArray[np.bool_]) -> str:
    """Text that says which of the rows with a flag are impulses at touch-downs, and if these are 0; empty for none."""
    forces = flags & np.array([unit in FORCES for unit in rows.units])
    hits = forces & _sudden(solution, len(flags))[:, None]
    count, total = int(hits.any(axis=1).sum()), int(flags.any(axis=1).sum())
    if not count:
        return ""
    none = np.abs(rows.values) <= touching_distance(rows.values, rows.lower, rows.upper)
    zero = " of 0" if none[hits].all() else ""
    return f"; {'' if count == total else f'{count} of them '}impulses{zero} at touch-downs"


def _sudden(solution: Solution, count: int) -> npt.NDArray[np.bool_]:
    """Whether each of the knots (count,) has no duration, so that its forces are impulses."""
    times = solution.times
    return np.zeros(count, dtype=np.bool_) if times is None else np.append(np.diff(times) == 0.0, False)[:count]


def _rows_of(rows: ConstraintRows, flags: npt.NDArray[np.bool_]) -> str:
    """Names of the rows with a flag, those at most knots first, shortened if there are many."""
    counts = flags.sum(axis=0)
    order = [int(row) for row in np.argsort(-counts, kind="stable") if counts[row]]
    names = [f"row {name}" if name == str(row) else name for row, name in enumerate(rows.rows)]
    words = ", ".join(names[row] for row in order[:_NAMED]) + (", ..." if len(order) > _NAMED else "")
    pyramid = any(rows.rows[row].startswith(FRICTION) for row in order[:_NAMED])
    return words + " (of the pyramid)" * pyramid


def _closest(solution: Solution, rows: ConstraintRows) -> str:
    """Text about the smallest distance from a bound: in percent for symmetric bounds of rates and forces.

    The unit of the value behind a percentage tells torques from accelerations.
    """
    free = rows.enforced & ~rows.equations
    if not free.any():
        return ""
    distances = np.where(free, np.minimum(rows.values - rows.lower, rows.upper - rows.values), np.inf)
    apart = any(unit in LENGTHS for unit in rows.units)  # how far away is what counts, as in reports of limits
    equal = not apart and bool(np.all(rows.lower[free] == -rows.upper[free]))
    measure = distances / np.where(free & (rows.upper > 0), rows.upper, 1.0) if equal else distances
    knot, row = (int(i) for i in np.unravel_index(int(measure.argmin()), measure.shape))
    named = "" if len(rows.rows) == 1 else f"{rows.rows[row]}, "
    unit = unit_of(solution, rows, knot, row)
    near = f"{100 * (1 - measure[knot, row]):.0f} % of" if equal else f"{distances[knot, row]:.3g}{unit} from"
    value = f": {rows.values[knot, row]:.3g}{unit}" if equal else ""
    return f"; closest: {near} its bound ({named}knot {knot}{time_words(solution, knot)}{value})"


def _loaded(solution: Solution, rows: ConstraintRows) -> npt.NDArray[np.float64]:
    """Multipliers of active rows (T + 1, n); NaN for other rows, and for cone rows with a negligible force.

    At the apex of a cone all rows are at their bounds, so their multipliers have no meaning.
    """
    assert rows.multipliers is not None
    multipliers = np.where(rows.enforced & rows.active, rows.multipliers, np.nan)
    forces = [unit in FORCES for unit in rows.units]
    times = solution.times
    if not any(forces) or times is None or not len(rows.knots):
        return multipliers
    steps = np.append(np.diff(times), 0.0)
    sizes = np.nan_to_num(np.abs(rows.values)).max(axis=1)
    timed = steps[: len(sizes)] > 0.0
    timed[-1] = True
    largest = float(sizes[timed].max(initial=0.0))
    negligible = sizes <= NOISE * largest * np.where(timed, 1.0, steps.max(initial=0.0))  # impulses: force times step
    bounds = np.where(rows.multipliers > 0, rows.upper, rows.lower)
    return np.where(negligible[:, None] & np.array(forces) & (bounds == 0.0), np.nan, multipliers)


def _dearest(solution: Solution, constraints: Sequence[ConstraintRows]) -> list[str]:
    """Line about the bound with the largest multiplier; empty if constraints are violated."""
    active = [rows for rows in constraints if rows.multipliers is not None and rows.active.any()]
    if not active or by_violation(constraints):
        return []
    largest = [(rows, *rows.largest(_loaded(solution, rows))) for rows in active]
    rows, knot, row, size = max(largest, key=lambda item: item[3])
    if size == 0.0 or rows.multipliers is None:
        return []
    price = float(rows.multipliers[knot, row])
    unit = unit_of(solution, rows, knot, row)
    per = f" per{unit}" if unit else " per unit"
    if rows.equations[knot, row]:
        its = "its equation"
    else:
        side, bounds = ("upper", rows.upper) if price > 0 else ("lower", rows.lower)
        its = f"its {side} bound {bounds[knot, row]:.4g}{unit}"
    where = f"{rows.title(row)!r} at knot {knot}{time_words(solution, knot)}"
    return [f"  largest multiplier: {price:.3g} of {where}; {its} costs about {size:.3g}{per}"]


def unit_of(solution: Solution, rows: ConstraintRows, knot: int, row: int) -> str:
    """Unit of a row after a space; at an impulse, a knot of zero duration, forces become impulses."""
    unit = rows.units[row]
    if unit in FORCES and _sudden(solution, len(rows.values))[knot]:
        unit = f"{unit} s"
    return f" {unit}" if unit else ""
