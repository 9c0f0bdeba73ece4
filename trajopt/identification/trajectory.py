"""Trajectory of a model along a log: its states, controls and derivatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from trajopt.actions.expression import ActionModelExpression
from trajopt.actions.terminal import ActionModelTerminal
from trajopt.costs import CostStack
from trajopt.errors import InvalidArgumentError
from trajopt.identification.log import Log
from trajopt.identification.smoother import LinearLog
from trajopt.shooting import ShootingProblem
from trajopt.shooting.unknown import Unknown
from trajopt.states import StateAbstract
from trajopt.types import Reals


class LogProblem:
    """States and controls of a model that explain a log; the measured ones at first.

    Args:
        model: The model of a step.
        log: The log.
        names: Names of its unknown parameters.
        unmeasured: Mask of the states that are not measured (ndx,); velocities among them start at differences of the
            positions, others at their values in the log.
        mechanical: Whether the states are positions, then their velocities.

    Attributes:
        xs: States (N + 1, nx).
        us: Controls (N, nu).
        theta: Values of the unknowns in the model (k,), in the order of `unknowns`.
    """

    def __init__(
        self,
        model: ActionModelExpression,
        log: Log,
        names: Sequence[str],
        unmeasured: npt.NDArray[np.bool_],
        *,
        mechanical: bool,
    ) -> None:
        state, N = model.state, len(log) - 1
        for name, table, size in (("states", log.states, state.nx), ("controls", log.controls, model.nu)):
            if table.shape[1] != size:
                raise InvalidArgumentError(f"log: expected {size} columns of {name}, got {table.shape[1]}")
        self._state, self._log = state, log
        rates = np.flatnonzero(unmeasured[state.ndx // 2 :]) if mechanical else np.zeros(0, dtype=int)
        self._measured = _first_states(state, log, rates)
        problem = ShootingProblem(self._measured[0], [model] * N, ActionModelTerminal(CostStack(state)))
        if "dt" in model.parameters():
            for knots, place in problem.table.places("dt"):
                problem.table.values[knots, place] = np.diff(log.times)[knots, None]
        for name in names:
            problem.free(name, -np.inf, np.inf, knots=None)
        freed = problem.freed()
        assert freed is not None
        self._freed, self._whole = freed, freed.follow()
        self.theta = freed.guess()
        self.xs, self.us = self._measured.copy(), log.controls.copy()

    @property
    def unknowns(self) -> Mapping[str, Unknown]:
        """The unknowns by name."""
        return self._freed.unknowns

    def shaped(self, theta: Reals) -> dict[str, Reals]:
        """Values of the unknowns by name, from θ (k,)."""
        return self._freed.shaped(theta)

    def linear(self, theta: Reals, slope: Reals) -> LinearLog:
        """The log around this trajectory, where the derivative of θ by the parameters is `slope` (k, k)."""
        n, state = self._state.ndx, self._state
        d = self._whole.calc_diff(self._with(theta), self.us)
        pairs = zip(self.xs[1:], d.xnext[:, : state.nx])
        return LinearLog(
            A=d.Fx[:, :n, :n],
            B=d.Fu[:, :n],
            G=d.Fx[:, :n, n:] @ slope,
            d=np.array([state.difference_unchecked(x, f) for x, f in pairs]),
            r=np.array([state.difference_unchecked(x, y) for x, y in zip(self.xs, self._measured)]),
            s=self._log.controls - self.us,
        )

    def move(self, dxs: Reals, dus: Reals) -> None:
        """Moves states by (N + 1, ndx) and controls by (N, nu)."""
        self.xs = np.array([self._state.integrate_unchecked(x, dx) for x, dx in zip(self.xs, dxs)])
        self.us = self.us + dus

    def controls_for(self, theta: Reals, us: Reals | None = None) -> Reals:
        """Controls (N, nu) with which a model of other parameters would move as this trajectory, to first order.

        Args:
            theta: The parameters.
            us: Controls around which the model is linear (N, nu); None for those of this trajectory.
        """
        n, state, us = self._state.ndx, self._state, self.us if us is None else us
        d = self._whole.calc_diff(self._with(theta), us)
        pairs = zip(d.xnext[:, : state.nx], self.xs[1:])
        gaps = np.array([state.difference_unchecked(f, x) for f, x in pairs])
        return np.asarray(us + np.einsum("tij,tj->ti", np.linalg.pinv(d.Fu[:, :n]), gaps))

    def _with(self, theta: Reals) -> Reals:
        return np.hstack([self.xs, np.tile(theta, (len(self.xs), 1))])


def _first_states(state: StateAbstract, log: Log, rates: npt.NDArray[np.int_]) -> Reals:
    """Measured states (N + 1, nx), where velocities of these numbers are central differences of the positions."""
    table, half = log.states.copy(), state.ndx // 2
    columns = state.nx - half + rates
    table[:, columns] = 0.0
    missing = np.flatnonzero(np.isnan(table[0]))
    if len(missing):
        raise InvalidArgumentError(
            f"log: expected numbers of {state.coordinate_names[missing[0]]}, got NaN; a velocity that is not measured "
            "may be NaN if its noise is np.inf, any other state needs values to start from"
        )
    xs = np.array([state.normalize(x) for x in table])
    if len(rates):
        number = np.arange(len(xs))
        before, after = np.maximum(number - 1, 0), np.minimum(number + 1, len(xs) - 1)
        steps = np.array([state.difference_unchecked(a, b)[:half] for a, b in zip(xs[before], xs[after])])
        xs[:, columns] = (steps / (log.times[after] - log.times[before])[:, None])[:, rates]
    return xs
