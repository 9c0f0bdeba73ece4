"""Proofs that no motion from the start keeps all rows, by boxes that contain all states within reach."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from trajopt.analysis.constraints import HELD, ConstraintRows, places_of
from trajopt.analysis.contradictions.proofs import EXCLUDE
from trajopt.constraints.row_block import constraint_of
from trajopt.instant import Instant
from trajopt.kernels.intervals import INF, Interval, Intervals
from trajopt.kernels.program import Program
from trajopt.shooting import programs
from trajopt.shooting.compiled import CompiledKind
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.shooting.kinds import Kind
    from trajopt.shooting.problem import ShootingProblem

BEYOND = "whatever the controls are within their limits"
"""Words that each sentence has, which says no more than by how much a row is missed at least."""
MOST_WORK = 500_000
"""Largest number of instructions; knots that are beyond are not looked at. One takes about a microsecond [-]."""


def within_reach(problem: ShootingProblem, at: tuple[Reals, Reals], hard: Sequence[ConstraintRows]) -> list[str]:
    """Sentence on the first row that no motion from the start keeps, whatever the controls; empty if there is none.

    A box contains all states at a knot. It is cut by the bounds of rows that are one coordinate, and the dynamics map
    it and the limits of the controls to a box of the next knot, in interval arithmetic. The rows of a knot lie in
    intervals likewise; if one of them is beyond the row's bounds, no motion keeps that row and those of earlier knots.

    Args:
        problem: The problem.
        at: States (T + 1, nx) and controls (T, nu) where `hard` has its values.
        hard: The hard rows.
    """
    reach = _Reach(problem, at, hard)
    found = reach.missed() if reach.begins else None
    if found is None:
        return []
    others = [name for name in reach.cutters if name != found.own.name]
    needed = [name for name in others if found.place not in _places(_Reach(problem, at, hard, without=name).missed())]
    return [found.sentence(problem, needed)]


@dataclass(frozen=True, eq=False)
class _Missed:
    """A row of a knot, and an interval beyond its bounds in which it lies for all motions from the start."""

    own: ConstraintRows
    row: int
    knot: int
    value: Interval

    @property
    def place(self) -> tuple[str, int, int]:
        """Name of its constraint, its number there, and its knot."""
        return self.own.name, self.row, self.knot

    def sentence(self, problem: ShootingProblem, needed: Sequence[str]) -> str:
        """A sentence on it, with the names of other constraints without which it would not be missed."""
        own, row, t, value = self.own, self.row, self.knot, self.value
        low, high = float(own.lower[t, row]), float(own.upper[t, row])
        name, unit = own.title(row), f" {own.units[row]}" if own.units[row] else ""
        start = "x0" if problem.start == "fixed" else "the bounds of the start"
        also = "".join(f", {other}" for other in needed)
        limits = f"{BEYOND}{', and unknowns within their bounds' if problem.unknowns else ''}"
        limits += f", where {' and '.join(needed)} hold" + "s" * (len(needed) == 1) if needed else ""
        if value.low > high:
            reached, bound = (
                f"at least {value.low:.4g}{unit}",
                f"<= {high:.4g}{unit}, {value.low - high:.3g}{unit} less",
            )
        else:
            reached, bound = f"at most {value.high:.4g}{unit}", f">= {low:.4g}{unit}, {low - value.high:.3g}{unit} more"
        return (
            f"constraints {name} at knot {t}{also} and {start}: {EXCLUDE}, {name} is {reached} there {limits}, and "
            f"should be {bound}"
        )


def _places(found: _Missed | None) -> list[tuple[str, int, int]]:
    return [] if found is None else [found.place]


class _Reach:
    """Boxes of states, knot by knot; the arguments are those of `within_reach`.

    Bounds of the constraint `without` do not cut them.

    Attributes:
        begins: Whether the start has bounds, and all models are expressions.
        cutters: Names of the constraints that have cut a box.
    """

    def __init__(
        self, problem: ShootingProblem, at: tuple[Reals, Reals], hard: Sequence[ConstraintRows], without: str = ""
    ) -> None:
        state, self._problem, self._hard, self._without = problem.state, problem, hard, without
        self.cutters: dict[str, None] = {}
        self._numbers = Intervals()
        self._at = np.array([state.difference(state.zero(), x) for x in at[0]]), at[1]
        self._kinds: dict[int, Kind] = {t: kind for kind in problem.kinds for t in kind.knots}
        self._places = [{id(kind): place for kind, place in places_of(problem, own.name)} for own in hard]
        self._single = [_singles(problem, own) for own in hard]
        self._flat = state.nx == state.ndx and not state.curved_directions.any()
        self._box = _of_start(problem) if self._flat or problem.start == "fixed" else []
        self.begins = bool(self._box) and all(isinstance(kind, CompiledKind) for kind in problem.kinds)

    def missed(self) -> _Missed | None:
        """The first row that is not kept."""
        work, T = 0, self._problem.T
        for t in range(T + 1):
            if not any(math.isfinite(end) for each in self._box for end in each.ends):
                return None
            if found := self._cut(t):
                return found
            program, inputs = self._step(t) if t < T else self._end()
            work += program.work
            if work > MOST_WORK:
                return None
            try:
                results = program.evaluate(*inputs, numbers=self._numbers)
            except TypeError:  # a step compares numbers, such as the factorisation of a mass matrix
                return None
            self._box, *_, rows = (each.ravel().tolist() for each in results)
            if found := self._missed(t, rows):
                return found
        return None

    def _step(self, t: int) -> tuple[Program, list[Any]]:
        """Program of a running knot, as solvers have it, and its inputs: all controls within limits, without gains."""
        model, n = self._kinds[t].model, self._problem.state.ndx
        m, u = model.nu, self._controls(t)[: model.nu]
        alone = np.zeros(m), np.zeros((m, n)), np.zeros(n), [1.0]
        inputs = [self._box, self._box, u, *alone, self._parameters(t), m * [-INF], m * [INF]]
        return programs.step(model, self._problem.nc, clipped=1), inputs

    def _end(self) -> tuple[Program, list[Any]]:
        """Program of the terminal knot, and its inputs."""
        T = self._problem.T
        program = programs.terminal_step(self._kinds[T].model, self._problem.nc)
        return program, [self._box, self._box, self._parameters(T)]

    def _cut(self, t: int) -> _Missed | None:
        """Cuts the box by the bounds of single coordinates; returns the row that leaves nothing, if there is one."""
        if not self._flat:
            return None
        zero = self._problem.state.zero().tolist()
        for own, row, i, between in self._singles(t, "coordinates"):
            offset = float(own.values[t, row] - self._at[0][t, i])  # of the row from the coordinate x ⊖ zero
            value = Interval(self._box[i].low - zero[i] + offset, self._box[i].high - zero[i] + offset)
            if _is_beyond(own, row, t, value):
                return _Missed(own, row, t, value)
            low, high = max(value.low, between.low - HELD), min(value.high, between.high + HELD)
            if own.name == self._without or (low == value.low and high == value.high):
                continue
            self.cutters[own.name] = None
            self._box[i] = Interval(low - offset + zero[i], high - offset + zero[i])
        return None

    def _controls(self, t: int) -> list[Interval]:
        """Limits of the controls at a knot."""
        box = [Interval(-INF, INF)] * self._problem.nu
        for own, row, j, between in self._singles(t, "controls"):
            offset = float(own.values[t, row] - self._at[1][t, j])
            low, high = max(box[j].low, between.low - offset), min(box[j].high, between.high - offset)
            box[j] = Interval(low - HELD, high + HELD)
        return box

    def _parameters(self, t: int) -> list[Any]:
        """Parameters at a knot: numbers, and intervals of those that are unknown."""
        layout = self._kinds[t].layout
        values = self._problem.table.values[t, : layout.size].tolist()
        for name, unknown in self._problem.unknowns.items():
            for knots, *bounds in zip(unknown.knots, unknown.rows(unknown.lower), unknown.rows(unknown.upper)):
                if name in layout.slices and (knots is None or t in knots):
                    values[layout.slices[name]] = [Interval(*each) for each in np.transpose(bounds).tolist()]
        return values

    def _singles(self, t: int, kind: str) -> list[tuple[ConstraintRows, int, int, Interval]]:
        """Enforced rows of a knot that are one of the coordinates or controls but for a constant, and their bounds."""
        return [
            (own, row, index, Interval(float(own.lower[t, row]), float(own.upper[t, row])))
            for own, single in zip(self._hard, self._single)
            for row, index in enumerate(getattr(own, kind))
            if index >= 0 and single[row] and own.enforced[t, row]
        ]

    def _missed(self, t: int, rows: Sequence[Interval]) -> _Missed | None:
        """A row of a knot, of all rows in intervals, that is beyond its bounds, if there is one."""
        for own, places in zip(self._hard, self._places):
            place = places.get(id(self._kinds[t]))
            for row, value in enumerate([] if place is None else rows[place]):
                if own.enforced[t, row] and _is_beyond(own, row, t, value):
                    return _Missed(own, row, t, value)
        return None


def _is_beyond(own: ConstraintRows, row: int, t: int, value: Interval) -> bool:
    """Whether a row that lies in an interval is beyond its bounds."""
    low, high = float(own.lower[t, row]), float(own.upper[t, row])
    most = HELD * max(1.0, *(abs(each) for each in (low, high, *value.ends) if abs(each) < INF))
    return value.low > high + most or value.high < low - most


def _singles(problem: ShootingProblem, own: ConstraintRows) -> list[bool]:
    """Whether rows that are one coordinate or control at a trajectory, but for a constant, are so everywhere.

    Rows at stages are left out, and those of constraints that have unknown parameters.
    """
    name = constraint_of(own.name)
    if name != own.name or any(each.startswith(f"{name}.") for each in problem.unknowns):
        return [False] * len(own.rows)
    seen = np.maximum(own.controls, own.coordinates) >= 0
    for kind, _ in places_of(problem, own.name) if seen.any() else ():
        residual = kind.model.constraints[name].residual
        instant = Instant(residual.state, 0 if kind.terminal else kind.model.nu)
        values = residual.expression(instant)
        J = ca.jacobian(values, ca.vertcat(instant.x, instant.u, instant.solved))
        if J.shape[0] != len(seen):  # other rows at other knots, or as many as a parametrized control has numbers
            return [False] * len(seen)
        for row in range(len(seen)):
            slope = ca.sparsify(J[row, :])
            seen[row] &= slope.nnz() == 1 and slope.nz[0].is_one()
    return [bool(each) for each in seen]


def _of_start(problem: ShootingProblem) -> list[Interval]:
    """The box of the first states; empty if they have no bounds."""
    if problem.start == "fixed":
        return [Interval(each, each) for each in problem.x0.tolist()]
    if isinstance(problem.start, str):
        return []
    zero, (lower, upper) = problem.state.zero(), problem.start
    return [Interval(low, high) for low, high in zip((zero + lower).tolist(), (zero + upper).tolist())]
