"""From a CasADi SX function to a list of instructions.

CasADi stores an SX function as straight-line code over a work vector whose slots are reused. Here every instruction
gets a value of its own.
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


def expand(function: ca.Function) -> ca.Function:
    """SX form of a function; MX functions are expanded.

    Raises:
        UnsupportedOperationError: The function holds something that has no SX form.
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
    """Instruction list of an SX function: equal instructions merged, unused ones dropped, selections guarded.

    Raises:
        UnsupportedOperationError: The function holds an operation that cannot be compiled; the message names it.
    """
    function = expand(function)
    if function.n_instructions() == 0 and function.nnz_out() > 0:
        raise UnsupportedOperationError(f"function {function.name()!r} has no instructions that can be read")
    input_position = [_row_major(function.sparsity_in(i)) for i in range(function.n_in())]
    output_position = [_row_major(function.sparsity_out(i)) for i in range(function.n_out())]
    outputs: list[list[int | None]] = [[None] * function.numel_out(i) for i in range(function.n_out())]
    writer = InstructionWriter()
    work: dict[int, int] = {}
    opcode, read, write = function.instruction_id, function.instruction_input, function.instruction_output
    for k in range(function.n_instructions()):
        op = opcode(k)
        if op == ca.OP_OUTPUT:
            (output, nonzero) = write(k)
            outputs[output][output_position[output][nonzero]] = work[read(k)[0]]
        elif op == ca.OP_CONST:
            work[write(k)[0]] = writer.add(op, function.instruction_constant(k))
        elif op == ca.OP_INPUT:
            (argument, nonzero) = read(k)
            work[write(k)[0]] = writer.add(op, argument, input_position[argument][nonzero])
        elif op in REFUSED:
            raise UnsupportedOperationError(f"function {function.name()!r} contains {REFUSED[op]}")
        else:
            arguments = [work[a] for a in read(k)]
            same = op == ca.OP_ASSIGN or op == ca.OP_LIFT
            work[write(k)[0]] = arguments[0] if same else writer.add(op, *arguments)
    shapes_in = [function.size_in(i) for i in range(function.n_in())]
    shapes_out = [function.size_out(i) for i in range(function.n_out())]
    return drop_unused(guard(InstructionList(writer.operations, outputs, shapes_in, shapes_out)))


def _row_major(sparsity: ca.Sparsity) -> list[int]:
    """Position in the dense row-major array of each nonzero, in CasADi's order."""
    return [r * sparsity.size2() + c for r, c in zip(sparsity.row(), sparsity.get_col())]
