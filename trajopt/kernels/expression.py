"""An SX function that a program calls; one from the disk cache is decompressed on use."""

from __future__ import annotations

import functools
import hashlib
import itertools
import pickle
import zlib
from collections.abc import Sequence
from typing import Any, Protocol

import casadi as ca
import numpy as np
import numpy.typing as npt

from trajopt.kernels import patterns
from trajopt.kernels.evaluator import FunctionEvaluator
from trajopt.kernels.instruction_list import InstructionList
from trajopt.kernels.instruction_table import InstructionTable, deserialised, serialised
from trajopt.kernels.instructions import merged, supported_table, table_numbers
from trajopt.kernels.tables import Table, tables_of

Reals = npt.NDArray[np.float64]


class Code(Protocol):
    """Straight-line code that a program calls, from one expression or from several joined ones.

    Attributes:
        label: Description of what it computes.
        instructions: Approximate number of its instructions [-].
        inputs: For each input, the mask of elements that may differ from zero, of the input's shape.
        outputs: The same for each output.
    """

    label: str
    instructions: int
    inputs: list[patterns.Pattern]
    outputs: list[patterns.Pattern]

    @property
    def code(self) -> InstructionList:
        """Instructions of the function."""

    @property
    def digest(self) -> str:
        """Hash of everything that determines the function's instructions."""

    @property
    def tables(self) -> dict[int, Table]:
        """Tables that the function reads, by number."""


class Expression:
    """CasADi function (SX) with the properties that a program needs.

    In a pickle the function and its instructions are compressed and stay so until they are needed. If the machine code
    is in the cache, they are not needed at all.

    Args:
        function: The function.
        label: Description for messages; by default the function's name.

    Attributes:
        label: Description of what it computes.
        instructions: Number of its instructions [-].
        inputs: For each input, the mask of elements that may differ from zero, of the input's shape.
        input_names: Name of each input.
        outputs: Mask of elements that may differ from zero, for each output.
    """

    def __init__(self, function: ca.Function, label: str = "") -> None:
        self._function: ca.Function | None = function
        self._form = b""  # the function, serialised and compressed
        self._instructions: bytes | None = None  # its instructions as CasADi has them, packed
        self._packed: bytes | None = None  # its instruction list, packed
        self._numbers: list[int] | None = None  # of the tables that it reads
        self._evaluators: list[FunctionEvaluator] = []
        self.label = label or function.name()
        self.instructions = int(function.n_instructions())
        self.input_names = [str(function.name_in(i)) for i in range(function.n_in())]
        self.inputs = [patterns.of_sparsity(function.sparsity_in(i)) for i in range(function.n_in())]
        self.outputs = [patterns.of_sparsity(function.sparsity_out(i)) for i in range(function.n_out())]

    @property
    def function(self) -> ca.Function:
        """The CasADi function; it is unpacked at the first request."""
        if self._function is None:
            self._function = deserialised(zlib.decompress(self._form))
        return self._function

    @property
    def code(self) -> InstructionList:
        """Instructions of the function as a list, which is created at each call to save memory.

        Raises:
            UnsupportedOperationError: The function contains an operation that cannot be compiled.
        """
        if self._packed is None:
            code = merged(self._table, self.inputs, self.outputs)
            numbers = itertools.chain.from_iterable(code.operations)
            operations = np.fromiter(numbers, np.float64, 3 * len(code)).reshape(-1, 3)
            self._packed = _packed((operations, code.outputs, code.input_shapes, code.output_shapes))
            return code
        operations, *rest = _unpacked(self._packed)
        ops, first, second = operations.T.tolist()
        constants_or_positions = [a if op == ca.OP_CONST else int(a) for op, a in zip(ops, first)]
        return InstructionList(list(zip(map(int, ops), constants_or_positions, map(int, second))), *rest)

    @functools.cached_property
    def digest(self) -> str:
        """Hash of the function's instructions and of CasADi's version; functions with the same ones share machine code.

        Raises:
            UnsupportedOperationError: The function contains an operation that cannot be compiled.
        """
        table, both = self._table, (*self.inputs, *self.outputs)
        versions = ca.CasadiMeta.version(), ca.CasadiMeta.git_revision()  # which number operations and write functions
        digest = hashlib.sha256(repr((versions, [pattern.shape for pattern in both])).encode())
        for array in (table.records, np.array(table.constants), *both):
            digest.update(array.tobytes())
        return digest.hexdigest()

    @property
    def tables(self) -> dict[int, Table]:
        """Tables that the function reads, by number."""
        if self._numbers is None:
            _ = self._table
        return tables_of(lambda: self.function, self._numbers or ())

    @property
    def _table(self) -> InstructionTable:
        if self._instructions is None:
            form = serialised(self.function)
            table = supported_table(self.function, form)
            self._numbers = table_numbers(table)
            self._form, self._instructions = zlib.compress(form, level=1), _packed((table.records, table.constants))
            return table
        return InstructionTable(*_unpacked(self._instructions))

    def evaluate(self, arrays: Sequence[Reals]) -> list[Reals]:
        """Evaluates the function with CasADi: outputs (rows, columns), from one array of matching size per input."""
        try:
            evaluator = self._evaluators.pop()
        except IndexError:  # others are in use by other threads
            evaluator = FunctionEvaluator(self.function, self.inputs, self.outputs)
        results = evaluator(arrays)
        self._evaluators.append(evaluator)
        return results

    def __getstate__(self) -> dict[str, Any]:
        digest = self.digest  # serialises the function
        return vars(self) | {"_function": None, "_evaluators": [], "digest": digest}


def _packed(thing: Any) -> bytes:
    return zlib.compress(pickle.dumps(thing, protocol=5), level=1)


def _unpacked(data: bytes) -> Any:
    return pickle.loads(zlib.decompress(data))
