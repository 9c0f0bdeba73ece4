"""Rows of a StageQP as an interior-point method sees them: slacks, multipliers, weights."""

from __future__ import annotations

import numpy as np

from trajopt.solvers.qp import native
from trajopt.solvers.qp.block import Block
from trajopt.solvers.qp.interior_point_kernel import ARRAYS, GIVEN_NUMBERS, NUMBERS, SOFT_ARRAYS
from trajopt.solvers.qp.stage_qp import StageQP
from trajopt.solvers.riccati.weighted_rows import WeightedRows

PLACES = {name: i for i, name in enumerate(NUMBERS)}


class InteriorRows:
    """Slacks and multipliers of all rows, and the part of a Newton step that updates them.

    See `interior_point_kernel`.

    Args:
        qp: The program.
        soft: Whether there is room for soft rows.

    Attributes:
        y: Multipliers (T + 1, nc): positive at an upper bound, negative at a lower one.
        at_values: Rows C z of the iterate (T + 1, nc).
        rows: Weights D and h for the recursion, and the rows of a step.
    """

    def __init__(self, qp: StageQP, soft: bool) -> None:
        self.soft = soft
        self._block = block = Block(SOFT_ARRAYS if soft else ARRAYS, qp.lower.shape)
        self._numbers = np.zeros(len(NUMBERS))
        self._arguments = block.address, block.size, int(self._numbers.ctypes.data)
        self._begin, self._enter, self._release, self._measure, self._iterate = native.interior_point(soft)
        self.y, self.at_values = block["y"], block["at_values"]
        weights, h, values = (block[name] for name in ("weights", "h", "values"))
        self.rows = WeightedRows.zeros(
            qp.lq, qp.C, qp.terminal_C, qp.lower, qp.upper, weights=weights, h=h, values=values
        )

    def start(self, qp: StageQP, given: tuple[float, ...]) -> None:
        """Reads the current bounds, and sets slacks and multipliers far from their bounds, for a zero iterate.

        Args:
            qp: The program.
            given: Least product that a step aims for, first product of slacks and multipliers, least first slack and
                multiplier relative to the size of its row, δ of hard equations, and 0 for no damping.
        """
        block, numbers = self._block, self._numbers
        block["lower"][:], block["upper"][:] = qp.lower, qp.upper
        block["given_delta"][:], block["y_ref"][:], block["row_size"][:] = qp.delta, qp.y_ref, qp.row_size
        if self.soft:
            block["soft_linear"][:], block["soft_quadratic"][:] = qp.soft_linear, qp.soft_quadratic
        numbers[:] = 0.0
        self._given = given
        self.restart()

    def restart(self) -> None:
        """Sets slacks and multipliers to those of the last `start`, for a zero iterate."""
        self._give()
        self._begin(*self._arguments)
        self._enter(*self._arguments)

    def release(self, passes: int, push: float, slack: float) -> int:
        """Goes to the solution without inequalities; returns 0, or the recursion's failure code.

        `beyond` is then the largest violation of an inequality. Slacks and multipliers are those of a start there.

        Args:
            passes: `Newton.native`.
            push: First product of slacks and multipliers, relative to that of the last `start`.
            slack: Least first slack, relative to the size of its row.
        """
        self._give(push=push * self._given[PLACES["push"]], slack=slack)
        code: int = self._release(*self._arguments, passes)
        self._give()
        return code

    def damp(self, damped: bool) -> None:
        """Chooses whether the next correctors are those of the part of the predictor's step that can be taken."""
        self._numbers[PLACES["damped"]] = float(damped)

    def drop(self) -> None:
        """Sets the multipliers of inequalities in `y` to 0, until the next `measure` or `release`."""
        self.y[:] = self._block["equal_y"]

    def _give(self, **numbers: float) -> None:
        """Writes the numbers of the last `start`, except these."""
        self._numbers[: len(GIVEN_NUMBERS)] = self._given
        for name, value in numbers.items():
            self._numbers[PLACES[name]] = value

    def measure(self, passes: int) -> None:
        """Computes the residuals of the iterate, and weights D and h of the rows for the predictor step.

        Args:
            passes: `Newton.native`.
        """
        self._measure(*self._arguments, passes)

    def iterate(self, passes: int) -> int:
        """Takes a predictor-corrector step and computes the residuals; returns 0, or the recursion's failure code."""
        code: int = self._iterate(*self._arguments, passes)
        return code

    def number(self, name: str) -> float:
        """Number of the last step: its `length`, the largest `product`, or the largest residual of the rows, `missed`.

        Or the `largest` multiplier of a side, the `heaviest` of a row, or the largest violation, `beyond`.
        """
        return float(self._numbers[PLACES[name]])
