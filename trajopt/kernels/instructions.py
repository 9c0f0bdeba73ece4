"""Conversion of a CasADi SX function to a list of instructions.

CasADi stores an SX function as straight-line code over a work vector whose slots are reused. Here every instruction
has its own value.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from trajopt.errors import UnsupportedOperationError
from trajopt.kernels import patterns
from trajopt.kernels.instruction_list import (
    BOOLEAN,
    COMMUTATIVE,
    InstructionList,
    InstructionWriter,
    drop_unused,
)
from trajopt.kernels.instruction_table import CALL, REFUSED, InstructionTable, instruction_table, serialised
from trajopt.kernels.switches import guard
from trajopt.kernels.tables import calls_tables_only

__all__ = ["BOOLEAN", "COMMUTATIVE", "InstructionList", "expand", "read_instructions"]

Patterns = Sequence[patterns.Pattern]

SAME = frozenset({ca.OP_ASSIGN, ca.OP_LIFT})
SPECIAL = SAME | {ca.OP_OUTPUT, ca.OP_CONST, ca.OP_INPUT}


def expand(function: ca.Function) -> ca.Function:
    """SX form of a function; MX functions are expanded.

    Raises:
        UnsupportedOperationError: The function contains something without an SX form.
    """
    if function.is_a("SXFunction"):
        return function
    try:
        return function.expand()
    except RuntimeError as error:
        raise UnsupportedOperationError(
            f"function {function.name()!r} has no scalar (SX) form and cannot be compiled: {error}"
        ) from error


def supported_table(function: ca.Function, data: bytes) -> InstructionTable:
    """Instructions of an SX function as CasADi has them, from its serialised form.

    Raises:
        UnsupportedOperationError: An operation of the function cannot be compiled; the message names it.
    """
    if function.n_instructions() == 0 and function.nnz_out() > 0:
        raise UnsupportedOperationError(f"function {function.name()!r} has no instructions that can be read")
    table = instruction_table(function, data)
    operations = set(table.records[:, 0].tolist())
    for op in REFUSED.keys() & operations:
        raise UnsupportedOperationError(f"function {function.name()!r} contains {REFUSED[op]}")
    if ca.OP_CALL in operations and not calls_tables_only(function):
        raise UnsupportedOperationError(f"function {function.name()!r} contains {CALL}")
    return table


def read_instructions(function: ca.Function, data: bytes | None = None) -> InstructionList:
    """Instruction list of an SX function; see `merged`.

    Args:
        function: The function.
        data: Its serialised form, see `instruction_table`; by default it is created here.

    Raises:
        UnsupportedOperationError: An operation of the function cannot be compiled; the message names it.
    """
    function = expand(function)
    table = supported_table(function, serialised(function) if data is None else data)
    inputs = [patterns.of_sparsity(function.sparsity_in(i)) for i in range(function.n_in())]
    return merged(table, inputs, [patterns.of_sparsity(function.sparsity_out(i)) for i in range(function.n_out())])


def merged(table: InstructionTable, inputs: Patterns, outputs: Patterns) -> InstructionList:
    """Instruction list; equal instructions are merged, unused ones removed, selections guarded.

    No function of CasADi is needed, so that another thread may call it.

    Args:
        table: The instructions.
        inputs: For each input, the mask of elements that may differ from zero, of the input's shape.
        outputs: The same for each output.
    """
    input_position, output_position = [_row_major(p) for p in inputs], [_row_major(p) for p in outputs]
    results: list[list[int | None]] = [[None] * pattern.size for pattern in outputs]
    slots = int(table.records[:, 1:].max(initial=0)) + 2  # the last one belongs to the second operand that is absent
    writer, constants, work = InstructionWriter(), iter(table.constants), [-1] * slots
    add = writer.add
    for op, first, second, third in table.records.tolist():
        if op == ca.OP_CALL and second < 0:
            work[first] = writer.constant(0.0)
        elif op not in SPECIAL:
            work[first] = add(op, work[second], work[third])
        elif op == ca.OP_OUTPUT:
            results[first][output_position[first][third]] = work[second]
        elif op == ca.OP_CONST:
            work[first] = writer.constant(next(constants))
        elif op == ca.OP_INPUT:
            work[first] = add(op, second, input_position[second][third])
        else:
            work[first] = work[second]
    shapes_in, shapes_out = [pattern.shape for pattern in inputs], [pattern.shape for pattern in outputs]
    return drop_unused(guard(InstructionList(writer.operations, results, shapes_in, shapes_out)))


def table_numbers(table: InstructionTable) -> list[int]:
    """Numbers of the tables that a function reads."""
    if not (table.records[:, 0] == ca.OP_CALL).any():
        return []
    constants, values, found = iter(table.constants), dict[int, float](), dict[int, None]()
    for op, first, second, _ in table.records.tolist():
        if op == ca.OP_CONST:
            values[first] = next(constants)
        elif op == ca.OP_CALL and second >= 0:
            found[int(values[second])] = None
    return list(found)


def _row_major(pattern: patterns.Pattern) -> list[int]:
    """Position of each nonzero, in CasADi's order by columns, in the dense row-major array."""
    column, row = pattern.T.nonzero()
    positions: list[int] = (row * pattern.shape[1] + column).tolist()
    return positions
