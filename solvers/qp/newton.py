"""Newton steps of a StageQP from an iterate, on a Riccati recursion with its rows as weights."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np

from trajopt.solvers.qp.residual import Iterate, Residual
from trajopt.solvers.qp.stage_qp import StageQP
from trajopt.solvers.riccati.riccati import Riccati, RiccatiOutcome
from trajopt.solvers.riccati.weighted_rows import WeightedRows
from trajopt.types import Reals


class Newton:
    """Newton steps on the residuals of an iterate. Each step corrects rounding errors of the step before.

    Args:
        qp: The program; its arrays must not move.
        rows: Its rows, with their weights D and h: a step minimises with CᵀDC in the Hessian, Cᵀh in the gradient.
        y: Multipliers of the iterate (T + 1, nc).
        values: Array for the rows C z of the iterate (T + 1, nc).

    Attributes:
        at: The iterate.
        residual: Residuals of the iterate.
        riccati: Riccati recursion on the residuals, with the step and its gains.
    """

    def __init__(self, qp: StageQP, rows: WeightedRows, y: Reals, values: Reals) -> None:
        self.at = Iterate(qp.lq)
        self.residual = r = Residual(qp.lq, rows, self.at, y, values)
        self.riccati = Riccati(replace(qp.lq, g=r.running, f=r.dynamics, terminal_g=r.end), rows=rows)
        self._change = np.zeros_like(self.at.flat)

    @functools.cached_property
    def native(self) -> int:
        """Address of the table that loops in machine code read; see `interior_point_kernel.PASSES`."""
        flat = [int(array.ctypes.data) for array in (self.at.flat, self.riccati.step.flat)]
        addresses = [*self.riccati.native, *self.residual.native, *flat, self.at.flat.size]
        self._passes = np.array(addresses, dtype=np.int64)
        return int(self._passes.ctypes.data)

    def factor(self) -> RiccatiOutcome:
        """Factorises, and runs the backward pass for the current residuals and h."""
        return self.riccati.factor()

    def solve(self) -> None:
        """Runs the backward pass for another h, with the same residuals and factors."""
        self.riccati.solve(same_gaps=True)

    def forward(self, *, costates: bool = True) -> None:
        """Runs the forward pass: computes the step, and its change of the rows."""
        self.riccati.forward(costates=costates)

    def move(self, length: float) -> None:
        """Adds `length` [-] times the step of `riccati` to the iterate `at`."""
        np.multiply(self.riccati.step.flat, length, out=self._change)
        self.at.flat += self._change
