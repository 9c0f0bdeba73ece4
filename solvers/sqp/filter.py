"""Filter of trials: a trial must improve on each entry, in the infeasibility or in the value of a function."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

MARGIN, DECREASE = 1e-5, 1e-8  # parts of the infeasibility θ by which a step must improve θ, or else φ
POWER_SLOPE, POWER_INFEASIBILITY = 2.3, 1.1  # of the switching rule
LARGEST, SMALL = 1e4, 1e-4  # infeasibilities that no step exceeds, and above which the rule is off, of the first one


@dataclass
class Filter:
    """Pairs (θ, φ) of infeasibility and function value. A trial is rejected if it is worse than one in both values.

    Source: Wächter, Biegler, On the implementation of an interior-point filter line-search algorithm, 2006, section
    2.3. With the Lagrangian as φ no second-order correction is needed: FilterDDP, arXiv:2504.08278, 2025.

    Attributes:
        first: Infeasibility at the start, but not less than 1.
        held: Infeasibility that counts as none: below it the function alone decides.
        rounding: Error of φ by rounding, relative to its size.
        entries: The pairs (θ, φ).
    """

    first: float
    held: float = 0.0
    rounding: float = 0.0
    entries: list[tuple[float, float]] = field(default_factory=list)

    def accepts(
        self, at: tuple[float, float], trial: tuple[float, float], slope: float, length: float, enough: float
    ) -> bool:
        """Whether a trial is acceptable. If this is not for its decrease alone, the point is added to the entries.

        Args:
            at: θ and φ at the start of the step.
            trial: θ and φ at the trial.
            slope: Derivative of φ along the step.
            length: Step length of the trial [-].
            enough: Largest φ that is enough of a decrease, where φ must decrease.
        """
        (theta, phi), (new_theta, new_phi) = at, trial
        error = self.rounding * max(1.0, abs(phi))
        if not (new_theta <= LARGEST * self.first and new_phi < math.inf):
            return False
        if max(theta, new_theta) <= self.held:
            return new_phi <= enough
        if any(new_theta >= least and new_phi >= most + error for least, most in self.entries):
            return False
        switches = slope < 0.0 and length * (-slope) ** POWER_SLOPE > theta**POWER_INFEASIBILITY
        if switches and theta <= SMALL * self.first:
            return new_phi <= enough
        least, most = (1.0 - MARGIN) * theta, phi - DECREASE * theta
        if new_theta > least and new_phi > most + error:
            return False
        self.entries.append((least, most))
        return True
