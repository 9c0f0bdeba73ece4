"""From a CasADi SX function to a list of instructions in single-assignment form.

CasADi stores an SX function as straight-line code over a work vector whose slots are reused. Here every instruction
gets a value of its own; equal instructions are merged (value numbering) and unused ones dropped, which is what makes
several expressions of the same kinematics cheap.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from trajopt.errors import UnsupportedOperationError

COMMUTATIVE = frozenset({ca.OP_ADD, ca.OP_MUL, ca.OP_EQ, ca.OP_NE, ca.OP_AND, ca.OP_OR})
BOOLEAN = frozenset({ca.OP_LT, ca.OP_LE, ca.OP_EQ, ca.OP_NE, ca.OP_NOT, ca.OP_AND, ca.OP_OR})
REFUSED = {
    ca.OP_CALL: "a call of a function marked never_inline; build it without that option",
    ca.OP_PRINTME: "printme; remove it",
}


@dataclass(frozen=True)
class InstructionList:
    """Straight-line code over scalars.

    Attributes:
        operations: One (opcode, a, b) a value. For OP_CONST a is the bit pattern's float, for OP_INPUT (input, position);
            else a and b are indices of earlier values (b is -1 for unary operations).
        outputs: For each output, its values in row-major order; None is a structural zero.
        input_shapes: Shape of each input, dense.
        output_shapes: Shape of each output.
    """

    operations: list[tuple[int, float, int]]
    outputs: list[list[int | None]]
    input_shapes: list[tuple[int, int]]
    output_shapes: list[tuple[int, int]]

    def __len__(self) -> int:
        return len(self.operations)


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
    """Instruction list of an SX function, equal instructions merged, unused ones dropped."""
    function = expand(function)
    if function.n_instructions() == 0 and function.nnz_out() > 0:
        raise UnsupportedOperationError(f"function {function.name()!r} has no instructions that can be read")
    input_position = [_row_major(function.sparsity_in(i)) for i in range(function.n_in())]
    output_position = [_row_major(function.sparsity_out(i)) for i in range(function.n_out())]
    outputs: list[list[int | None]] = [[None] * function.numel_out(i) for i in range(function.n_out())]
    operations: list[tuple[int, float, int]] = []
    numbers: dict[tuple[int, float, int] | tuple[int, bytes, int], int] = {}
    work: dict[int, int] = {}

    def value(operation: tuple[int, float, int]) -> int:
        key = (operation[0], np.float64(operation[1]).tobytes(), 0) if operation[0] == ca.OP_CONST else operation
        number = numbers.setdefault(key, len(operations))
        if number == len(operations):
            operations.append(operation)
        return number

    opcode, read, write = function.instruction_id, function.instruction_input, function.instruction_output
    for k in range(function.n_instructions()):
        op = opcode(k)
        if op == ca.OP_OUTPUT:
            (output, nonzero) = write(k)
            outputs[output][output_position[output][nonzero]] = work[read(k)[0]]
        elif op == ca.OP_CONST:
            work[write(k)[0]] = value((op, function.instruction_constant(k), -1))
        elif op == ca.OP_INPUT:
            (argument, nonzero) = read(k)
            work[write(k)[0]] = value((op, argument, int(input_position[argument][nonzero])))
        elif op in REFUSED:
            raise UnsupportedOperationError(f"function {function.name()!r} contains {REFUSED[op]}")
        else:
            arguments = [work[a] for a in read(k)]
            if op == ca.OP_ASSIGN or op == ca.OP_LIFT:
                work[write(k)[0]] = arguments[0]
                continue
            if op in COMMUTATIVE and arguments[0] > arguments[1]:
                arguments.reverse()
            work[write(k)[0]] = value((op, arguments[0], arguments[1] if len(arguments) > 1 else -1))
    shapes_in = [function.size_in(i) for i in range(function.n_in())]
    shapes_out = [function.size_out(i) for i in range(function.n_out())]
    return _drop_unused(InstructionList(operations, outputs, shapes_in, shapes_out))


def _row_major(sparsity: ca.Sparsity) -> np.ndarray:
    """Position in the dense row-major array of each nonzero, in CasADi's order."""
    return np.array(sparsity.row(), dtype=np.int64) * sparsity.size2() + np.array(sparsity.get_col(), dtype=np.int64)


def _drop_unused(code: InstructionList) -> InstructionList:
    used = [False] * len(code)
    for values in code.outputs:
        for v in values:
            if v is not None:
                used[v] = True
    for k in range(len(code) - 1, -1, -1):
        op, a, b = code.operations[k]
        if used[k] and op != ca.OP_CONST and op != ca.OP_INPUT:
            used[int(a)] = True
            if b >= 0:
                used[b] = True
    new_index = np.cumsum(used) - 1
    operations: list[tuple[int, float, int]] = []
    for k, (op, a, b) in enumerate(code.operations):
        if not used[k]:
            continue
        if op in (ca.OP_CONST, ca.OP_INPUT):
            operations.append((op, a, b))
        else:
            operations.append((op, int(new_index[int(a)]), int(new_index[b]) if b >= 0 else -1))
    outputs = [[None if v is None else int(new_index[v]) for v in values] for values in code.outputs]
    return InstructionList(operations, outputs, code.input_shapes, code.output_shapes)
