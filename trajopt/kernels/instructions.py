"""Conversion of a CasADi SX function to a list of instructions.

CasADi stores an SX function as straight-line code over a work vector whose slots are reused. Here every instruction
has its own value.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from trajopt.errors import UnsupportedOperationError
from trajopt.kernels.instruction_list import BOOLEAN, COMMUTATIVE, InstructionList, InstructionWriter, drop_unused
from trajopt.kernels.instruction_table import REFUSED, InstructionTable, instruction_table, serialised
from trajopt.kernels.switches import guard

__all__ = ["BOOLEAN", "COMMUTATIVE", "InstructionList", "expand", "read_instructions"]

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
    for op in np.unique(table.records[:, 0]).tolist():
        if op in REFUSED:
            raise UnsupportedOperationError(f"function {function.name()!r} contains {REFUSED[op]}")
    return table


def read_instructions(function: ca.Function, data: bytes | None = None) -> InstructionList:
    """Instruction list of an SX function; equal instructions are merged, unused ones removed, selections guarded.

    Args:
        function: The function.
        data: Its serialised form, see `instruction_table`; by default it is created here.

    Raises:
        UnsupportedOperationError: An operation of the function cannot be compiled; the message names it.
    """
    function = expand(function)
    table = supported_table(function, serialised(function) if data is None else data)
    input_position = [_row_major(function.sparsity_in(i)) for i in range(function.n_in())]
    output_position = [_row_major(function.sparsity_out(i)) for i in range(function.n_out())]
    outputs: list[list[int | None]] = [[None] * function.numel_out(i) for i in range(function.n_out())]
    writer, constants = InstructionWriter(), iter(table.constants)
    add, work = writer.add, [-1] * (function.sz_w() + 1)  # the last slot belongs to the second operand that is absent
    for op, first, second, third in table.records.tolist():
        if op not in SPECIAL:
            work[first] = add(op, work[second], work[third])
        elif op == ca.OP_OUTPUT:
            outputs[first][output_position[first][third]] = work[second]
        elif op == ca.OP_CONST:
            work[first] = writer.constant(next(constants))
        elif op == ca.OP_INPUT:
            work[first] = add(op, second, input_position[second][third])
        else:
            work[first] = work[second]
    shapes_in = [function.size_in(i) for i in range(function.n_in())]
    shapes_out = [function.size_out(i) for i in range(function.n_out())]
    return drop_unused(guard(InstructionList(writer.operations, outputs, shapes_in, shapes_out)))


def _row_major(sparsity: ca.Sparsity) -> list[int]:
    """Position of each nonzero, in CasADi's order, in the dense row-major array."""
    return [r * sparsity.size2() + c for r, c in zip(sparsity.row(), sparsity.get_col())]
