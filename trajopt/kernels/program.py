"""A program: expressions called in sequence on named arrays, with dense algebra and iterations in between.

Most kernels are a single expression. A Runge-Kutta step calls one stage four times and chains the derivatives by matrix
products; a step of a rollout calls the feedback law, then the action. A program is data. `Kernel` turns it into machine
code for W lanes. `evaluate` runs it step by step, in doubles or in higher precision, for inspection and as a reference
for tests.
"""

from __future__ import annotations

import copy
import functools
import hashlib
from collections.abc import Sequence
from typing import Any

import casadi as ca
from casadi import SX

from trajopt.errors import InvalidArgumentError
from trajopt.kernels import patterns
from trajopt.kernels.expression import Code, Expression
from trajopt.kernels.instructions import expand
from trajopt.kernels.interrupts import Heard
from trajopt.kernels.numbers import FLOAT64, Numbers, Values
from trajopt.kernels.steps import (
    Array,
    Call,
    Factorisation,
    Groups,
    Iteration,
    MatrixProduct,
    Slice,
    Step,
    Sum,
    TriangularSolve,
    ValuesByNumber,
)


class Program:
    """Sequence of steps: calls of functions, dense algebra, iterations, and steps of any other kind.

    Args:
        name: Name for messages.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.arrays: list[Array] = []
        self.inputs: list[Array] = []
        self.outputs: list[Array] = []
        self.steps: list[Step] = []
        self._closed = False
        self._status: Array | None = None
        self._written: set[int] = set()  # arrays that have values, including inputs
        self._patterns: dict[int, patterns.Pattern] = {}  # of arrays with structural zeros
        self._sparse: set[int] = set()  # arrays in which a step leaves structural zeros unwritten
        self._zeros_read: set[int] = set()  # arrays whose structural zeros are read
        self._slices: dict[tuple[Array, int, int], Array] = {}
        self._expressions: dict[int, tuple[ca.Function, Expression]] = {}  # with the original function, by its id

    @classmethod
    def of(cls, name: str, function: ca.Function) -> Program:
        """Builds the program that calls one function, with the function's inputs and outputs."""
        program = cls(name)
        inputs = [program.input(*function.size_in(i)) for i in range(function.n_in())]
        program.output(*program.call(function, *inputs))
        return program

    def close(self) -> None:
        """Makes the program final, since a kernel of it exists or a step runs it."""
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise InvalidArgumentError(
                f"program {self.name!r}: expected a program that is not in use, got one with a kernel or run by "
                "another program; build a new program"
            )

    def _check_mine(self, argument: str, *arrays: Array) -> None:
        for array in arrays:
            if self.arrays[array.number : array.number + 1] != [array]:
                raise InvalidArgumentError(f"{argument}: {array} is not of program {self.name!r}; use its own arrays")

    def _check_written(self, argument: str, *arrays: Array) -> None:
        self._check_mine(argument, *arrays)
        for array in arrays:
            if array.number not in self._written:
                raise InvalidArgumentError(f"{argument}: no earlier step writes {array}; add such a step first")

    def input(self, rows: int, columns: int = 1) -> Array:
        """Declares the next input of the program and returns its array (rows, columns)."""
        array = self.array(rows, columns)
        self.inputs.append(array)
        self._written.add(array.number)
        return array

    def array(self, rows: int, columns: int = 1) -> Array:
        """Returns a new array (rows, columns), for a step to write."""
        self._check_open()
        self.arrays.append(Array(len(self.arrays), (int(rows), int(columns))))
        return self.arrays[-1]

    def pattern(self, array: Array) -> patterns.Pattern:
        """Mask (rows, columns) of the elements of an array that may differ from zero."""
        self._check_mine("array", array)
        return self._patterns.get(array.number, patterns.full(array.shape))

    def needs_zeros(self, array: Array) -> bool:
        """True if a later step or the caller reads the structural zeros of an array."""
        return array.number in self._sparse & self._zeros_read

    def add_step(self, step: Step) -> None:
        """Appends a step of any kind.

        Args:
            step: The step. It reads inputs and arrays that earlier steps have written; it writes other arrays.

        Raises:
            InvalidArgumentError: The program has a kernel already, or the step reads or writes other arrays.
        """
        self._check_open()
        kind, status = type(step).__name__, step.status
        self._check_written(f"{kind}.reads", *step.reads)
        self._check_mine(f"{kind}.writes", *step.writes)
        for array in step.writes:
            if array in self.inputs or array in self._slices.values():
                raise InvalidArgumentError(f"{kind}.writes: expected no input, got {array}; use Program.array")
        if status is not None and (status.shape != (1, 1) or status not in step.writes):
            raise InvalidArgumentError(f"{kind}.status: expected one of its writes, of shape (1, 1), got {status}")
        self._zeros_read.update(array.number for array in step.zeros_read(self.pattern))
        sparse = {array.number: p for array, p in step.patterns(self.pattern).items() if not p.all()}
        for array in step.writes:
            self._patterns.pop(array.number, None)
            self._written.add(array.number)
        self._patterns |= sparse
        self._sparse |= sparse.keys()
        self.steps.append(step)
        if status is not None:
            self._status = status if self._status is None else self.call(_worse(), self._status, status)[0]

    @property
    def status(self) -> Array | None:
        """Status of the steps so far (1, 1); None if no step can fail.

        In each lane it is 0 for success, else the largest residual; infinite or NaN if a step has no residual.
        """
        return self._status

    def slice(self, source: Array, first: int, size: int) -> Array:
        """Elements first, ..., first + size - 1 of an input as a read-only array (size, 1); of a result as a copy."""
        if source.number in self._written and source not in self.inputs:
            symbol = SX.sym("a", *source.shape)
            return self.call(ca.Function("part", [symbol], [ca.vec(symbol)[first : first + size]]), source)[0]
        key = (source, first, size)
        if key not in self._slices:
            step = Slice.new(self, *key)
            self.add_step(step)
            self._slices[key] = step.result
        return self._slices[key]

    def call(self, function: ca.Function | Expression, *inputs: Array, joins: bool = False) -> tuple[Array, ...]:
        """Calls a function, expanded to SX.

        Args:
            function: CasADi function, or an Expression.
            inputs: One array per input, of its shape. Rows and columns of the same size are interchangeable, and so are
                empty arrays.
            joins: Whether optimised code may join the function with that of the previous call, see
                `trajopt.kernels.joined`; useful if it reads arrays that the previous call reads or writes.

        Returns:
            One new array per output.

        Raises:
            InvalidArgumentError: The number or shape of the inputs is wrong.
            UnsupportedOperationError: The function has no SX form.
        """
        expression = function if isinstance(function, Expression) else self._expression(function)
        step = Call.new(self, expression, inputs, joins=joins)
        self.add_step(step)
        return step.outputs

    def _expression(self, function: ca.Function) -> Expression:
        """SX form of a function; it is read only at the first call."""
        identity = function.__hash__()
        if identity not in self._expressions:
            self._expressions[identity] = (function, Expression(expand(function)))
        return self._expressions[identity][1]

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_expressions": {}}  # the original functions are not needed

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
        """Product a b (aᵀ b with `transpose_a`), added to or subtracted from `initial` if there is one.

        Structural zeros of a and b cost nothing.

        Args:
            a: First factor.
            b: Second factor.
            transpose_a: Whether the first factor is transposed.
            initial: Array to which the product is added.
            subtract: Whether the product is subtracted instead.
            rows: Groups of rows of the result; inactive groups are not computed and have arbitrary values.
            inner: Groups of indices of the sum; inactive groups count as zero.
        """
        step = MatrixProduct.new(
            self, a, b, initial=initial, transpose_a=transpose_a, subtract=subtract, rows=rows, inner=inner
        )
        self.add_step(step)
        return step.result

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
        """Adds the product a b (aᵀ b with `transpose_a`) in place to `target`, which is neither an input nor a factor.

        With `subtract` it is subtracted. Set `symmetric` only if target and product are symmetric. Groups are as in
        `matmul`, except that inactive rows keep their values; a symmetric target must not have groups of rows.
        """
        step = MatrixProduct.new(
            self, a, b, target, transpose_a=transpose_a, subtract=subtract, symmetric=symmetric, rows=rows, inner=inner
        )
        self.add_step(step)

    def add(self, target: Array, a: Array, *, rows: Groups | None = None) -> None:
        """Adds an array in place to `target`, which is not an input; structural zeros of the array cost nothing.

        Inactive groups of `rows` keep their values.
        """
        self.add_step(Sum.new(self, target, a, rows))

    def factor(self, a: Array) -> Array:
        """Factors of a symmetric positive definite matrix (n, n), for `solve`; its lower triangle is read.

        If a pivot is not positive, the factors and all solutions are NaN.
        """
        step = Factorisation.new(self, a)
        self.add_step(step)
        return step.factors

    def solve(self, factors: Array, b: Array) -> Array:
        """Solution x (n, m) of A x = b.

        Args:
            factors: Factors of A from `factor`.
            b: Right-hand sides (n, m).
        """
        step = TriangularSolve.new(self, factors, b)
        self.add_step(step)
        return step.x

    def iterate(
        self,
        body: Program,
        state: Sequence[Array],
        given: Sequence[Array] = (),
        *,
        limit: int,
        where: Array | None = None,
    ) -> Array:
        """Runs a program repeatedly, in each lane until nothing is left to do.

        A lane is done when `left` is 0. It has failed when `left` is NaN, and stops as well. Its state is then that
        after its last pass, whatever other lanes do. If a step of the body can fail, its status is added to `left`, so
        that a pass with a failed step is not the last one.

        Args:
            body: Program with the inputs `state`, then `given`, and the outputs new state, then `left` (1, 1), a
                measure >= 0 of the remaining work. It is final from here on.
            state: Arrays with the initial state, and later the result. They must not be inputs; copy these by a call of
                a function.
            given: Arrays that the body only reads.
            limit: Largest number of passes, >= 1.
            where: Array (1, 1); lanes in which it is 0 make no pass and keep their state. By default all lanes make
                passes.

        Returns:
            `left` (1, 1) after the last pass, which is the status of the step.

        Raises:
            InvalidArgumentError: A shape is wrong, or an array occurs twice.
        """
        step = Iteration.new(self, body, tuple(state), tuple(given), limit, where)
        self.add_step(step)
        return step.left

    def judged(self) -> Program:
        """Returns the program, made final. If steps may fail, their status is added to its last output."""
        judged = self
        if self._status is not None:
            judged = copy.copy(self)
            vars(judged).update({key: copy.copy(value) for key, value in vars(self).items()}, _closed=False)
            (left,) = judged.call(_added(), judged.outputs.pop(), self._status)
            judged.output(left)
        self.close()
        judged.close()
        return judged

    def output(self, *arrays: Array) -> None:
        """Declares the next outputs; an array may be an output only once, and must not be an input."""
        self._check_open()
        self._check_written("output", *arrays)
        for array in arrays:
            inputs = (*self.inputs, *self._slices.values())
            if array in inputs or array in self.outputs:
                kind = "input" if array in inputs else "output"
                raise InvalidArgumentError(f"output: {array} is an {kind} already; copy it by a call of a function")
            self.outputs.append(array)
            self._zeros_read.add(array.number)

    @property
    def functions(self) -> list[Code]:
        """Functions that steps and their programs call, each once."""
        by_digest = {e.digest: e for step in self.steps for e in step.functions}
        for body in (body for step in self.steps for body in step.programs):
            by_digest |= {e.digest: e for e in body.functions}
        return list(by_digest.values())

    @property
    def instructions(self) -> int:
        """Number of instructions of all called expressions, each counted once."""
        return sum(e.instructions for e in self.functions)

    @property
    def work(self) -> int:
        """Number of instructions and multiplications of one run of the program [-]."""
        return sum(step.work for step in self.steps)

    def digest(self) -> str:
        """Hash of everything that determines the machine code except the source of steps."""
        digest = hashlib.sha256()
        for array in self.arrays:
            digest.update(repr(array.shape).encode())
        for step in self.steps:
            zeros = [self.needs_zeros(a) for a in step.writes]
            digest.update(repr((type(step).__module__, type(step).__qualname__, step.content, zeros)).encode())
        digest.update(repr([[a.number for a in arrays] for arrays in (self.inputs, self.outputs)]).encode())
        return digest.hexdigest()

    def evaluate(self, *values: Any, numbers: Numbers = FLOAT64) -> tuple[Values, ...]:
        """Runs the program on one set of inputs.

        In doubles, CasADi's evaluator runs the expressions, and the bits are those of compiled code unless there are
        matrix products, whose terms are summed in another order. With `HighPrecision(bits)` results are arrays of mpfr.

        Args:
            values: One array per input, of its shape or its size.
            numbers: The arithmetic.

        Returns:
            One array per output, (rows, columns).
        """
        values_by_number: ValuesByNumber = {}
        with Heard(), numbers.context():
            for array, value in zip(self.inputs, values, strict=True):
                values_by_number[array.number] = numbers.array(value, array.shape)
            for step in self.steps:
                step.evaluate(values_by_number, numbers)
        return tuple(values_by_number[a.number] for a in self.outputs)


@functools.cache
def _worse() -> ca.Function:
    """Function that returns the worse of two statuses; infinite if one is NaN."""
    a, b = SX.sym("a"), SX.sym("b")
    return ca.Function("worse", [a, b], [ca.if_else(a >= b, a, ca.if_else(b > a, b, ca.inf))])


@functools.cache
def _added() -> ca.Function:
    """Function that adds a nonzero status to the measure of the remaining work."""
    left, status = SX.sym("left"), SX.sym("status")
    return ca.Function("added", [left, status], [ca.if_else(status == 0, left, left + status)])
