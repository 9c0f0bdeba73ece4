"""Predicted decrease in many lanes at once, as in `solvers.ddp.acceptance`, and the numbers of the rules."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trajopt.solvers.options import DDPOptions, FDDPOptions
from trajopt.types import Ints, Reals

Flags = npt.NDArray[np.bool_]


@dataclass
class Promises:
    """Decrease of the cost that the direction of each lane predicts, see `acceptance.Promise`; arrays (n,).

    Attributes:
        d0: Slope [cost].
        d1: Curvature [cost].
        scale: At most the scale S of the costs [cost].
        least: Decrease that a step of DDP from a guess with gaps must bring [cost].
        open: Whether a step of length α closes the part α of the gaps only.
    """

    d0: Reals
    d1: Reals
    scale: Reals
    least: Reals
    open: Flags

    def take(self, chosen: Ints) -> Promises:
        """Returns the predictions of chosen lanes."""
        own = self.d0[chosen], self.d1[chosen], self.scale[chosen], self.least[chosen]
        return Promises(*own, self.open[chosen])

    @property
    def stop(self) -> Reals:
        """Size of the predicted decrease for a full step [cost]."""
        return np.abs(self.d0 + 0.5 * self.d1)


@dataclass(frozen=True)
class Rules:
    """Rules of a solver.

    Attributes:
        options: Options of the solver.
        gaps: Whether a step of length α closes the part α of gaps, as in FDDP.
    """

    options: DDPOptions
    gaps: bool

    @property
    def numbers(self) -> tuple[float, ...]:
        """Numbers of the rules, see `trials.RULES`."""
        o = self.options
        negative = o.negative_acceptance if isinstance(o, FDDPOptions) else 0.0
        return o.acceptance, negative, o.gradient_tolerance, 1e-3 * o.relative_tolerance, o.step_growth
