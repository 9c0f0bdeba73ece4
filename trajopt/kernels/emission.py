"""From an instruction list to LLVM text: every scalar is one vector of W lanes.

A long list is split into functions of at most CUT instructions, since LLVM's time grows faster than the length of a
function. Values that are used beyond a cut are kept in a scratch array.
"""

from __future__ import annotations

import bisect
import hashlib
import itertools
from collections.abc import Iterable

import casadi as ca

from trajopt.kernels import tables
from trajopt.kernels.erfinv import erfinv
from trajopt.kernels.instruction_list import BOOLEAN, LEAVES, InstructionList
from trajopt.kernels.instructions import read_instructions
from trajopt.kernels.operations import (
    COMPARISONS,
    ERFINV,
    LIBM_BINARY,
    LIBM_UNARY,
    LaneType,
    mask_text,
    plain_templates,
    real_text,
)

# Measured on 41,948 instructions, 8 lanes: cut at 1000, 2000, 4000, 16,000, compiling takes 8.9, 7.6, 10.2, 14.6 s and
# a call 3.5, 3.5, 3.4, 3.3 us a lane.
CUT = 2000


class EmittedFunction:
    """LLVM text of one function, split into parts that are compiled separately.

    The function's C signature is `void name(double *in0, ..., double *out0, ..., double *scratch)`; element e of lane l
    of an array is at e * width + l, arrays are aligned to `align` bytes, by default 8 * width. No output may overlap
    another array. Structural zeros of outputs are not written.

    Attributes:
        name: Symbol of the function.
        parts: LLVM modules, one per part; part 0 defines `name` and calls the others.
        scratch: Number of scalars (of W lanes each) that the function keeps in the scratch array.
    """

    def __init__(self, name: str, code: InstructionList, width: int, *, align: int | None = None) -> None:
        self.name = name
        self.width = width
        self._code = code
        self._lanes = LaneType(width, align)
        parts = 1 if len(code) <= 1.25 * CUT else -(-len(code) // CUT)
        self._bounds = [len(code) * i // parts for i in range(parts + 1)]
        self._slots, self.scratch = self._waiting_values()
        self._stores = self._output_stores()
        self.parts = self._modules([self._part(i) for i in range(parts)])

    def _waiting_values(self) -> tuple[dict[int, int], int]:
        """Scratch slot of each value that is used in a later part, and the number of slots."""
        operations, last_part = self._code.operations, dict[int, int]()
        for part, (first, end) in enumerate(itertools.pairwise(self._bounds)):
            for op, a, b in operations[first:end] if first else ():  # the first part has no predecessors
                if op not in LEAVES:
                    if a < first and operations[int(a)][0] not in LEAVES:
                        last_part[int(a)] = part
                    if 0 <= b < first and operations[b][0] not in LEAVES:
                        last_part[b] = part
        slots: dict[int, int] = {}
        size = part = 0
        free: list[int] = []
        for v in sorted(last_part):
            if v >= self._bounds[part + 1]:  # reuses slots whose value was last read in an earlier part
                part = bisect.bisect(self._bounds, v) - 1
                held = {slots[w] for w in slots if last_part[w] >= part}
                free = sorted(set(range(size)) - held)
            if not free:
                free, size = [size], size + 1
            slots[v] = free.pop()
        return slots, size

    def _output_stores(self) -> dict[int, list[tuple[str, int]]]:
        """Destinations (array, element) of each value that is written to memory."""
        stores: dict[int, list[tuple[str, int]]] = {v: [("%scratch", slot)] for v, slot in self._slots.items()}
        for output, values in enumerate(self._code.outputs):
            for element, v in enumerate(values):
                if v is not None:
                    stores.setdefault(v, []).append((f"%out{output}", element))
        return stores

    def _part(self, i: int) -> _PartWriter:
        """Lines of a part; the last part also stores constants and inputs that are outputs."""
        first, end = self._bounds[i : i + 2]
        writer = _PartWriter(self._code, self._lanes, self._slots, first)
        writer.write(end, self._stores)
        if end == len(self._code):
            for v, places in self._stores.items():
                if self._code.operations[v][0] in LEAVES:
                    writer.store(writer.real(v), places)
        return writer

    def _modules(self, bodies: list[_PartWriter]) -> list[str]:
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
            text = [*declared, f"define void @{name}({signature}) nounwind {{", *body.lines, *tail, "ret void", "}"]
            modules.append("\n".join(text) + "\n" + declarations(self._lanes, body.calls, body.tables))
        return modules


class _PartWriter:
    """Writes the instructions of one part; inputs, constants and kept values are loaded where they are first used.

    Reals are numbered like LLVM's unnamed values, %1, %2, ..., which LLVM reads twice as fast as names.
    """

    def __init__(self, code: InstructionList, lanes: LaneType, slots: dict[int, int], first: int) -> None:
        self._code, self._lanes, self._slots, self._first = code, lanes, slots, first
        self._reals: dict[int, str] = {}
        self._masks: dict[int, str] = {}
        self.tables: set[str] = set()
        self._numbers = itertools.count(1)  # %0 is the block
        self.lines: list[str] = []
        self.calls: list[str] = []

    def write(self, end: int, stores: dict[int, list[tuple[str, int]]]) -> None:
        """Appends the instructions before `end`, and the stores to memory."""
        reals, templates, append = self._reals, plain_templates(self._lanes.width), self.lines.append
        for k, (op, a, b) in enumerate(self._code.operations[self._first : end], self._first):
            if op in templates:
                left = reals.get(a) or self.real(int(a))  # type: ignore[call-overload]  # a number of constants only
                right = left if b < 0 else reals.get(b) or self.real(b)
                number = next(self._numbers)
                append(templates[op] % (number, left, right))
                reals[k] = f"%{number}"
            elif op in LEAVES:
                continue
            else:
                self._operation(k, op, int(a), b)
            if k in stores:
                self.store(self.real(k), stores[k])

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
            return self._load(f"%in{int(a)}", b)
        if k < self._first:
            return self._load("%scratch", self._slots[k])
        one, zero = self._lanes.constant(1.0), self._lanes.constant(0.0)
        real, mask, name = self._lanes.real, self._lanes.mask, self._next()
        self.lines.append(f"{name} = select {mask} {self._masks[k]}, {real} {one}, {real} {zero}")
        return name

    def _mask(self, k: int) -> str:
        """Text of value k as a truth value: true where it is not 0."""
        if k not in self._masks:
            name = f"%m{k}"
            self.lines.append(mask_text(self._lanes, name, ca.OP_NE, self.real(k), self._lanes.constant(0.0)))
            self._masks[k] = name
        return self._masks[k]

    def _operation(self, k: int, op: int, a: int, b: int) -> None:
        """Appends the text of an instruction that has no template."""
        if op in BOOLEAN:
            self._masks[k] = self._boolean(op, f"%m{k}", a, b)
        elif op == ca.OP_IF_ELSE_ZERO:
            self._reals[k] = self._select(a, b)
        elif op == ca.OP_CALL:
            table, index = self._table(a), self.real(b)
            self._reals[k] = self._next()
            self.lines += tables.read(self._lanes, self._reals[k], table, index)
        else:
            left, right = self.real(a), self.real(b) if b >= 0 else ""
            self._reals[k] = self._next()
            lines = real_text(self._lanes, self._reals[k], op, left, right)
            self.lines += lines
            self.calls += lines

    def _boolean(self, op: int, name: str, a: int, b: int) -> str:
        lanes = self._lanes
        if op in COMPARISONS:
            self.lines.append(mask_text(lanes, name, op, self.real(a), self.real(b)))
        elif op == ca.OP_NOT:
            self.lines.append(f"{name} = xor {lanes.mask} {self._mask(a)}, {lanes.mask_true}")
        else:
            word = "and" if op == ca.OP_AND else "or"
            self.lines.append(f"{name} = {word} {lanes.mask} {self._mask(a)}, {self._mask(b)}")
        return name

    def _select(self, condition: int, value: int) -> str:
        lanes, mask, real = self._lanes, self._mask(condition), self.real(value)
        name = self._next()
        self.lines.append(
            f"{name} = select {lanes.mask} {mask}, {lanes.real} {real}, {lanes.real} {lanes.constant(0.0)}"
        )
        return name

    def _table(self, k: int) -> str:
        """Name of the table with the number in value k, whose address and size are loaded where it is first used."""
        name = tables.symbol_of(int(self._code.operations[k][1]))
        if name not in self.tables:
            self.tables.add(name)
            self.lines += tables.begun(self._lanes, name)
        return name

    def _next(self) -> str:
        """Name of the next real or address."""
        return f"%{next(self._numbers)}"

    def _load(self, base: str, element: int) -> str:
        lanes, address, name = self._lanes, self._next(), self._next()
        self.lines.append(f"{address} = getelementptr {lanes.real}, ptr {base}, i64 {element}")
        self.lines.append(f"{name} = load {lanes.real}, ptr {address}, align {lanes.align}")
        return name

    def store(self, text: str, places: list[tuple[str, int]]) -> None:
        """Appends stores of a real to all places."""
        lanes = self._lanes
        for base, element in places:
            address = self._next()
            self.lines.append(f"{address} = getelementptr {lanes.real}, ptr {base}, i64 {element}")
            self.lines.append(f"store {lanes.real} {text}, ptr {address}, align {lanes.align}")


def declarations(lanes: LaneType, lines: list[str], read: Iterable[str] = ()) -> str:
    """Returns LLVM text that declares tables, and the functions called in `lines`, such as sin; it defines erfinv."""
    called, texts = _called(lines), list[str]()
    if ERFINV in called:
        text, own_lines = _erfinv_text()
        called |= _called(own_lines)
        texts.append(text)
    unary = set(LIBM_UNARY.values())
    for name in sorted(called - {ERFINV}):
        if name.startswith("llvm."):
            real = "double" if name.endswith(".f64") else lanes.real
            texts.append(f"declare {real} @{name}({real})")
        elif name in unary:
            texts.append(f"declare double @{name}(double) nounwind memory(none)")
        elif name in LIBM_BINARY.values():
            texts.append(f"declare double @{name}(double, double) nounwind memory(none)")
    return "\n".join(texts) + "\n" + tables.declared(lanes, read)


def _called(lines: list[str]) -> set[str]:
    return {line.split("@", 1)[1].split("(", 1)[0] for line in lines if " call double @" in line or "@llvm." in line}


def _erfinv_text() -> tuple[str, list[str]]:
    """LLVM text of the inverse error function of one double, and its lines that call functions."""
    code = read_instructions(erfinv())
    writer = _PartWriter(code, LaneType(1), {}, 0)
    writer.write(len(code), {})
    ((y,),) = code.outputs
    assert y is not None
    result, start = writer.real(y), ["%in0 = alloca double", "store double %x, ptr %in0"]
    head = f"define internal double @{ERFINV}(double %x) nounwind {{"
    return "\n".join([head, *start, *writer.lines, f"ret double {result}", "}"]), writer.calls


def symbol(prefix: str, *parts: str | bytes) -> str:
    """Returns the linker symbol "prefix_hash", with a hash of all `parts`."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode() if isinstance(part, str) else part)
        digest.update(b"\0")
    return f"{prefix}_{digest.hexdigest()[:32]}"
