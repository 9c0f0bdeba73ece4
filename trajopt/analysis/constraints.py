"""Constraints of a solution at each knot: values, bounds, violations, active rows, multipliers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trajopt.actions.base import ActionModelAbstract
from trajopt.analysis.basics import check_solution
from trajopt.analysis.gaps import no_motion
from trajopt.analysis.held import where_held
from trajopt.analysis.quantities import control_quantities
from trajopt.analysis.row_names import NORMAL, row_names
from trajopt.analysis.touching import touching_distance
from trajopt.checks import check_count, check_items, check_shape, check_text, check_texts, shape_of
from trajopt.constraints.row_block import constraint_of, row_name
from trajopt.errors import InvalidArgumentError, shown
from trajopt.residuals import ResidualModelCollisions
from trajopt.shooting import inspection
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.shooting.kinds import Kind
    from trajopt.shooting.problem import ShootingProblem
    from trajopt.shooting.values import ProblemDerivatives
    from trajopt.solution import Solution

Flags = npt.NDArray[np.bool_]

HELD = 1e-6
"""Largest violation at which a row still counts as satisfied [unit of the row]."""

_MOST = 4  # constraints that a report lists [-]


@dataclass(frozen=True, kw_only=True)
class ConstraintRows:
    """Rows of one constraint over the knots 0..T, where knot T is the terminal knot.

    Attributes:
        name: Name of the constraint; with "at dt/2" behind it for rows of a stage.
        rows: Name of each row (n,), such as that of its control or coordinate; otherwise its number.
        units: Unit of each row (n,); empty if unknown.
        values: Values, shape (T + 1, n); NaN at knots without the constraint.
        lower: Lower bounds, shape (T + 1, n); -inf without a bound.
        upper: Upper bounds, shape (T + 1, n); inf without a bound.
        enforced: Whether a solver enforces a row, shape (T + 1, n): it has a bound, and a fixed x0 does not determine
            it.
        multipliers: Lagrange multipliers, shape (T + 1, n) [cost per unit of the row]: > 0 at an upper bound, < 0 at a
            lower bound; None if the solver has none.
        controls: Index of the control that equals the row up to a constant (n,); -1 for other rows.
        coordinates: Index of the tangent coordinate that equals the row up to a constant (n,); -1 for other rows.
        prices: Cost of the slack of each row, shape (T + 1, n) [cost]; 0 without slack. None for hard constraints.
        bodies: What each row of collisions measures at each knot, (T + 1, n) texts such as "panda_hand and table";
            empty for other constraints.
    """

    name: str
    rows: tuple[str, ...]
    units: tuple[str, ...]
    values: Reals
    lower: Reals
    upper: Reals
    enforced: Flags
    multipliers: Reals | None
    controls: tuple[int, ...]
    coordinates: tuple[int, ...]
    prices: Reals | None = None
    bodies: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        check_text("name", self.name)
        n = len(check_texts("rows", self.rows))
        for name in ("units", "controls", "coordinates"):
            if len(check_items(name, getattr(self, name), "items, one per row")) != n:
                raise InvalidArgumentError(f"{name}: expected {n}, one per row, got {shown(getattr(self, name))}")
        knots = shape_of(self.values)[:1]
        for name in ("values", "lower", "upper", "enforced", *self._present("multipliers", "prices")):
            check_shape(name, getattr(self, name), (*knots, n), cure="one row per knot")

    def _present(self, *names: str) -> tuple[str, ...]:
        return tuple(name for name in names if getattr(self, name) is not None)

    @property
    def soft(self) -> bool:
        """Whether rows may exceed their bounds at a cost."""
        return self.prices is not None

    @property
    def violations(self) -> Reals:
        """Excess of each row over its bounds, shape (T + 1, n); 0 if the row holds or the knot lacks it."""
        beyond = np.maximum(np.maximum(self.lower - self.values, self.values - self.upper), 0.0)
        return np.where(np.isnan(beyond), 0.0, beyond)

    @property
    def violated(self) -> Flags:
        """Whether each row exceeds a bound by more than rounding, shape (T + 1, n)."""
        return np.asarray(self.violations > HELD)

    @property
    def active(self) -> Flags:
        """Whether each row is at a bound or beyond it, shape (T + 1, n).

        For a contact without force, at the tip of its friction cone, only the row of the normal force counts.
        """
        with np.errstate(invalid="ignore"):
            near = touching_distance(self.values, self.lower, self.upper)
            touching = np.asarray(np.minimum(self.values - self.lower, self.upper - self.values) <= near)
        if NORMAL in self.rows:
            normal = self.rows.index(NORMAL)
            tip = touching & (np.abs(self.values) <= near) & touching[:, [normal]]
            tip[:, normal] = False
            touching[tip] = False
        return touching

    @property
    def equations(self) -> Flags:
        """Whether each row is an equation, with equal bounds, shape (T + 1, n)."""
        return np.asarray((self.lower == self.upper) & np.isfinite(self.lower))

    @property
    def knots(self) -> npt.NDArray[np.int64]:
        """Knots at which the constraint has a bound, (m,)."""
        bounded = np.isfinite(self.lower) | np.isfinite(self.upper)
        return np.flatnonzero((bounded & np.isfinite(self.values)).any(axis=1))

    def title(self, row: int) -> str:
        """Returns the name of a row for display: "motor", or "tool[z]" if there are several, such as "tool[z] at dt/2".

        Raises:
            InvalidArgumentError: There is no such row.
        """
        row = check_count("row", row, most=len(self.rows) - 1)
        return self.name if len(self.rows) == 1 else row_name(self.name, self.rows[row])

    def largest(self, values: Reals) -> tuple[int, int, float]:
        """Returns knot, row and absolute value of the largest of values (T + 1, n); NaN is ignored."""
        sizes = np.where(np.isfinite(values), np.abs(values), -1.0)
        knot, row = (int(i) for i in np.unravel_index(int(sizes.argmax()), sizes.shape))
        return knot, row, float(max(sizes[knot, row], 0.0))


def constraint_rows(solution: Solution) -> tuple[ConstraintRows, ...]:
    """Returns the constraints of a solution, ordered by their first knots; without a problem those of its file.

    Values, bounds and derivatives are computed from the problem with the parameters of the solve.

    Args:
        solution: The solution.

    Raises:
        InvalidArgumentError: A state or a control is not finite.
    """
    return check_solution(solution).description.constraints


def named_rows(solution: Solution) -> tuple[ConstraintRows, ...]:
    """Returns the constraints as `constraint_rows`, where each row of collisions measures the same bodies at all knots.

    The rows are named by their bodies, and those that come nearest to a bound come first.

    Args:
        solution: The solution.
    """
    return tuple(_by_bodies(rows) if rows.bodies else rows for rows in constraint_rows(solution))


def _by_bodies(rows: ConstraintRows) -> ConstraintRows:
    """Sorts the values of collision rows by the bodies that they measure."""
    names = np.array(rows.bodies)
    distances = np.minimum(rows.values - rows.lower, rows.upper - rows.values)
    least = {name: float(np.nanmin(distances[names == name], initial=np.inf)) for name in np.unique(names) if name}
    order = sorted(least, key=least.__getitem__)

    def sorted_by_bodies(values: Any, empty: float | bool) -> Any:
        table = np.full((len(values), len(order)), empty)
        for i, name in enumerate(order):
            knots, slots = np.nonzero(names == name)
            table[knots, i] = values[knots, slots]
        return table

    return replace(
        rows,
        rows=tuple(order),
        units=rows.units[:1] * len(order),
        values=sorted_by_bodies(rows.values, np.nan),
        lower=sorted_by_bodies(rows.lower, -np.inf),
        upper=sorted_by_bodies(rows.upper, np.inf),
        enforced=sorted_by_bodies(rows.enforced, False),
        multipliers=None if rows.multipliers is None else sorted_by_bodies(rows.multipliers, np.nan),
        controls=(-1,) * len(order),
        coordinates=(-1,) * len(order),
        prices=None if rows.prices is None else sorted_by_bodies(rows.prices, 0.0),
        bodies=(),
    )


def solved_rows(solution: Solution, problem: ShootingProblem) -> tuple[ConstraintRows, ...]:
    """Constraints of a solution, computed from its problem."""
    if problem.nc == 0:
        return ()
    with inspection.with_values(problem, solution.parameters, solution.x0):
        d, softness = problem.calc_diff(solution.xs, solution.us), problem.row_softness()
        bodies = {name: bodies_of(problem, name) for name in problem.constraint_names}  # which the expansion has chosen
    y = solution.multipliers.get("constraints")
    rows = [_rows_of(problem, d, y, softness, name) for name in problem.constraint_names]
    return tuple(replace(each, bodies=bodies[each.name]) for each in rows)


def bodies_of(problem: ShootingProblem, name: str) -> tuple[tuple[str, ...], ...]:
    """Bodies that each row of collisions measures at each knot (T + 1, n), in words; empty for other constraints."""
    found: dict[int, list[str]] = {}
    for kind, _ in places_of(problem, name):
        constraint = constraint_of(name)
        residual = kind.model.constraints[constraint].residual
        if isinstance(residual, ResidualModelCollisions):
            knots, values = list(kind.knots), problem.parameter_values()
            own = {}
            for key, parameter in residual.parameters().items():
                places = np.searchsorted(list(problem.parameters[f"{constraint}.{key}"].knots), knots)
                own[key] = np.array([parameter.flat(row) for row in values[f"{constraint}.{key}"][places]])
            found |= dict(zip(knots, residual.bodies_of_rows(own)))
    most = max(map(len, found.values()), default=0)
    lists = [found.get(t, []) for t in range(problem.T + 1)]
    return tuple((*each, *[""] * (most - len(each))) for each in lists) if found else ()


def units_of(problem: ShootingProblem) -> dict[str, str]:
    """Returns the unit of each constraint on states whose rows share one unit, by name, without evaluating anything."""
    units: dict[str, set[str]] = {}
    for kind in problem.kinds:
        for block in kind.row_blocks:
            units.setdefault(block.name, set()).add(kind.model.constraints[block.constraint].residual.unit)
    return _common(units)


def units_of_rows(constraints: Sequence[ConstraintRows]) -> dict[str, str]:
    """Returns the unit of each constraint on states whose rows share one unit, by name."""
    return _common({rows.name: {""} if any(i >= 0 for i in rows.controls) else set(rows.units) for rows in constraints})


def _common(units: dict[str, set[str]]) -> dict[str, str]:
    return {
        name: unit for name, (unit, *more) in units.items() if not more and unit not in ("", "-") and "," not in unit
    }


def constraints_report(solution: Solution) -> dict[str, str]:
    """Summarises the constraints in one line of text, under the key "constraints"; empty without constraints.

    The line names the most violated constraint. If all hold, it names those at a bound with their numbers of knots.

    Args:
        solution: The solution.
    """
    constraints = named_rows(solution)
    if not constraints:
        return {}
    violations = [(rows, *rows.largest(np.where(rows.enforced, rows.violations, 0.0))) for rows in constraints]
    rows, knot, row, excess = max(violations, key=lambda item: (not item[0].soft and item[3] > HELD, item[3]))
    if excess > HELD:
        unit = f" {rows.units[row]}" if rows.units[row] else ""
        kind = "soft constraint violated" if rows.soft else "violated"
        return {"constraints": f"{kind}: {rows.title(row)} by {excess:.3g}{unit} at knot {knot}"}
    if nothing := no_motion(solution):
        return {"constraints": nothing}
    at_bound = {rows.name: (rows.active & rows.enforced & ~rows.equations).any(axis=1).sum() for rows in constraints}
    words = [
        f"{name} {at_bound[name]}" for name in sorted(at_bound, key=lambda name: -at_bound[name]) if at_bound[name]
    ]
    more = ", ..." if len(words) > _MOST else ""
    hold = where_held(solution, constraints) + "".join(
        f", but between {each.places} {each.title} is violated by {each.size}"
        for each in solution.description.between[:1]
    )
    hold += "".join(f", but x0 violates {rows.title(row)}" for rows, row, _ in violated_at_start(constraints)[:1])
    return {"constraints": hold + (f"; knots at a bound: {', '.join(words[:_MOST])}{more}" if words else "")}


def violated_at_start(constraints: Sequence[ConstraintRows]) -> list[tuple[ConstraintRows, int, float]]:
    """Returns constraints that x0 violates in rows without control, with the worst such row and its violation."""
    violated = []
    for rows in constraints:
        fixed = np.where(rows.enforced, 0.0, rows.violations)[0]
        row = int(fixed.argmax())
        if fixed[row] > HELD:
            violated.append((rows, row, float(fixed[row])))
    return sorted(violated, key=lambda item: -item[2])


def _rows_of(
    problem: ShootingProblem, d: ProblemDerivatives, y: Reals | None, softness: tuple[Reals, Reals], name: str
) -> ConstraintRows:
    """Collects the rows of one constraint from all kinds of knots. A kind with fewer rows lacks the last ones."""
    places = places_of(problem, name)
    widest, widest_place = max(places, key=lambda each: each[1].stop - each[1].start)
    n = widest_place.stop - widest_place.start
    shape = (problem.T + 1, n)
    values, lower, upper = np.full(shape, np.nan), np.full(shape, -np.inf), np.full(shape, np.inf)
    fixed = np.zeros(shape, dtype=np.bool_)
    multipliers = None if y is None else np.full(shape, np.nan)
    prices = np.zeros(shape) if constraint_of(name) in problem.soft_constraint_names else None
    for kind, place in places:
        knots, own = list(kind.knots), slice(0, place.stop - place.start)
        for target, array in ((values, d.rows), (lower, d.lower), (upper, d.upper)):
            target[knots, own] = array[knots, place]
        if multipliers is not None and y is not None:
            multipliers[knots, own] = y[knots, place]
        if prices is not None:
            prices[knots, own] = _prices(*(array[knots, place] for array in (d.rows, d.lower, d.upper, *softness)))
        if 0 in kind.knots and problem.start == "fixed":
            fixed[0, own] = _free_of_control(kind, own.stop, place)
    controls, coordinates = _coordinates(problem, d, places, n)
    rows, units = _names(problem, widest.model, name, controls, coordinates)
    bounded = (np.isfinite(lower) | np.isfinite(upper)) & np.isfinite(values)
    return ConstraintRows(
        name=name,
        rows=rows,
        units=units,
        values=values,
        lower=lower,
        upper=upper,
        enforced=bounded & ~fixed,
        multipliers=multipliers,
        controls=controls,
        coordinates=coordinates,
        prices=prices,
    )


def _prices(rows: Reals, lower: Reals, upper: Reals, linear: Reals, quadratic: Reals) -> Reals:
    """Cost of slacks, linear · s + ½ quadratic · s²; 0 for hard rows."""
    slack = np.maximum(np.maximum(lower - rows, rows - upper), 0.0)
    soft = np.isfinite(linear) & np.isfinite(slack)
    slack = np.where(soft, slack, 0.0)
    return np.asarray(np.where(soft, linear, 0.0) * slack + 0.5 * quadratic * slack**2)


def places_of(problem: ShootingProblem, name: str) -> list[tuple[Kind, slice]]:
    """Kinds of knots with a constraint, each with the slice of its rows."""
    places = []
    for kind in problem.kinds:
        start = 0
        for other, size in kind.row_sizes().items():
            if other == name:
                places.append((kind, slice(start, start + size)))
            start += size
    return places


def _free_of_control(kind: Kind, n: int, place: slice) -> Flags:
    """Whether each of the n rows is independent of the control of its knot."""
    return np.zeros(n, dtype=np.bool_) if kind.terminal else kind.model.rows_free_of_control[place]


def _coordinates(
    problem: ShootingProblem, d: ProblemDerivatives, places: Sequence[tuple[Kind, slice]], n: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Control, and tangent coordinate, that equals each of n rows up to a constant at all knots; -1 for other rows."""
    ndx, nu = problem.state.ndx, problem.nu
    gradients = []
    for kind, place in places:
        for t in kind.knots:
            own = np.zeros((n, ndx + nu))
            own[: place.stop - place.start, :ndx] = d.Cx[t, place]
            if not kind.terminal:
                own[: place.stop - place.start, ndx:] = d.Cu[t, place]
            gradients.append(own)
    rows = np.array(gradients)  # (knots, n, ndx + nu)
    same = np.ptp(rows, axis=0).max(axis=-1) < 1e-12
    unit = same & (np.count_nonzero(rows[0], axis=-1) == 1) & (np.abs(rows[0].sum(axis=-1) - 1.0) < 1e-12)
    indices = np.where(unit, rows[0].argmax(axis=-1), -1)
    controls = tuple(int(i) - ndx if i >= ndx else -1 for i in indices)
    return controls, tuple(int(i) if 0 <= i < ndx else -1 for i in indices)


def _names(
    problem: ShootingProblem, model: ActionModelAbstract, name: str, controls: Sequence[int], coordinates: Sequence[int]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Name and unit of each row: the residual's own, or those of its control or coordinate, otherwise its number."""
    all_controls, state = inspection.controls(problem), problem.state
    efforts = control_quantities(state, all_controls)
    residual = model.constraints[constraint_of(name)].residual
    own = row_names(residual, len(controls), model.model_parts.actuation)
    named: list[tuple[str, str]] = []
    for row, (control, coordinate) in enumerate(zip(controls, coordinates)):
        if residual.row_names:
            named.append(own[row])
        elif control >= 0:
            named.append((all_controls.names[control].removeprefix("u:"), efforts[control][1]))
        elif coordinate >= 0:
            named.append((state.tangent_names[coordinate], state.tangent_units[coordinate]))
        else:
            named.append(own[row])
    return tuple(name for name, _ in named), tuple("" if unit == "-" else unit for _, unit in named)
