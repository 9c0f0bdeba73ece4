"""The first Gauss-Newton program of a solve, without rows: how far it says that controls, states and rows can move."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.shooting.evaluator import Evaluator
from trajopt.solvers.riccati import Riccati
from trajopt.solvers.riccati.linear_quadratic import LinearQuadratic
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.solvers.sqp.rows import RowBounds

SLIGHT = 1e-6  # of the largest cost of removing a violation, below which it says nothing
ROUNDING = 1e-12  # part of a size that may be rounding; eigenvalue of correlations of equations that say the same
SAMPLES = 8  # states whose coordinates say how large these are, about
FAR = 100.0  # times its largest coordinate: where a program says that a state moves further, it says nothing
LEAST = 1e-3  # part of a row's distance from its bound that it moves at least
TURNS = 50  # of an angle beyond which it moves by one turn at most: torques alone turn a light wrist 100 times
BEYOND = 1e3  # times half the width of a row's bounds, likewise: arms at rest with a cost of torques alone move by 4e4
TURN = 2.0 * np.pi  # [rad]
HIDDEN, HOLD = 1e-6, 1e16  # part of a variance that hides a direction; factor by which rows lost in rounding are held
EARLY, NOISE = 0.1, 1e-6  # part of the knots that are early; coordinate, relative to moves there, that may be rounding


class FirstProgram:
    """The Gauss-Newton program of the first step, without rows, and its solution.

    Args:
        e: The evaluator, with derivatives.
        rows: Bounds of its rows.
        riccati: Recursion on the evaluator's arrays.
        within: Cost E by which rows with two bounds move by half their width at most, and angles by a turn [cost]; None
            without such limits.
        held: Curvature along each row at the end (nc,), > 0; None without any.

    Attributes:
        solved: Whether it has a solution; if not, the methods have no meaning.
        limited: Whether controls have limits.
        start_sizes: Sizes of a chosen start (ndx,), 0 of a fixed one.
        angles: Which directions of the states are angles (ndx,).
        coordinates: Coordinates of some of the states, the first and the last one among them (number, ndx).
    """

    def __init__(
        self, e: Evaluator, rows: RowBounds, riccati: Riccati, within: float | None = None, held: Reals | None = None
    ) -> None:
        n, self.held = e.state.ndx, held
        width = (rows.u_upper - rows.u_lower).max(axis=0, initial=0.0)
        self._e, self._rows, self._half = e, rows, np.where(width > 0.0, 0.5 * width, np.inf)
        self.limited = bool(np.isfinite(self._half).any())
        lq = _with_curvature(riccati.lq, e, self._half)
        self.angles = np.array([unit == "rad" for unit in e.state.tangent_units])
        if within is not None:
            lq = _within_bounds(lq, e, within / _half_widths(rows) ** 2, within / TURN**2 * self.angles)
        if held is not None:
            on, C = _equations(rows), e.terminal_C
            lq = replace(lq, terminal_H=lq.terminal_H + (C[on].T * held[on]) @ C[on])
        riccati = riccati if lq is riccati.lq else Riccati(lq)
        self.solved = bool(e.nu) and riccati.factor().failure is None
        if not self.solved:
            return
        self._step, F, self._K = riccati.forward(), lq.full_F(), riccati.K
        B = self._B = F[:, :, n:]
        self._kept = (F[:, :, :n] == np.eye(n)).all(axis=(0, 1))  # coordinates that no dynamics depend on
        self._A, lower = F[:, :, :n] - B @ self._K, np.tril(lq.H[:, n:, n:])  # under the solution's policy
        self._curvature = np.einsum("tii->ti", lower)
        self._Quu = lower + np.tril(lower, -1).swapaxes(1, 2) + B.swapaxes(1, 2) @ riccati.Vxx[1:] @ B
        self.solved = bool(np.linalg.slogdet(self._Quu).sign.all())  # not if it is singular to rounding
        if not self.solved:
            return
        self.coordinates = coordinates_of(e)
        self.start_sizes = _start_sizes(rows, n, np.abs(self.coordinates[0]))

    def variances(self, start: Reals, E: float) -> tuple[Reals, Reals]:
        """H⁻¹ in blocks: of the states (T + 1, ndx, ndx), and of the controls where states stay (T, nu, nu).

        Args:
            start: That of the start, its diagonal (ndx,).
            E: Cost by which controls move by no more than half the width of their limits [cost].
        """
        e, n = self._e, self._e.state.ndx
        S = np.linalg.inv(self._Quu + np.diag(E / self._half**2)).astype(np.float64)
        noise, P = self._B @ S @ self._B.swapaxes(1, 2), np.zeros((e.T + 1, n, n))
        np.einsum("ii->i", P[0])[:] = start
        half = np.empty((n, n))
        for A, transposed, at, to, added in zip(self._A, self._A.swapaxes(1, 2), P, P[1:], noise):
            np.dot(A, at, half)
            np.dot(half, transposed, to)
            to += added
        return P, S

    def row_variances(self, P: Reals, S: Reals, *, together: bool = False) -> Reals:
        """G H⁻¹ Gᵀ of each row (T + 1, nc), from `variances`: the mean over all knots with the same model.

        Those of equations at the end are of each alone, or of each while the others stay, if they are taken `together`
        or held.
        """
        e, n = self._e, self._e.state.ndx
        result = np.zeros(e.c.shape)
        if not e.nc:
            return result
        Cu, end = e.C[:, :, n:], e.terminal_C
        Cx = e.C[:, :, :n] - Cu @ self._K
        result[:-1] = ((Cx @ P[:-1]) * Cx).sum(axis=-1) + ((Cu @ S) * Cu).sum(axis=-1)
        result[-1] = ((end @ P[-1]) * end).sum(axis=-1)
        for kind in e.running:
            knots = list(kind.knots)
            result[knots] = result[knots].mean(axis=0)
        if together or self.held is not None:
            on, directions, values, _ = self._independent(P, result)
            result[-1, on] = 1.0 / (directions**2 / values).sum(axis=1)
        return result

    def row_moves(self, states: Reals, controls: Reals) -> Reals:
        """Moves of rows (T + 1, nc) for states and controls of these sizes; their values if they depend on none.

        It is that of rows which the program can't move: the place across a car's way, where the car stands straight.
        """
        e, moves = self._e, np.zeros(self._e.c.shape)
        if e.nc:
            moves[:-1] = np.abs(e.C) @ np.concatenate([states, controls])
            moves[-1] = np.abs(e.terminal_C) @ states
        return np.where(moves > 0.0, moves, np.abs(e.c))

    def least_rows(self) -> Reals:
        """Least sizes of the rows (T + 1, nc): a part of the way to their nearest bounds, where one has to go there.

        To first order it may be none: a tool that points down can tilt only to second order.
        """
        e, rows, to = self._e, self._rows, np.full(self._e.c.shape, np.inf)
        for bounds in (rows.lower, rows.upper):
            np.minimum(to, np.abs(e.c - bounds), out=to, where=np.isfinite(bounds))
        to[np.isinf(to)] = 0.0
        for kind in e.running:
            knots = list(kind.knots)
            to[knots] = to[knots].mean(axis=0)
        return LEAST * to

    def leaves_bounds(self, P: Reals, S: Reals, E: float) -> bool:
        """Whether a row with two bounds moves far BEYOND them for the cost E, with `variances` P and S."""
        return bool((deviations(self.row_variances(P, S), E) > BEYOND * _half_widths(self._rows)).any())

    def spins(self, P: Reals, E: float) -> bool:
        """Whether an angle moves by many TURNS for the cost E, with `variances` P: light wrists under torques alone."""
        return bool((deviations(np.einsum("tii->ti", P), E)[:, self.angles] > TURNS * TURN).any())

    def within_reach(self, P: Reals, E: float) -> Reals:
        """Variances of the states (T + 1, ndx, ndx) where none moves FAR from its coordinates for the cost E."""
        moves, size = deviations(np.einsum("tii->ti", P), E), np.abs(self.coordinates).max(axis=0)
        known = size > NOISE * np.quantile(moves[1:], EARLY, axis=0)
        part = np.where(known & (moves > FAR * size), FAR * size / np.where(moves > 0.0, moves, 1.0), 1.0)
        return P if (part == 1.0).all() else P * part[:, :, None] * part[:, None, :]

    def cost(self, P: Reals, S: Reals) -> float:
        """Typical cost of a step: the largest of three, with `variances` of controls without limits [cost].

        The effort Σ duᵀ diag(Luu) du of this one, with du within the width of the limits; the predicted decrease by
        moving a chosen start by its size; the median cost of removing a violation that is left.
        """
        effort = (self._curvature * np.minimum(np.abs(self._step.du), 2.0 * self._half) ** 2).sum()
        return max(float(effort), float(np.abs(self._step.lam[0]) @ self.start_sizes), self._repair(P, S))

    @property
    def cost_of_gaps(self) -> float:
        """Change of the cost to first order by closing the gaps of coordinates that no dynamics depend on [cost].

        Such gaps add up to the end, as those of a clock that stands still in the guess; others fade or grow.
        """
        e, n = self._e, self._e.state.ndx
        moves = np.where(self._kept, np.cumsum(e.f, axis=0), 0.0)
        return abs(float(np.vdot(e.g[:, :n], moves[:-1]) + e.terminal_g @ moves[-1]))

    def _repair(self, P: Reals, S: Reals) -> float:
        """Median cost v² / G H⁻¹ Gᵀ of removing a violation v that is left after the step [cost].

        The largest one would be that of a row that can hardly be moved to first order, as a car can't move sideways.
        Of equations at the end it is that along each of their independent directions. A step that takes a control FAR
        beyond its limits, as it costs next to nothing, is shortened: violations after it would say nothing.
        """
        e, step, c = self._e, self._step, self._e.c.copy()
        if not e.nc:
            return 0.0
        part = 1.0 / np.max(np.abs(step.du) / (2.0 * FAR * self._half), initial=1.0)
        c[:-1] += part * (e.C @ np.concatenate([step.dx[:-1], step.du], axis=1)[:, :, None])[:, :, 0]
        c[-1] += part * (e.terminal_C @ step.dx[-1])
        beyond, variances = self._rows.beyond(c), self.row_variances(P, S)
        on, directions, values, _ = self._independent(P, variances)
        costs = beyond**2 / np.where(variances > 0.0, variances, np.inf)
        costs[-1, on] = 0.0
        costs = np.concatenate([costs.ravel(), (directions.T @ beyond[-1, on]) ** 2 / values])
        costs = costs[costs > SLIGHT * costs.max(initial=0.0)]
        return float(np.quantile(costs, 0.5, method="lower")) if costs.size else 0.0

    def growth(self) -> float:
        """Logarithm by which growth of the system raises variances of rows at the end: twice that of half the time."""
        P, C = self.variances(np.zeros(self._e.state.ndx), 0.0)[0], self._e.terminal_C[_equations(self._rows)]
        half, end = (((C @ each) * C).sum(axis=-1) for each in (P[self._e.T // 2], P[-1]))
        some = (half > 0.0) & (end > half)
        return 2.0 * float(np.log(end[some] / half[some]).max(initial=0.0))

    def holding(self) -> Reals | None:
        """Curvatures along rows at the end (nc,) under which fewer directions of theirs are hidden; None if none is.

        A hidden direction has next to none of the variance of the equations that it moves. These are held by that much
        more, and the others as before: a body beside a pole that stands upright keeps its variance.
        """
        P, S = self.variances(np.zeros(self._e.state.ndx), 0.0)
        variances = self.row_variances(P, S)[-1] if self.held is None else 1.0 / self.held
        on, _, _, (values, directions) = self._independent(P, np.atleast_2d(variances))
        hidden = values < HIDDEN
        if not hidden.any():
            return None
        held = 1.0 / np.where(variances > 0.0, variances, 1.0)
        held[on] *= 1.0 + directions[:, hidden] ** 2 @ (1.0 / np.maximum(values[hidden], 1.0 / HOLD))
        return held

    def _independent(self, P: Reals, variances: Reals) -> tuple[Any, Reals, Reals, Any]:
        """Mask (nc,) of n equations at the end, directions in which these move independently (n, number), variances.

        Under a curvature ρ that holds it a variance v is v / (1 + ρ v); those returned are without it. Then eigenvalues
        and eigenvectors of the correlations, or of the variances in units of 1 / ρ.
        """
        on = _equations(self._rows) & (variances[-1] > 0.0)
        C, sizes = self._e.terminal_C[on], np.sqrt(variances[-1, on] if self.held is None else 1.0 / self.held[on])
        values, directions = pairs = np.linalg.eigh(C @ P[-1] @ C.T / np.outer(sizes, sizes))
        kept = values > ROUNDING
        free = values if self.held is None else values / np.maximum(1.0 - values, ROUNDING)
        return on, directions[:, kept] / sizes[:, None], free[kept], pairs


def first_program(e: Evaluator, rows: RowBounds, riccati: Riccati) -> FirstProgram:
    """The first program; of an unstable system, one that holds the equations at the end by curvatures along them.

    Such a system grows along few directions, and the variance of all equations along these hides that of the others: a
    cart-pole that stands upright for 4 s could move by 1e10 m along one. Held, it moves by about as much along all.
    """
    first = plain = FirstProgram(e, rows, riccati)
    growth = plain.growth() if plain.solved and _equations(rows).any() else 0.0
    held = plain.holding() if growth > -np.log(HIDDEN) else None
    while held is not None:
        if growth < 0.0 or not first.solved:
            return plain  # equations that depend on each other
        first, growth = FirstProgram(e, rows, riccati, held=held), growth - np.log(HOLD)
        held = first.holding() if first.solved else held
    return first


def coordinates_of(e: Evaluator) -> Reals:
    """Coordinates of some of the evaluator's states, the first and the last one among them (number, ndx)."""
    some = e.xs[:: max(1, e.T // SAMPLES)]
    return np.array([e.state.difference_unchecked(e.state.zero(), x) for x in (*some, e.xs[-1])])


def whole_cost(e: Evaluator) -> float:
    """Cost Σ zᵀ diag(H) z of all coordinates z of the evaluator's trajectory, far beyond a typical one."""
    n, diagonal = e.state.ndx, np.abs(np.einsum("tii->ti", e.H))
    states = diagonal[:, :n] * np.abs(coordinates_of(e)).max(axis=0) ** 2
    return float(states.sum() + (diagonal[:, n:] * e.us**2).sum())


def _with_curvature(lq: LinearQuadratic, e: Evaluator, half: Reals) -> LinearQuadratic:
    """The program, with a curvature for controls that cost nothing: their whole range costs as much as a knot does."""
    n = e.state.ndx
    free = np.diagonal(lq.H, axis1=1, axis2=2)[:, n:] == 0.0
    if not free.any():
        return lq
    own = np.abs(e.us).max(axis=0, initial=0.0)
    size = np.where(np.isfinite(half), half, np.where(own > 0.0, own, 1.0))
    lq = replace(lq, H=lq.H.copy())
    np.einsum("tii->ti", lq.H)[:, n:] += np.where(free, (abs(e.cost) / max(e.T, 1) or 1.0) / size**2, 0.0)
    return lq


def deviations(variances: Reals, E: float) -> Reals:
    """Deviations for the cost E; variances of coordinates that are almost fixed may be negative by rounding."""
    return np.sqrt(E * np.maximum(variances, 0.0))


def _half_widths(rows: RowBounds) -> Reals:
    """Half the distance of the two bounds of each row (T + 1, nc); infinite where a row has less, or equal ones."""
    half = 0.5 * (rows.upper - rows.lower)
    return np.where(rows.general & (half > 0.0), half, np.inf)


def _within_bounds(lq: LinearQuadratic, e: Evaluator, curvature: Reals, angles: Reals) -> LinearQuadratic:
    """The program, with a curvature (T + 1, nc) along each row, and (ndx,) along each direction of the states."""
    C = np.sqrt(curvature[:-1, :, None]) * e.C, np.sqrt(curvature[-1, :, None]) * e.terminal_C
    H, terminal_H = lq.H + C[0].swapaxes(1, 2) @ C[0], lq.terminal_H + C[1].T @ C[1]
    np.einsum("tii->ti", H)[:, : angles.size] += angles
    np.einsum("ii->i", terminal_H)[:] += angles
    return replace(lq, H=H, terminal_H=terminal_H)


def _equations(rows: RowBounds) -> Any:
    """Mask (nc,) of the rows at the end that are equations."""
    return (rows.general & (rows.lower == rows.upper))[-1]


def _start_sizes(rows: RowBounds, n: int, at: Reals) -> Reals:
    """Sizes of a chosen start (ndx,): half the width of its bounds, at most its coordinates in the guess, else 1."""
    if not rows.chosen:
        return np.zeros(n)
    width = 0.5 * (rows.start_upper - rows.start_lower)
    sizes = np.where(width > 0.0, np.minimum(width, np.where(at > 0.0, at, np.inf)), 0.0)
    return np.where(np.isfinite(sizes), sizes, 1.0)
