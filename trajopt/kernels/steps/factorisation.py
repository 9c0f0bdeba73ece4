"""Steps that factor a symmetric positive definite matrix, and that solve with the factors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trajopt.errors import InvalidArgumentError
from trajopt.kernels import triangles
from trajopt.kernels.numbers import Numbers
from trajopt.kernels.operations import LaneType, intrinsic
from trajopt.kernels.steps.base import Array, Step, ValuesByNumber

if TYPE_CHECKING:
    from trajopt.kernels.entry import EntryWriter
    from trajopt.kernels.program import Program


@dataclass(frozen=True)
class Factorisation(Step):
    """Factorisation A = L D Lᵀ of a symmetric positive definite matrix, whose lower triangle is read.

    One array holds the factors: L without its unit diagonal below, D Lᵀ above, 1/D on the diagonal. A pivot that is
    not positive gives NaN there and in every solution. `evaluate` differs by rounding: it subtracts terms in the same
    order but without fused multiply-add.
    """

    a: Array
    factors: Array

    @classmethod
    def new(cls, program: Program, a: Array) -> Factorisation:
        """Creates the factorisation with a new array for the factors; see `Program.factor`."""
        _check_square("a", a)
        return cls(a, program.array(*a.shape))

    @property
    def reads(self) -> tuple[Array, ...]:
        return (self.a,)

    @property
    def writes(self) -> tuple[Array, ...]:
        return (self.factors,)

    @property
    def work(self) -> int:
        n = self.a.shape[0]
        return n * (n + 1) * (n + 2) // 6

    def evaluate(self, values: ValuesByNumber, numbers: Numbers) -> None:
        rest = values[self.a.number].copy()
        factors = rest.copy()
        with np.errstate(all="ignore"):
            for k in range(len(rest)):
                pivot, column = rest[k, k], rest[k + 1 :, k]
                inverse = 1 / pivot if pivot > 0 else pivot * np.nan
                factors[k, k], factors[k, k + 1 :], factors[k + 1 :, k] = inverse, column, column * inverse
                rest[k + 1 :, k + 1 :] = rest[k + 1 :, k + 1 :] - np.outer(factors[k + 1 :, k], column)
        values[self.factors.number] = factors

    def write(self, writer: EntryWriter) -> None:
        n = self.a.shape[0]
        name = f"trajopt_factor_{n}_{writer.width}"
        writer.routine(name, ["ptr"] * 2, lambda: _module(triangles.factor_text(name, n, writer.lanes), writer.lanes))
        writer.call(name, self.a, self.factors)


@dataclass(frozen=True)
class TriangularSolve(Step):
    """Step that solves A x = b with the factors of A."""

    factors: Array
    b: Array
    x: Array

    @classmethod
    def new(cls, program: Program, factors: Array, b: Array) -> TriangularSolve:
        """Creates the step with a new array for x; see `Program.solve`."""
        _check_square("factors", factors)
        n = factors.shape[0]
        if b.shape[0] != n:
            raise InvalidArgumentError(f"b: expected {n} rows, with factors {factors.shape}, got shape {b.shape}")
        return cls(factors, b, program.array(*b.shape))

    @property
    def reads(self) -> tuple[Array, ...]:
        return (self.factors, self.b)

    @property
    def writes(self) -> tuple[Array, ...]:
        return (self.x,)

    @property
    def work(self) -> int:
        n, m = self.b.shape
        return n * n * m

    @property
    def scratch(self) -> int:
        """Number of scalars of scratch [-], for the columns that are solved at once."""
        n, m = self.b.shape
        return max(n * triangles.solve_block(n, m)[1], 1)

    def evaluate(self, values: ValuesByNumber, numbers: Numbers) -> None:
        factors, x = values[self.factors.number], values[self.b.number].copy()
        n = len(x)
        with np.errstate(all="ignore"):
            for k in range(n):
                x[k + 1 :] = x[k + 1 :] - np.outer(factors[k + 1 :, k], x[k])
            for k in reversed(range(n)):
                x[k] = x[k] * factors[k, k]
                x[:k] = x[:k] - np.outer(factors[:k, k], x[k])
        values[self.x.number] = x

    def write(self, writer: EntryWriter) -> None:
        n, m = self.b.shape
        name = f"trajopt_solve_{n}_{m}_{writer.width}"
        writer.routine(name, ["ptr"] * 4, lambda: _module(triangles.solve_text(name, n, m, writer.lanes), writer.lanes))
        writer.call(name, self.factors, self.b, self.x, writer.scratch)


def _module(text: str, lanes: LaneType) -> str:
    """A function that fuses multiplication and addition, as a separate module."""
    return "\n".join([text, intrinsic(lanes, "fma", 3)[1]])


def _check_square(argument: str, array: Array) -> None:
    if array.shape[0] != array.shape[1]:
        raise InvalidArgumentError(f"{argument}: expected a square matrix, got shape {array.shape}")
