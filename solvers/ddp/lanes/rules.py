"""Predicted decrease and acceptance of DDP and FDDP for many lanes at once; formulas as in `solvers.ddp.acceptance`."""

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

    def at(self, dv: Reals) -> Promises:
        """Returns the prediction for trials with dv = Σ V f · dx (n,), where gaps remain open."""
        more = np.where(self.open, dv, 0.0)
        return Promises(self.d0 + more, self.d1 - 2.0 * more, self.scale, self.least, self.open)

    def take(self, chosen: Ints) -> Promises:
        """Returns the predictions of chosen lanes."""
        own = self.d0[chosen], self.d1[chosen], self.scale[chosen], self.least[chosen]
        return Promises(*own, self.open[chosen])

    def decrease(self, lengths: Reals) -> Reals:
        """Predicted decrease of the cost at step lengths (n,) [cost]."""
        return lengths * (self.d0 + 0.5 * lengths * self.d1)

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

    def accepts(self, promises: Promises, expected: Reals, decrease: Reals, feasible: Flags) -> Flags:
        """Whether the step of each lane is accepted, see `DDPAcceptance` and `FDDPAcceptance`."""
        o = self.options
        negligible = o.gradient_tolerance + 1e-3 * o.relative_tolerance * promises.scale
        enough = (decrease > o.acceptance * expected) | (np.abs(promises.d0) <= negligible)
        if self.gaps:
            assert isinstance(o, FDDPOptions)
            rising = ~feasible & (decrease > o.negative_acceptance * expected)
            return np.where(expected >= 0, enough, (expected < 0) & rising)
        return ~(expected < 0) & np.where(feasible, enough, decrease >= promises.least)
