"""Rows of a StageQP as an interior-point method sees them: slacks, multipliers, weights."""

from __future__ import annotations

import numpy as np

from trajopt.solvers.qp import native
from trajopt.solvers.qp.block import Block
from trajopt.solvers.qp.interior_point_kernel import ARRAYS, FIRST, NUMBERS, SOFT_ARRAYS
from trajopt.solvers.qp.stage_qp import StageQP
from trajopt.solvers.weighted_rows import WeightedRows


class InteriorRows:
    """Slacks and multipliers of all rows, and what a Newton step does to them, see `interior_point_kernel`.

    Args:
        qp: The program.
        soft: Whether there is room for soft rows.

    Attributes:
        y: Multipliers (T + 1, nc): positive at an upper bound, negative at a lower one.
        at_values: Rows C z of the iterate (T + 1, nc).
        rows: Weights D and h for the recursion, and the rows of a step.
        count: Number of products that are to vanish.
    """

    def __init__(self, qp: StageQP, soft: bool) -> None:
        self.soft = soft
        self._block = block = Block(SOFT_ARRAYS if soft else ARRAYS, qp.lower.shape)
        self._numbers = np.zeros(len(NUMBERS))
        self._arguments = block.address, block.size, int(self._numbers.ctypes.data)
        self._begin, self._prepare, self._center, self._advance = native.interior_point(soft)
        self.y, self.at_values = block["y"], block["at_values"]
        weights, h, values = (block[name] for name in ("weights", "h", "values"))
        self.rows = WeightedRows.zeros(
            qp.lq, qp.C, qp.terminal_C, qp.lower, qp.upper, weights=weights, h=h, values=values
        )
        self.count = 0

    def start(self, qp: StageQP, proximal: float, gradient: float, floor: float) -> None:
        """Bounds as they are now; slacks and multipliers well inside, of an iterate at zero.

        Args:
            qp: The program.
            proximal: δ of hard equations.
            gradient: Largest entry of the cost's gradient, which says how large multipliers may become.
            floor: Least product that a step aims for.
        """
        block, numbers = self._block, self._numbers
        block["lower"][:], block["upper"][:] = qp.lower, qp.upper
        block["given_delta"][:], block["y_ref"][:] = qp.delta, qp.y_ref
        if self.soft:
            block["soft_linear"][:], block["soft_quadratic"][:] = qp.soft_linear, qp.soft_quadratic
        numbers[:] = 0.0
        for name, value in (
            ("floor", floor),
            ("push", FIRST * min(max(gradient, 0.01), 100.0)),
            ("proximal", proximal),
        ):
            numbers[NUMBERS.index(name)] = value
        self._begin(*self._arguments)
        self.count = int(self.number("count"))

    def keep(self) -> None:
        """Remembers slacks and multipliers as they are, for `restore`."""
        self._block.keep()
        self._kept_numbers = self._numbers.copy()

    def restore(self) -> None:
        """Goes back to what `keep` has remembered."""
        self._block.restore()
        self._numbers[:] = self._kept_numbers

    def prepare(self) -> None:
        """Residuals at the iterate, the weights of the rows, and h of the predictor."""
        self._prepare(*self._arguments)

    def center(self) -> None:
        """h of the corrector, from the rows of the predictor's step."""
        self._center(*self._arguments)

    def advance(self) -> float:
        """Goes along the step with these rows; its length."""
        self._advance(*self._arguments)
        return self.number("length")

    def number(self, name: str) -> float:
        """A number that the machine code has found: `missed` by rows, largest `product`, `largest` multiplier."""
        return float(self._numbers[NUMBERS.index(name)])
