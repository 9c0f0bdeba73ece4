"""Structure of constraint rows: the controls on which a row depends, from the sparsity of its derivative."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from trajopt.actions.base import ActionModelAbstract


def free_of_control(model: ActionModelAbstract) -> npt.NDArray[np.bool_]:
    """Mask (nc,) of the rows that do not depend on the control of their knot."""
    free = np.ones(model.nc, dtype=np.bool_)
    if model.nc and model.nu:
        rows, columns = model.row_derivative().sparsity().get_triplet()
        free[[row for row, column in zip(rows, columns) if column >= model.state.ndx]] = False
    return free


def on_one_control(model: ActionModelAbstract) -> npt.NDArray[np.int64]:
    """Index of the control (nc,) if a row is that control plus a constant, else -1."""
    controls, n = np.full(model.nc, -1, dtype=np.int64), model.state.ndx
    if model.nc and model.nu:
        C = model.row_derivative()
        for row in range(model.nc):
            columns = C[row, :].sparsity().get_triplet()[1]
            if len(columns) == 1 and n <= columns[0] < n + model.nu and C[row, columns[0]].is_one():
                controls[row] = columns[0] - n
    return controls
