"""Reasons why a solver stops, and the record of one iteration."""

from __future__ import annotations

import math
import weakref
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from enum import Enum
from typing import Any

from trajopt.errors import UnsupportedOperationError
from trajopt.objects.attributes import ExplainsAttributes
from trajopt.types import Reals


class SolverStatus(Enum):
    """Why a solver stopped. The value is a short message for the user; `Solution.explain` says more.

    A status equals its name, so `batch.status == SolverStatus.CONVERGED` selects rows of a `SolutionBatch`.
    """

    CONVERGED = "converged"
    MAX_ITERATIONS = "stopped at max_iterations"
    INDEFINITE_QUU = "Quu not positive definite: is the control cost > 0 at every knot, and the guess near a motion?"
    DIVERGED = "the value function is not finite at max_regularization: start from a better guess, or scale the costs"
    UNBOUNDED = "the cost is unbounded below: does every cost term have a minimum?"
    LINE_SEARCH_FAILED = (
        "no step length decreased the cost at max_regularization: the guess may be a minimum, or costs are not smooth"
    )
    INFEASIBLE = (
        "no small step reduces the constraint violation: constraints contradict one another, a limit is too tight, or "
        "the guess is poor"
    )
    STALLED = (
        "no attempt meets all constraints, and they end at different violations: start from another guess, or "
        "relax a limit"
    )
    TIME_LIMIT = "stopped at time_limit"
    INTERRUPTED = "interrupted by the user: the best iterate so far is returned"
    STOPPED_BY_CALLBACK = "stopped by a callback: the best iterate so far is returned"
    UNSOLVED = "a motion that no solver computed"

    def __str__(self) -> str:
        return self.value

    def __eq__(self, other: object) -> bool:
        return other == self.name if isinstance(other, str) else NotImplemented  # then members are compared by identity

    def __hash__(self) -> int:
        return hash(self.name)


@dataclass(frozen=True, kw_only=True)
class IterationRecord(ExplainsAttributes):
    """One iteration of any solver; a column that the solver does not compute is NaN.

    Attributes:
        iteration: Number of the iteration, from 1 [-].
        cost: Cost after the step [cost].
        seconds: Wall time since the start of the solve [s].
        feasible: Whether the trajectory after the step is a rollout, without gaps.
        accepted: Whether a step was accepted.
        stop: Stopping value; for DDP and FDDP |d0 + d1/2|, the predicted decrease of the full step [cost].
        step_length: Accepted step length; the last one tried if none was accepted [-].
        regularization: Regularisation of the direction [-].
        gap_norm: Largest gap before the step (max norm in tangent space) [-].
        expected_decrease: Decrease of the cost that the model predicts for this step length [cost].
        decrease: Actual decrease of the cost [cost].
        constraint_violation: Largest violation of a constraint after the step (max norm) [-].
        complementarity: Largest product of a multiplier and its slack after the step [-].
        blend: Fraction θ of the exact Hessian in the Hessian of the step: 0 is Gauss-Newton, 1 is exact [-].
        bent: Whether the step followed a parabola (geodesic acceleration); no solver of the package takes such steps.
        method: Method of SolverSQP that took the step: "policy", "linear" or "interior"; empty for other solvers.
        attempt: Number of the attempt of SolverSQP, which begins from another guess or by another method, from 1.
        nonfinite_trial: Knot, state (nx,) and control (nu,) at which the first trial with infinite or NaN numbers left
            the domain of a cost or of the dynamics; None if every trial was finite. It is not saved.
    """

    methods_explain = ()  # solvers create one in each iteration, see `trajopt.objects.calls`

    iteration: int
    cost: float
    seconds: float
    feasible: bool = True
    accepted: bool = True
    stop: float = math.nan
    step_length: float = math.nan
    regularization: float = math.nan
    gap_norm: float = math.nan
    expected_decrease: float = math.nan
    decrease: float = math.nan
    constraint_violation: float = math.nan
    complementarity: float = math.nan
    blend: float = math.nan
    bent: bool = False
    method: str = ""
    attempt: int = 1
    nonfinite_trial: tuple[int, Reals, Reals] | None = field(default=None, repr=False, compare=False)
    kept: tuple[weakref.ref[Reals], weakref.ref[Reals]] | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, columns: Mapping[str, Any]) -> IterationRecord:
        """Builds `IterationRecord(**columns)` four times faster: solvers create one in each iteration."""
        record = object.__new__(cls)
        object.__setattr__(record, "__dict__", {**_DEFAULTS, **columns})
        return record

    @property
    def trajectory(self) -> tuple[Reals, Reals]:
        """Copies of the states (T + 1, nx) and controls (T, nu) after the step; available in callbacks only.

        Raises:
            UnsupportedOperationError: The solver has gone on to another iteration; it keeps the latest trajectory
                only.
        """
        xs, us = (ref() for ref in self.kept) if self.kept else (None, None)
        if xs is None or us is None:
            raise UnsupportedOperationError(
                f"trajectory: that of iteration {self.iteration} is not kept; read record.trajectory within a callback"
            )
        return xs.copy(), us.copy()

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "kept": None}


_DEFAULTS: dict[str, Any] = {f.name: f.default for f in fields(IterationRecord) if f.default is not MISSING}

COLUMNS = tuple(f.name for f in fields(IterationRecord) if f.name not in ("kept", "nonfinite_trial"))
"""Names of the numeric fields of a record, which files store."""
