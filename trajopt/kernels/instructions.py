"""Conversion of a CasADi SX function to a list of instructions.

CasADi stores an SX function as straight-line code over a work vector whose slots are reused. Here every instruction
has its own value.
"""

from __future__ import annotations

import casadi as ca

from trajopt.errors import UnsupportedOperationError
from trajopt.kernels.instruction_list import BOOLEAN, COMMUTATIVE, InstructionList, InstructionWriter, drop_unused
from trajopt.kernels.switches import guard

__all__ = ["BOOLEAN", "COMMUTATIVE", "InstructionList", "expand", "read_instructions"]

REFUSED = {
    ca.OP_CALL: "the call of another function: an iterative solver, or one marked never_inline; keep it outside",
    ca.OP_PRINTME: "printme; remove it",
    ca.OP_PARAMETER: "a free symbol; make it an input",
}
SAME = frozenset({ca.OP_ASSIGN, ca.OP_LIFT})
SPECIAL = SAME | REFUSED.keys() | {ca.OP_OUTPUT, ca.OP_CONST, ca.OP_INPUT}


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


def read_instructions(function: ca.Function) -> InstructionList:
    """Instruction list of an SX function; equal instructions are merged, unused ones removed, selections guarded.

    Raises:
        UnsupportedOperationError: An operation of the function cannot be compiled; the message names it.
    """
    function = expand(function)
    if function.n_instructions() == 0 and function.nnz_out() > 0:
        raise UnsupportedOperationError(f"function {function.name()!r} has no instructions that can be read")
    input_position = [_row_major(function.sparsity_in(i)) for i in range(function.n_in())]
    output_position = [_row_major(function.sparsity_out(i)) for i in range(function.n_out())]
    outputs: list[list[int | None]] = [[None] * function.numel_out(i) for i in range(function.n_out())]
    writer = InstructionWriter()
    add, work, every = writer.add, [-1] * function.sz_w(), range(function.n_instructions())
    # Half of the time of this function is spent in these three calls of CasADi.
    ids = map(function.instruction_id, every)
    sources = map(function.instruction_input, every)
    targets = map(function.instruction_output, every)
    for k, op, source, target in zip(every, ids, sources, targets):
        if op not in SPECIAL:
            b = work[source[1]] if len(source) == 2 else -1
            work[target[0]] = add(op, work[source[0]], b)
        elif op == ca.OP_OUTPUT:
            output, nonzero = target
            outputs[output][output_position[output][nonzero]] = work[source[0]]
        elif op == ca.OP_CONST:
            work[target[0]] = writer.constant(function.instruction_constant(k))
        elif op == ca.OP_INPUT:
            argument, nonzero = source
            work[target[0]] = add(op, argument, input_position[argument][nonzero])
        elif op in SAME:
            work[target[0]] = work[source[0]]
        else:
            raise UnsupportedOperationError(f"function {function.name()!r} contains {REFUSED[op]}")
    shapes_in = [function.size_in(i) for i in range(function.n_in())]
    shapes_out = [function.size_out(i) for i in range(function.n_out())]
    return drop_unused(guard(InstructionList(writer.operations, outputs, shapes_in, shapes_out)))


def _row_major(sparsity: ca.Sparsity) -> list[int]:
    """Position of each nonzero, in CasADi's order, in the dense row-major array."""
    return [r * sparsity.size2() + c for r, c in zip(sparsity.row(), sparsity.get_col())]
