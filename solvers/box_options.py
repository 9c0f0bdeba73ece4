"""Options of the solvers that keep control limits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from trajopt.checks import check_count
from trajopt.errors import InvalidArgumentError
from trajopt.solvers.options import DDPOptions, FDDPOptions


@dataclass(frozen=True, kw_only=True)
class BoxOptions(DDPOptions):
    """Options of SolverBoxDDP and SolverBoxFDDP, beside those of DDP: how a knot's program in du is solved.

    Attributes:
        box_iterations: At most this many iterations of the projected Newton method at a knot [-].
        box_acceptance: A step within it is accepted when the decrease is larger than this part of the linear one [-].
        box_exact: Whether that ends at the solution, and the value function counts the steps of clamped controls up to
            their limits. Crocoddyl starts from the last pass's k, ends where no shortened step is accepted, and leaves
            those steps out, so that searches fail while controls are on their way to a limit.
        clip_guess: Whether controls of the guess are clipped to their limits; Crocoddyl takes them as they are.
        hessian: "gauss-newton" alone.
    """

    box_iterations: int = 100
    box_acceptance: float = 0.1
    box_exact: bool = True
    clip_guess: bool = True
    hessian: str = "gauss-newton"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("box_iterations", self.box_iterations, least=1, most=10_000)
        self._check("box_acceptance", above=0.0, inclusive=True)
        for name in ("box_exact", "clip_guess"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise InvalidArgumentError(f"{name}: expected True or False, got {getattr(self, name)!r}")
        if self.hessian != "gauss-newton":
            raise InvalidArgumentError(
                f"hessian: box solvers have 'gauss-newton' alone, got {self.hessian!r}; take SolverSQP for exact ones"
            )

    @classmethod
    def crocoddyl(cls, *, max_iterations: int = 100, initial_regularization: float = 1e-9) -> Self:
        """Crocoddyl's algorithm and values (3.2.1)."""
        usual = super().crocoddyl(max_iterations=max_iterations, initial_regularization=initial_regularization)
        return replace(usual, tolerance=5e-5, box_exact=False, clip_guess=False)


@dataclass(frozen=True, kw_only=True)
class BoxDDPOptions(BoxOptions):
    """Options of SolverBoxDDP."""


@dataclass(frozen=True, kw_only=True)
class BoxFDDPOptions(FDDPOptions, BoxOptions):
    """Options of SolverBoxFDDP."""

    hessian: str = "gauss-newton"
