"""Second-order directions of DDP and FDDP: the exact Hessian of the Lagrangian, as far as it is convex."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from trajopt.shooting.evaluator import Evaluator
from trajopt.shooting.lagrangian import LagrangianHessian
from trajopt.solvers.linear_quadratic import LinearQuadratic
from trajopt.solvers.options import DDPOptions
from trajopt.solvers.riccati import Failure, Riccati, RiccatiOutcome
from trajopt.solvers.searches import Step
from trajopt.solvers.sqp.hessian import BlendedHessian

BLENDS = (1.0, 0.5, 0.25, 0.125)
"""Parts θ of the exact Hessian that are tried: of 108 arm reaches 101 are solved with them, 100 with 1/16 and 1/32 too
(seeds from 2,000 on), and with 1 alone two in 72 fewer."""
POOR = 0.25
"""Part of the promised decrease below which a step shows that the cost is more curved than Gauss-Newton's."""
FIRST_RIDGE = 1e-4
"""First ρ of an exact direction whose steps fail, in units of h."""
TRIES = 2
"""Parts that are tried in one iteration: one above the last that was positive definite, and that one."""
PAUSE = 1
"""Pause after an attempt that failed [iterations]."""
ENOUGH = 28
"""Short steps from which on auto tries exact Hessians, and parabolas. From the first one on, about as many solves
converge, in two thirds of the iterations, but an iteration takes twice the time: solves that Gauss-Newton ends get
slower by half."""


class Patience:
    """Leaves out the next attempts, PAUSE of them, after one that failed."""

    def __init__(self) -> None:
        self._left = 0

    def is_due(self) -> bool:
        """Whether it is time for an attempt; counts those that are left out."""
        self._left -= 1
        return self._left < 0

    def learn(self, *, success: bool) -> None:
        """Takes the outcome of an attempt."""
        self._left = 0 if success else PAUSE


class ExactDirection:
    """Gains with θ H + (1 - θ) H_GN, H the Hessian of the Lagrangian with multipliers λ = Vx of the Gauss-Newton pass.

    With λ = Vx, the gradient of the cost under that pass's policy, H is that of the cost of policy rollouts; costates
    of open loop are of no use there.

    Args:
        evaluator: Whose trajectory it is; its models have Hessians of the Lagrangian.

    Attributes:
        riccati: The recursion on it.
    """

    def __init__(self, evaluator: Evaluator) -> None:
        self._hessian = LagrangianHessian(evaluator)
        self._hessian.prepare()
        lq = LinearQuadratic.of(evaluator)
        own = replace(lq, H=np.zeros_like(lq.H), terminal_H=np.zeros_like(lq.terminal_H))
        self._blended = BlendedHessian(evaluator, self._hessian, own, 0)
        self.riccati = Riccati(own)
        self.begin()

    def begin(self) -> None:
        """Begins a solve: the whole Hessian is tried first."""
        self._first = 0

    def factor(self, lam: np.ndarray, ridge: float, options: DDPOptions) -> tuple[float, RiccatiOutcome | None]:
        """A part θ with positive definite pivots, and its pass; 0 and None if there is none among those tried.

        First comes the one above the last that had them, or the smallest after a failure.

        Args:
            lam: Multipliers λ (T + 1, ndx).
            ridge: ρ of this pass [cost].
            options: Those of the solve.
        """
        self._hessian.lam[:] = lam
        self._hessian()
        for number in range(self._first, min(self._first + TRIES, len(BLENDS))):
            self._blended.blend(BLENDS[number], 1.0, 0.0)
            outcome = self.riccati.factor(
                ridge, feasible=True, regularize_value=options.regularize_value, fill=self._blended.ready
            )
            if outcome.failure is None:
                self._first = max(0, number - 1)
                return BLENDS[number], outcome
            if outcome.failure is Failure.NOT_FINITE:
                break
        self._first = len(BLENDS) - 1
        return 0.0, None


class Curvature:
    """Decides which directions are exact: none, all that can be, or those after steps have shown that it is worth it.

    Args:
        evaluator: Whose trajectory it is.
        options: `hessian` of them is followed.

    Attributes:
        blend: θ of the last direction [-].
        ridge: ρ of the next exact direction, in units of h [-].
        available: Whether the options allow exact directions, and the models have them.
        bends: When to try a step along a parabola, once it is worth it.
    """

    def __init__(self, evaluator: Evaluator, options: DDPOptions) -> None:
        self._evaluator, self._options = evaluator, options
        asked = options.hessian == "exact"
        self.available = options.hessian != "gauss-newton" and LagrangianHessian.available(evaluator, asked=asked)
        self._exact: ExactDirection | None = None
        self.begin()

    def begin(self) -> None:
        """Begins a solve."""
        self._short = ENOUGH if self._options.hessian == "exact" else 0
        if self._exact is not None:
            self._exact.begin()
        self.blend, self.ridge = 0.0, 0.0
        self._attempts, self.bends = Patience(), Patience()
        self._kept = self._evaluator.k, self._evaluator.K

    @property
    def engaged(self) -> bool:
        """Whether it is worth its time now."""
        return self.available and self._short >= ENOUGH

    def prepare(self) -> None:
        """Compiles what "exact" needs."""
        if self._options.hessian == "exact":
            self._made()

    def _made(self) -> ExactDirection:
        if self._exact is None:
            self._exact = ExactDirection(self._evaluator)
        return self._exact

    def direction(self, gauss_newton: Riccati, outcome: RiccatiOutcome, unit: float) -> tuple[RiccatiOutcome, float]:
        """The exact direction in the evaluator's k and K, or the Gauss-Newton one that is there.

        Args:
            gauss_newton: Its recursion, whose Vx are the multipliers.
            outcome: Its outcome.
            unit: h of the options.

        Returns:
            The outcome, and the seconds that compiling took.
        """
        self.blend = 0.0
        if not (self.engaged and self._attempts.is_due()):
            return outcome, 0.0
        begun = time.perf_counter()
        exact = self._made()
        seconds = time.perf_counter() - begun
        self.blend, found = exact.factor(gauss_newton.Vx, self.ridge * unit, self._options)
        self._attempts.learn(success=found is not None)
        if found is None:
            return outcome, seconds
        e = self._evaluator
        self._kept = e.k.copy(), e.K.copy()
        e.k[:], e.K[:] = exact.riccati.k, exact.riccati.K
        return found, seconds

    def go_back(self) -> None:
        """Takes the Gauss-Newton direction in place of the exact one."""
        self._evaluator.k[:], self._evaluator.K[:] = self._kept
        self.blend = 0.0

    def judge(self, step: Step) -> None:
        """Learns from a step: auto takes exact directions after ENOUGH that were cut short."""
        o = self._options
        if shortened(step) or step.decrease < POOR * step.expected:
            self._short += 1
        if self.blend > 0.0:
            if step.accepted and step.length > o.good_step:
                lower = self.ridge / o.regularization_decrease
                self.ridge = lower if lower >= o.min_regularization else 0.0
            elif not step.accepted or step.length <= o.bad_step:
                self.ridge = max(self.ridge * o.regularization_increase, FIRST_RIDGE)

    @property
    def riccati(self) -> Riccati | None:
        """The recursion of the last direction if it was exact."""
        return self._exact.riccati if self._exact is not None and self.blend > 0.0 else None


def shortened(step: Step) -> bool:
    """Whether a step was cut short, or there was none."""
    return not step.accepted or step.length < 1.0
