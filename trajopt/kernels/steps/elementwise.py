"""Step that applies one function to each element of an array, in a loop."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trajopt.errors import InvalidArgumentError
from trajopt.kernels.builder import Builder
from trajopt.kernels.emission import EmittedFunction
from trajopt.kernels.expression import Expression
from trajopt.kernels.numbers import Numbers
from trajopt.kernels.operations import SIDE_BY_SIDE, LaneType
from trajopt.kernels.products import strips
from trajopt.kernels.steps.base import Array, Step, ValuesByNumber

if TYPE_CHECKING:
    from trajopt.kernels.entry import EntryWriter
    from trajopt.kernels.program import Program


@dataclass(frozen=True, eq=False)
class Elementwise(Step):
    """Step that computes f(x), g(x), ... for each element of an array.

    Code of one lane computes 8 elements at once, with the bits of one. As an expression of the whole array, the tanh
    of 64 elements would be 64 times as long.

    Attributes:
        expression: Function of one number, short enough for one piece of code.
        x: The array.
        results: Array of each result, of the same shape.
    """

    expression: Expression
    x: Array
    results: tuple[Array, ...]

    @classmethod
    def new(cls, program: Program, expression: Expression, x: Array) -> Elementwise:
        """Creates the step with a new array for each result of the expression."""
        shapes = [mask.shape for mask in (*expression.inputs, *expression.outputs)]
        if shapes != [(1, 1)] * len(shapes) or len(expression.inputs) != 1:
            raise InvalidArgumentError(f"expression: expected numbers of one number, got shapes {shapes}")
        return cls(expression, x, tuple(program.array(*x.shape) for _ in expression.outputs))

    @property
    def reads(self) -> tuple[Array, ...]:
        return (self.x,)

    @property
    def writes(self) -> tuple[Array, ...]:
        return self.results

    @property
    def content(self) -> tuple[object, ...]:
        return (self.expression.digest, *(array.number for array in (self.x, *self.results)))

    @property
    def work(self) -> int:
        return self.expression.instructions * self.x.size

    def evaluate(self, values: ValuesByNumber, numbers: Numbers) -> None:
        x = values[self.x.number]
        each = [numbers.call(self.expression, [v.reshape(1, 1)]) for v in x.ravel()]
        for array, results in zip(self.results, zip(*each)):
            values[array.number] = np.array([r[0, 0] for r in results], dtype=x.dtype).reshape(array.shape)

    def write(self, writer: EntryWriter) -> None:
        about = repr((self.expression.digest, self.x.size, writer.width)).encode()
        name = f"trajopt_elementwise_{hashlib.sha256(about).hexdigest()[:16]}"
        arrays = (self.x, *self.results)
        writer.routine(name, ["ptr"] * len(arrays), lambda: self._text(name, writer.lanes))
        writer.call(name, *arrays)

    def _text(self, name: str, lanes: LaneType) -> str:
        """LLVM text of `void name(double *x, double *f, double *g, ...)`: a loop, and the function that it calls."""
        arrays = ["%x", *(f"%f{i}" for i in range(len(self.results)))]
        b = Builder(f"define void @{name}({', '.join(f'ptr {array}' for array in arrays)})")
        width, functions = lanes.width, dict[str, EmittedFunction]()
        for first, end, height in strips(0, self.x.size, SIDE_BY_SIDE if width == 1 else 1):
            count = height if height == SIDE_BY_SIDE else 1
            symbol = f"{name}_{count}"
            functions[symbol] = EmittedFunction(symbol, self.expression.code, max(count, width), align=8 * width)
            with b.loop(first, end, count) as i:
                places = [f"ptr {b.at(array, (i.index, width))}" for array in arrays]
                b.do(f"call void @{symbol}({', '.join(places)}, ptr null)")
        parts = [part for function in functions.values() for part in function.parts]
        assert len(parts) == len(functions), "the expression is too long for one piece"
        return "\n".join([_without_repeats(parts), b.text()])


def _without_repeats(parts: list[str]) -> str:
    """Several modules as one: declarations once."""
    lines, declared = list[str](), set[str]()
    for line in "\n".join(parts).splitlines():
        if line.startswith("declare"):
            if line in declared:
                continue
            declared.add(line)
        lines.append(line)
    return "\n".join(lines)
