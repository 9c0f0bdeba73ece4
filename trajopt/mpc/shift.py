"""Shift of a plan in time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trajopt.shooting import ShootingProblem
from trajopt.shooting.knots import Index, index_of
from trajopt.shooting.linear_trial import Interpolation
from trajopt.solvers.sqp.real_time import Plan
from trajopt.types import Ints, Reals

SAME = 1e-9  # tolerance for equal times, as a fraction of a knot's duration
DIGITS = 12  # decimals of a shift [s]


class Shift:
    """Shifts a plan in time, by any fraction of a knot.

    States are interpolated along geodesics between knots. A control becomes the mean of the plan over the time of its
    knot. Multipliers are interpolated, and a gain is that of the knot in which the new time lies. Before the start and
    after the end, states and controls are constant. Multipliers of constraints at the last knot stay there.

    Args:
        problem: The problem.
        offsets: Times of its knots relative to the first one (N + 1,), ascending [s].
    """

    def __init__(self, problem: ShootingProblem, offsets: Reals) -> None:
        self._offsets = offsets
        self._between = Interpolation(problem.state, problem.terminal, len(offsets))
        self._last: _Places | None = None

    def prepare(self) -> None:
        """Compiles the code that it runs."""
        self._between.prepare()

    def __call__(self, plan: Plan, t: float) -> None:
        """Shifts a plan to start at time t [s]."""
        shift = round(t - plan.t, DIGITS)  # equal in all steps, so that the weights can be reused
        plan.t = t
        if not len(plan.us) or abs(shift) <= SAME * self._offsets[1]:
            return
        if self._last is None or shift != self._last.shift:
            self._last = _Places.of(self._offsets, shift)
        places = self._last
        self._move_states(plan.xs, places)
        for rows, sums in ((plan.us, places.controls), (plan.lam, places.dynamics), (plan.y, places.constraints)):
            rows[:] = sums(rows)
        if places.gains is not None:
            plan.K[:] = plan.K[places.gains]

    def _move_states(self, xs: Reals, places: _Places) -> None:
        between = self._between
        xs.take(places.before, axis=0, out=between.first, mode="clip")  # other modes copy twice
        xs.take(places.after, axis=0, out=between.second, mode="clip")
        between.part[:] = places.part
        between()
        between.states[places.exact] = xs[places.same]
        xs[:] = between.states


@dataclass(frozen=True, eq=False)
class _Sums:
    """Weighted sums of rows: Σ_l weights[l] ∘ rows[knots[l]].

    Attributes:
        knots: Knots (L, n).
        weights: Weights of the knots (L, n, 1).
    """

    knots: Ints
    weights: Reals

    def __call__(self, rows: Reals) -> Reals:
        """Returns the sums (n, ...) of rows (N, ...)."""
        total = self.weights[0] * rows.take(self.knots[0], axis=0)
        for knots, weights in zip(self.knots[1:], self.weights[1:]):
            total += weights * rows.take(knots, axis=0)
        return total


@dataclass(frozen=True, eq=False)
class _Places:
    """Positions of shifted knots between the knots of a plan.

    Attributes:
        shift: Time by which knots are shifted [s].
        before: Knot before each shifted knot, at most N - 1 (N + 1,).
        after: Knot after each shifted knot (N + 1,).
        part: Fraction of the time between both knots that has passed, 0 to 1 (N + 1, 1).
        exact: Shifted knots that coincide with a knot.
        same: The knots that they coincide with.
        controls: Means of controls over the times of running knots; the first and last control extend beyond the ends.
        dynamics: Interpolation of multipliers of the dynamics.
        constraints: Interpolation of multipliers of constraints; those at the last knot stay there.
        gains: Running knot in which each shifted running knot lies (N,); None if each lies in its own.
    """

    shift: float
    before: Ints
    after: Ints
    part: Reals
    exact: Index
    same: Index
    controls: _Sums
    dynamics: _Sums
    constraints: _Sums
    gains: Ints | None

    @classmethod
    def of(cls, offsets: Reals, shift: float) -> _Places:
        """Positions of knots at offsets (N + 1,), at least two, after a shift [s]."""
        steps, at = np.diff(offsets), offsets + shift
        last, same = len(steps) - 1, SAME * steps[0]
        knots = np.minimum(np.maximum(offsets.searchsorted(at + same, side="right") - 1, 0), last)
        parts = np.minimum(np.maximum((at - offsets[knots]) / steps[knots], 0.0), 1.0)
        parts[parts < SAME] = 0.0
        parts[parts > 1.0 - SAME] = 1.0
        exact = np.flatnonzero((parts == 0.0) | (parts == 1.0))
        both, blend = np.array([knots, knots + 1]), np.array([1.0 - parts, parts])[:, :, None]
        held = np.minimum(both, last)
        held[:, -1] = last + 1
        gains = np.minimum(knots[:-1] + (parts[:-1] == 1.0), last)
        return cls(
            shift=shift,
            before=both[0],
            after=both[1],
            part=parts[:, None],
            exact=index_of(exact),
            same=index_of(knots[exact] + (parts[exact] == 1.0)),
            controls=_means(offsets, at, knots),
            dynamics=_Sums(both, blend),
            constraints=_Sums(held, blend),
            gains=None if np.array_equal(gains, np.arange(last + 1)) else gains,
        )


def _means(offsets: Reals, at: Reals, knots: Ints) -> _Sums:
    """Means of controls between shifted knots, where `knots` come before them; all sums have the same length."""
    edges, most = offsets.copy(), int((knots[1:] - knots[:-1]).max())
    edges[0], edges[-1] = -np.inf, np.inf
    parts = np.minimum(knots[:-1] + np.arange(most + 1)[:, None], len(offsets) - 2)
    during = np.maximum(np.minimum(edges[parts + 1], at[1:]) - np.maximum(edges[parts], at[:-1]), 0.0)
    during[1:][parts[1:] == parts[:-1]] = 0.0  # the last knot counts once
    return _Sums(parts, (during / during.sum(axis=0))[:, :, None])
