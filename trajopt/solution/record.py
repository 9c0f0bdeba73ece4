"""Why a solver stopped, and the record of one iteration: plain data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class SolverStatus(Enum):
    """Why a solver stopped; the value is the sentence that the user reads."""

    CONVERGED = "converged"
    MAX_ITERATIONS = "stopped at max_iterations: raise it, or start from a better guess"
    INDEFINITE_QUU = "Quu not positive definite at reg_max: is the control cost > 0 at every node?"
    DIVERGED = "the value function is not finite at reg_max: start from a better guess, or scale the costs"
    LINE_SEARCH_FAILED = (
        "no step length decreased the cost at reg_max: the guess may be a minimum, or costs are not smooth"
    )
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
