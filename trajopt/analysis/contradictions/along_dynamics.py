"""Proofs that rows exclude each other along linear dynamics, and the bounds that resolve this if they move alone."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.analysis.basics import rounded_up, runs
from trajopt.analysis.constraints import HELD
from trajopt.analysis.contradictions.linear_rows import LinearRows
from trajopt.analysis.contradictions.proofs import EXCLUDE
from trajopt.types import Ints, Reals

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from trajopt.shooting.problem import ShootingProblem

MOST_VARIABLES = 10_000
"""Largest size of a linear program along the dynamics [-]."""
MOST_CURED = 2_500
"""Largest size of one for which the programs of single bounds are solved: each of them takes about a second [-]."""
MOST_TRIED = 4
"""Largest number of bounds that are moved alone, those of which the multipliers promise most [-]."""
MOST_CURES = 3
"""Largest number of bounds that a sentence advises to move [-]."""
INFEASIBLE = 2
"""Status of SciPy's linear programs without a solution [-]."""
SLIGHT = 1e-6
"""Multiplier that counts as none, relative to the largest one [-]."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Program:
    """Linear program over the steps z of all knots, each of state and control: A z <= b, E z = e, bounds.

    Attributes:
        A: Gradients of bounds with their sign (m, n).
        b: Distances from the bounds (m,).
        E: Equations of the dynamics (k, n).
        e: Gaps (k,).
        bounds: Bounds of the variables (n,).
        knots: Knot of each bound (m,).
        rows: Row of each bound (m,).
        sign: -1 for a lower bound, 1 for an upper one (m,).
    """

    A: csr_array
    b: Reals
    E: csr_array
    e: Reals
    bounds: list[tuple[float | None, float | None]]
    knots: Ints
    rows: Ints
    sign: Reals

    @classmethod
    def of(cls, problem: ShootingProblem, linear: LinearRows) -> Program:
        """Program of linear rows along the linear coordinates of the dynamics."""
        from scipy.sparse import coo_array

        (T, n), size = linear.follows.shape, linear.F.shape[2]
        steps = (T + 1) * size  # the control of the last knot is one without use
        t, i = np.nonzero(linear.follows)
        each = np.arange(len(t))
        row = np.concatenate([np.repeat(each, size), each])
        column = np.concatenate([(t[:, None] * size + np.arange(size)).ravel(), (t + 1) * size + i])
        value = np.concatenate([-linear.F[t, i].ravel(), np.ones(len(t))])
        sides = [linear.usable & np.isfinite(bound) for bound in (linear.below, linear.above)]
        knots, rows = (np.concatenate(places) for places in zip(*map(np.nonzero, sides)))
        sign = np.repeat([-1.0, 1.0], [np.count_nonzero(side) for side in sides])
        places = np.repeat(np.arange(len(sign)), size), (knots[:, None] * size + np.arange(size)).ravel()
        gradients = (sign[:, None] * linear.G[knots, rows]).ravel()
        return cls(
            A=coo_array((gradients, places), shape=(len(sign), steps)).tocsr(),
            b=np.concatenate([linear.below[sides[0]], linear.above[sides[1]]]),
            E=coo_array((value, (row, column)), shape=(len(t), steps)).tocsr(),
            e=linear.f[t + 1, i],
            bounds=[*_start(problem, linear), *[(None, None)] * (steps - n)],
            knots=knots,
            rows=rows,
            sign=sign,
        )

    def least(self, moves: Reals) -> Any:
        """SciPy's result for the least sum of s >= 0 (k,) with A z <= b + moves s, where moves are (m, k)."""
        from scipy.optimize import linprog
        from scipy.sparse import csr_array, hstack

        k, n = moves.shape[1], self.A.shape[1]
        A = hstack([self.A, csr_array(-moves)]).tocsr()
        E = hstack([self.E, csr_array((len(self.e), k))]).tocsr()
        cost, bounds = np.append(np.zeros(n), np.ones(k)), [*self.bounds, *[(0.0, None)] * k]
        return linprog(cost, A_ub=A, b_ub=self.b, A_eq=E, b_eq=self.e, bounds=bounds, method="highs")


def along_dynamics(problem: ShootingProblem, linear: LinearRows, *, cures: bool) -> list[str]:
    """Sentence on linear rows that exclude each other along the linear part of the dynamics; empty if they don't.

    min t over dx, du and t >= 0 with all bounds widened by t and the equations dx_{t+1} = F (dx_t, du_t) + f of those
    coordinates that are linear; others are free, so that t > 0 is a proof for all motions. The multipliers y of the
    rows have the sum 1, so a bound alone has to be widened by at least t / Σ y of its knots. By how much is enough, if
    any amount is, follows from the same program where this bound alone moves.
    """
    if not linear.follows.any() or (len(linear.follows) + 1) * linear.F.shape[2] > MOST_VARIABLES:
        return []
    program = Program.of(problem, linear)
    found = program.least(np.ones((len(program.b), 1)))
    if found.status != 0:
        return []
    y = -found.ineqlin.marginals
    if found.fun <= HELD * max(1.0, float(y @ np.abs(program.b))):
        return []
    y[y <= SLIGHT * y.max()] = 0.0
    n = problem.state.ndx
    prices = np.abs(found.lower.marginals[:n]) + np.abs(found.upper.marginals[:n])
    first = "x0" if problem.start == "fixed" else "the bounds of the start"
    others = [first] * bool((prices > SLIGHT * y.max()).any())
    places, candidates = _places(linear, program, found.fun, y)
    named = " and ".join([*dict.fromkeys(places), *others])
    advice = _cures(linear, program, candidates) if cures else "relax them"
    return [f"constraints {named}: {EXCLUDE} along the linear dynamics; {advice}"]


def _start(problem: ShootingProblem, linear: LinearRows) -> list[tuple[float | None, float | None]]:
    """Bounds of the first step (ndx,): those of the start."""
    state, start = problem.state, problem.start
    if start == "fixed":
        return [(gap, gap) for gap in linear.f[0].tolist()]
    bounds: list[tuple[float | None, float | None]] = [(None, None)] * state.ndx
    if not isinstance(start, str):
        at = state.difference(state.zero(), linear.at[0][0])
        for i in np.flatnonzero(~np.asarray(state.curved_directions)):
            bounds[i] = float(start[0][i] - at[i]), float(start[1][i] - at[i])
    return bounds


@dataclass(frozen=True, kw_only=True)
class _Bound:
    """A bound that may move alone.

    Attributes:
        row: Number of the row.
        side: -1 for a lower bound, 1 for an upper one, 0 for the value of an equation.
        name: Text such as "the upper bound of path[x]".
        unit: Unit with a space before it; empty without one.
        size: Size of the bound, at least 1.
        least: Distance by which it has to move at least.
    """

    row: int
    side: float
    name: str
    unit: str
    size: float
    least: float

    def words(self, distance: float) -> str:
        """Text with a distance, rounded up to three digits."""
        return f"{self.name} by {rounded_up(distance)}{self.unit}"


def _places(linear: LinearRows, program: Program, least: float, y: Reals) -> tuple[list[str], list[_Bound]]:
    """Rows with their knots, of multipliers y of bounds, and the bounds to move, the smallest distance first."""
    places, candidates = list[str](), dict[str, _Bound]()
    each = zip(program.rows.tolist(), program.sign.tolist(), program.knots.tolist(), y.tolist())
    used = sorted(bound for bound in each if bound[3])
    for (row, side), group in groupby(used, key=lambda each: each[:2]):
        own, number = linear.rows[row]
        at, weights = zip(*((knot, weight) for _, _, knot, weight in group))
        title, unit = own.title(number), f" {own.units[number]}" if own.units[number] else ""
        places.append(f"{title} at knot{'s' * (len(at) > 1)} {runs(np.array(at))}")
        far = least / float((np.array(weights) / linear.sizes[list(at), row]).sum())
        equation = bool(own.equations[at[0], number])
        name = f"the {'value' if equation else 'upper bound' if side > 0 else 'lower bound'} of {title}"
        size = max(1.0, abs(float((own.upper if side > 0 else own.lower)[at[0], number])))
        bound = _Bound(row=row, side=0.0 if equation else side, name=name, unit=unit, size=size, least=far)
        if name not in candidates or far < candidates[name].least:
            candidates[name] = bound
    return places, sorted(candidates.values(), key=lambda each: each.least / each.size)


def _cures(linear: LinearRows, program: Program, candidates: list[_Bound]) -> str:
    """Advice on the bounds that help if they move alone, and by how much; that none does, or a least distance."""
    move, tried = "move one of them with problem.set_parameter", candidates[:MOST_TRIED]
    small = program.A.shape[1] <= MOST_CURED
    distances = [_alone(linear, program, each) if small else np.nan for each in tried]
    if np.any(np.isnan(distances)):
        bounds = ", or ".join(each.words(each.least) for each in candidates[:MOST_CURES])
        return f"{move}, alone by at least, which may not be enough: {bounds}"
    helping = sorted((float(f"{far / x.size:.6g}"), x.words(far)) for x, far in zip(tried, distances) if far < np.inf)
    if not helping and len(tried) == len(candidates):
        return "no single one of them is enough: relax several with problem.set_parameter"
    if not helping:
        names = ", ".join(each.name for each in tried)
        return f"none of these is enough alone: {names}; relax several with problem.set_parameter"
    words = ", or ".join(each for _, each in helping[:MOST_CURES])
    if linear.complete:
        return f"{move}; enough alone: {words}"
    return f"{move}, alone by at least, or further for what is not linear: {words}"


def _alone(linear: LinearRows, program: Program, bound: _Bound) -> float:
    """Least distance by which a bound moves at all its knots while others stay; inf if none is enough, NaN unknown."""
    own = program.rows == bound.row
    away = np.where(own, 1.0 / linear.sizes[program.knots, program.rows], 0.0)
    if bound.side:
        moves = np.where(program.sign == bound.side, away, 0.0)[:, None]
    else:  # a value moves up or down
        moves = np.stack([away * program.sign, -away * program.sign], axis=1)
    found = program.least(moves)
    if found.status == INFEASIBLE:
        return np.inf
    return float(found.fun) if found.status == 0 and found.fun > 0.0 else np.nan
