"""Rows of a StageQP as an interior-point method sees them: slacks, multipliers, weights."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trajopt.solvers.qp import native
from trajopt.solvers.qp.block import Block
from trajopt.solvers.qp.interior_point_kernel import ARRAYS, NUMBERS, SIDES, SOFT_ARRAYS
from trajopt.solvers.qp.stage_qp import StageQP
from trajopt.solvers.weighted_rows import WeightedRows
from trajopt.types import Reals

Truth = npt.NDArray[np.bool_]

FIRST = 0.1  # least first slack, of a row that the first iterate keeps by less


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
        self._prepare, self._center, self._advance = native.interior_point(soft)
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
        block = self._block
        soft = np.isfinite(qp.soft_linear)
        slack = soft & (qp.soft_linear > 0.0)
        equal = (qp.lower == qp.upper) & ~slack
        block["delta"][:] = qp.delta
        block["delta"][soft & ~slack] += 1.0 / qp.soft_quadratic[soft & ~slack]
        np.multiply(qp.delta, qp.y_ref, out=block["shift"])
        if self.soft:
            block["soft"][:] = slack
            block["linear"][:] = np.where(slack, qp.soft_linear, 0.0)
            block["quadratic"][:] = np.where(slack, qp.soft_quadratic, 0.0)
        self._start_equations(qp, equal, proximal)
        self.count = 0
        y = block["equal_y"].copy()
        for side, sign in SIDES.items():
            bound = qp.upper if side == "upper" else qp.lower
            on = np.isfinite(bound) & ~equal
            self._start_side(side, on, np.where(on, sign * bound, 0.0), sign * qp.y_ref, gradient)
            y += sign * block[f"{side}_y"] * on
            self.count += int(np.count_nonzero(on)) + int(np.count_nonzero(on & slack))
        self.y[:] = y
        self.at_values[:] = block["values"][:] = 0.0
        self._numbers[:] = 0.0
        self._numbers[NUMBERS.index("count")], self._numbers[NUMBERS.index("floor")] = self.count, floor

    def _start_equations(self, qp: StageQP, equal: Truth, proximal: float) -> None:
        block, delta = self._block, self._block["delta"]
        block["equal"][:] = equal
        block["equal_bound"][:] = np.where(equal, qp.lower, 0.0)
        block["equal_delta"][:] = np.where(equal, delta, 0.0)
        block["equal_weight"][:] = np.where(equal, 1.0 / np.where(delta > 0.0, delta, proximal), 0.0)
        block["equal_y"][:] = np.where(equal & (delta > 0.0), qp.y_ref, 0.0)
        block["missed"][:] = 0.0

    def _start_side(self, side: str, on: Truth, bound: Reals, y_ref: Reals, gradient: float) -> None:
        block = self._block

        def set_all(**values: Reals | Truth | float) -> None:
            for name, value in values.items():
                block[f"{side}_{name}"][:] = value

        t = np.where(on, np.maximum(bound, FIRST), 1.0)
        y = np.maximum(FIRST * min(max(gradient, 0.01), 100.0) / t, 1e-3)
        y = np.where(block["delta"] > 0.0, np.maximum(y, y_ref), y)
        if self.soft:
            soft = (block["soft"] > 0.0) & on
            y = np.where(soft, np.minimum(y, 0.5 * block["linear"]), y)
            room = np.where(soft, block["linear"] - y, 1.0)
            s = np.where(soft, t * y / room, 0.0)
            set_all(s=s, w=np.where(soft, room + block["quadratic"] * s, 1.0), ds=0.0, dw=0.0, second_soft=0.0)
        set_all(on=on, bound=bound, t=t, y=np.where(on, y, 1.0), residual=0.0, dt=0.0, dy=0.0, second=0.0)

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
