"""Rows that wait for a lane, with the guesses that `SolverAbstract.solve` makes."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.errors import TrajoptError, pass_on_signal
from trajopt.shooting.at_rest_lanes import controls_of_rows
from trajopt.types import Ints, Reals

AHEAD = 512
"""Rows whose guesses are made together: arrays of more take longer per row, those of fewer cost more of Python."""

if TYPE_CHECKING:
    from trajopt.shooting.problem import ShootingProblem
    from trajopt.solvers.batch.rows import BatchRows


@dataclass(frozen=True)
class Portion:
    """Rows that enter lanes together.

    Attributes:
        rows: Numbers of the rows (m,).
        rolls: Whether the guess is the rollout of the controls.
        arrays: Initial states `x0` (m, 1, nx), guesses `xs` (m, T + 1, nx) and `us` (m, T + 1, nu), of which the last
            row is unused, and parameters `p` (m, T + 1, size).
    """

    rows: Ints
    rolls: bool
    arrays: dict[str, Reals]

    def split(self, count: int) -> tuple[Portion, Portion]:
        """Returns the first rows, at most `count`, and the others."""
        parts = (slice(0, count), slice(count, None))
        first, rest = ({name: array[part] for name, array in self.arrays.items()} for part in parts)
        return Portion(self.rows[:count], self.rolls, first), Portion(self.rows[count:], self.rolls, rest)


class Queue:
    """Rows in order, handed out in portions, also to several threads.

    A row whose values are refused is left out: it is solved alone, which raises the error.

    Args:
        problem: The problem.
        rows: Values of the rows.
    """

    def __init__(self, problem: ShootingProblem, rows: BatchRows) -> None:
        self._problem, self._rows, self._next = problem, rows, 0
        self._kept: dict[bytes, Reals] = {}
        self._lock, self._stopped = threading.Lock(), False
        self._ahead = Portion(np.zeros(0, dtype=np.int64), False, {})

    @property
    def empty(self) -> bool:
        """Whether all rows are handed out."""
        with self._lock:
            return self._next >= self._rows.n and not len(self._ahead.rows)

    def take(self, count: int) -> Portion:
        """Returns the next rows, at most `count`."""
        with self._lock:
            if not len(self._ahead.rows):
                first, self._next = self._next, min(self._next + max(count, AHEAD), self._rows.n)
                chosen, p = self._parameters(np.arange(first, self._next))
                self._ahead = self._guesses(chosen, p)
            portion, self._ahead = self._ahead.split(count)
            return portion

    def stop(self) -> None:
        """Interrupts all that take rows, at their next `check`."""
        self._stopped = True

    def check(self) -> None:
        """Raises KeyboardInterrupt after `stop`."""
        if self._stopped:
            raise KeyboardInterrupt

    def _parameters(self, chosen: Ints) -> tuple[Ints, Reals]:
        """Rows that are fine (m,), and the parameters of their knots (m, T + 1, size)."""
        problem, good, tables = self._problem, list[int](), list[Reals]()
        plain = not self._rows.parameters
        if plain and problem.state.are_states(self._rows.x0[chosen]):
            return chosen, np.broadcast_to(problem.table.values, (len(chosen), *problem.table.values.shape))
        for row in chosen:
            try:
                self._rows.set(row)
            except TrajoptError:
                continue
            good.append(row)
            tables.append(problem.table.values.copy())
        return np.array(good, dtype=np.int64), np.array(tables).reshape(len(good), *problem.table.values.shape)

    def _guesses(self, chosen: Ints, p: Reals) -> Portion:
        problem, own = self._problem, self._rows
        T, m = problem.T, len(chosen)
        x0 = own.x0[chosen]
        xs, us = (
            None if a is None else a[chosen] if len(a) == own.n else a.repeat(m, axis=0) for a in (own.xs, own.us)
        )
        states = np.repeat(x0[:, None], T + 1, axis=1) if xs is None else xs
        controls, fine = np.zeros((m, T + 1, problem.nu)), np.ones(m, dtype=np.bool_)
        if us is None:
            controls[:, :T] = self._at_rest(states, p, fine, same=xs is None)
        else:
            controls[:, :T] = us
        for i in range(m) if xs is not None or us is not None else ():
            try:
                states[i], controls[i, :T] = problem.check_guess(states[i], controls[i, :T])
            except TrajoptError:
                fine[i] = False
        arrays = {"x0": x0[:, None], "xs": states, "us": controls, "p": p}
        if not fine.all():  # else there is nothing to leave out, and parameters of all rows stay one array
            chosen, arrays = chosen[fine], {name: array[fine] for name, array in arrays.items()}
        return Portion(chosen, xs is None and us is not None, arrays)

    def _one_control(self, controls: Reals, x: Reals, p: Reals) -> bool:
        """Fills controls (T, nu) that hold one state (nx,) at rest; False if parameters differ between knots."""
        for kind in self._problem.kinds[:-1]:
            values = kind.rows(p)
            if not (values == values[0]).all():
                return False
            controls[list(kind.knots), : kind.model.nu] = kind.quasi_static(x, values[0]) if kind.model.nu else 0.0
        return True

    def _at_rest(self, states: Reals, p: Reals, fine: Any, *, same: bool) -> Reals:
        """Controls (m, T, nu) that hold states at rest; with `same`, the states of a row are all the same.

        Rows whose model raises an error are not `fine` (m,).
        """
        problem, m = self._problem, len(states)
        found = controls_of_rows(problem, states[:, : 1 if same else -1])
        if found is not None:
            return found
        controls = np.zeros((m, problem.T, problem.nu))
        before = problem.table.values.copy()
        for i in range(m):
            problem.table.values[:] = p[i]
            try:
                self._hold(controls[i], states[i], p[i], same=same)
            except Exception as error:
                pass_on_signal(error)
                fine[i] = False
        problem.table.values[:] = before
        return controls

    def _hold(self, controls: Reals, states: Reals, p: Reals, *, same: bool) -> None:
        """Fills the controls (T, nu) of one row; rows with the same states and parameters share them."""
        if same and self._one_control(controls, states[0], p):
            return
        key = states.tobytes() + p.tobytes()
        if key not in self._kept:
            self._kept = {key: self._problem.quasi_static(states[:-1])}
        controls[:] = self._kept[key]
