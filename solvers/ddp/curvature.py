"""Second-order directions of the DDP family: the exact Hessian of the Lagrangian, as far as it is convex."""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np

from trajopt.shooting.evaluator import Evaluator
from trajopt.shooting.lagrangian import LagrangianHessian
from trajopt.solvers.ddp.backward_pass import BackwardPass
from trajopt.solvers.ddp.searches import EXCESS, LineStep
from trajopt.solvers.options import DDPOptions
from trajopt.solvers.riccati.blended_hessian import BlendedHessian
from trajopt.solvers.riccati.linear_quadratic import LinearQuadratic
from trajopt.solvers.riccati.riccati import Riccati, RiccatiFailure, RiccatiOutcome

BLENDS = (1.0, 0.5, 0.25, 0.125)
"""Parts θ of the exact Hessian that are tried: smaller ones solve no more arm reaches, and 1 alone two in 72 fewer."""
POOR = 0.25
"""Part of the promised decrease below which a step shows that the cost is more curved than Gauss-Newton's."""
FIRST_RIDGE = 1e-4
"""First ρ of an exact direction whose steps fail, in units of h."""
TRIES = 2
"""Parts that are tried in one iteration: one above the last that was positive definite, and that one."""
ENOUGH = 24
"""Short or poor steps from which on auto tries exact Hessians. From the sixth one on as many solves converge, in
less iterations, but an iteration takes twice the time, and solves that Gauss-Newton ends get slower."""
FAR, STEADY = 16, 3
"""Full Gauss-Newton steps that are still to come at the present rate, and steps in a row that say so, from which on
auto tries exact Hessians. They take about six steps then, each of the price of three."""
EAGER = 1.1
"""A full step that brings so many times what it promised is tried longer once exact Hessians are tried: the way to the
end gets flatter there for long. Of 108 reaches 99 are solved, 96 with the search's own."""
BAD = 0.125
"""Step length from which down ρ grows once exact Hessians are tried: at 1/16 and 1/32 for good, Gauss-Newton crawls."""


class ExactDirection:
    """Gains with θ H + (1 - θ) H_GN, H the Hessian of the Lagrangian with the multipliers of the Gauss-Newton step.

    These are λ = Vx + Vxx dx, and the gradients of the end's cost in its residuals after the step dx, to first order,
    see `LagrangianHessian`. Where a heavy goal bends the way, those of the trajectory itself tell how far it is from
    that bend, and change with every step.

    Args:
        evaluator: Evaluator with the trajectory; its models have Hessians of the Lagrangian.
        gauss_newton: The pass of Gauss-Newton's direction.

    Attributes:
        riccati: The recursion on it.
    """

    def __init__(self, evaluator: Evaluator, gauss_newton: BackwardPass) -> None:
        step = gauss_newton.riccati.step
        self._gauss_newton, self._hessian = gauss_newton, LagrangianHessian(evaluator, lam=step.lam, dx=step.dx)
        self._hessian.prepare()
        _ = gauss_newton.riccati.native  # compiles its forward pass
        lq = LinearQuadratic.of(evaluator)
        own = replace(lq, H=np.zeros_like(lq.H), terminal_H=np.zeros_like(lq.terminal_H))
        self._blended = BlendedHessian(evaluator, self._hessian, own, 0)
        self._pass = gauss_newton.of(own)
        self.riccati = self._pass.riccati
        self.begin()

    def begin(self) -> None:
        """Begins a solve: the next `factor` first tries θ = 1, the whole exact Hessian."""
        self._first = 0

    def factor(self, ridge: float, options: DDPOptions) -> tuple[float, RiccatiOutcome | None]:
        """Returns the largest part θ that was tried with positive definite pivots, and its backward pass.

        Without such a part it returns 0 and None.

        First comes the one above the last that had them, or the smallest after a failure.

        Args:
            ridge: ρ of this pass [cost].
            options: Options of the solve.
        """
        self._gauss_newton.forward()
        self._hessian(ahead=True)
        for number in range(self._first, min(self._first + TRIES, len(BLENDS))):
            self._blended.blend(BLENDS[number], 1.0, 0.0)
            on_value, fill = options.regularize_value, self._blended.ready
            outcome = self._pass(ridge, feasible=True, regularize_value=on_value, fill=fill)
            if outcome.failure is None:
                self._first = max(0, number - 1)
                return BLENDS[number], outcome
            if outcome.failure is RiccatiFailure.NOT_FINITE:
                break
        self._first = len(BLENDS) - 1
        return 0.0, None


class Curvature:
    """Decides for each direction whether it uses the exact Hessian or Gauss-Newton's.

    Args:
        evaluator: Evaluator with the trajectory.
        gauss_newton: The pass of Gauss-Newton's direction.
        options: `hessian` of them is followed.

    Attributes:
        blend: θ of the last direction [-].
        ridge: ρ of the next exact direction, in units of h [-].
        available: Whether the options allow exact directions, and the models have them.
    """

    def __init__(self, evaluator: Evaluator, gauss_newton: BackwardPass, options: DDPOptions) -> None:
        self._evaluator, self._gauss_newton, self._options = evaluator, gauss_newton, options
        self._border = gauss_newton.border
        asked = options.hessian == "exact"
        self.available = options.hessian != "gauss-newton" and LagrangianHessian.available(evaluator, asked=asked)
        self._exact: ExactDirection | None = None
        self.begin()

    def begin(self) -> None:
        """Resets what was learned from the steps of the previous solve."""
        self._crawled, self._promised = ENOUGH if self._begins_exact else 0, np.inf
        if self._exact is not None:
            self._exact.begin()
        self.blend, self.ridge, self._steady = 0.0, 0.0, 0
        self._tried, self._beaten, self._pause = False, 0, 0
        self._kept = self._evaluator.k, self._evaluator.K
        self._chosen = None if self._border is None else self._border.chosen

    @property
    def engaged(self) -> bool:
        """Whether exact directions are computed now: they are available, and earlier steps were short or poor."""
        return self.available and self._crawled >= ENOUGH

    @property
    def bad_step(self) -> float:
        """Step length [-] at or below which the regularisation ρ grows."""
        return max(BAD, self._options.bad_step) if self.engaged else self._options.bad_step

    @property
    def excess(self) -> float:
        """Factor by which a decrease must exceed the prediction for a full step to be tried longer [-]."""
        return EAGER if self.engaged else EXCESS

    def prepare(self) -> None:
        """Compiles the exact Hessian if the solve begins with it."""
        if self._begins_exact:
            self._made()

    @property
    def _begins_exact(self) -> bool:
        """Whether the first direction is exact: Gauss-Newton's Hessian has no curvature along unknowns."""
        return self._options.hessian == "exact" or (self.available and self._border is not None)

    def _made(self) -> ExactDirection:
        if self._exact is None:
            self._exact = ExactDirection(self._evaluator, self._gauss_newton)
        return self._exact

    def direction(self, outcome: RiccatiOutcome, unit: float) -> tuple[RiccatiOutcome, float]:
        """Writes the exact direction to the evaluator's k and K, or keeps the Gauss-Newton direction there.

        It pauses after Gauss-Newton's was better and brought what it promised: an iteration, then two, and so on.

        Args:
            outcome: Outcome of the Gauss-Newton recursion.
            unit: h of the options.

        Returns:
            The outcome, and the seconds that compiling took.
        """
        self.blend, self._tried = 0.0, False
        if not self.engaged:
            return outcome, 0.0
        self._tried = self._pause == 0
        if not self._tried:
            self._pause -= 1
            return outcome, 0.0
        begun = time.perf_counter()
        exact = self._made()
        seconds = time.perf_counter() - begun
        if self._border is not None:
            self._chosen = self._border.chosen
        self.blend, found = exact.factor(self.ridge * unit, self._options)
        if found is None:
            return outcome, seconds
        self._take(exact)
        return found, seconds

    def _take(self, exact: ExactDirection) -> None:
        e = self._evaluator
        self._kept = e.k.copy(), e.K.copy()
        e.k[:], e.K[:] = exact.riccati.k, exact.riccati.K

    def go_back(self) -> None:
        """Undoes `direction`: writes the Gauss-Newton k and K to the evaluator again, and sets `blend` to 0.

        k is the feed-forward part (T, nu) of the direction, K are its gains (T, nu, ndx). The step of unknowns is
        Gauss-Newton's again, too.
        """
        self._evaluator.k[:], self._evaluator.K[:] = self._kept
        if self._border is not None and self._chosen is not None:
            self._border.chosen = self._chosen
        self.blend = 0.0

    def judge(self, step: LineStep, tolerance: float) -> None:
        """Learns from a step whether exact directions are worth their time.

        With `hessian="auto"`, directions are exact after ENOUGH short or poor steps, or once more than FAR steps are
        left, and from the start if there are unknowns.

        Args:
            step: The step.
            tolerance: Predicted decrease of a step below which the solve ends [cost].
        """
        o, promised = self._options, step.promise.stop
        cut = not step.accepted or step.length < 1.0
        if cut or step.decrease < POOR * step.expected:
            self._crawled += 1
        left = 0.0 if cut or self.blend > 0.0 else steps_left(promised, self._promised, tolerance)
        self._steady = self._steady + 1 if left > FAR else 0
        if self._steady >= STEADY:
            self._crawled = ENOUGH
        self._promised = promised
        if self._tried:
            beaten = self.blend == 0.0 and step.accepted and step.decrease >= step.expected
            self._beaten = self._pause = self._beaten + 1 if beaten else 0
        if self.blend > 0.0:
            if step.accepted and step.length > o.good_step:
                lower = self.ridge / o.regularization_decrease
                self.ridge = lower if lower >= o.min_regularization else 0.0
            elif not step.accepted or step.length <= self.bad_step:
                self.ridge = max(self.ridge * o.regularization_increase, FIRST_RIDGE)

    def undo_step(self) -> None:
        """Raises the ridge after an accepted step that is undone, by more than it fell then."""
        self.ridge = max(self.ridge * self._options.regularization_increase**2, FIRST_RIDGE)

    @property
    def riccati(self) -> Riccati | None:
        """Riccati recursion of the last direction if that was exact, else None."""
        return self._exact.riccati if self._exact is not None and self.blend > 0.0 else None


def steps_left(promised: float, before: float, tolerance: float) -> float:
    """Estimated number of steps until the prediction is below a tolerance; 0 if predictions do not fall [-]."""
    if not 0.0 < tolerance < promised < before < np.inf:
        return 0.0
    return math.log(promised / tolerance) / math.log(before / promised)
