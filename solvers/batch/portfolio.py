"""Portfolio: one problem from several guesses, of which the best solution is returned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trajopt.analysis.gaps import infeasibility
from trajopt.errors import TrajoptError, UnsupportedOperationError
from trajopt.shooting.at_rest_lanes import controls_of_rows
from trajopt.solution import Solution, SolutionBatch
from trajopt.solution.batch import ERROR
from trajopt.solvers.ways import states_around
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.shooting import ShootingProblem
    from trajopt.solvers.base import SolverAbstract

SPREADS = (0.3, 1.0)
"""Sizes of random guesses, in turns: states in tangent space [-]."""
FAR = 10.0
"""How far unknowns of starts are from the first values: largest ratio of positive ones; bounds may be wide [-]."""
MANY = 64
"""Number of starts from which on lanes are faster than one start after the other: an iteration of few lanes takes ten
times as long as that of one solve, and the slowest start has many."""
SAME = 1e-6
"""Costs that differ by less, relative to the larger one, are the same optimum; smaller violations are none [-]."""


def guesses(problem: ShootingProblem, xs: Reals, us: Reals, starts: int, seed: int) -> tuple[Reals, Reals]:
    """Guesses of states (starts, T + 1, nx) and controls (starts, T, nu).

    The first is the one that was passed, (T + 1, nx) and (T, nu). Then come a way around circles in the plane, the
    rollout of its controls, x0 at rest with the controls that hold it, and the rollout of no control, as far as they
    exist and differ; then random states xs[t] ⊕ s sin(π t / T) d with d ~ N(0, 1) in positions and the controls that
    hold them.
    """
    rest = np.tile(problem.x0, (problem.T + 1, 1))
    found, way = [(xs, us)], states_around(problem, xs)
    around = None if way is None else _held(problem, way) or (way, us)
    for candidate in (around, _rolled(problem, us), _held(problem, rest), _rolled(problem, np.zeros_like(us))):
        if candidate is not None and not any(_same(candidate, other) for other in found):
            found.append(candidate)
    rng, state = np.random.default_rng(seed), problem.state
    while len(found) < starts:
        direction = rng.standard_normal(state.ndx)
        direction[getattr(state, "nv", state.ndx) :] = 0.0
        steps = SPREADS[len(found) % 2] * np.sin(np.pi * np.arange(problem.T + 1) / max(problem.T, 1))
        states = np.array([state.integrate(x, step * direction) for x, step in zip(xs, steps)])
        found.append(_held(problem, states) or (states, us))
    return np.array([pair[0] for pair in found[:starts]]), np.array([pair[1] for pair in found[:starts]])


def unknowns_of(problem: ShootingProblem, known: Mapping[str, Reals], starts: int, seed: int) -> dict[str, Reals]:
    """First values of unknown parameters by name, for each start at each knot that has them, (starts, n, *shape).

    The first start has the known values θ, by default those of the problem. The others draw from equal parts of the
    range between the bounds, a part each. If the lower bound is positive, these are parts of logarithms, and the range
    is from θ / 10 to 10 θ at most; else it ends 1 or |θ| away from θ, whichever is more, at bounds ten times as far.
    """
    freed = problem.freed()
    if freed is None:
        return {}
    theta, rng, parts = freed.flat(known), np.random.default_rng([seed, 1]), starts - 1
    lower, upper = (np.concatenate(each) for each in zip(*(unknown.bounds for unknown in freed.unknowns.values())))
    reach, positive = np.maximum(1.0, np.abs(theta)), lower > 0.0
    farther = [np.where(np.isfinite(bound), FAR, 1.0) * reach for bound in (lower, upper)]
    low = np.maximum(lower, np.where(positive, theta / FAR, theta - farther[0]))
    high = np.minimum(upper, np.where(positive, theta * FAR, theta + farther[1]))
    drawn = [_between(*pair, (rng.permutation(parts) + rng.random(parts)) / parts) for pair in zip(low, high)]
    values = [freed.parameters_at(freed.flat(freed.shaped(row))) for row in (theta, *np.transpose(drawn))]
    return {name: np.array([each[name] for each in values]) for name in freed.unknowns}


def _between(low: float, high: float, shares: Reals) -> Reals:
    """Numbers at shares (n,) of the way between two, of that between their logarithms if they are positive."""
    return low * (high / low) ** shares if low > 0.0 else low + shares * (high - low)


def _rolled(problem: ShootingProblem, us: Reals) -> tuple[Reals, Reals] | None:
    try:
        return problem.rollout(us), us
    except TrajoptError:
        return None


def _held(problem: ShootingProblem, states: Reals) -> tuple[Reals, Reals] | None:
    """States and the controls that hold them, in lanes where the models allow it."""
    controls = controls_of_rows(problem, states[None, :-1])
    if controls is not None:
        return states, controls[0]
    try:
        return states, problem.quasi_static(states[:-1])
    except TrajoptError:
        return None


def _same(a: tuple[Reals, Reals], b: tuple[Reals, Reals]) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(a, b))


def best_of(solutions: SolutionBatch) -> Solution:
    """The converged solution with the lowest cost, with the optima of all and how each start ended.

    If none converged, it is the solution that violates dynamics and constraints least; of equal ones the cheapest.

    Raises:
        UnsupportedOperationError: All solves raised errors.
    """
    begun = np.flatnonzero(np.isfinite(solutions.cost))
    if not len(begun):
        raise UnsupportedOperationError(f"solve: none of {len(solutions)} starts has a solution: {solutions.error[0]}")
    good = begun[solutions.converged[begun]]
    missed = {int(i): infeasibility(solutions[int(i)]) for i in begun if not solutions.converged[i]}
    if len(good):
        best = int(good[np.argmin(solutions.cost[good])])
    else:
        best = min(missed, key=lambda i: (max(SAME, missed[i]), solutions.cost[i]))
    seconds = float(np.nansum(solutions.seconds))
    return replace(
        solutions[best], seconds=seconds, optima=_optima(solutions.cost[good]), ends=_ends(solutions, begun, missed)
    )


def _ends(
    solutions: SolutionBatch, begun: npt.NDArray[np.intp], missed: Mapping[int, float]
) -> tuple[tuple[str, int, float], ...]:
    """Outcomes of the starts, the most frequent first: status, number of starts, lowest cost of a feasible motion.

    `missed` is what those that have not converged miss, see `infeasibility`. The cost of states and controls that
    violate dynamics or constraints is none of a motion.
    """
    names = np.array([status if i in begun or status == ERROR else "" for i, status in enumerate(solutions.status)])
    costs = np.where(np.isfinite(solutions.cost), solutions.cost, np.inf)
    costs[[i for i, size in missed.items() if size > SAME]] = np.inf
    found = [(name, count, float(costs[names == name].min())) for name, count in Counter(names.tolist()).most_common()]
    return tuple((name, count, cost if np.isfinite(cost) else np.nan) for name, count, cost in found)


def _optima(costs: Reals) -> tuple[tuple[float, int], ...]:
    """Cost of each distinct optimum and the number of starts that lead to it, the lowest first."""
    found: list[list[Any]] = []
    for cost in np.sort(costs):
        if found and abs(cost - found[-1][0]) <= SAME * max(abs(cost), abs(found[-1][0])):
            found[-1][1] += 1
        else:
            found.append([float(cost), 1])
    return tuple((cost, count) for cost, count in found)


def solve_from(
    solver: SolverAbstract[Any], xs: Any, us: Any, is_feasible: bool = False, *, starts: int, seed: int
) -> Solution:
    """Solves a solver's problem from several guesses, see `SolverAbstract.solve`."""
    from trajopt.solvers.batch.race import can_race, race
    from trajopt.solvers.batch.results import BatchResults
    from trajopt.solvers.batch.rows import BatchRows
    from trajopt.solvers.batch.solve import solve_rows

    known = xs.unknowns if isinstance(xs, Solution) else {}
    if isinstance(xs, Solution):
        xs, us = xs.xs, xs.us if us is None else us
    states, controls, _ = solver._guess(xs, us, is_feasible)
    states, controls = guesses(solver.problem, states, controls, starts, seed)
    if starts < MANY and can_race(solver):
        results, rows = BatchResults(solver.problem, starts), BatchRows(solver.problem, None, None, states, controls)
        race(solver, states, controls, results)
        return best_of(results.batch(rows, type(solver).__name__, solver.problem.parameter_values()))
    x0 = np.tile(solver.problem.x0, (starts, 1))
    lanes = starts >= MANY
    parameters = unknowns_of(solver.problem, known, starts, seed)
    solutions = solve_rows(solver, x0, parameters, states, controls, time_limit=None, progress=False, lanes=lanes)
    return best_of(solutions)
