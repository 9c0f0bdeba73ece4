"""Rows of a StageQP as ADMM sees them: copies z of C z within bounds, multipliers, weights ρ."""

from __future__ import annotations

import numpy as np

from trajopt.kernels import CallSequence, Reduction
from trajopt.solvers.qp import native
from trajopt.solvers.qp.admm_kernel import ARRAYS, NUMBERS
from trajopt.solvers.qp.block import Block
from trajopt.solvers.qp.stage_qp import StageQP
from trajopt.solvers.riccati import Riccati
from trajopt.solvers.weighted_rows import WeightedRows

ONE = dict.fromkeys(("weights", "inverse", "kappa", "factors"), 1.0)
FIRST = ONE | {"lower": -np.inf, "upper": np.inf, "linear": np.inf}


class ADMMRows:
    """Values z and multipliers y of all rows, and the part of an ADMM iteration that updates them; see `admm_kernel`.

    Args:
        qp: The program.
        relaxation: α of over-relaxation [-].
        proximal: σ [-].

    Attributes:
        z: Targets of the rows C z, within bounds (T + 1, nc).
        y: Multipliers (T + 1, nc), kept from solve to solve.
        values: Rows C z (T + 1, nc).
        rows: Weights ρ, and h = y - ρ z, for the recursion.
    """

    def __init__(self, qp: StageQP, relaxation: float, proximal: float) -> None:
        self._block = block = Block({name: FIRST.get(name, 0.0) for name in ARRAYS}, qp.lower.shape)
        self._numbers = np.zeros(len(NUMBERS))
        self._numbers[:] = relaxation, -proximal, 1.0
        self._arguments = block.address, block.size, int(self._numbers.ctypes.data)
        self._start, self._weigh, self._repeat = native.admm()
        self.z, self.y, self.values = block["z"], block["y"], block["values"]
        bounds, own = (block["lower"], block["upper"]), {name: block[name] for name in ("weights", "h", "values")}
        self.rows = WeightedRows.zeros(qp.lq, qp.C, qp.terminal_C, *bounds, **own)
        self._missed = np.zeros(qp.lower.shape)
        flat = [array.reshape(1, -1) for array in (self._missed, self.values, self.z)]
        self._sizes = [Reduction(array, "largest size") for array in flat]
        self._largest = CallSequence(self._sizes)

    def start(self, qp: StageQP) -> None:
        """Reads the current bounds and slack weights, and sets `z` to the targets that are nearest to rows of zero."""
        block = self._block
        block["lower"][:], block["upper"][:] = qp.lower, qp.upper
        block["linear"][:], block["quadratic"][:] = qp.soft_linear, qp.soft_quadratic
        block["delta"][:] = qp.delta
        np.multiply(qp.delta, qp.y_ref, out=block["shift"])
        self._start(*self._arguments)

    def weigh(self, rho: float) -> None:
        """Sets the weight of each row from ρ: larger for equations, tiny for rows that are switched off."""
        self._numbers[-1] = rho
        self._weigh(*self._arguments)

    def residual(self) -> tuple[float, float]:
        """Largest difference between rows C z and their targets `z`, and the largest absolute value of both."""
        np.subtract(self.values, self.z, out=self._missed)
        self._largest()
        return self._sizes[0].latest()[0], max(size.latest()[0] for size in self._sizes[1:])

    def iterate(self, riccati: Riccati, count: int) -> None:
        """Runs `count` iterations with the matrices of the last factorisation. Only the last one computes costates."""
        table, _, solve, forward = riccati.native
        self._repeat(*self._arguments, table, solve, forward, count)
