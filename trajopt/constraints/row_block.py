"""Constraint rows that follow each other: those of one constraint, at a knot or at a stage of its integrator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trajopt.model.parameters import ParameterLayout
from trajopt.types import Reals

_AT = " at "  # not in the name of a constraint, which is an identifier


@dataclass(frozen=True)
class RowBlock:
    """Rows of one constraint at a knot, or at a later stage of its integrator.

    Attributes:
        constraint: Name of the constraint.
        size: Number of rows [-].
        place: Time of the stage, such as "dt/2"; empty at the knot.
    """

    constraint: str
    size: int
    place: str = ""

    @property
    def name(self) -> str:
        """Name of the block, such as "tool" or "tool at dt/2"."""
        return f"{self.constraint}{_AT}{self.place}" if self.place else self.constraint

    @property
    def row_names(self) -> list[str]:
        """Name of each row, such as "tool[2]" or "tool[2] at dt/2"; without a number if there is one row."""
        return [self.name] if self.size == 1 else [row_name(self.name, str(i)) for i in range(self.size)]


def row_name(block: str, row: str) -> str:
    """Name of a row, such as "tool[z] at dt/2", from the name of its block."""
    constraint, at, place = block.partition(_AT)
    return f"{constraint}[{row}]{at}{place}"


def constraint_of(block: str) -> str:
    """Name of the constraint, from the name of a block."""
    return block.partition(_AT)[0]


def row_bounds(blocks: Sequence[RowBlock], layout: ParameterLayout, values: Reals) -> tuple[Reals, Reals]:
    """Lower and upper bounds of all rows, (..., nc) each.

    Args:
        blocks: The rows.
        layout: Layout of the parameters in the last axis of `values`.
        values: Parameter values (..., layout.size).
    """
    lower = _of_rows(blocks, layout, values, "lower", -np.inf)
    return lower, _of_rows(blocks, layout, values, "upper", np.inf)


def row_softness(blocks: Sequence[RowBlock], layout: ParameterLayout, values: Reals) -> tuple[Reals, Reals]:
    """Linear and quadratic slack weights of all rows, (..., nc) each; inf and 0 for hard rows.

    Arguments are those of `row_bounds`.
    """
    linear = _of_rows(blocks, layout, values, "linear", np.inf)
    return linear, _of_rows(blocks, layout, values, "quadratic", 0.0)


def _of_rows(blocks: Sequence[RowBlock], layout: ParameterLayout, values: Reals, key: str, otherwise: float) -> Reals:
    """Values (..., nc) of one of the constraints' own parameters, or `otherwise` for constraints without it."""
    shape, columns = values.shape[:-1], [np.zeros((*values.shape[:-1], 0))]
    for block in blocks:
        where = layout.slices.get(f"{block.constraint}.{key}")
        columns.append(np.full((*shape, block.size), otherwise) if where is None else values[..., where])
    return np.concatenate(columns, axis=-1)
