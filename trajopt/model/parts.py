"""Parts of a program: functions with named inputs and results, kept by content of their own.

Dynamics, cost stack and constraint rows of a model are parts. So an edit of a cost builds and compiles costs, and
nothing else: what the others are made of is the same, and their inputs are the parameters that they read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.kernels.expression import Expression
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.base import Model
from trajopt.model.functions import function_of
from trajopt.model.parameters import ParameterLayout
from trajopt.model.programs import kept

Given = list[tuple[SX | ParameterLayout, Array]]
"""Symbols, each with the array that it stands for; a layout stands for parameters, see `named_call`."""


@dataclass(frozen=True)
class ParameterArray:
    """The run-time parameters of a knot in a program.

    Attributes:
        array: All of them, an input (size,).
        layout: Where each of them is.
    """

    array: Array
    layout: ParameterLayout


@dataclass(frozen=True)
class Part:
    """A function of a program.

    Attributes:
        expression: The function; its inputs are `inputs`, then `parameters`.
        inputs: Name of each array that it reads.
        parameters: Names of the run-time parameters that it reads.
        results: Name of each array that it gives.
    """

    expression: Expression
    inputs: tuple[str, ...]
    parameters: tuple[str, ...]
    results: tuple[str, ...]

    @classmethod
    def of(
        cls, label: str, inputs: Mapping[str, SX], layout: ParameterLayout, results: Mapping[str, SX], cure: str = ""
    ) -> Part:
        """The function of symbols with these results.

        Args:
            label: What it computes, for messages.
            inputs: Symbols by name.
            layout: Parameters that it may read.
            results: Expressions by name; arrays have the same structural zeros.
            cure: What to do with other symbols, for the message; see `function_of`.

        Raises:
            InvalidArgumentError: An expression uses another symbol.
        """
        found = {s.element_hash() for s in ca.symvar(ca.veccat(*results.values()))}
        columns = {name: ca.vec(p.symbol) for name, p in layout.parameters.items()}
        read = {n: c for n, c in columns.items() if any(s.element_hash() in found for s in ca.symvar(c))}
        symbols = [*inputs.values(), *read.values()]
        function = function_of(label, symbols, list(results.values()), **({"cure": cure} if cure else {}))
        return cls(Expression(function, label), tuple(inputs), tuple(read), tuple(results))

    def call(
        self, program: Program, arrays: Mapping[str, Array], parameters: ParameterArray, *, joins: bool = False
    ) -> dict[str, Array]:
        """Adds the call.

        Args:
            program: The program.
            arrays: Arrays by name, those of the inputs among them.
            parameters: Parameters, those that it reads among them.
            joins: Whether optimised code may join it to the call before, see `Program.call`.

        Returns:
            The array of each result.
        """
        places = [parameters.layout.slices[name] for name in self.parameters]
        values = [program.slice(parameters.array, place.start, place.stop - place.start) for place in places]
        given = [arrays[name] for name in self.inputs]
        return dict(zip(self.results, program.call(self.expression, *given, *values, joins=joins)))


def kept_part(model: Model, name: str, about: Sequence[Any], build: Callable[[], Part]) -> Part:
    """A part of a model, from the model or the disk cache if it was built before.

    Args:
        model: The model.
        name: Its name within the model.
        about: All that it depends on: objects that the content hash covers, see `trajopt.model.content`.
        build: Builds it.
    """
    return kept(model, ("part", name), build, about=(name, *about))


def named_call(
    program: Program, name: str, inputs: Sequence[tuple[SX | ParameterLayout, Array]], results: dict[str, SX]
) -> dict[str, Array]:
    """Adds the call of one expression with named results to a program.

    Args:
        program: The program.
        name: What it computes, for messages.
        inputs: Symbols, each with the array that it stands for. A layout in place of a symbol stands for parameters, of
            which the function reads those that the results depend on.
        results: Expressions of the symbols by name; the arrays have the same structural zeros.

    Returns:
        The array of each result.
    """
    symbols = {str(i): symbol for i, (symbol, _) in enumerate(inputs) if isinstance(symbol, SX)}
    rows = [ParameterArray(array, layout) for layout, array in inputs if isinstance(layout, ParameterLayout)]
    parameters = rows[0] if rows else ParameterArray(Array(0, (0, 1)), ParameterLayout({}))
    part = Part.of(name, symbols, parameters.layout, results)
    return part.call(program, {str(i): array for i, (_, array) in enumerate(inputs)}, parameters)


def symbol_of(program: Program, array: Array) -> SX:
    """A symbol for an array of a program, with its structural zeros."""
    rows, columns = np.nonzero(program.pattern(array))
    return SX.sym("a", ca.Sparsity.triplet(*array.shape, rows.tolist(), columns.tolist()))
