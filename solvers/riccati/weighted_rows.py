"""Rows that a Riccati recursion has in its Hessian and gradient, as interior-point and proximal methods want it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from trajopt.errors import InvalidArgumentError
from trajopt.solvers.riccati.linear_quadratic import LinearQuadratic, check_rows
from trajopt.types import Reals

Whole = npt.NDArray[np.int64]
LARGEST_CELL = 8


@dataclass(frozen=True, eq=False, kw_only=True)
class WeightedRows:
    """Rows C_t of knots and of the end that add CᵀDC to the Hessian and Cᵀh to the gradient, D = diag(weights).

    A row whose bounds are both infinite, or that is zero, is left out, and a row of one variable costs next to nothing:
    `Riccati.find_rows` finds them. The arrays are held, not copied.

    Attributes:
        C: Rows (T, nr, n + m).
        terminal_C: Rows at the end (nr, n).
        lower: Lower bounds (T + 1, nr), which only say whether a row counts.
        upper: Upper bounds (T + 1, nr).
        weights: Diagonals of D (T + 1, nr).
        h: Weights in the gradient (T + 1, nr).
        values: C z of the last forward pass (T + 1, nr); 0 of rows that are left out.
        counts: Numbers of dense rows, and of rows of a single variable (T + 1, 2).
        dense: Indices of the dense rows, the last one repeated up to a whole cell (T + 1, nr or more).
        single: Indices of the rows of a single variable (T + 1, nr).
        column: Index of the variable of each row with a single one (T + 1, nr).
    """

    C: Reals
    terminal_C: Reals
    lower: Reals
    upper: Reals
    weights: Reals
    h: Reals
    values: Reals
    counts: Whole
    dense: Whole
    single: Whole
    column: Whole

    @classmethod
    def zeros(
        cls,
        lq: LinearQuadratic,
        C: Reals,
        terminal_C: Reals,
        lower: Reals,
        upper: Reals,
        *,
        weights: Reals | None = None,
        h: Reals | None = None,
        values: Reals | None = None,
    ) -> WeightedRows:
        """Returns weighted rows whose weights are zero.

        Args:
            lq: The program.
            C: Rows (T, nr, n + m).
            terminal_C: Rows at the end (nr, n).
            lower: Lower bounds (T + 1, nr).
            upper: Upper bounds (T + 1, nr).
            weights: Array of D; a new one by default.
            h: Array of h; a new one by default.
            values: Array for C z; a new one by default.
        """
        T, nr = lq.T, len(terminal_C)
        shape, cells = (T + 1, nr), -(-nr // LARGEST_CELL) * LARGEST_CELL
        own = [np.zeros(shape) if array is None else array for array in (weights, h, values)]
        if any(np.shape(array) != shape for array in (lower, upper, *own)):
            raise InvalidArgumentError(f"lower, upper, weights, h, values: expected arrays {shape}")
        check_rows("C", C, (T, nr, lq.n + lq.m))
        check_rows("terminal_C", terminal_C, (nr, lq.n))
        for name, array in zip(("lower", "upper", "weights", "h", "values"), (lower, upper, *own)):
            check_rows(name, array, shape)
        lists = {name: np.zeros((T + 1, width), dtype=np.int64) for name, width in _lists(nr, cells).items()}
        weights, h, values = own
        return cls(C=C, terminal_C=terminal_C, lower=lower, upper=upper, weights=weights, h=h, values=values, **lists)

    @property
    def nr(self) -> int:
        """Number of rows of a knot [-]."""
        return len(self.terminal_C)

    def arrays(self) -> dict[str, Any]:
        """Returns the attributes by the names that the compiled Riccati recursion has for them.

        These are the attributes' own names, except "row_C" for `C` and "row_end" for `terminal_C`.
        """
        names = {"C": "row_C", "terminal_C": "row_end"}
        return {names.get(field.name, field.name): getattr(self, field.name) for field in fields(self)}


def _lists(nr: int, cells: int) -> dict[str, int]:
    return {"counts": 2, "dense": cells, "single": nr, "column": nr}
