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
from trajopt.kernels import patterns
from trajopt.kernels.expression import Expression
from trajopt.kernels.instructions import expand
from trajopt.kernels.products import Block, Ranges


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
    """Calls an expression."""

    expression: Expression
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]

    @property
    def function(self) -> ca.Function:
        """The SX function that is called."""
        return self.expression.function

    @property
    def digest(self) -> str:
        """Hash of its content."""
        return self.expression.digest


@dataclass(frozen=True)
class MatrixProduct:
    """result = a b or aᵀ b; with `initial`, initial plus or, with `subtract`, minus that product.

    Of a `symmetric` result the upper triangle is computed and copied. It is left out where all elements of the arrays
    `unless_zero` are zero.
    """

    a: Array
    b: Array
    result: Array
    transpose_a: bool
    initial: Array | None
    subtract: bool
    symmetric: bool
    unless_zero: tuple[Array, ...]
    blocks: tuple[Block, ...]

    @property
    def flags(self) -> tuple[bool | int, ...]:
        """What determines its code beside shapes and blocks."""
        guards = tuple(a.number for a in self.unless_zero)
        return (self.transpose_a, self.initial is not None, self.subtract, self.symmetric, *guards)

    @property
    def multiplications(self) -> int:
        """Number of multiplications of one run."""
        return sum(b.multiplications for b in self.blocks)


@dataclass(frozen=True)
class Sum:
    """target += a, at the elements of `runs`, ranges (first, end); left out where all of `unless_zero` are zero."""

    target: Array
    a: Array
    runs: Ranges
    unless_zero: tuple[Array, ...]


class Program:
    """Straight sequence of calls, matrix products and sums.

    Args:
        name: For messages.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.arrays: list[Array] = []
        self.inputs: list[Array] = []
        self.outputs: list[Array] = []
        self.steps: list[Call | MatrixProduct | Sum] = []
        self._closed = False
        self._patterns: dict[int, patterns.Pattern] = {}  # of arrays that have structural zeros
        self._sparse_results: set[int] = set()  # results of calls, which write nothing but what may differ from zero
        self._zeros_read: set[int] = set()  # arrays whose structural zeros are read
        self._expressions: dict[int, tuple[ca.Function, Expression]] = {}  # with the function as given; by its identity

    @classmethod
    def of(cls, name: str, function: ca.Function) -> Program:
        """The program that calls one function: its inputs, and its outputs."""
        program = cls(name)
        inputs = [program.input(*function.size_in(i)) for i in range(function.n_in())]
        program.output(*program.call(function, *inputs))
        return program

    def close(self) -> None:
        """Makes the program final: a kernel of it exists."""
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise InvalidArgumentError(f"program {self.name!r} has a kernel already; build a new program")

    def _check_mine(self, argument: str, *arrays: Array) -> None:
        for array in arrays:
            if self.arrays[array.number : array.number + 1] != [array]:
                raise InvalidArgumentError(f"{argument}: {array} is not of program {self.name!r}; use its own arrays")

    def _array(self, shape: tuple[int, int]) -> Array:
        self._check_open()
        self.arrays.append(Array(len(self.arrays), (int(shape[0]), int(shape[1]))))
        return self.arrays[-1]

    def pattern(self, array: Array) -> patterns.Pattern:
        """Which elements of an array may differ from zero, (rows, columns)."""
        return self._patterns.get(array.number, patterns.full(array.shape))

    def needs_zeros(self, array: Array) -> bool:
        """Whether an array must be cleared before the call that computes it."""
        return array.number in self._sparse_results & self._zeros_read

    def input(self, rows: int, columns: int = 1) -> Array:
        """Declares the next input."""
        self.inputs.append(self._array((rows, columns)))
        return self.inputs[-1]

    def call(self, function: ca.Function, *inputs: Array) -> tuple[Array, ...]:
        """Calls a function, expanded to SX.

        Args:
            function: CasADi function.
            inputs: One array an input, of its shape. Rows and columns of the same size are the same, and so are all
                empty arrays.

        Returns:
            One new array an output.

        Raises:
            InvalidArgumentError: Number or shape of the inputs is wrong.
            UnsupportedOperationError: The function has no SX form.
        """
        expression = self._expression(function)
        function = expression.function
        if len(inputs) != function.n_in():
            raise InvalidArgumentError(
                f"inputs: function {function.name()!r} takes {function.n_in()} arrays, got {len(inputs)}"
            )
        self._check_mine("inputs", *inputs)
        for i, array in enumerate(inputs):
            if not _same_memory(array.shape, function.size_in(i)):
                raise InvalidArgumentError(
                    f"inputs: input {i} ({function.name_in(i)}) of function {function.name()!r} has shape "
                    f"{function.size_in(i)}, got an array of shape {array.shape}"
                )
        outputs = tuple(self._array(function.size_out(i)) for i in range(function.n_out()))
        for i, array in enumerate(outputs):
            if not function.sparsity_out(i).is_dense():
                self._patterns[array.number] = patterns.of_sparsity(function.sparsity_out(i))
                self._sparse_results.add(array.number)
        for i, array in enumerate(inputs):
            read = patterns.of_sparsity(function.sparsity_in(i)).reshape(array.shape)
            if np.any(read & ~self.pattern(array)):
                self._zeros_read.add(array.number)
        self.steps.append(Call(expression, tuple(inputs), outputs))
        return outputs

    def _expression(self, function: ca.Function) -> Expression:
        """SX form of a function; a function that is called again is not read again."""
        identity = function.__hash__()
        if identity not in self._expressions:
            self._expressions[identity] = (function, Expression(expand(function)))
        return self._expressions[identity][1]

    def unpack(self) -> None:
        """Makes the functions of all calls ready."""
        for call in self.calls:
            call.expression.unpack()

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_expressions": {}}  # the functions as they were given are not needed

    def matmul(
        self,
        a: Array,
        b: Array,
        *,
        transpose_a: bool = False,
        initial: Array | None = None,
        subtract: bool = False,
        unless_zero: tuple[Array, ...] = (),
    ) -> Array:
        """The product a b (aᵀ b with `transpose_a`), added to `initial` if given, or subtracted from it.

        Structural zeros of a and b cost nothing. With `unless_zero`, the result is worth something only if one of these
        arrays has an element that is not zero; else it is not computed.
        """
        left, right = self._factors(a, b, transpose_a)
        self._check_mine("matmul", *unless_zero, *(() if initial is None else (initial,)))
        result = self._array((len(left), right.shape[1]))
        if initial is not None and initial.shape != result.shape:
            raise InvalidArgumentError(f"initial: expected shape {result.shape}, got {initial.shape}")
        reached = patterns.product(left, right)
        self._patterns[result.number] = reached if initial is None else reached | self.pattern(initial)
        self._zeros_read.update(x.number for x in (*unless_zero, *(() if initial is None else (initial,))))
        blocks = patterns.blocks(left, right)
        step = MatrixProduct(a, b, result, transpose_a, initial, subtract, False, unless_zero, blocks)
        self.steps.append(step)
        return result

    def accumulate(
        self,
        target: Array,
        a: Array,
        b: Array,
        *,
        transpose_a: bool = False,
        subtract: bool = False,
        symmetric: bool = False,
        unless_zero: tuple[Array, ...] = (),
    ) -> None:
        """Adds the product a b (aᵀ b with `transpose_a`) to `target`, neither an input nor a factor, in place.

        With `subtract` it is subtracted. Whoever says `symmetric` knows that target and product are. With
        `unless_zero`, nothing is added if all elements of these arrays are zero.
        """
        self._check_open()
        left, right = self._factors(a, b, transpose_a)
        self._check_mine("accumulate", target, *unless_zero)
        if target in self.inputs or target.shape != (len(left), right.shape[1]):
            raise InvalidArgumentError(
                f"target: expected an array that is not an input, of shape {(len(left), right.shape[1])}, got {target}"
            )
        if target in (a, b):
            raise InvalidArgumentError(f"target: expected an array that is not a factor, got {target}; use matmul")
        if symmetric and target.shape[0] != target.shape[1]:
            raise InvalidArgumentError(f"symmetric: expected a square target, got shape {target.shape}")
        self._patterns[target.number] = self.pattern(target) | patterns.product(left, right)
        self._zeros_read.update(x.number for x in (target, *unless_zero, *((a, b) if symmetric else ())))
        blocks = patterns.upper_blocks(left, right) if symmetric else patterns.blocks(left, right)
        self.steps.append(MatrixProduct(a, b, target, transpose_a, target, subtract, symmetric, unless_zero, blocks))

    def add(self, target: Array, a: Array, *, unless_zero: tuple[Array, ...] = ()) -> None:
        """Adds an array to `target`, which is not an input, in place; its structural zeros cost nothing."""
        self._check_open()
        self._check_mine("add", target, a, *unless_zero)
        if target in self.inputs or target == a or target.shape != a.shape:
            raise InvalidArgumentError(
                f"target: expected another array than a, not an input, of shape {a.shape}, got {target}"
            )
        pattern = self.pattern(a)
        self._patterns[target.number] = self.pattern(target) | pattern
        self._zeros_read.update(x.number for x in (target, *unless_zero))
        self.steps.append(Sum(target, a, patterns.runs(pattern.ravel()), unless_zero))

    def _factors(self, a: Array, b: Array, transpose_a: bool) -> tuple[patterns.Pattern, patterns.Pattern]:
        """The patterns of both factors, the first as it is multiplied."""
        self._check_mine("matmul", a, b)
        left, right = self.pattern(a).T if transpose_a else self.pattern(a), self.pattern(b)
        if left.shape[1] != right.shape[0]:
            what = "aᵀ b" if transpose_a else "a b"
            raise InvalidArgumentError(f"matmul: {what} of shapes {a.shape} and {b.shape} does not exist")
        return left, right

    def output(self, *arrays: Array) -> None:
        """Declares the next outputs; each array is an output once at most, and not an input."""
        self._check_open()
        self._check_mine("output", *arrays)
        for array in arrays:
            if array in self.inputs or array in self.outputs:
                kind = "input" if array in self.inputs else "output"
                raise InvalidArgumentError(f"output: {array} is an {kind} already; copy it by a call of a function")
            self.outputs.append(array)
            self._zeros_read.add(array.number)

    @property
    def instructions(self) -> int:
        """Number of instructions of all expressions that are called, each counted once."""
        return sum(c.expression.instructions for c in self.calls)

    @property
    def work(self) -> int:
        """Number of instructions and multiplications of one run."""
        calls = sum(s.expression.instructions for s in self.steps if isinstance(s, Call))
        products = sum(s.multiplications for s in self.steps if isinstance(s, MatrixProduct))
        return int(calls + products)

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
                digest.update(repr([self.needs_zeros(a) for a in step.outputs]).encode())
            elif isinstance(step, Sum):
                guards = tuple(a.number for a in step.unless_zero)
                digest.update(repr((step.target.number, step.a.number, step.runs, guards)).encode())
            else:
                initial = None if step.initial is None else step.initial.number
                numbers = (step.a.number, step.b.number, step.result.number, initial)
                digest.update(repr((numbers, step.flags, step.blocks)).encode())
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
            elif isinstance(step, Sum):
                if _matters(step, known):
                    known[step.target.number] = known[step.target.number] + known[step.a.number]
            else:
                known[step.result.number] = _product(step, known)
        return tuple(known[a.number] for a in self.outputs)


def _matters(step: MatrixProduct | Sum, known: dict[int, Any]) -> bool:
    return not step.unless_zero or any(np.any(known[a.number]) for a in step.unless_zero)


def _product(step: MatrixProduct, known: dict[int, Any]) -> Any:
    start = np.zeros(step.result.shape) if step.initial is None else known[step.initial.number]
    if not _matters(step, known):
        return start
    a = known[step.a.number]
    product = (a.T if step.transpose_a else a) @ known[step.b.number]
    return start - product if step.subtract else start + product


def _same_memory(a: tuple[int, int], b: tuple[int, int]) -> bool:
    """Whether arrays of these shapes hold the same numbers in the same order, row-major."""
    size = a[0] * a[1]
    return size == b[0] * b[1] and (a == b or size == 0 or (min(a) == 1 and min(b) == 1))
