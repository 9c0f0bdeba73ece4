"""Result of a step of a model-predictive controller."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from trajopt.types import Reals


class MPCStatus(Enum):
    """Outcome of a step: solved, partly solved, or failed."""

    SOLVED = "solved"
    PARTIAL = "partial"
    FAILED = "failed"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, kw_only=True)
class MPCStep:
    """Result of a controller step: the control for a measured state, and the plan.

    Attributes:
        t: Time of the measurement [s].
        u: Control (nu,) within its limits, to hold until the next measurement.
        K: Gain (nu, ndx). For a state x near the measured one, u - K (x ⊖ measured) follows the optimal plan to first
            order; K is zero in directions that active constraints fix.
        xs: Planned states (N + 1, nx); the first is the measured state.
        us: Planned controls (N, nu).
        times: Time of each knot (N + 1,) [s].
        status: "solved"; "partial" if iterations or time ran out before the quadratic program was solved, or in mode
            "converged" the problem; or "failed". After a failure u follows the last plan,
            u = u_plan - K (x ⊖ x_plan), and xs and us are the rollout of this policy.
        reason: Reason why the step is not solved, and which constraint is violated at which knot; otherwise empty.
        cost: Cost of the plan [cost].
        violation: Largest violation of a constraint along the plan, including softened constraints [its unit].
        violated: Constraint row and knot of this violation, such as "cone[2] at knot 3"; empty if all hold to 1e-6.
        iterations: Iterations of the solver [-].
        preparation_time: Time that the preparation of this step took [s].
        feedback_time: Time from the measurement to the control [s].
    """

    t: float
    u: Reals
    K: Reals = field(repr=False)
    xs: Reals = field(repr=False)
    us: Reals = field(repr=False)
    times: Reals = field(repr=False)
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
        """Whether the step failed, so that the control follows the last plan."""
        return self.status is MPCStatus.FAILED
