"""What a solve returns: plain data, and the record of each iteration.

The solution judges itself: `gaps` and `stationarity` are computed from the problem, never copied from the solver.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trajopt.errors import InvalidArgumentError

if TYPE_CHECKING:
    from trajopt.shooting import ShootingProblem

Reals = npt.NDArray[np.float64]


class SolverStatus(Enum):
    """Why a solver stopped; the value is the sentence that the user reads."""

    CONVERGED = "converged"
    MAX_ITERATIONS = "stopped at max_iterations: raise it, or start from a better guess"
    INDEFINITE_QUU = "Quu not positive definite at reg_max: is the control cost > 0 at every node?"
    DIVERGED = "the value function is not finite at reg_max: start from a better guess, or scale the costs"
    LINE_SEARCH_FAILED = "no step length decreased the cost at reg_max: the guess may be a minimum, or costs are not smooth"
    INFEASIBLE_GUESS = "the guess cannot be evaluated: its cost is not finite"
    TIME_LIMIT = "stopped at time_limit: the best iterate so far is returned"
    INTERRUPTED = "interrupted by the user: the best iterate so far is returned"
    STOPPED_BY_CALLBACK = "stopped by a callback: the best iterate so far is returned"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, kw_only=True)
class IterationRecord:
    """One iteration: one direction and the search along it.

    Attributes:
        iteration: Number of the iteration, from 1 [-].
        cost: Cost after the step [cost].
        stop: Stopping value |d0 + d1/2|: the decrease that the full step promises [cost].
        step_length: Accepted step length; that of the last try if none was accepted [-].
        accepted: Whether a step was accepted.
        regularization: Regularisation of the direction that was used [-].
        gap_norm: Largest gap before the step (max norm in tangent space) [-].
        expected_decrease: Decrease of the cost that the model promises at this step length [cost].
        decrease: Decrease of the cost that came [cost].
        feasible: Whether the trajectory is a rollout after the step.
        seconds: Wall time since the start of the solve [s].
    """

    iteration: int
    cost: float
    stop: float
    step_length: float
    accepted: bool
    regularization: float
    gap_norm: float
    expected_decrease: float
    decrease: float
    feasible: bool
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Solution:
    """A trajectory, its gains, and how it was found.

    Attributes:
        xs: States, shape (T + 1, nx).
        us: Controls, shape (T, nu).
        K: Feedback gains: u = us - K (x ⊖ xs), shape (T, nu, ndx).
        k: Feed-forward part of the last direction, shape (T, nu).
        Vx: Gradient of the value function, shape (T + 1, ndx) [cost].
        Vxx: Hessian of the value function, shape (T + 1, ndx, ndx) [cost].
        cost: Total cost [cost].
        status: Why the solver stopped.
        iterations: Directions computed [-].
        history: One record an iteration.
        solver: Name of the solver.
        seconds: Wall time of the solve [s].
        problem: The problem; None after `load`, until it is given there.
        parameters: Values of the problem's parameters when it was solved, by name: one row a knot that has it.
    """

    xs: Reals
    us: Reals
    K: Reals
    k: Reals
    Vx: Reals
    Vxx: Reals
    cost: float
    status: SolverStatus
    iterations: int
    history: tuple[IterationRecord, ...]
    solver: str
    seconds: float
    problem: ShootingProblem | None = field(default=None, repr=False, compare=False)
    parameters: dict[str, Reals] = field(default_factory=dict, repr=False, compare=False)

    @property
    def converged(self) -> bool:
        """Whether the solver met its stopping criterion."""
        return self.status is SolverStatus.CONVERGED
