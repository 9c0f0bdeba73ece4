"""Rows of one knot that no state and control was found to satisfy together, whatever the rest of the motion does."""

from __future__ import annotations

import numpy as np

from trajopt.actions.terminal import ActionModelTerminal
from trajopt.analysis.basics import time_words
from trajopt.analysis.constraints import HELD, ConstraintRows, places_of
from trajopt.costs import CostStack
from trajopt.errors import TrajoptError
from trajopt.shooting import ShootingProblem
from trajopt.solution.solution import Solution
from trajopt.types import Reals

STARTS = 8
"""Number of states and controls from which a search begins, the first of them that of the motion [-]."""
LEFT = 0.1
"""Part of the violation of the motion's state that the best state keeps where rows contradict, 2-norms [-]."""
NOISE = 1e-2
"""Violations below this fraction of the largest one are not named [-]."""
_STEPS, _DAMPING, _STUCK = 100, 1e-3, 1e9  # iterations [-]; damping: first, and that at which a search ends


def one_knot(solution: Solution) -> str:
    """Returns a sentence if no state was found that satisfies the rows of the most violated knot; otherwise empty.

    The search minimises ½ Σ v² over the state and the control of this knot alone, where v are the violations of its
    hard rows, by Levenberg-Marquardt steps from several starts. A few starts are no proof.

    Args:
        solution: The solution, with its problem.
    """
    hard = [rows for rows in solution.description.constraints if not rows.soft]
    if solution.problem is None or solution.unknowns or not hard:
        return ""
    violations = np.concatenate([np.where(rows.enforced, rows.violations, 0.0) for rows in hard], axis=1)
    sizes = np.linalg.norm(violations, axis=1)
    knot = int(sizes.argmax())
    if not sizes[knot] > HELD:
        return ""
    try:
        with solution.as_solved() as problem:
            search = _Search(problem, knot, hard)
        left = search.least(solution)
    except TrajoptError:  # a model fails at one of the states
        return ""
    if not np.linalg.norm(left) > max(HELD, LEFT * float(sizes[knot])):
        return ""
    named = [search.titles[i] for i in np.flatnonzero(np.abs(left) > NOISE * np.abs(left).max()).tolist()]
    them = "them together" if len(named) > 1 else "it"
    return (
        f"no state was found at knot {knot}{time_words(solution, knot)} that keeps {them}, from {STARTS} guesses: "
        f"{' and '.join(named)}; move one of their bounds"
    )


class _Search:
    """Search of a state and a control that satisfy the hard rows of one knot.

    Args:
        problem: The problem, with the parameters of the solve.
        knot: Number of the knot.
        hard: Its hard constraints.
    """

    def __init__(self, problem: ShootingProblem, knot: int, hard: list[ConstraintRows]) -> None:
        last = knot == problem.T
        end = problem.terminal if last else ActionModelTerminal(CostStack(problem.state))
        self.problem = ShootingProblem(problem.x0, [] if last else [problem.running[knot]], end)
        for name in self.problem.parameters:
            self.problem.set_parameter(name, problem.get_parameter(name, [knot]), [0])
        self.knot, self.fixed = knot, knot == 0 and problem.start == "fixed"
        self.titles, self.rows = list[str](), list[int]()
        for rows in hard:
            for _, place in places_of(self.problem, rows.name):
                self.rows += range(place.start, place.stop)
                self.titles += [rows.title(i) for i in range(place.stop - place.start)]

    def least(self, solution: Solution) -> Reals:
        """Violations (m,) of the best state of all starts, each with the sign of the side."""
        state, rng, found = self.problem.state, np.random.default_rng(0), list[Reals]()
        us = solution.us[self.knot : self.knot + 1][: self.problem.T]
        for number in range(STARTS):
            size = float(number > 0)
            step = 0.0 if self.fixed else size
            x = state.integrate(solution.xs[self.knot], step * rng.standard_normal(state.ndx))
            found.append(self._descend(x, us + size * rng.standard_normal(us.shape) * np.maximum(1.0, np.abs(us))))
            if np.abs(found[-1]).max(initial=0.0) <= HELD:
                break
        return min(found, key=lambda v: float(np.nan_to_num(np.linalg.norm(v), nan=np.inf)))

    def _descend(self, x: Reals, us: Reals) -> Reals:
        """Violations (m,) after steps from a state (nx,) and a control (0 or 1, nu)."""
        state, damping = self.problem.state, _DAMPING
        v, J = self._at(x, us)
        for _ in range(_STEPS):
            H = J.T @ J
            H[np.diag_indices_from(H)] += damping * np.maximum(1.0, np.diag(H))
            step = np.linalg.solve(H, -J.T @ v)
            there = state.integrate(x, step[: state.ndx]), us + step[state.ndx :].reshape(us.shape)
            w, K = self._at(*there)
            if np.linalg.norm(w) < np.linalg.norm(v):
                (x, us), v, J, damping = there, w, K, 0.2 * damping
            else:
                damping *= 5.0
            if not np.abs(v).max(initial=0.0) > HELD or damping > _STUCK:
                break
        return v

    def _at(self, x: Reals, us: Reals) -> tuple[Reals, Reals]:
        """Violations (m,) and their derivatives by the state and the control, (m, ndx + nu)."""
        d = self.problem.calc_diff(np.tile(x, (len(us) + 1, 1)), us)
        v = (d.rows - np.clip(d.rows, d.lower, d.upper))[0, self.rows]
        by_state = np.zeros_like(d.Cx[0]) if self.fixed else d.Cx[0]
        J = np.concatenate([by_state, *d.Cu[: len(us)]], axis=1)[self.rows]
        return v, np.where(v[:, None] != 0.0, J, 0.0)
