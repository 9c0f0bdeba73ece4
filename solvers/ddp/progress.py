"""State of a solve by rollouts."""

from __future__ import annotations

from dataclasses import dataclass

from trajopt.solvers.progress import Progress
from trajopt.types import Reals


@dataclass(frozen=True)
class Rolled:
    """Trajectory of a rollout, with its cost.

    Attributes:
        trajectory: States and controls.
        cost: Cost of the trajectory [cost].
        scale: Σ|l_t|, with l_t the cost of knot t [cost].
    """

    trajectory: tuple[Reals, Reals]
    cost: float
    scale: float


@dataclass(kw_only=True)
class RolloutProgress(Progress):
    """State of a solve whose steps are rollouts.

    Attributes:
        was_feasible: Whether the last accepted step started from a rollout.
        regularization: ρ of the next direction, in units of `curvature` [-].
        expanded: Whether the derivatives are those of the trajectory.
        gap_norm: Largest gap of the trajectory that was expanded (max norm in tangent space) [-].
        first_scale: S1 of the options [cost]; 0 before there was a rollout.
        loose_tolerance: Bound of the tolerance that follows from it, or -1 [cost].
        curvature: Unit h of ρ, see the options.
        confirmed: Whether the direction was computed with the smallest ρ that gives one.
        guess_rolled_out: Rollout of the controls of a guess with gaps; None if it diverges, or is of no use.
        before: Trajectory before the last step, its cost, and whether it was a rollout; None before a step.
    """

    was_feasible: bool = False
    regularization: float = 0.0
    expanded: bool = False
    gap_norm: float = 0.0
    first_scale: float = 0.0
    loose_tolerance: float = -1.0
    curvature: float = 1.0
    confirmed: bool = False
    guess_rolled_out: Rolled | None = None
    before: tuple[tuple[Reals, Reals], float, bool] | None = None
