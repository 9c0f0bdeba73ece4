"""The plan of a controller, and its shift along time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trajopt.shooting import ShootingProblem
from trajopt.shooting.linear_trial import Interpolation
from trajopt.types import Ints, Reals

SAME = 1e-9  # part of a knot that counts as none
DIGITS = 12  # of a shift [s]


@dataclass(eq=False)
class Plan:
    """Trajectory of the window that begins at a time.

    Attributes:
        t: Time of the first knot [s].
        xs: States (N + 1, nx).
        us: Controls (N, nu).
        K: Gains (N, nu, ndx) of the policy us - K (x ⊖ xs).
        lam: Multipliers of the dynamics (N + 1, ndx).
        y: Multipliers of the constraint rows (N + 1, nc).
    """

    t: float
    xs: Reals
    us: Reals
    K: Reals
    lam: Reals
    y: Reals

    @staticmethod
    def zeros(problem: ShootingProblem) -> Plan:
        """A plan of the problem's sizes, at its x0."""
        N, n, nu = problem.T, problem.state.ndx, problem.nu
        return Plan(
            t=0.0,
            xs=np.tile(problem.x0, (N + 1, 1)),
            us=np.zeros((N, nu)),
            K=np.zeros((N, nu, n)),
            lam=np.zeros((N + 1, n)),
            y=np.zeros((N + 1, problem.nc)),
        )

    def take(self, xs: Reals, us: Reals, K: Reals | None, lam: Reals | None, y: Reals | None) -> None:
        """Copies a solution; None leaves what there is."""
        self.xs[:], self.us[:] = xs, us
        for mine, given in ((self.K, K), (self.lam, lam), (self.y, y)):
            if given is not None:
                mine[:] = given


class Shift:
    """Moves a plan by any part of a knot: what holds at t_k + τ becomes what holds at knot k.

    States lie on the geodesic from knot to knot, a control is the mean of what was planned for the time of its knot,
    multipliers are interpolated; gains are those of the knot that the time lies in. Before the start and beyond the end
    states and controls stay as they are there; multipliers of constraints at the end stay at the end.

    Args:
        problem: The problem.
        offsets: Times of its knots from the first one (N + 1,), ascending [s].
    """

    def __init__(self, problem: ShootingProblem, offsets: Reals) -> None:
        self._offsets, self._steps = offsets, np.diff(offsets)
        self._between = Interpolation(problem.state, problem.terminal, len(offsets))
        self._integral = np.zeros((len(offsets), problem.nu))  # of the controls, up to each knot
        self._last = _Places.of(offsets, 0.0)

    def prepare(self) -> None:
        """Compiles what it runs."""
        self._between.prepare()

    def __call__(self, plan: Plan, t: float) -> None:
        """Moves a plan to another time [s]."""
        shift = round(t - plan.t, DIGITS)  # equal from step to step, and what was found for it still holds
        plan.t = t
        if not len(plan.us) or abs(shift) <= SAME * self._steps[0]:
            return
        if shift != self._last.shift:
            self._last = _Places.of(self._offsets, shift)
        p = self._last
        self._move_states(plan, p)
        self._move_controls(plan, p)
        plan.lam[:] = p.rest * plan.lam[p.knots] + p.part * plan.lam[p.knots + 1]
        plan.y[:-1] = p.rest[:-1] * plan.y[p.knots[:-1]] + p.part[:-1] * plan.y[p.following]
        plan.K[:] = plan.K[p.gains]

    def _move_states(self, plan: Plan, p: _Places) -> None:
        between, xs = self._between, plan.xs
        between.first[:], between.second[:], between.part[:] = xs[p.knots], xs[p.knots + 1], p.part
        between()
        if len(p.exact):
            between.found[p.exact] = xs[p.same]
        xs[:] = between.found

    def _move_controls(self, plan: Plan, p: _Places) -> None:
        """The mean over the time of each knot; beyond the end the last control goes on."""
        steps, integral, us = self._steps[:, None], self._integral, plan.us
        np.cumsum(us * steps, axis=0, out=integral[1:])
        at = integral[p.knots] + p.passed * us[p.knots]
        if p.goes_beyond:
            at += p.beyond * us[-1]
        us[:] = (at[1:] - at[:-1]) / steps


@dataclass(frozen=True, eq=False)
class _Places:
    """Places of moved knots among those of a plan.

    Attributes:
        shift: By how much they are moved [s].
        knots: Knot before each, at most N - 1 (N + 1,).
        part: Part of its time that has passed, at most 1 (N + 1, 1).
        rest: 1 - part.
        passed: Time that has passed since then, negative before the first one (N + 1, 1) [s].
        beyond: Time beyond the end (N + 1, 1) [s].
        goes_beyond: Whether there is some.
        exact: Moved knots that are at a knot.
        same: Those knots.
        following: Running knot after each running one (N,).
        gains: Running knot that each running one lies in (N,).
    """

    shift: float
    knots: Ints
    part: Reals
    rest: Reals
    passed: Reals
    beyond: Reals
    goes_beyond: bool
    exact: Ints
    same: Ints
    following: Ints
    gains: Ints

    @classmethod
    def of(cls, offsets: Reals, shift: float) -> _Places:
        """Those of knots at offsets (N + 1,), moved by a time [s]."""
        steps, at = np.diff(offsets), offsets + shift
        last, same = len(steps) - 1, SAME * (steps[0] if len(steps) else 1.0)
        knots = np.clip(np.searchsorted(offsets, at + same, side="right") - 1, 0, max(last, 0))
        parts = np.clip((at - offsets[knots]) / steps[knots], 0.0, 1.0) if len(steps) else np.zeros(len(at))
        parts[parts < SAME] = 0.0
        parts[parts > 1.0 - SAME] = 1.0
        exact = np.flatnonzero((parts == 0.0) | (parts == 1.0))
        beyond = np.maximum(at - offsets[-1], 0.0)
        before, part = knots[:-1], parts[:, None]
        return cls(
            shift=shift,
            knots=knots,
            part=part,
            rest=1.0 - part,
            passed=np.where(at[:, None] < offsets[0], shift, part * steps[knots, None]) if len(steps) else part,
            beyond=beyond[:, None],
            goes_beyond=bool(beyond.any()),
            exact=exact,
            same=knots[exact] + (parts[exact] == 1.0),
            following=np.minimum(before + 1, last),
            gains=np.minimum(np.where(parts[:-1] < 1.0, before, before + 1), last),
        )
