"""LLVM text of a program's entry: it places the arrays and calls the expressions and the matrix products in turn."""

from __future__ import annotations

from trajopt.kernels.functions import symbol_of
from trajopt.kernels.lane_algebra import (
    declarations,
    matmul_name,
    matmul_text,
    nonzero_name,
    nonzero_text,
    sum_name,
    sum_text,
)
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array, Call, Groups, MatrixProduct, Sum


def own_arrays(program: Program, width: int) -> tuple[dict[int, int], int]:
    """Where the arrays that are neither inputs nor outputs lie in the scratch, by number, and their end [bytes]."""
    outside = {array.number for array in (*program.inputs, *program.outputs)}
    offsets, end = {}, 0
    for array in program.arrays:
        if array.number not in outside:
            offsets[array.number] = end
            end += -(-array.size * width * 8 // 64) * 64
    return offsets, end


def entry_text(program: Program, width: int) -> str:
    """LLVM text of `void trajopt_entry(double **arrays, double *scratch)`.

    The program's own arrays lie at the start of the scratch, that of the functions behind them.
    """
    return _Writer(program, width).text()


class _Writer:
    """Writes the steps one after another.

    Args:
        program: The program.
        width: Lanes W.
    """

    def __init__(self, program: Program, width: int) -> None:
        self._program, self._width = program, width
        self._lines = ["define void @trajopt_entry(ptr %args, ptr %scratch) nounwind {"]
        self._pieces: dict[str, str] = {}  # functions that are called, by symbol
        self._known_masks: dict[tuple[object, ...], str] = {}  # of groups, by their identity

    def text(self) -> str:
        """The function, and what it calls."""
        self._place()
        for number, step in enumerate(self._program.steps):
            if isinstance(step, Call):
                self._clear(step)
                self._call(step)
            elif isinstance(step, Sum):
                self._add(step)
            else:
                self._multiply(step, number)
            self._forget(step)
        return "\n".join([*self._lines, "ret void", "}", *self._pieces.values()])

    def _place(self) -> None:
        """Names the address of each array."""
        for i, array in enumerate((*self._program.inputs, *self._program.outputs)):
            self._lines += [f"%p{array.number} = getelementptr ptr, ptr %args, i64 {i}"]
            self._lines += [f"%a{array.number} = load ptr, ptr %p{array.number}"]
        offsets, end = own_arrays(self._program, self._width)
        for number, offset in offsets.items():
            self._lines.append(f"%a{number} = getelementptr i8, ptr %scratch, i64 {offset}")
        self._lines.append(f"%spill = getelementptr i8, ptr %scratch, i64 {end}")

    def _clear(self, step: Call) -> None:
        """Structural zeros of results are written only where somebody reads them."""
        for array in step.outputs:
            if self._program.needs_zeros(array):
                self._pieces["memset"] = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"
                arguments = f"ptr align 8 %a{array.number}, i8 0, i64 {8 * self._width * array.size}, i1 false"
                self._lines.append(f"call void @llvm.memset.p0.i64({arguments})")

    def _call(self, step: Call) -> None:
        name = symbol_of(step, self._width)
        arrays = (*step.inputs, *step.outputs)
        self._pieces[name] = f"declare void @{name}({', '.join(['ptr'] * (len(arrays) + 1))})"
        self._lines.append(f"call void @{name}({', '.join([*map(_pointer, arrays), 'ptr %spill'])})")

    def _add(self, step: Sum) -> None:
        name = sum_name(step, self._width)
        self._pieces[name] = sum_text(step, self._width)
        arguments = [_pointer(step.target), _pointer(step.a), *self._masks(step.rows)]
        self._lines.append(f"call void @{name}({', '.join(arguments)})")

    def _multiply(self, step: MatrixProduct, number: int) -> None:
        """A product; where no inner index matters, nothing is added to a target."""
        name = matmul_name(step, self._width)
        self._pieces[name] = matmul_text(step, self._width)
        self._pieces["llvm.fma"] = declarations(self._width)
        arrays = (step.a, step.b, step.initial or step.result, step.result)
        inner = self._masks(step.inner)
        call = f"call void @{name}({', '.join([*map(_pointer, arrays), *self._masks(step.rows), *inner])})"
        if step.initial == step.result and inner:
            self._only_if_any(inner[0], call, f"product.{number}")
        else:
            self._lines.append(call)

    def _only_if_any(self, mask: str, call: str, stem: str) -> None:
        """A call that is left out where no bit of a mask is set."""
        self._lines += [
            f"%{stem} = icmp ne {mask}, 0",
            f"br i1 %{stem}, label %{stem}.do, label %{stem}.done",
            f"{stem}.do:",
            call,
            f"br label %{stem}.done",
            f"{stem}.done:",
        ]

    def _masks(self, groups: Groups | None) -> list[str]:
        """The typed name of a mask that has the bits of those groups that matter; none without groups."""
        if groups is None or not groups.ranges:
            return []
        if groups.identity not in self._known_masks:
            mask = "0"
            for i, (first, end) in enumerate(groups.ranges):
                mask = self._with_bit(mask, i, groups.array, first, end)
            self._known_masks[groups.identity] = f"i64 {mask}"
        return [self._known_masks[groups.identity]]

    def _with_bit(self, mask: str, bit: int, array: Array, first: int, end: int) -> str:
        """The mask with a bit more: whether one of these rows of an array is not zero."""
        size, offset = (end - first) * array.shape[1], first * array.shape[1] * self._width
        name, stem = nonzero_name(size, self._width), f"%bit.{len(self._lines)}"
        self._pieces[name] = nonzero_text(size, self._width)
        self._lines += [
            f"{stem}.at = getelementptr double, ptr %a{array.number}, i64 {offset}",
            f"{stem}.on = call i1 @{name}(ptr {stem}.at)",
            f"{stem}.wide = zext i1 {stem}.on to i64",
            f"{stem}.here = shl i64 {stem}.wide, {bit}",
            f"{stem} = or i64 {mask}, {stem}.here",
        ]
        return stem

    def _forget(self, step: Call | MatrixProduct | Sum) -> None:
        """Groups by an array that has changed are tested again."""
        if not isinstance(step, Call):
            changed = (step.target if isinstance(step, Sum) else step.result).number
            self._known_masks = {key: mask for key, mask in self._known_masks.items() if key[1] != changed}


def _pointer(array: Array) -> str:
    return f"ptr %a{array.number}"
