"""States of a solve without a guess: at x0, or on the straight way to where the equations of the end hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trajopt.errors import ModelEvaluationError
from trajopt.residuals.state import ResidualModelState, whole_states
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.shooting.problem import ShootingProblem


def states_without_guess(problem: ShootingProblem) -> Reals:
    """States (T + 1, nx): x0 at each knot; with unknowns at equal steps to the end, where the models are finite there.

    A fastest motion from x0 at rest is far: an overhead crane needs 300 iterations and 11 attempts, 34 from that line.
    """
    at_rest = np.tile(problem.x0, (problem.T + 1, 1))
    if not problem.unknowns:
        return at_rest
    ahead = toward_end(problem)
    try:
        problem.calc_diff(ahead, problem.quasi_static(ahead[:-1]))
    except ModelEvaluationError:  # the way leads through the centre of an obstacle, for example
        return at_rest
    return ahead


def toward_end(problem: ShootingProblem) -> Reals:
    """States (T + 1, nx) at equal steps from x0 to the end.

    There the coordinates are those that hard equations of a `ResidualModelState` ask for, and all others as in x0.
    """
    state, x0, T = problem.state, problem.x0, problem.T
    move, first = np.zeros(state.ndx), 0
    lower, upper = (bound[T] for bound in problem.row_bounds())
    constraints = {item.name: item for item in problem.terminal.constraints.constraints}
    for block in problem.kinds[-1].row_blocks:
        item, own, first = constraints.get(block.name), slice(first, first + block.size), first + block.size
        if item is not None and item.soft is None and isinstance(item.residual, ResidualModelState):
            equal, asked = lower[own] == upper[own], np.zeros(state.ndx)
            elements = np.array(item.residual.elements)[equal]
            asked[elements] = lower[own][equal]
            reference = whole_states(problem.get_parameter(f"{item.name}.reference", T), x0)
            there = state.integrate(reference, asked)
            move[elements] = state.difference(x0, there)[elements]
    return np.array([state.integrate(x0, share * move) for share in np.linspace(0.0, 1.0, T + 1)])
