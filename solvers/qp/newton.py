"""Newton steps of a StageQP from an iterate, on a Riccati recursion with its rows as weights."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np

from trajopt.solvers.qp.residual import Iterate, Residual
from trajopt.solvers.qp.stage_qp import StageQP
from trajopt.solvers.riccati import Riccati, RiccatiOutcome
from trajopt.solvers.weighted_rows import WeightedRows
from trajopt.types import Reals


class Newton:
    """Steps that solve the residuals of an iterate, so that rounding errors of one step are corrected by the next.

    Args:
        qp: The program; its arrays must not move.
        rows: Its rows, with their weights D and h: a step minimises with CᵀDC in the Hessian, Cᵀh in the gradient.
        y: Multipliers of the iterate (T + 1, nc).
        values: Where to write the rows C z of the iterate (T + 1, nc).

    Attributes:
        at: The iterate.
        residual: Its residuals.
        riccati: The recursion on them, with the step and its gains.
    """

    def __init__(self, qp: StageQP, rows: WeightedRows, y: Reals, values: Reals) -> None:
        self.at = Iterate(qp.lq)
        self.residual = r = Residual(qp.lq, rows, self.at, y, values)
        self.riccati = Riccati(replace(qp.lq, g=r.running, f=r.dynamics, terminal_g=r.end), rows=rows)
        self._change = np.zeros_like(self.at.flat)

    @functools.cached_property
    def native(self) -> int:
        """Address of what loops in machine code need, see `interior_point_kernel.PASSES`."""
        flat = [int(array.ctypes.data) for array in (self.at.flat, self.riccati.step.flat)]
        addresses = [*self.riccati.native, *self.residual.native, *flat, self.at.flat.size]
        self._passes = np.array(addresses, dtype=np.int64)
        return int(self._passes.ctypes.data)

    def factor(self) -> RiccatiOutcome:
        """Factors, and solves for the residuals and what h holds now."""
        return self.riccati.factor()

    def solve(self) -> None:
        """Solves for another h and the same residuals."""
        self.riccati.solve(same_gaps=True)

    def forward(self, *, costates: bool = True) -> None:
        """The step, and its rows."""
        self.riccati.forward(costates=costates)

    def move(self, length: float) -> None:
        """Goes a part of the step."""
        np.multiply(self.riccati.step.flat, length, out=self._change)
        self.at.flat += self._change
