"""Guards that stop NaN and infinity from the branch of a selection that is not taken.

A selection itself is a `select`. A factor that multiplies it later may be infinite just because the branch is not
taken: the derivative of sqrt(fmax(x, 0)) is (truth value) / (2 sqrt(...)), which CasADi evaluates to 0 / 0 at x < 0.
Therefore this module follows the values that a truth value s *switches*: they are 0 or -0 whenever s is false. These
are s itself, if_else_zero(s, y), products and quotients with a switched factor or numerator, and sums of switched
values (by "either"). A product or quotient p of a switched value becomes if_else_zero(s or p == p, p), which replaces
NaN by 0 where the switch is off.

All bits are CasADi's except in results that depend on such a NaN. Setting a switched tangent or adjoint times an
infinite slope to 0 is exact: where the switch is off, the function does not depend on it.

No guard is written if the other factor is finite for finite inputs, that is, if it results from sums, products and
bounded functions of them (overflow is not considered). Models without selections have no overhead.
"""

from __future__ import annotations

import math

import casadi as ca

from trajopt.kernels.instruction_list import BOOLEAN, InstructionList, InstructionWriter, Operation

# functions with f(±0) = ±0
_KEEP_ZERO = frozenset(
    {
        *(ca.OP_NEG, ca.OP_TWICE, ca.OP_SQ, ca.OP_SQRT, ca.OP_FABS, ca.OP_SIGN),
        *(ca.OP_SIN, ca.OP_TAN, ca.OP_ATAN, ca.OP_TANH),
    }
)
# functions that are finite for finite arguments
_FINITE = BOOLEAN | {
    *(ca.OP_ADD, ca.OP_SUB, ca.OP_MUL, ca.OP_NEG, ca.OP_TWICE, ca.OP_SQ, ca.OP_IF_ELSE_ZERO, ca.OP_COPYSIGN),
    *(ca.OP_FABS, ca.OP_SIGN, ca.OP_FLOOR, ca.OP_CEIL, ca.OP_FMIN, ca.OP_FMAX),
    *(ca.OP_SIN, ca.OP_COS, ca.OP_TAN, ca.OP_ATAN, ca.OP_ATAN2, ca.OP_HYPOT, ca.OP_TANH, ca.OP_ASINH, ca.OP_ERF),
    ca.OP_CALL,  # of a table, at an index within it
}

_TRUTHS = BOOLEAN | {ca.OP_IF_ELSE_ZERO}

Switch = frozenset[int]  # truth values; the switch is on where all are true


def guard(code: InstructionList) -> InstructionList:
    """Returns the code with guarded products; it may contain unused instructions."""
    if not any(op in _TRUTHS for op, _, _ in code.operations):
        return code
    follower = _Follower()
    new = follower.follow(code.operations)
    outputs = [[None if v is None else new[v] for v in values] for values in code.outputs]
    return InstructionList(follower.writer.operations, outputs, code.input_shapes, code.output_shapes)


class _Follower:
    """Writes instructions; tracks each value's switch, and whether it may be infinite or NaN for finite inputs."""

    def __init__(self) -> None:
        self.writer = InstructionWriter()
        self._switch: dict[int, Switch] = {}
        self._risky: set[int] = set()

    def follow(self, operations: list[Operation]) -> list[int]:
        """Writes operations with the guards that they need; returns the index of each operation's value."""
        add, risky, switch = self.writer.add, self._risky, self._switch
        new: list[int] = []
        for op, a, b in operations:
            if op == ca.OP_CONST:
                k = self.writer.constant(a)
                if not math.isfinite(a):
                    risky.add(k)
            elif op == ca.OP_INPUT:
                k = add(op, a, b)
            else:
                a, b = new[int(a)], new[b] if b >= 0 else -1
                k = add(op, a, b)
                finite = op in _FINITE or (op == ca.OP_DIV and self._is_nonzero_constant(b))
                if not finite or a in risky or b in risky:
                    risky.add(k)
                if a in switch or b in switch or op in _TRUTHS:
                    k = self._switched(op, a, b, k)
            new.append(k)
        return new

    def _switched(self, op: int, a: int, b: int, k: int) -> int:
        """Index of value k = op(a, b), which a truth value may switch, with a guard if it needs one."""
        switch = self._switch_of(op, a, b, k)
        if switch and self._needs_guard(op, a, b):
            is_number = self.writer.add(ca.OP_EQ, k, k)
            k = self.writer.add(ca.OP_IF_ELSE_ZERO, self.writer.add(ca.OP_OR, self._all(switch), is_number), k)
            self._risky.add(k)
        if switch:
            self._switch[k] = switch
        return k

    def _switch_of(self, op: int, a: int, b: int, k: int) -> Switch:
        """Truth values any of which, if false, makes value k = op(a, b) zero."""
        left, right = self._switch.get(a, frozenset()), self._switch.get(b, frozenset())
        if op in BOOLEAN:
            return frozenset((k,))
        if op == ca.OP_IF_ELSE_ZERO:
            return right | {a}
        if op == ca.OP_MUL:
            return left | right
        if op == ca.OP_DIV or op in _KEEP_ZERO:
            return left
        if op in (ca.OP_ADD, ca.OP_SUB) and left and right:
            return self._either(left, right)
        return frozenset()

    def _either(self, s: Switch, t: Switch) -> Switch:
        """Switch that is on where s or t is on."""
        common = s & t
        s, t = s - common, t - common
        if not s or not t or self._are_opposite(s, t):
            return common
        return common | {self.writer.add(ca.OP_OR, self._all(s), self._all(t))}

    def _are_opposite(self, s: Switch, t: Switch) -> bool:
        """True if one is the negation of the other, as in the two branches of a selection."""
        if len(s) > 1 or len(t) > 1:
            return False
        (a,), (b,) = s, t
        operations = self.writer.operations
        return operations[a] == (ca.OP_NOT, b, -1) or operations[b] == (ca.OP_NOT, a, -1)

    def _all(self, switch: Switch) -> int:
        """The switch as a single truth value."""
        result, *rest = sorted(switch)
        for s in rest:
            result = self.writer.add(ca.OP_AND, result, s)
        return result

    def _needs_guard(self, op: int, a: int, b: int) -> bool:
        if op == ca.OP_DIV:
            return not self._is_nonzero_constant(b)
        switched_risk = (a in self._switch and b in self._risky) or (b in self._switch and a in self._risky)
        return op == ca.OP_MUL and switched_risk

    def _is_nonzero_constant(self, k: int) -> bool:
        op, number, _ = self.writer.operations[k]
        return op == ca.OP_CONST and number != 0 and math.isfinite(number)
