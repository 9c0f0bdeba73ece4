"""The backward pass of DDP and FDDP: Riccati's recursion, the step of unknowns, limits of controls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trajopt.kernels import ParallelCalls
from trajopt.solvers.ddp.border import Border
from trajopt.solvers.riccati.linear_quadratic import LinearQuadratic
from trajopt.solvers.riccati.riccati import LinearStep, Riccati, RiccatiOutcome

if TYPE_CHECKING:
    from trajopt.solvers.ddp.control_limits import ControlLimits

HOLDS = 8
"""Passes that hold more controls: 30 of 48 perturbed arms and gaits are solved with 8, 26 with 4, 21 without."""


class BackwardPass:
    """Computes gains and feed-forward of a direction.

    The program of a knot keeps the limits of its controls for k, but not for K dx. A rollout clips a control at a limit
    that K dx leads beyond, whatever its length, and loses what the control was to correct: searches fail. So, from the
    first short step of a solve on, such controls are held, and the pass is repeated, so that others make up for them.

    Args:
        riccati: The recursion, within the box of `limits`.
        border: The unknowns; None without any.
        limits: Limits of the controls; None without any.

    Attributes:
        riccati: The recursion.
        border: The unknowns; None without any.
    """

    def __init__(self, riccati: Riccati, border: Border | None = None, limits: ControlLimits | None = None) -> None:
        self.riccati, self.border, self._limits = riccati, border, limits

    def __call__(
        self,
        regularization: float,
        *,
        feasible: bool,
        regularize_value: bool,
        after: ParallelCalls | None = None,
        fill: tuple[int, int] | None = None,
    ) -> RiccatiOutcome:
        """Runs the pass; arguments as those of `Riccati.factor`."""

        def once(after: ParallelCalls | None = None) -> RiccatiOutcome:
            outcome = self.riccati.factor(
                regularization, feasible=feasible, regularize_value=regularize_value, after=after, fill=fill
            )
            return outcome if self.border is None else self.border.choose(self.riccati, outcome)

        if self._limits is None:
            return once(after)
        self._limits.centre()
        outcome = once(after)
        for _ in range(HOLDS if self._limits.holds else 0):
            if outcome.failure is not None or not self._limits.hold(self.forward().du):
                break
            outcome = once()
        return outcome

    def forward(self) -> LinearStep:
        """The step of the last pass."""
        return self.riccati.forward() if self.border is None else self.border.forward(self.riccati)

    def of(self, lq: LinearQuadratic) -> BackwardPass:
        """Returns the pass of another program with the same unknowns and limits, with gains of its own."""
        return BackwardPass(Riccati(lq, box=self.riccati.box), self.border, self._limits)
