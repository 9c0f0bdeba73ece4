"""Parts of a program: functions with named inputs and results, each cached by its own content.

Dynamics, cost stack and constraint rows of a model are parts. An edit of a cost therefore rebuilds and recompiles the
costs only: the content of the other parts and the parameters that they read are unchanged.
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

Bindings = list[tuple[SX | ParameterLayout, Array]]
"""Pairs of a symbol and the array that it represents; a layout represents parameters, see `named_call`."""


@dataclass(frozen=True)
class ParameterArray:
    """The run-time parameters of a knot in a program.

    Attributes:
        array: All parameters, an input (size,).
        layout: Position of each parameter.
    """

    array: Array
    layout: ParameterLayout


@dataclass(frozen=True)
class Part:
    """Function of a program, with named inputs and results.

    Attributes:
        expression: The CasADi function; its arguments are `inputs`, then `parameters`.
        inputs: Names of the arrays that it reads.
        parameters: Names of the run-time parameters that it reads.
        results: Names of the arrays that it computes.
    """

    expression: Expression
    inputs: tuple[str, ...]
    parameters: tuple[str, ...]
    results: tuple[str, ...]

    @classmethod
    def of(
        cls, label: str, inputs: Mapping[str, SX], layout: ParameterLayout, results: Mapping[str, SX], cure: str = ""
    ) -> Part:
        """Builds the part from symbols and result expressions.

        Args:
            label: Description for messages.
            inputs: Symbols by name.
            layout: Parameters that it may read.
            results: Expressions by name; arrays have the same structural zeros.
            cure: Advice about other symbols, for the message; see `function_of`.

        Raises:
            InvalidArgumentError: An expression uses another symbol.
        """
        columns, elements = layout.columns, layout.elements
        used = {s.element_hash() for s in ca.symvar(ca.veccat(*results.values()))} if columns else set()
        read = {name: column for name, column in columns.items() if not used.isdisjoint(elements[name])}
        symbols = [*inputs.values(), *read.values()]
        function = function_of(label, symbols, list(results.values()), **({"cure": cure} if cure else {}))
        return cls(Expression(function, label), tuple(inputs), tuple(read), tuple(results))

    def call(
        self, program: Program, arrays: Mapping[str, Array], parameters: ParameterArray, *, joins: bool = False
    ) -> dict[str, Array]:
        """Adds the call to a program.

        Args:
            program: The program.
            arrays: Arrays by name, including all inputs.
            parameters: Parameters, including all that the part reads.
            joins: Whether optimised code may merge it with the previous call, see `Program.call`.

        Returns:
            The array of each result.
            The array of each result.
        """
        places = [parameters.layout.slices[name] for name in self.parameters]
        values = [program.slice(parameters.array, place.start, place.stop - place.start) for place in places]
        input_arrays = [arrays[name] for name in self.inputs]
        return dict(zip(self.results, program.call(self.expression, *input_arrays, *values, joins=joins)))


def kept_part(model: Model, name: str, about: Sequence[Any], build: Callable[[], Part]) -> Part:
    """Part of a model; it is built once and then taken from the model or the disk cache.

    Args:
        model: The model.
        name: Name of the part within the model.
        about: All objects on which it depends; the content hash must cover them, see `trajopt.model.content`.
        build: Function that builds it.
    """
    return kept(model, ("part", name), build, about=(name, *about))


def named_call(
    program: Program, name: str, inputs: Sequence[tuple[SX | ParameterLayout, Array]], results: dict[str, SX]
) -> dict[str, Array]:
    """Adds the call of one expression with named results to a program.

    Args:
        program: The program.
        name: Description for messages.
        inputs: Pairs of a symbol and the array that it represents. A layout instead of a symbol represents parameters;
            the function reads those on which the results depend.
        results: Expressions of the symbols by name; the arrays have the same structural zeros.

    Returns:
        The array of each result.
    """
    symbols = {str(i): symbol for i, (symbol, _) in enumerate(inputs) if isinstance(symbol, SX)}
    rows = [ParameterArray(array, layout) for layout, array in inputs if isinstance(layout, ParameterLayout)]
    parameters = rows[0] if rows else ParameterArray(Array(0, (0, 1)), ParameterLayout({}))
    part = Part.of(name, symbols, parameters.layout, results)
    return part.call(program, {str(i): array for i, (_, array) in enumerate(inputs)}, parameters)


def computed(program: Program, name: str, expression: Callable[..., SX], *arrays: Array) -> Array:
    """Adds the call of an expression of arrays, and returns its result.

    Args:
        program: Program that gets the call.
        name: Name of the function.
        expression: Function of one symbol per array, of the array's shape.
        arrays: Inputs.
    """
    symbols = [SX.sym("a", *array.shape) for array in arrays]
    return program.call(ca.Function(name, symbols, [expression(*symbols)]), *arrays)[0]


def symbol_of(program: Program, array: Array) -> SX:
    """Symbol for an array of a program, with the same structural zeros."""
    rows, columns = np.nonzero(program.pattern(array))
    return SX.sym("a", ca.Sparsity.triplet(*array.shape, rows.tolist(), columns.tolist()))


def call_formula(
    program: Program,
    name: str,
    formula: Callable[..., Sequence[SX]],
    *arrays: Array,
    reads: Sequence[tuple[SX, Array]] = (),
) -> tuple[Array, ...]:
    """Adds the call of a formula of arrays to a program.

    Args:
        program: Program that gets the call.
        name: Description for messages.
        formula: Function that computes the results from a symbol for each array.
        *arrays: The arrays.
        reads: Pairs of a symbol that the formula reads otherwise, such as the parameters of a model, and its array.

    Returns:
        The array of each result, with the same structural zeros.
    """
    symbols = [symbol_of(program, array) for array in arrays]
    inputs = [*symbols, *(symbol for symbol, _ in reads)]
    function = ca.Function(name, inputs, list(formula(*symbols)))
    return program.call(function, *arrays, *(array for _, array in reads))
