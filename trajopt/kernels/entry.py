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
from trajopt.kernels.program import Array, Call, MatrixProduct, Program, Sum


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
    names: dict[int, str] = {}
    lines = ["define void @trajopt_entry(ptr %args, ptr %scratch) nounwind {"]
    for i, array in enumerate((*program.inputs, *program.outputs)):
        names[array.number] = f"%a{array.number}"
        lines += [f"%p{array.number} = getelementptr ptr, ptr %args, i64 {i}"]
        lines += [f"%a{array.number} = load ptr, ptr %p{array.number}"]
    offsets, end = own_arrays(program, width)
    for number, offset in offsets.items():
        names[number] = f"%a{number}"
        lines.append(f"%a{number} = getelementptr i8, ptr %scratch, i64 {offset}")
    lines.append(f"%spill = getelementptr i8, ptr %scratch, i64 {end}")
    pieces: dict[str, str] = {}
    for place, step in enumerate(program.steps):
        if isinstance(step, Call):
            lines += _clearing_lines(program, step, width, names, pieces) + _call_lines(step, width, names, pieces)
        else:
            call = (
                _sum_line(step, width, names, pieces)
                if isinstance(step, Sum)
                else _product_line(step, width, names, pieces)
            )
            lines += _guarded(call, step.unless_zero, width, names, pieces, place)
    return "\n".join([*lines, "ret void", "}", *pieces.values()])


def _clearing_lines(
    program: Program, step: Call, width: int, names: dict[int, str], pieces: dict[str, str]
) -> list[str]:
    """Structural zeros of results are written only where somebody reads them."""
    cleared = [array for array in step.outputs if program.needs_zeros(array)]
    if cleared:
        pieces["memset"] = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"
    return [
        f"call void @llvm.memset.p0.i64(ptr align 8 {names[a.number]}, i8 0, i64 {8 * width * a.size}, i1 false)"
        for a in cleared
    ]


def _call_lines(step: Call, width: int, names: dict[int, str], pieces: dict[str, str]) -> list[str]:
    name = symbol_of(step, width)
    arrays = (*step.inputs, *step.outputs)
    pieces[name] = f"declare void @{name}({', '.join(['ptr'] * (len(arrays) + 1))})"
    arguments = [f"ptr {names[a.number]}" for a in arrays] + ["ptr %spill"]
    return [f"call void @{name}({', '.join(arguments)})"]


def _product_line(step: MatrixProduct, width: int, names: dict[int, str], pieces: dict[str, str]) -> str:
    name = matmul_name(step, width)
    pieces[name] = matmul_text(step, width)
    pieces["llvm.fma"] = declarations(width)
    arrays = (step.a, step.b, step.initial or step.result, step.result)
    return f"call void @{name}({', '.join(f'ptr {names[a.number]}' for a in arrays)})"


def _sum_line(step: Sum, width: int, names: dict[int, str], pieces: dict[str, str]) -> str:
    name = sum_name(step, width)
    pieces[name] = sum_text(step, width)
    return f"call void @{name}(ptr {names[step.target.number]}, ptr {names[step.a.number]})"


def _guarded(
    call: str, unless_zero: tuple[Array, ...], width: int, names: dict[int, str], pieces: dict[str, str], place: int
) -> list[str]:
    """A call that is left out where all of these arrays are zero; `place` makes names unique."""
    if not unless_zero:
        return [call]
    sizes = tuple(a.size for a in unless_zero)
    test = nonzero_name(sizes, width)
    pieces[test] = nonzero_text(sizes, width)
    arguments = ", ".join(f"ptr {names[a.number]}" for a in unless_zero)
    block = f"guarded.{place}"
    return [
        f"%{block} = call i1 @{test}({arguments})",
        f"br i1 %{block}, label %{block}.do, label %{block}.done",
        f"{block}.do:",
        call,
        f"br label %{block}.done",
        f"{block}.done:",
    ]
