"""Combinations of parameters that a log tells, and directions that it does not tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trajopt.types import Reals

_ZERO = 1e-6  # relative size below which a coefficient counts as zero [-]


@dataclass(frozen=True, kw_only=True)
class Combination:
    """Sum of parameters that a log tells, with its estimate.

    Attributes:
        coefficients: Coefficient of each parameter, by its name [unit of the sum / unit of the parameter].
        value: Estimate [unit].
        deviation: Standard deviation of the estimate [unit].
        unit: Unit of the sum.
    """

    coefficients: dict[str, float]
    value: float
    deviation: float
    unit: str

    @property
    def name(self) -> str:
        """The sum as text, such as "link2 I_zz + 0.3 link3 m"."""
        return sum_of(self.coefficients)

    def __str__(self) -> str:
        return f"{self.name} = {self.value:.5g} ± {self.deviation:.2g} {self.unit}"


def null_space(information: Reals, scales: Reals, tolerance: float) -> Reals:
    """Orthonormal basis (k, p) of the directions of η / scales of which an information matrix (k, k) tells nothing.

    Args:
        information: Information matrix of η.
        scales: Typical sizes of η (k,).
        tolerance: Relative eigenvalue below which a direction counts as one of these.
    """
    values, vectors = np.linalg.eigh(information * np.outer(scales, scales))
    return np.asarray(vectors[:, values <= tolerance * max(values[-1], 1e-300)])


def reduced(null: Reals, order: Sequence[int]) -> tuple[list[int], Reals]:
    """Reduced row echelon form of the directions that a log does not tell.

    Args:
        null: Basis of these directions (k, p).
        order: All parameters; those in front are eliminated first.

    Returns:
        The p eliminated parameters, and a matrix (p, k): row i has 1 at the i-th of them and 0 at the others.
    """
    rows, eliminated = null.T.copy(), list[int]()
    for i in order:
        first = len(eliminated)
        if first == len(rows):
            break
        pivot = first + int(np.abs(rows[first:, i]).argmax())
        if np.abs(rows[pivot, i]) < _ZERO:
            continue
        rows[[first, pivot]] = rows[[pivot, first]]
        rows[first] /= rows[first, i]
        others = np.arange(len(rows)) != first
        rows[others] -= np.outer(rows[others, i], rows[first])
        eliminated.append(i)
    return eliminated, np.where(np.abs(rows) < _ZERO, 0.0, rows)


def sum_of(coefficients: dict[str, float]) -> str:
    """Text of a sum, such as "a - 0.3 b"."""
    text = ""
    for name, c in coefficients.items():
        size = "" if abs(abs(c) - 1.0) < 1e-9 else f"{abs(c):.4g} "
        text += f"{' - ' if c < 0 else ' + ' if text else ''}{size}{name}"
    return text.strip()
