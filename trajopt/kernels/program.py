"""A program: expressions called one after another on named arrays, with matrix products in between.

Most kernels are a single expression. A Runge-Kutta step calls one stage four times and chains the derivatives by matrix
products; a step of a rollout calls the feedback law, then the action. A program is data: `Kernel` turns it into machine
code for W lanes, `evaluate` runs it with CasADi's evaluator and numpy, for inspection and as the reference of tests.
"""

from __future__ import annotations

import hashlib
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt

from trajopt.errors import InvalidArgumentError
from trajopt.kernels import patterns
from trajopt.kernels.expression import Expression
from trajopt.kernels.instructions import expand
from trajopt.kernels.steps import Array, Call, Groups, Known, MatrixProduct, Sum


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
        rows: Groups | None = None,
        inner: Groups | None = None,
    ) -> Array:
        """The product a b (aᵀ b with `transpose_a`), added to `initial` if given, or subtracted from it.

        Structural zeros of a and b cost nothing.

        Args:
            a: First factor.
            b: Second factor.
            transpose_a: Whether the first one is transposed.
            initial: What the product is added to.
            subtract: Whether it is subtracted.
            rows: Groups of rows of the result; one that does not matter is not computed and worth nothing.
            inner: Groups of indices that are summed over; one that does not matter is taken to contribute zero.
        """
        left, right = self._factors(a, b, transpose_a)
        self._check_mine("matmul", *(() if initial is None else (initial,)))
        self._check_groups("rows", rows, len(left))
        self._check_groups("inner", inner, len(right))
        result = self._array((len(left), right.shape[1]))
        if initial is not None and initial.shape != result.shape:
            raise InvalidArgumentError(f"initial: expected shape {result.shape}, got {initial.shape}")
        reached = patterns.product(left, right)
        self._patterns[result.number] = reached if initial is None else reached | self.pattern(initial)
        self._zeros_read.update(() if initial is None else (initial.number,))
        blocks = patterns.blocks(left, right, rows.ranges if rows else ())
        step = MatrixProduct(a, b, result, transpose_a, initial, subtract, False, rows, inner, blocks)
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
        rows: Groups | None = None,
        inner: Groups | None = None,
    ) -> None:
        """Adds the product a b (aᵀ b with `transpose_a`) to `target`, neither an input nor a factor, in place.

        With `subtract` it is subtracted. Whoever says `symmetric` knows that target and product are. Groups are as in
        `matmul`, but that rows that do not matter stay as they are; a symmetric target has none.
        """
        self._check_open()
        left, right = self._factors(a, b, transpose_a)
        self._check_mine("accumulate", target)
        self._check_groups("rows", rows, len(left))
        self._check_groups("inner", inner, len(right))
        if target in self.inputs or target.shape != (len(left), right.shape[1]):
            raise InvalidArgumentError(
                f"target: expected an array that is not an input, of shape {(len(left), right.shape[1])}, got {target}"
            )
        if target in (a, b):
            raise InvalidArgumentError(f"target: expected an array that is not a factor, got {target}; use matmul")
        if symmetric and target.shape[0] != target.shape[1]:
            raise InvalidArgumentError(f"symmetric: expected a square target, got shape {target.shape}")
        if symmetric and rows is not None:
            raise InvalidArgumentError("rows: a symmetric target has no groups of rows; leave out inner indices")
        self._patterns[target.number] = self.pattern(target) | patterns.product(left, right)
        self._zeros_read.update(x.number for x in (target, *((a, b) if symmetric else ())))
        if symmetric:
            blocks = patterns.upper_blocks(left, right)
        else:
            blocks = patterns.blocks(left, right, rows.ranges if rows else ())
        self.steps.append(MatrixProduct(a, b, target, transpose_a, target, subtract, symmetric, rows, inner, blocks))

    def add(self, target: Array, a: Array, *, rows: Groups | None = None) -> None:
        """Adds an array to `target`, which is not an input, in place; its structural zeros cost nothing.

        Groups of `rows` that do not matter stay as they are.
        """
        self._check_open()
        self._check_mine("add", target, a)
        self._check_groups("rows", rows, target.shape[0])
        if target in self.inputs or target == a or target.shape != a.shape:
            raise InvalidArgumentError(
                f"target: expected another array than a, not an input, of shape {a.shape}, got {target}"
            )
        pattern = self.pattern(a)
        self._patterns[target.number] = self.pattern(target) | pattern
        self._zeros_read.add(target.number)
        self.steps.append(Sum(target, a, patterns.runs(pattern.ravel()), rows))

    def _check_groups(self, argument: str, groups: Groups | None, size: int) -> None:
        """Refuses groups that are not of this many indices; their array is read from here on."""
        if groups is None:
            return
        self._check_mine(argument, groups.array)
        covered = [i for first, end in groups.ranges for i in range(first, end)]
        if covered != list(range(size)) or groups.array.shape[0] != size or len(groups.ranges) > 64:
            raise InvalidArgumentError(
                f"{argument}: expected groups of indices 0..{size - 1}, 64 at most, and an array of {size} rows, "
                f"got {groups}"
            )
        self._zeros_read.add(groups.array.number)

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
            digest.update(repr((type(step).__name__, step.content)).encode())
            if isinstance(step, Call):
                digest.update(repr([self.needs_zeros(a) for a in step.outputs]).encode())
        digest.update(repr([[a.number for a in arrays] for arrays in (self.inputs, self.outputs)]).encode())
        return digest.hexdigest()

    def evaluate(self, *values: npt.ArrayLike) -> tuple[npt.NDArray[np.float64], ...]:
        """Runs the program on one set of inputs with CasADi's evaluator.

        Args:
            values: One array an input, of its shape or its size.

        Returns:
            One array an output, (rows, columns).
        """
        known: Known = {}
        for array, value in zip(self.inputs, values, strict=True):
            known[array.number] = np.asarray(value, dtype=np.float64).reshape(array.shape)
        for step in self.steps:
            step.evaluate(known)
        return tuple(known[a.number] for a in self.outputs)


def _same_memory(a: tuple[int, int], b: tuple[int, int]) -> bool:
    """Whether arrays of these shapes hold the same numbers in the same order, row-major."""
    size = a[0] * a[1]
    return size == b[0] * b[1] and (a == b or size == 0 or (min(a) == 1 and min(b) == 1))
