"""Proofs that no motion from the start keeps all rows, by boxes that contain all states within reach."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.analysis.constraints import HELD, ConstraintRows, places_of
from trajopt.analysis.contradictions.proofs import EXCLUDE
from trajopt.kernels.intervals import INF, Interval, Intervals
from trajopt.kernels.program import Program
from trajopt.shooting import programs
from trajopt.shooting.compiled import CompiledKind
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.shooting.kinds import Kind
    from trajopt.shooting.problem import ShootingProblem

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
    return reach.sentences() if reach.begins else []


class _Reach:
    """Boxes of states, knot by knot; the arguments are those of `within_reach`.

    Attributes:
        begins: Whether the start has bounds, and all models are expressions.
    """

    def __init__(self, problem: ShootingProblem, at: tuple[Reals, Reals], hard: Sequence[ConstraintRows]) -> None:
        state, self._problem, self._hard = problem.state, problem, hard
        self._at = np.array([state.difference(state.zero(), x) for x in at[0]]), at[1]
        self._from = "x0" if problem.start == "fixed" else "the bounds of the start"
        self._kinds: dict[int, Kind] = {t: kind for kind in problem.kinds for t in kind.knots}
        self._flat = state.nx == state.ndx and not state.curved_directions.any()
        self._box = _of_start(problem) if self._flat or problem.start == "fixed" else []
        self.begins = bool(self._box) and all(isinstance(kind, CompiledKind) for kind in problem.kinds)

    def sentences(self) -> list[str]:
        """The sentence on the first row that is not kept."""
        work, T = 0, self._problem.T
        for t in range(T + 1):
            if not any(math.isfinite(end) for each in self._box for end in each.ends):
                return []
            if sentence := self._cut(t):
                return [sentence]
            program, inputs = self._step(t) if t < T else self._end()
            work += program.work
            if work > MOST_WORK:
                return []
            try:
                self._box, *_, rows = (each.ravel().tolist() for each in program.evaluate(*inputs, numbers=Intervals()))
            except TypeError:  # a step compares numbers, such as the factorisation of a mass matrix
                return []
            if sentence := self._missed(t, rows):
                return [sentence]
        return []

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

    def _cut(self, t: int) -> str:
        """Cuts the box by the bounds of single coordinates; returns a sentence if nothing is left."""
        if not self._flat:
            return ""
        zero = self._problem.state.zero().tolist()
        for own, row, i, between in self._singles(t, "coordinates"):
            offset = float(own.values[t, row] - self._at[0][t, i])  # of the row from the coordinate x ⊖ zero
            value = Interval(self._box[i].low - zero[i] + offset, self._box[i].high - zero[i] + offset)
            if sentence := _sentence(own, row, t, value, self._from):
                return sentence
            low, high = max(value.low, between.low - HELD), min(value.high, between.high + HELD)
            self._box[i] = Interval(low - offset + zero[i], high - offset + zero[i])
        return ""

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
            for own in self._hard
            for row, index in enumerate(getattr(own, kind))
            if index >= 0 and own.enforced[t, row]
        ]

    def _missed(self, t: int, rows: Sequence[Interval]) -> str:
        """Sentence on a row of a knot, of all rows in intervals, that is beyond its bounds; empty if there is none."""
        for own in self._hard:
            for kind, place in places_of(self._problem, own.name):
                if t in kind.knots:
                    for row, value in enumerate(rows[place]):
                        if own.enforced[t, row] and (sentence := _sentence(own, row, t, value, self._from)):
                            return sentence
        return ""


def _of_start(problem: ShootingProblem) -> list[Interval]:
    """The box of the first states; empty if they have no bounds."""
    if problem.start == "fixed":
        return [Interval(each, each) for each in problem.x0.tolist()]
    if isinstance(problem.start, str):
        return []
    zero, (lower, upper) = problem.state.zero(), problem.start
    return [Interval(low, high) for low, high in zip((zero + lower).tolist(), (zero + upper).tolist())]


def _sentence(own: ConstraintRows, row: int, t: int, value: Interval, start: str) -> str:
    """Sentence on a row that lies in an interval beyond its bounds, for all motions from a start; empty if not."""
    low, high = float(own.lower[t, row]), float(own.upper[t, row])
    most = HELD * max(1.0, *(abs(each) for each in (low, high, *value.ends) if abs(each) < INF))
    if value.low <= high + most and value.high >= low - most:
        return ""
    name, unit = own.title(row), f" {own.units[row]}" if own.units[row] else ""
    above = value.low > high
    reached = f"at least {value.low:.4g}{unit}" if above else f"at most {value.high:.4g}{unit}"
    bound = f"<= {high:.4g}{unit}" if above else f">= {low:.4g}{unit}"
    return (
        f"constraints {name} at knot {t} and {start}: {EXCLUDE}, {name} is {reached} there whatever the controls are "
        f"within their limits, and should be {bound}; relax it or limits of controls and states, or start elsewhere"
    )
