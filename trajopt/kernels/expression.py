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
from trajopt.kernels.instruction_table import deserialised, serialised
from trajopt.kernels.instructions import read_instructions

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
        self._packed: bytes | None = None  # its instructions, pickled and compressed
        self._read: tuple[Any, ...] | None = None  # instructions before they are compressed
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
        operations, *rest = self._arrays
        ops, first, second = operations.T.tolist()
        numbers = [a if op == ca.OP_CONST else int(a) for op, a in zip(ops, first)]
        return InstructionList(list(zip(map(int, ops), numbers, map(int, second))), *rest)

    @functools.cached_property
    def digest(self) -> str:
        """Hash of the function's instructions. Functions with the same instructions share machine code."""
        operations, *rest = self._arrays
        digest = hashlib.sha256(repr([operations.shape, *rest]).encode())
        for array in (operations, *self.inputs):
            digest.update(array.tobytes())
        return digest.hexdigest()

    @property
    def _arrays(self) -> tuple[Any, ...]:
        """Its instructions as an array (n, 3), positions of outputs, and shapes; fast to hash and to pickle."""
        if self._packed is not None:
            packed: tuple[Any, ...] = pickle.loads(zlib.decompress(self._packed))
            return packed
        if self._read is None:
            form = serialised(self.function)
            code = read_instructions(self.function, form)
            self._form = zlib.compress(form, level=1)
            numbers = itertools.chain.from_iterable(code.operations)
            operations = np.fromiter(numbers, np.float64, 3 * len(code)).reshape(-1, 3)
            self._read = operations, code.outputs, code.input_shapes, code.output_shapes
        return self._read

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
        digest = self.digest
        if self._packed is None:
            self._packed = zlib.compress(pickle.dumps(self._arrays, protocol=5), level=1)
            self._read = None
        return vars(self) | {"_function": None, "_evaluators": [], "digest": digest}
