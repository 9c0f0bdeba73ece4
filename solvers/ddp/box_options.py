"""Options of the solvers that enforce control limits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from trajopt.checks import check_count
from trajopt.solvers.options import DDPOptions, FDDPOptions


@dataclass(frozen=True, kw_only=True)
class BoxOptions(DDPOptions):
    """Options of SolverBoxDDP and SolverBoxFDDP, in addition to those of DDP: the solution of a knot's program in du.

    Attributes:
        box_iterations: Largest number of iterations of the projected Newton method at a knot [-].
        box_acceptance: A step of this method is accepted when the decrease exceeds this fraction of the linear
            prediction [-].
        box_exact: Whether the method iterates to the solution, and the value function includes the steps of clamped
            controls up to their limits, with gaps too, and controls at a limit that gains lead beyond are held there.
            Crocoddyl starts from the last pass's k, stops if no shortened step is accepted, omits those steps, and
            holds no controls; line searches then fail while controls approach a limit. It also ignores limits while
            there are gaps; no step then closes gaps that only controls beyond the limits close.
        clip_guess: Whether controls of the guess are clipped to their limits; Crocoddyl uses them unchanged.
    """

    box_iterations: int = 100
    box_acceptance: float = 0.1
    box_exact: bool = True
    clip_guess: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("box_iterations", self.box_iterations, least=1, most=10_000)
        self._check("box_acceptance", above=0.0, inclusive=True)
        self._check_flags("box_exact", "clip_guess")

    @classmethod
    def crocoddyl(cls, *, max_iterations: int = 100, initial_regularization: float = 1e-9) -> Self:
        """Options with Crocoddyl's algorithm and values (3.2.1)."""
        usual = super().crocoddyl(max_iterations=max_iterations, initial_regularization=initial_regularization)
        return replace(usual, tolerance=5e-5, box_exact=False, clip_guess=False)


@dataclass(frozen=True, kw_only=True)
class BoxDDPOptions(BoxOptions):
    """Options of SolverBoxDDP."""


@dataclass(frozen=True, kw_only=True)
class BoxFDDPOptions(FDDPOptions, BoxOptions):
    """Options of SolverBoxFDDP."""
