"""A program: expressions called one after another on named arrays, with matrix products in between.

Most kernels are a single expression. A Runge-Kutta step calls one stage four times and chains the derivatives by matrix
products; a step of a rollout calls the feedback law, then the action. A program is data: `Kernel` turns it into machine
code for W lanes, `evaluate` runs it with CasADi's evaluator and numpy, for inspection and as the reference of tests.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt

from trajopt.errors import InvalidArgumentError
from trajopt.kernels.instructions import expand


@dataclass(frozen=True)
class Array:
    """An array of a program, row-major. `number` identifies it."""

    number: int
    shape: tuple[int, int]

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.shape[0] * self.shape[1]


@dataclass(frozen=True)
class Call:
    """Calls an SX function; `digest` is a hash of its content."""

    function: ca.Function
    digest: str
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]


@dataclass(frozen=True)
class MatrixProduct:
    """result = a b or aᵀ b; with `initial`, result = initial + that product."""

    a: Array
    b: Array
    result: Array
    transpose_a: bool
    initial: Array | None


class Program:
    """Straight sequence of calls and matrix products.

    Args:
        name: For messages.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.arrays: list[Array] = []
        self.inputs: list[Array] = []
        self.outputs: list[Array] = []
        self.steps: list[Call | MatrixProduct] = []
        self._functions: dict[int, tuple[ca.Function, ca.Function, str]] = {}  # as given, as SX, digest; by identity

    def _array(self, shape: tuple[int, int]) -> Array:
        self.arrays.append(Array(len(self.arrays), (int(shape[0]), int(shape[1]))))
        return self.arrays[-1]

    def input(self, rows: int, columns: int = 1) -> Array:
        """Declares the next input."""
        self.inputs.append(self._array((rows, columns)))
        return self.inputs[-1]

    def call(self, function: ca.Function, *inputs: Array) -> tuple[Array, ...]:
        """Calls an SX function; inputs that are empty arrays may be passed as any array of size 0."""
        function, digest = self._function(function)
        if len(inputs) != function.n_in():
            raise InvalidArgumentError(f"{function.name()}: expected {function.n_in()} inputs, got {len(inputs)}")
        for i, array in enumerate(inputs):
            if array.size != function.numel_in(i):
                raise InvalidArgumentError(
                    f"{function.name()}: input {i} has shape {array.shape}, expected {function.size_in(i)}"
                )
        outputs = tuple(self._array(function.size_out(i)) for i in range(function.n_out()))
        self.steps.append(Call(function, digest, tuple(inputs), outputs))
        return outputs

    def _function(self, function: ca.Function) -> tuple[ca.Function, str]:
        """SX form of a function and a hash of its content; a function that is called again is not read again."""
        identity = function.__hash__()
        if identity not in self._functions:
            sx = expand(function)
            self._functions[identity] = (function, sx, hashlib.sha256(sx.serialize().encode()).hexdigest())
        return self._functions[identity][1:]

    def matmul(self, a: Array, b: Array, *, transpose_a: bool = False, initial: Array | None = None) -> Array:
        """The product a b (aᵀ b with `transpose_a`), added to `initial` if given."""
        m, k = (a.shape[1], a.shape[0]) if transpose_a else a.shape
        if k != b.shape[0] or (initial is not None and initial.shape != (m, b.shape[1])):
            raise InvalidArgumentError(f"matmul: shapes {a.shape}, {b.shape} do not fit")
        result = self._array((m, b.shape[1]))
        self.steps.append(MatrixProduct(a, b, result, transpose_a, initial))
        return result

    def output(self, *arrays: Array) -> None:
        """Declares the next outputs; each array is an output once at most, and not an input."""
        for array in arrays:
            if array in self.inputs or array in self.outputs:
                raise InvalidArgumentError(f"output: array {array.number} is an input or an output already")
            self.outputs.append(array)

    @property
    def instructions(self) -> int:
        """Number of instructions of all expressions that are called, each counted once."""
        return sum(c.function.n_instructions() for c in self.calls)

    @property
    def calls(self) -> list[Call]:
        """The calls, one a function."""
        return list({s.digest: s for s in self.steps if isinstance(s, Call)}.values())

    def digest(self) -> str:
        """Hash of everything that determines the machine code."""
        digest = hashlib.sha256()
        for array in self.arrays:
            digest.update(repr(array.shape).encode())
        for step in self.steps:
            if isinstance(step, Call):
                digest.update(step.digest.encode())
                digest.update(repr([a.number for a in (*step.inputs, *step.outputs)]).encode())
            else:
                initial = None if step.initial is None else step.initial.number
                numbers = (step.a.number, step.b.number, step.result.number, step.transpose_a, initial)
                digest.update(repr(numbers).encode())
        digest.update(repr([[a.number for a in arrays] for arrays in (self.inputs, self.outputs)]).encode())
        return digest.hexdigest()

    def evaluate(self, *values: npt.ArrayLike) -> tuple[npt.NDArray[np.float64], ...]:
        """Runs the program on one set of inputs with CasADi's evaluator.

        Args:
            values: One array an input, of its shape or its size.

        Returns:
            One array an output, (rows, columns).
        """
        known: dict[int, Any] = {}
        for array, value in zip(self.inputs, values, strict=True):
            known[array.number] = np.asarray(value, dtype=np.float64).reshape(array.shape)
        for step in self.steps:
            if isinstance(step, Call):
                shaped = [known[a.number].reshape(step.function.size_in(i)) for i, a in enumerate(step.inputs)]
                results = step.function.call([ca.DM(v) for v in shaped])
                for array, result in zip(step.outputs, results):
                    known[array.number] = np.array(result.full(), dtype=np.float64).reshape(array.shape)
            else:
                a = known[step.a.number]
                product = (a.T if step.transpose_a else a) @ known[step.b.number]
                start = 0.0 if step.initial is None else known[step.initial.number]
                known[step.result.number] = start + product
        return tuple(known[a.number] for a in self.outputs)
