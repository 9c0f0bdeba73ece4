"""Positions within Euler steps, with continuous speeds, from those at the knots."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from trajopt.actions.integrated.euler import IntegratedActionModelEuler
from trajopt.types import Ints, Reals

if TYPE_CHECKING:
    from trajopt.shooting.problem import ShootingProblem
    from trajopt.states import StateAbstract


def set_smooth_positions(xs: Reals, later: Ints, problem: ShootingProblem, given: Reals, knots: Ints, s: Reals) -> None:
    """Replaces positions within second-order Euler steps by those of a cubic spline through the knots.

    The positions q ⊕ (v s + a s²) of the steps themselves change their speed by a dt at each knot. A spline begins and
    ends with the velocities of the states, at the ends of the motion and at impulses.

    Args:
        xs: States on the finer grid, which are changed.
        later: Indices of those within steps.
        problem: The problem of the solution.
        given: States of the solution (T + 1, nx).
        knots: Knot before each state of the finer grid.
        s: Times since these knots [s].
    """
    for begin, end, steps in _runs(problem):
        own = later[(knots[later] >= begin) & (knots[later] < end)]
        if len(own):
            spline = _Spline(problem.state, given[begin : end + 1], steps)
            for i in own:
                xs[i, : spline.nq] = spline.position(knots[i] - begin, s[i])


def _runs(problem: ShootingProblem) -> list[tuple[int, int, Reals]]:
    """First knot, knot behind the last one, and time steps [s] of second-order Euler steps that follow one another."""
    steps = np.zeros(problem.T + 1)
    for kind in problem.kinds[:-1]:
        model = kind.model
        if isinstance(model, IntegratedActionModelEuler) and model.differential.second_order:
            steps[list(kind.knots)] = problem.table.values[list(kind.knots), kind.layout.slices["dt"]].ravel()
    edges = np.flatnonzero(np.diff(np.concatenate([[0], (steps > 0.0).astype(int)]))).tolist()
    return [(a, b, steps[a:b]) for a, b in zip(edges[::2], edges[1::2])]


class _Spline:
    """Cubic spline through configurations, in the tangent space of each.

    Args:
        state: The state space, of (q, v).
        xs: States (n + 1, nx).
        steps: Times between them (n,) [s].
    """

    def __init__(self, state: StateAbstract, xs: Reals, steps: Reals) -> None:
        from scipy.interpolate import CubicSpline

        self._state, self._xs, self._steps = state, xs, steps
        nv = state.ndx // 2
        self.nq = state.nx - nv
        moves = np.array([state.difference_unchecked(a, b)[:nv] for a, b in itertools.pairwise(xs)])
        times, way = np.append(0.0, np.cumsum(steps)), np.concatenate([np.zeros((1, nv)), np.cumsum(moves, axis=0)])
        ends = (1, xs[0, self.nq :]), (1, xs[-1, self.nq :])
        self._moves, self._speeds = moves, np.asarray(CubicSpline(times, way, bc_type=ends)(times, 1))

    def position(self, k: int, s: float) -> Reals:
        """Configuration (nq,) at a time s behind state k."""
        h, move, nv = self._steps[k], self._moves[k], len(self._moves[k])
        last = np.asarray(self._state.jdifference(self._xs[k], self._xs[k + 1], "second"))[:nv, :nv]
        first, last = h * self._speeds[k], h * last @ self._speeds[k + 1]
        p = s / h
        way = p * (first + p * (3.0 * move - 2.0 * first - last + p * (first + last - 2.0 * move)))
        return self._state.integrate_unchecked(self._xs[k], np.append(way, np.zeros(nv)))[: self.nq]
