"""Derivatives of a solution by initial state and parameters."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trajopt.analysis.growth import LARGE, explicit_contacts, growth
from trajopt.checks import check_array, check_flag, check_instance
from trajopt.errors import InvalidArgumentError, ModelEvaluationError, UnknownNameError, unknown_name
from trajopt.shooting import ShootingProblem, inspection
from trajopt.shooting.evaluator import Evaluator
from trajopt.shooting.knots import Knots
from trajopt.solution import Solution
from trajopt.solvers.riccati.linear_quadratic import LinearQuadratic
from trajopt.solvers.sensitivity.active import NEAR, ActiveRows
from trajopt.solvers.sensitivity.kinks import kinks
from trajopt.solvers.sensitivity.lagrangian import Lagrangian, LagrangianDerivatives, derivative
from trajopt.solvers.sensitivity.slope import Truth
from trajopt.solvers.sensitivity.system import KKTSystem
from trajopt.types import Ints, Reals

_LOG = logging.getLogger(__name__)
RELATIVE, LEAST, MOST = 1e-5, 1e-6, 0.25  # steps of parameters: relative, at least, and the largest part of p
HELD = 1e-7  # curvature along a start that nothing else holds
LEFT = 1e-7  # residual of the linear system, relative to its right-hand side, that a warning tells
SHOWN = 5  # kinks in a warning
START = "x0"


@dataclass(frozen=True, kw_only=True)
class Sensitivity:
    """Derivative of a solution by numbers p: d xs/dp, d us/dp, and of the optimal cost.

    Attributes:
        name: Name of the parameter, or "x0".
        shape: Shape of p; its numbers are in C order below.
        dxs: Derivatives of the states, in tangent coordinates at xs (T + 1, ndx, np) [unit of x per unit of p].
        dus: Of the controls (T, nu, np) [unit of u per unit of p].
        dcost: Of the optimal cost, slacks included (np,) [cost per unit of p].
        residual: Residual of the linear system, relative to its right-hand side [-].
    """

    name: str
    shape: tuple[int, ...]
    dxs: Reals = field(repr=False)
    dus: Reals = field(repr=False)
    dcost: Reals
    residual: float
    _solution: Solution = field(repr=False, compare=False)

    def predict(self, change: Any) -> tuple[Reals, Reals]:
        """States (T + 1, nx) and controls (T, nu) for p + change, to first order: a guess for the next solve.

        Controls may pass bounds that are not active yet.

        Args:
            change: Change of p, of its shape; of x0 in tangent coordinates.
        """
        step = check_array("change", change, self.shape, cure=f"{self.name} has this shape").ravel()
        s, problem = self._solution, self._solution.problem
        assert problem is not None
        moved = zip(s.xs, self.dxs @ step)
        return np.array([problem.state.integrate(x, dx) for x, dx in moved]), s.us + self.dus @ step


class SolutionDerivatives:
    """Derivatives of a solution by its initial state and by run-time parameters, such as d us/d(goal.reference).

    At a solution z(p) with multipliers λ, y all gradients of the Lagrangian L vanish, gaps are closed and active rows
    are on their bounds. Differentiated by p that is a linear system with stages for dz/dp, dλ/dp, dy/dp:

        L_zz dz/dp + (constraints)ᵀ d(λ, y)/dp = -L_zp,    dx⁺ = F dz/dp + f_p,    C dz/dp = b_p - c_p

    One factorisation serves all names. L_zz and what depends on p are central differences of the derivatives that
    models give, by p of fourth order: nothing is compiled, and models in Python have them, too. Rows that hold the
    solution are those at a bound with a multiplier; where one enters or leaves, the solution has a kink, and this is
    its derivative on one side. If the Hessian is indefinite along these, rows near a bound with next to no multiplier
    hold it, too, as limits of velocity in motions of least torque.

    Args:
        solution: A solution that converged, with its problem. The more closely it did, the more digits are right.
        approximate: Whether to take a solution that did not converge, too, such as a plan in real time: derivatives are
            then those of one more step of SQP, with the Gauss-Newton Hessian where the exact one is indefinite.

    Raises:
        InvalidArgumentError: The solution did not converge, or has no problem.
        ModelEvaluationError: It is no strict minimum, or a value beside it is not finite.

    Attributes:
        solution: The solution.
        gains: Its gains K, with d u/d x = -K at each knot (T, nu, ndx): of the exact Hessian; weights of 1e6 hold
            active rows, where derivatives by "x0" are exact.
        growth: Largest derivative of a later state by the first one, under these gains [-]. Beyond 1e5, a warning says
            that derivatives hold for tiny changes only.
        hessian: "exact", or "Gauss-Newton".
        weakly_active: Rows near a bound with next to no multiplier, as "name at knot t": where a small change lets
            them enter or leave, the solution has a kink.
        kinks: Costs that may have a kink at the solution, as "name at knot t": derivatives are between those of both
            sides.

    Source: Fiacco, Introduction to sensitivity and stability analysis in nonlinear programming, 1983, theorem 3.2.2.
    """

    def __init__(self, solution: Solution, *, approximate: bool = False) -> None:
        self.solution = s = check_instance("solution", solution, Solution)
        if not (s.converged or check_flag("approximate", approximate)):
            raise InvalidArgumentError(
                f"solution: expected one that converged, got {s.status.name}: away from an optimum there is no "
                "derivative; solve it to the end first, or pass approximate=True"
            )
        if s.problem is None:
            raise InvalidArgumentError("solution: it was loaded without its problem; use Solution.load(path, problem)")
        if s.unknowns:
            raise InvalidArgumentError(
                f"solution: expected one without unknowns, got one that chose {', '.join(s.unknowns)}; set "
                "these parameters to its values in a problem that does not free them, and solve that one"
            )
        self._problem = s.problem
        self._e = Evaluator(self._problem)
        y = s.multipliers.get("constraints", np.zeros((self._e.T + 1, self._e.nc)))
        K = np.zeros((*s.us.shape, self._e.state.ndx)) if s.K is None else np.nan_to_num(s.K)
        with self._as_solved():
            self._lagrangian = Lagrangian(self._e, s.xs, s.us, y, K)
            self._at = self._lagrangian.at()
            off = np.zeros(y.shape, dtype=np.bool_)
            if self._problem.start == "fixed":
                off[0, self._e.given_rows] = True
            self._active = ActiveRows.of(self._at, y, off)
            self.hessian = "exact"
            try:
                self._system = self._factored_exactly()
            except ModelEvaluationError:
                if not approximate:
                    raise
                self.hessian = "Gauss-Newton"
                self._lagrangian.move(0.0, 0.0)
                H = self._e.full()[2]
                self._system = self._factored(H[:-1], self._e.terminal_H)
        first, nu = self._first, self._e.nu
        self.gains = self._system.K[first:, :nu].copy()
        self.weakly_active = tuple(self._names_of_weak())
        self.kinks = self._named_kinks(self._lagrangian.kinks, "")
        self.growth = growth(self._lagrangian.F, self.gains)
        if self.growth > LARGE:
            cure = explicit_contacts(s.description.models)
            _LOG.warning(
                "derivatives grow by %.1g along the motion, so they hold for tiny changes only%s",
                self.growth,
                f": {cure}" if cure else "",
            )

        self._made_with = s, bool(approximate)

    def __reduce__(self) -> tuple[Any, ...]:
        return _remade, self._made_with  # machine code points into its arrays: a copy has its own

    @contextmanager
    def _as_solved(self) -> Iterator[ShootingProblem]:
        with inspection.with_values(self._problem, self.solution.parameters, self.solution.x0):
            yield self._problem

    @property
    def _first(self) -> int:
        """Stages before the first knot: one whose control is a start that is to be chosen."""
        return int(self._problem.start != "fixed")

    def _factored(self, H: Reals, end: Reals) -> KKTSystem:
        e, at, n, first = self._e, self._lagrangian, self._e.state.ndx, self._first
        s, bounded = n + e.nu, not isinstance(self._problem.start, str)
        lq = LinearQuadratic.zeros(e.T + first, n, max(e.nu, n) if first else e.nu)
        np.einsum("tii->ti", lq.H)[:, s:] = 1.0
        lq.F[first:, :, :s], lq.H[first:, :s, :s], lq.terminal_H[:] = at.F, H, end
        nc = max(e.nc, n if bounded else 0)
        C, terminal_C, active = np.zeros((lq.T, nc, n + lq.m)), np.zeros((nc, n)), np.zeros((lq.T + 1, nc))
        C[first:, : e.nc, :s], terminal_C[: e.nc] = at.C, at.terminal_C
        active[first:, : e.nc] = self._active.side
        delta = np.zeros(active.shape)
        softened, fixed = self._active.softened(self._at)
        delta[first:, : e.nc] = np.where(fixed, np.inf, softened)
        if first:
            lq.F[0, :, n : 2 * n] = np.eye(n)
            np.einsum("ii->i", lq.H[0])[n:] = 1.0
            np.einsum("ii->i", lq.H[0])[n : 2 * n] = HELD
        if bounded:
            C[0, :n, n : 2 * n] = e.state.jdifference(e.state.zero(), self.solution.xs[0], "second")
            active[0, :n] = self._held_start()
        self._hold_controls(lq, C)
        return KKTSystem(lq, C, terminal_C, active, delta)

    def _factored_exactly(self) -> KKTSystem:
        """The system with the exact Hessian; if it is a saddle, weakly active rows are held, too."""
        hessians = self._lagrangian.hessians()
        try:
            return self._factored(*hessians)
        except ModelEvaluationError as error:
            if not np.any(self._active.weak):
                raise ModelEvaluationError(f"{error}: give every control a cost, and velocities a small one") from error
        self._active = self._active.with_weak(self._at)
        return self._factored(*hessians)

    def _held_start(self) -> Reals:
        """Mask (ndx,) of the coordinates of a chosen start that its bounds hold."""
        assert not isinstance(self._problem.start, str)
        (lower, upper), state = self._problem.start, self._e.state
        at = state.difference(state.zero(), self.solution.xs[0])
        y = self.solution.multipliers.get("start", self._lagrangian.lam[0])
        near = np.minimum(np.abs(at - lower), np.abs(upper - at)) < NEAR * np.maximum(1.0, np.abs(at))
        return np.where((lower == upper) | (near & (np.abs(y) > NEAR * np.abs(y).max())), 1.0, 0.0)

    def _hold_controls(self, lq: LinearQuadratic, C: Reals) -> None:
        """Takes controls that a box solver holds at their limits out of the system."""
        held = self._held = np.zeros(self.solution.us.shape, dtype=np.bool_)
        if "Box" not in self.solution.solver:
            return
        (lower, upper), us = self._e.control_limits(), self.solution.us
        slope = self._at.running[:, self._e.state.ndx :]
        held |= ((us <= lower) & (slope > 0.0)) | ((us >= upper) & (slope < 0.0))
        for t, i in np.argwhere(held):
            column = self._e.state.ndx + i
            lq.F[t, :, column] = lq.H[t, :, column] = lq.H[t, column] = C[t, :, column] = 0.0
            lq.H[t, column, column] = 1.0

    def _names_of_weak(self) -> Iterator[str]:
        for t, row in np.argwhere(self._active.weak):
            kind = next(kind for kind in (*self._e.running, self._e.terminal) if t in kind.knots)
            yield f"{kind.model.row_names[row]} at knot {t}"

    def _named_kinks(self, where: Truth, by: str) -> tuple[str, ...]:
        """Names of the costs with kinks at knots of a mask (T + 1,); a warning tells them."""
        found = tuple(kinks(self._problem, where))
        if found:
            _LOG.warning(
                "a penalty has a kink at the solution (%s), so derivatives%s are between those of its two sides: move "
                "its bound a little, or make it a constraint",
                ", ".join(found[:SHOWN]) + (", ..." if len(found) > SHOWN else ""),
                by,
            )
        return found

    def by(self, name: str, knots: Knots = None) -> Sensitivity:
        """Derivative of the solution with respect to a parameter, or to "x0" in its tangent space.

        Args:
            name: Name of a run-time parameter, such as "goal.reference", or "x0".
            knots: Knots at which the parameter changes, by the same amount at all, as in `set_parameter`; all that
                have it by default.

        Raises:
            UnknownNameError: The problem has no such parameter; the message lists near ones.
            InvalidArgumentError: The start is not fixed, or the parameter is not at these knots, or not of one shape.
        """
        if isinstance(name, str) and name == START:
            return self._by_start()
        with self._as_solved() as problem:
            try:
                places = problem.table.places(name, knots)
            except UnknownNameError:
                raise unknown_name("parameter", name, [START, *problem.parameters]) from None
            sizes = {columns.stop - columns.start for _, columns in places}
            if len(sizes) > 1:
                raise InvalidArgumentError(f"knots: {name} has {sorted(sizes)} numbers; ask for knots of one size")
            size, known = sizes.pop(), problem.parameters[name].shape
            shape = (size,) if known is None else known
            order = np.arange(size).reshape(shape, order="F").ravel()  # columns first, as they stand in the table
            first = [(t, columns.start) for ts, columns in places for t in ts]
            changes = [self._changed(name, [(t, column + int(i)) for t, column in first]) for i in order]
        return self._solved(name, shape, changes)

    def _changed(self, name: str, places: list[tuple[int, int]]) -> LagrangianDerivatives:
        """Derivative of first-order values by a number at these places of the parameter table."""
        table = self._problem.table.values
        knots, columns = (np.array(each, dtype=np.int64) for each in zip(*places))
        values = table[knots, columns].copy()
        size = float(np.abs(values[np.isfinite(values)]).max(initial=0.0))
        step = min(max(RELATIVE * size, LEAST), MOST * size or LEAST)

        def at(change: float) -> LagrangianDerivatives:
            self._set(knots, columns, values + change)
            return self._lagrangian.at()

        try:
            found, kinked = derivative(at, step)
        finally:
            self._set(knots, columns, values)
        self._named_kinks(kinked & ~self._lagrangian.kinks, f" by {name}")
        return found

    def _set(self, knots: Ints, columns: Ints, values: Reals) -> None:
        self._problem.table.values[knots, columns] = values

    def _by_start(self) -> Sensitivity:
        if self._problem.start != "fixed":
            raise InvalidArgumentError('name: "x0" is no parameter of this problem, whose start is to be chosen')
        n = self._e.state.ndx
        zero = LagrangianDerivatives(**{name: np.zeros_like(value) for name, value in vars(self._at).items()})
        changes = []
        for i in range(n):
            gaps = np.zeros_like(zero.gaps)
            gaps[0, i] = 1.0
            changes.append(LagrangianDerivatives(**{**vars(zero), "gaps": gaps}))
        return self._solved(START, (n,), changes)

    def _solved(self, name: str, shape: tuple[int, ...], changes: list[LagrangianDerivatives]) -> Sensitivity:
        e, first, s = self._e, self._first, self._e.state.ndx + self._e.nu
        lq, rows = self._system._lq, self._system._y.shape
        dxs, dus = np.zeros((e.T + 1, e.state.ndx, len(changes))), np.zeros((e.T, e.nu, len(changes)))
        dcost, worst = np.zeros(len(changes)), 0.0
        for j, change in enumerate(changes):
            running, gaps = np.zeros_like(lq.g), np.zeros_like(lq.f)
            running[first:, :s], gaps[first:] = change.running, change.gaps
            running[first:, e.state.ndx : s][self._held] = 0.0
            missed, given = np.zeros(rows), np.zeros(rows)
            missed[first:, : e.nc], given[first:, : e.nc] = self._active.misses(self._at, change)
            found = self._system.solve(running, change.end, gaps, missed, given)
            dxs[:, :, j], dus[:, :, j] = found.dx[first:], found.du[first:, : e.nu]
            dcost[j], worst = self._cost_of(change), max(worst, found.residual)
        if worst > LEFT:
            _LOG.warning("derivatives by %s are inexact: the linear system keeps a residual of %.1g", name, worst)
        return Sensitivity(
            name=name, shape=shape, dxs=dxs, dus=dus, dcost=dcost, residual=worst, _solution=self.solution
        )

    def _cost_of(self, change: LagrangianDerivatives) -> float:
        """Derivative of the optimal cost: that of the Lagrangian at fixed x, u (the envelope theorem)."""
        active, at, y = self._active, self._at, self._lagrangian.y
        bound, moved = (np.where(active.side > 0.0, each.upper, each.lower) for each in (at, change))
        total = change.cost[0] + float((self._lagrangian.lam * change.gaps).sum())
        total += float((y * (change.rows - np.where(active.side != 0.0, moved, 0.0))).sum())
        if np.any(active.slack):
            s = np.where(active.slack, active.side * (at.rows - np.where(active.slack, bound, 0.0)), 0.0)
            total += float((s * change.linear + 0.5 * s**2 * change.quadratic).sum())
        return total


def _remade(solution: Solution, approximate: bool) -> SolutionDerivatives:
    return SolutionDerivatives(solution, approximate=approximate)
