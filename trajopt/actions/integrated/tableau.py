"""Explicit Runge-Kutta methods as data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from trajopt.errors import InvalidArgumentError, shown


@dataclass(frozen=True)
class Tableau:
    """Butcher tableau of an explicit Runge-Kutta method: y_i = x + dt Σ a_ij k_j, x⁺ = x + dt Σ b_i k_i.

    Ready ones are `Tableau.EULER`, `MIDPOINT` and `HEUN` of order 2, `KUTTA` of order 3 (RK3), `CLASSICAL` of order 4.

    Attributes:
        A: Coefficients a_ij of the earlier stages j < i, one row for each stage: () for the first, (a_21,) for the
            second [-].
        b: Weight of each stage; the sum is 1 [-].

    Raises:
        InvalidArgumentError: The number of rows or of their entries is wrong, the weights do not add up to 1, or a
            number is not finite.

    Source: Hairer, Nørsett, Wanner, Solving Ordinary Differential Equations I, II.1, tables 1.1 and 1.2.
    """

    A: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]

    EULER: ClassVar[Tableau]
    MIDPOINT: ClassVar[Tableau]
    HEUN: ClassVar[Tableau]
    KUTTA: ClassVar[Tableau]
    CLASSICAL: ClassVar[Tableau]

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "A", tuple(tuple(float(a) for a in row) for row in self.A))
            object.__setattr__(self, "b", tuple(float(b) for b in self.b))
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidArgumentError(
                f"A, b: expected rows of numbers and a row of numbers, got A={shown(self.A)}, b={shown(self.b)}; use "
                "for example A=((), (0.5,)), b=(0.0, 1.0)"
            ) from error
        sizes = [len(row) for row in self.A]
        if not self.b or sizes != list(range(len(self.b))):
            raise InvalidArgumentError(
                f"A: expected rows of 0, 1, 2, ... entries, one row for each of the {len(self.b)} weights b, got rows "
                f"of {sizes} entries; implicit methods are not supported"
            )
        if not all(math.isfinite(a) for row in (*self.A, self.b) for a in row) or abs(sum(self.b) - 1.0) > 1e-12:
            raise InvalidArgumentError(
                f"A, b: expected finite numbers and weights b of sum 1, got A={self.A}, b={self.b}"
            )

    @property
    def c(self) -> tuple[float, ...]:
        """Time of each stage as a fraction of the step, 0 to 1: c_i = Σ a_ij [-]."""
        return tuple(float(sum(row)) for row in self.A)


Tableau.EULER = Tableau(((),), (1.0,))
Tableau.MIDPOINT = Tableau(((), (0.5,)), (0.0, 1.0))
Tableau.HEUN = Tableau(((), (1.0,)), (0.5, 0.5))
Tableau.KUTTA = Tableau(((), (0.5,), (-1.0, 2.0)), (1 / 6, 2 / 3, 1 / 6))
Tableau.CLASSICAL = Tableau(((), (0.5,), (0.0, 0.5), (0.0, 0.0, 1.0)), (1 / 6, 1 / 3, 1 / 3, 1 / 6))
