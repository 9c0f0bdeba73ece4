"""Straight-line code over scalars in single-assignment form; every evaluator of an expression reads this form."""

from __future__ import annotations

import itertools
import struct
from dataclasses import dataclass

import casadi as ca

Operation = tuple[int, float, int]

COMMUTATIVE = frozenset({ca.OP_ADD, ca.OP_MUL, ca.OP_EQ, ca.OP_NE, ca.OP_AND, ca.OP_OR})
BOOLEAN = frozenset({ca.OP_LT, ca.OP_LE, ca.OP_EQ, ca.OP_NE, ca.OP_NOT, ca.OP_AND, ca.OP_OR})
LEAVES = frozenset({ca.OP_CONST, ca.OP_INPUT})


@dataclass(frozen=True)
class InstructionList:
    """Straight-line code over scalars.

    Attributes:
        operations: One (opcode, a, b) per value. For OP_CONST, a is the number; for OP_INPUT, a is the input and b the
            position in it; otherwise a and b are indices of earlier values (b is -1 for unary operations).
        outputs: For each output, its values in row-major order; None is a structural zero.
        input_shapes: Shape of each input, dense.
        output_shapes: Shape of each output.
    """

    operations: list[Operation]
    outputs: list[list[int | None]]
    input_shapes: list[tuple[int, int]]
    output_shapes: list[tuple[int, int]]

    def __len__(self) -> int:
        return len(self.operations)


class InstructionWriter:
    """Collects instructions; equal ones become one value, so that expressions with the same kinematics share it."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self._numbers: dict[tuple[int, float | bytes, int], int] = {}

    def add(self, op: int, a: float, b: int = -1) -> int:
        """Index of the value of this instruction, which must not be a constant."""
        if a > b >= 0 and op in COMMUTATIVE:
            a, b = b, int(a)
        operation = (op, a, b)
        number = self._numbers.setdefault(operation, len(self.operations))
        if number == len(self.operations):
            self.operations.append(operation)
        return number

    def constant(self, value: float) -> int:
        """Index of a constant. Constants are compared by their bits: 0.0 and -0.0 differ, and NaN equals itself."""
        number = self._numbers.setdefault((ca.OP_CONST, struct.pack("d", value), -1), len(self.operations))
        if number == len(self.operations):
            self.operations.append((ca.OP_CONST, value, -1))
        return number


def drop_unused(code: InstructionList) -> InstructionList:
    """Returns the list without instructions that no output needs."""
    operations = code.operations
    used = bytearray(len(operations))
    for v in itertools.chain.from_iterable(code.outputs):
        if v is not None:
            used[v] = True
    for k in range(len(operations) - 1, -1, -1):
        if used[k]:
            op, a, b = operations[k]
            if op not in LEAVES:
                used[int(a)] = True
                if b >= 0:
                    used[b] = True
    if all(used):
        return code
    new = [n - 1 for n in itertools.accumulate(used)] + [-1]  # b = -1 stays -1
    kept = [
        (op, a, b) if op in LEAVES else (op, new[int(a)], new[b]) for op, a, b in itertools.compress(operations, used)
    ]
    outputs = [[None if v is None else new[v] for v in values] for values in code.outputs]
    return InstructionList(kept, outputs, code.input_shapes, code.output_shapes)
