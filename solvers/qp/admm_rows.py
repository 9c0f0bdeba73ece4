"""Rows of a StageQP as ADMM sees them: copies z of C z within bounds, multipliers, weights ρ."""

from __future__ import annotations

import numpy as np

from trajopt.solvers.qp import native
from trajopt.solvers.qp.admm_kernel import ARRAYS, NUMBERS
from trajopt.solvers.qp.block import Block
from trajopt.solvers.qp.stage_qp import StageQP
from trajopt.solvers.riccati import Riccati
from trajopt.solvers.weighted_rows import WeightedRows

FIRST = {"weights": 1.0, "inverse": 1.0, "kappa": 1.0, "lower": -np.inf, "upper": np.inf, "linear": np.inf}
EQUATION, FREE = 1e3, 1e-6  # times ρ


class ADMMRows:
    """z and y of all rows, and what an iteration does to them, see `admm_kernel`.

    Args:
        qp: The program.
        relaxation: α of over-relaxation [-].
        proximal: σ [-].

    Attributes:
        z: What C z is to become, within bounds (T + 1, nc).
        y: Multipliers (T + 1, nc), kept from solve to solve.
        values: Rows C z (T + 1, nc).
        rows: Weights ρ, and h = y - ρ z, for the recursion.
    """

    def __init__(self, qp: StageQP, relaxation: float, proximal: float) -> None:
        self._block = block = Block({name: FIRST.get(name, 0.0) for name in ARRAYS}, qp.lower.shape)
        self._numbers = np.zeros(len(NUMBERS))
        self._numbers[:] = relaxation, -proximal
        self._arguments = block.address, block.size, int(self._numbers.ctypes.data)
        self._repeat = native.admm()
        self.z, self.y, self.values = block["z"], block["y"], block["values"]
        self._soft = False
        bounds, own = (block["lower"], block["upper"]), {name: block[name] for name in ("weights", "h", "values")}
        self.rows = WeightedRows.zeros(qp.lq, qp.C, qp.terminal_C, *bounds, **own)
        self._factors = np.ones(qp.lower.shape)

    def start(self, qp: StageQP) -> None:
        """Bounds and slacks as they are now; z the nearest to a trajectory at zero."""
        block = self._block
        block["lower"][:], block["upper"][:] = qp.lower, qp.upper
        block["linear"][:], block["quadratic"][:] = qp.soft_linear, qp.soft_quadratic
        np.multiply(qp.delta, qp.y_ref, out=block["shift"])
        free = np.isinf(qp.lower) & np.isinf(qp.upper)
        self._factors[:] = 1.0
        self._factors[(qp.lower == qp.upper) & np.isinf(qp.soft_linear)] = EQUATION
        self._factors[free] = FREE
        self.values[:] = 0.0
        np.clip(self.values, qp.lower, qp.upper, out=self.z)

    def weigh(self, qp: StageQP, rho: float) -> None:
        """ρ of each row: large of an equation, tiny of a row that is switched off."""
        block = self._block
        weights = np.multiply(self._factors, rho, out=block["weights"])
        inverse = np.divide(1.0, weights, out=block["inverse"])
        np.add(inverse, qp.delta, out=block["kappa"])
        np.subtract(self.y, weights * self.z, out=block["h"])

    def iterate(self, riccati: Riccati, count: int) -> None:
        """So many iterations, with the matrices of the last factorisation; the last one has costates."""
        self._repeat(*self._arguments, *riccati.native, count)
