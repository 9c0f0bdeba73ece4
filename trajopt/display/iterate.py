"""A trajectory that is not solved yet, in the form that views need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trajopt.shooting import ShootingProblem
from trajopt.solution.described import DescribedMotion
from trajopt.types import Reals


@dataclass(frozen=True, kw_only=True, eq=False)
class ShownIterate(DescribedMotion):
    """A trajectory of a problem for bodies and paths; nothing is evaluated, so a solve can continue meanwhile.

    Attributes:
        problem: The problem.
        xs: States (T + 1, nx).
        times: Time of each knot (T + 1,) [s]; None if the problem has no times.
        parameters: Values of the problem's parameters by name.
        status: None, since the trajectory is not a result.
        measured: Empty, since nothing was measured.
    """

    problem: ShootingProblem
    xs: Reals
    times: Reals | None
    parameters: Mapping[str, Reals] = field(repr=False)
    status: None = None
    measured: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def at_rest(cls, problem: ShootingProblem) -> ShownIterate:
        """Returns a trajectory with the first state at all knots."""
        xs = np.tile(problem.x0, (problem.T + 1, 1))
        return cls(problem=problem, xs=xs, times=problem.times, parameters=problem.parameter_values())
