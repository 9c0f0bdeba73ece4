"""Outcome of a step of a model-predictive controller."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from trajopt.types import Reals


class MPCStatus(Enum):
    """Outcome of a step: a plan for this measurement, one that could be better, or none."""

    SOLVED = "solved"
    PARTIAL = "partial"
    FAILED = "failed"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, kw_only=True)
class MPCStep:
    """Control for a measured state, and the plan that it begins.

    Attributes:
        t: Time of the measurement [s].
        u: Control (nu,), within its limits, to be held until the next measurement.
        K: Gain (nu, ndx): for a state near the measured one, u - K (x ⊖ measured) within limits is the plan's answer to
            first order; zero along what active constraints hold.
        xs: Planned states (N + 1, nx); the first one is the measured one.
        us: Planned controls (N, nu).
        times: Time of each knot (N + 1,) [s].
        status: "solved"; "partial", where iterations or time were used up before the quadratic program, or under
            "converged" the problem, was solved; or "failed": u follows the last plan by its feedback,
            u = u_plan - K (x ⊖ x_plan), and xs and us are the rollout of that.
        reason: Why it is not solved, and which constraint is violated at which knot; empty if there is nothing to say.
        cost: Cost of the plan [cost].
        violation: Largest violation of a constraint along the plan, those that were softened included [its unit].
        violated: Constraint row and knot of that, such as "cone[2] at knot 3"; empty where all hold to 1e-6.
        iterations: Iterations of the solver [-].
        preparation_time: Time from the last step to where this one could take its measurement [s].
        feedback_time: Time from the measurement to the control [s].
    """

    t: float
    u: Reals
    K: Reals
    xs: Reals
    us: Reals
    times: Reals
    status: MPCStatus
    reason: str
    cost: float
    violation: float
    violated: str
    iterations: int
    preparation_time: float
    feedback_time: float

    @property
    def failed(self) -> bool:
        """Whether the control follows the last plan."""
        return self.status is MPCStatus.FAILED
