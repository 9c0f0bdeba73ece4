"""From an instruction list to LLVM text: every scalar is one vector of W lanes.

A long list is cut into functions of at most CUT instructions, because LLVM's time grows faster than the length of a
function. Values that live across a cut wait in a scratch array.
"""

from __future__ import annotations

import hashlib

import casadi as ca

from trajopt.kernels.instruction_list import BOOLEAN, LEAVES, InstructionList
from trajopt.kernels.operations import (
    COMPARISONS,
    LIBM_BINARY,
    LIBM_UNARY,
    LaneType,
    erfinv_text,
    mask_text,
    real_text,
)

# Measured on 41,948 instructions, 8 lanes: cut at 1000, 2000, 4000, 16,000, compiling takes 8.9, 7.6, 10.2, 14.6 s and
# a call 3.5, 3.5, 3.4, 3.3 us a lane.
CUT = 2000


class EmittedFunction:
    """LLVM text of one function, cut into parts that compile apart.

    The function's C signature is `void name(double *in0, ..., double *out0, ..., double *scratch)`; element e of lane l
    of an array is at e * width + l, arrays are aligned to 64 bytes when width > 1. No output may overlap another array.
    Structural zeros of outputs are not written.

    Attributes:
        name: Symbol of the function.
        parts: LLVM modules, one a part; part 0 defines `name` and calls the others.
        scratch: Number of scalars (of W lanes each) that the function keeps in the scratch array.
    """

    def __init__(self, name: str, code: InstructionList, width: int) -> None:
        self.name = name
        self.width = width
        self._code = code
        self._lanes = LaneType(width)
        parts = 1 if len(code) <= 1.25 * CUT else -(-len(code) // CUT)
        bounds = [len(code) * i // parts for i in range(parts + 1)]
        self._part_of = [part for part in range(parts) for _ in range(bounds[part], bounds[part + 1])]
        self._slots, self.scratch = self._waiting_values()
        self._stores = self._output_stores()
        bodies = [self._body(bounds[i], bounds[i + 1], i, last=i == parts - 1) for i in range(parts)]
        self.parts = self._modules(bodies)

    def _waiting_values(self) -> tuple[dict[int, int], int]:
        """Scratch slot of each value that is used after the cut that follows it; the number of slots."""
        last_part: dict[int, int] = {}
        for k, (op, a, b) in enumerate(self._code.operations):
            for v in () if op in LEAVES else (int(a), b):
                if v >= 0 and self._part_of[v] != self._part_of[k] and self._code.operations[v][0] not in LEAVES:
                    last_part[v] = self._part_of[k]
        slots: dict[int, int] = {}
        size = part = 0
        free: list[int] = []
        for v in sorted(last_part):
            if self._part_of[v] != part:  # a slot whose value was read in an earlier part serves again
                part = self._part_of[v]
                held = {slots[w] for w in slots if last_part[w] >= part}
                free = sorted(set(range(size)) - held)
            if not free:
                free, size = [size], size + 1
            slots[v] = free.pop()
        return slots, size

    def _output_stores(self) -> dict[int, list[tuple[int, int]]]:
        """Places of each value in the outputs: (output, element)."""
        stores: dict[int, list[tuple[int, int]]] = {}
        for output, values in enumerate(self._code.outputs):
            for element, v in enumerate(values):
                if v is not None:
                    stores.setdefault(v, []).append((output, element))
        return stores

    def _body(self, first: int, end: int, part: int, *, last: bool) -> list[str]:
        """Lines of one part; the last one also stores the constants and inputs that are outputs."""
        writer = _PartWriter(self._code, self._lanes, self._slots, self._part_of, part)
        for k in range(first, end):
            if self._code.operations[k][0] in LEAVES:
                continue
            writer.operation(k)
            if k in self._slots:
                writer.store(writer.real(k), "%scratch", self._slots[k])
            for output, element in self._stores.get(k, ()):
                writer.store(writer.real(k), f"%out{output}", element)
        for v, places in self._stores.items() if last else ():
            if self._code.operations[v][0] in LEAVES:
                for output, element in places:
                    writer.store(writer.real(v), f"%out{output}", element)
        return writer.lines

    def _modules(self, bodies: list[list[str]]) -> list[str]:
        arguments = [f"ptr noalias %in{i}" for i in range(len(self._code.input_shapes))]
        arguments += [f"ptr noalias %out{i}" for i in range(len(self._code.output_shapes))] + ["ptr noalias %scratch"]
        plain = ", ".join(a.replace(" noalias", "") for a in arguments)
        signature = ", ".join(arguments)
        modules = []
        for i, body in enumerate(bodies):
            name = self.name if i == 0 else f"{self.name}_{i}"
            tail, declared = [], []
            if i == 0:
                for j in range(1, len(bodies)):
                    declared.append(f"declare void @{self.name}_{j}({signature})")
                    tail.append(f"call void @{self.name}_{j}({plain})")
            text = [*declared, f"define void @{name}({signature}) nounwind {{", *body, *tail, "ret void", "}"]
            modules.append("\n".join(text) + "\n" + declarations(self._lanes, body))
        return modules


class _PartWriter:
    """Writes the instructions of one part; loads inputs, constants and waiting values where they are first used."""

    def __init__(
        self, code: InstructionList, lanes: LaneType, slots: dict[int, int], part_of: list[int], part: int
    ) -> None:
        self._code, self._lanes, self._slots, self._part_of, self._part = code, lanes, slots, part_of, part
        self._reals: dict[int, str] = {}
        self._masks: dict[int, str] = {}
        self._stores = 0
        self.lines: list[str] = []

    def real(self, k: int) -> str:
        """Text of value k as a real."""
        if k not in self._reals:
            self._reals[k] = self._make_real(k)
        return self._reals[k]

    def _make_real(self, k: int) -> str:
        op, a, b = self._code.operations[k]
        if op == ca.OP_CONST:
            return self._lanes.constant(float(a))
        if op == ca.OP_INPUT:
            return self._load(f"%v{k}", f"%in{int(a)}", b)
        if self._part_of[k] != self._part:
            return self._load(f"%v{k}", "%scratch", self._slots[k])
        one, zero = self._lanes.constant(1.0), self._lanes.constant(0.0)
        real, mask = self._lanes.real, self._lanes.mask
        self.lines.append(f"%v{k} = select {mask} {self._masks[k]}, {real} {one}, {real} {zero}")
        return f"%v{k}"

    def mask(self, k: int) -> str:
        """Text of value k as a truth value: true where it is not 0."""
        if k not in self._masks:
            name = f"%m{k}"
            self.lines.append(mask_text(self._lanes, name, ca.OP_NE, self.real(k), self._lanes.constant(0.0)))
            self._masks[k] = name
        return self._masks[k]

    def operation(self, k: int) -> None:
        """Appends the text of instruction k."""
        op, a, b = self._code.operations[k]
        a = int(a)
        if op in BOOLEAN:
            self._masks[k] = self._boolean(op, f"%m{k}", a, b)
        elif op == ca.OP_IF_ELSE_ZERO:
            self._select(k, a, b)
        else:
            self.lines += real_text(self._lanes, f"%v{k}", op, self.real(a), self.real(b) if b >= 0 else "")
            self._reals[k] = f"%v{k}"

    def _boolean(self, op: int, name: str, a: int, b: int) -> str:
        lanes = self._lanes
        if op in COMPARISONS:
            self.lines.append(mask_text(lanes, name, op, self.real(a), self.real(b)))
        elif op == ca.OP_NOT:
            self.lines.append(f"{name} = xor {lanes.mask} {self.mask(a)}, {lanes.mask_true}")
        else:
            word = "and" if op == ca.OP_AND else "or"
            self.lines.append(f"{name} = {word} {lanes.mask} {self.mask(a)}, {self.mask(b)}")
        return name

    def _select(self, k: int, condition: int, value: int) -> None:
        lanes, mask, real = self._lanes, self.mask(condition), self.real(value)
        self.lines.append(
            f"%v{k} = select {lanes.mask} {mask}, {lanes.real} {real}, {lanes.real} {lanes.constant(0.0)}"
        )
        self._reals[k] = f"%v{k}"

    def _load(self, name: str, base: str, element: int) -> str:
        lanes = self._lanes
        self.lines.append(f"{name}.p = getelementptr {lanes.real}, ptr {base}, i64 {element}")
        self.lines.append(f"{name} = load {lanes.real}, ptr {name}.p, align {lanes.align}")
        return name

    def store(self, text: str, base: str, element: int) -> None:
        """Appends a store of a real."""
        lanes, name = self._lanes, f"%s{self._stores}"
        self._stores += 1
        self.lines.append(f"{name} = getelementptr {lanes.real}, ptr {base}, i64 {element}")
        self.lines.append(f"store {lanes.real} {text}, ptr {name}, align {lanes.align}")


def declarations(lanes: LaneType, body: list[str]) -> str:
    """Declarations of what the body calls."""
    called = {line.split("@", 1)[1].split("(", 1)[0] for line in body if " call double @" in line or "@llvm." in line}
    lines = []
    if "trajopt_erfinv" in called:
        called |= {"log", "erf", "exp", "llvm.sqrt.f64"}
        lines.append(erfinv_text())
    unary = set(LIBM_UNARY.values()) - {"trajopt_erfinv"}
    for name in sorted(called - {"trajopt_erfinv"}):
        if name.startswith("llvm."):
            real = "double" if name.endswith(".f64") else lanes.real
            lines.append(f"declare {real} @{name}({real})")
        elif name in unary:
            lines.append(f"declare double @{name}(double) nounwind memory(none)")
        elif name in LIBM_BINARY.values():
            lines.append(f"declare double @{name}(double, double) nounwind memory(none)")
    return "\n".join(lines) + "\n"


def symbol(prefix: str, *parts: str | bytes) -> str:
    """A symbol that names its content."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode() if isinstance(part, str) else part)
        digest.update(b"\0")
    return f"{prefix}_{digest.hexdigest()[:32]}"
