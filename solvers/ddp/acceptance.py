"""Promised decrease of a direction, and acceptance of steps along it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from trajopt.solvers.options import DDPOptions, FDDPOptions
from trajopt.types import Reals


@dataclass(slots=True)
class Promise:
    """Decrease of the cost that a direction predicts: dV(α) = α (d0 + α d1 / 2) at the step length α.

    Attributes:
        d0: Slope [cost].
        d1: Curvature [cost].
        gaps: Gaps of which a step of length α closes the part α (T + 1, ndx); None if every step closes all of them.
        Vf: Vxx f of these gaps (T + 1, ndx).
        scale: At most the scale S of the costs, see DDPOptions, or the cost of a guess with gaps [cost].
        least: Decrease that a step of DDP from a guess with gaps must bring, mostly negative [cost].
    """

    d0: float
    d1: float
    gaps: Reals | None = None
    Vf: Reals | None = None
    scale: float = 0.0
    least: float = -math.inf

    def at(self, dx: Reals) -> Promise:
        """Returns the prediction for a trial, dx = xs_try ⊖ xs (T + 1, ndx). Gaps that remain open change it."""
        if self.gaps is None or self.Vf is None:
            return self
        dv = float(np.vdot(self.Vf, dx))
        return Promise(self.d0 + dv, self.d1 - 2.0 * dv, self.gaps, self.Vf, self.scale, self.least)

    def decrease(self, length: float) -> float:
        """Predicted decrease dV of the cost at a step length [cost]."""
        return length * (self.d0 + 0.5 * length * self.d1)

    @property
    def stop(self) -> float:
        """Size of the predicted decrease for a full step, |d0 + d1 / 2| [cost]."""
        return abs(self.d0 + 0.5 * self.d1)


def negligible(options: DDPOptions, promise: Promise) -> float:
    """Size of the slope d0 below which a direction counts as stationary [cost]."""
    return options.gradient_tolerance + 1e-3 * options.relative_tolerance * promise.scale


class Acceptance(Protocol):
    """Rule that accepts or rejects a step by the predicted and the actual decrease of the cost."""

    def accepts(self, promise: Promise, expected: float, decrease: float, *, feasible: bool) -> bool:
        """Whether a step is accepted.

        Args:
            promise: The promise at the trial.
            expected: Decrease that it promises at the step's length [cost].
            decrease: Decrease that came [cost].
            feasible: Whether the trajectory before the step is a rollout.
        """


@dataclass(frozen=True)
class DDPAcceptance:
    """Accepts a step that brings a part of the predicted decrease, or `least` from a guess with gaps.

    As Crocoddyl 3.2.1.
    """

    options: DDPOptions

    def accepts(self, promise: Promise, expected: float, decrease: float, *, feasible: bool) -> bool:
        """Whether a step is accepted; arguments as in `Acceptance.accepts`."""
        if expected < 0:
            return False
        if not feasible:
            return decrease >= promise.least
        return decrease > self.options.acceptance * expected or abs(promise.d0) <= negligible(self.options, promise)


@dataclass(frozen=True)
class FDDPAcceptance:
    """Accepts steps as DDP does. While gaps close, the cost may rise by a multiple of the predicted change.

    Gaps at rounding, of a solution that is the guess, are closed whatever the cost does, as rounding decides that.

    Source: Mastalli et al., Crocoddyl, ICRA 2020, section III; as Crocoddyl 3.2.1.
    """

    options: FDDPOptions

    def accepts(self, promise: Promise, expected: float, decrease: float, *, feasible: bool) -> bool:
        """Whether a step is accepted; arguments as in `Acceptance.accepts`."""
        slight = negligible(self.options, promise)
        if expected >= 0:
            return decrease > self.options.acceptance * expected or abs(promise.d0) <= slight
        rounded = abs(promise.d0) + abs(promise.d1) < slight
        return not feasible and (rounded or decrease > self.options.negative_acceptance * expected)
