"""Instructions of an SX function as columns of numbers, read in one pass from the function's serialised form.

CasADi's calls read one instruction at a time. They took 0.2 of the 0.33 s in which the 103,000 instructions of a walk
of ANYmal were read; with the serialised form, which the disk cache needs anyway, reading takes 0.11 s. CasADi does not
document the form. So the first instruction of each operation is compared with that from the calls; if one differs, as
it may in another version of CasADi, the calls read them all.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int32]

REFUSED = {
    ca.OP_PRINTME: "printme; remove it",
    ca.OP_PARAMETER: "a free symbol; make it an input",
}
"""Operations that cannot be compiled, with the reason and the cure."""

CALL = (
    "the call of another function: casadi.interpolant, an iterative solver, or one marked never_inline; write a table "
    "as casadi.pw_lin(x, points, values), and keep the others outside"
)
"""Reason and cure of a call, unless it is that of a table."""

_LETTER = ord("a")  # CasADi writes a byte as two letters from a to p, the lower half first


@dataclass(frozen=True)
class InstructionTable:
    """Instructions of an SX function, n of them.

    Attributes:
        records: Opcode, slot of the result, slots of the operands of each instruction, shape (n, 4); the second slot is
            -1 if there is one operand. An input has its number and that of the nonzero instead of operands; an output
            has its number, the slot of the operand, and the number of the nonzero. A constant has the slot only; an
            operation of `REFUSED` has zeros. The operands of a table are its number and the index, and those of its
            derivative -1.
        constants: Values of the constants, in the order of their instructions.
    """

    records: Ints
    constants: list[float]


def serialised(function: ca.Function) -> bytes:
    """Serialised form of a function, in half as many bytes as CasADi's text."""
    halves = np.frombuffer(function.serialize().encode(), np.uint8) - np.uint8(_LETTER)
    return (halves[0::2] | halves[1::2] << 4).tobytes()


def deserialised(data: bytes) -> ca.Function:
    """Function from its serialised form."""
    whole = np.frombuffer(data, np.uint8)
    letters = np.stack((whole & 15, whole >> 4), axis=1) + np.uint8(_LETTER)
    return ca.Function.deserialize(letters.tobytes().decode())


def instruction_table(function: ca.Function, data: bytes) -> InstructionTable:
    """Instructions of an SX function.

    Args:
        function: The function.
        data: Its serialised form.
    """
    table = _from_data(function, data)
    return from_calls(function) if table is None else table


def _from_data(function: ca.Function, data: bytes) -> InstructionTable | None:
    """Table from the serialised form; None if the form is not as expected."""
    n = function.n_instructions()
    # Behind the instructions are the outputs: sparsity, number of nonzeros, and for each a reference to its expression.
    end = len(data) - 11 - sum(17 + 9 * function.nnz_out(i) for i in range(function.n_out()))
    if n == 0 or end < 16 * n:
        return None
    content = data[end - 16 * n : end]
    records = np.frombuffer(content, np.int32).reshape(n, 4).copy()
    all_ops = records[:, 0].copy()
    if np.any(all_ops == ca.OP_CALL):  # the form has the operands of calls elsewhere
        return None
    constants = np.frombuffer(content, np.float64).reshape(n, 2)[all_ops == ca.OP_CONST, 1]
    ops, first = np.unique(all_ops, return_index=True)
    for op, k in zip(ops.tolist(), first.tolist()):
        expected = _record(function, k)
        if op == ca.OP_CONST or op in REFUSED:
            records[all_ops == op, 2:] = 0
        elif expected[3] < 0:
            records[all_ops == op, 3] = -1  # the form repeats the only operand
        if tuple(records[k].tolist()) != expected:
            return None
    return InstructionTable(records, constants.tolist())


def from_calls(function: ca.Function) -> InstructionTable:
    """Instructions of an SX function, read by CasADi's calls."""
    records = [_record(function, k) for k in range(function.n_instructions())]
    constants = [function.instruction_constant(k) for k, record in enumerate(records) if record[0] == ca.OP_CONST]
    return InstructionTable(np.array(records, np.int32).reshape(-1, 4), constants)


def _record(function: ca.Function, k: int) -> tuple[int, int, int, int]:
    """Row k of the table."""
    op, source, target = function.instruction_id(k), function.instruction_input(k), function.instruction_output(k)
    if op in REFUSED:
        return (op, 0, 0, 0)
    if op == ca.OP_CALL and len(source) != 2:
        return (op, target[0], -1, -1)
    if op == ca.OP_CONST:
        return (op, target[0], 0, 0)
    if op == ca.OP_OUTPUT:
        return (op, target[0], source[0], target[1])
    return (op, target[0], source[0], source[1] if len(source) == 2 else -1)
