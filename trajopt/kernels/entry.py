"""LLVM text of a program's entry: it places the arrays and calls the expressions and the matrix products in turn."""

from __future__ import annotations

from trajopt.kernels.functions import symbol_of
from trajopt.kernels.lane_algebra import declarations, matmul_name, matmul_text, nonzero_name, nonzero_text
from trajopt.kernels.program import Call, MatrixProduct, Program


def entry_text(program: Program, width: int) -> tuple[str, int]:
    """LLVM text of `void trajopt_entry(double **arrays, double *scratch)`, and the bytes of the program's own arrays.

    The program's own arrays lie at the start of the scratch, that of the functions behind them.
    """
    names: dict[int, str] = {}
    lines = ["define void @trajopt_entry(ptr %args, ptr %scratch) nounwind {"]
    for i, array in enumerate((*program.inputs, *program.outputs)):
        names[array.number] = f"%a{array.number}"
        lines += [f"%p{array.number} = getelementptr ptr, ptr %args, i64 {i}"]
        lines += [f"%a{array.number} = load ptr, ptr %p{array.number}"]
    offset = 0
    for array in program.arrays:
        if array.number not in names:
            names[array.number] = f"%a{array.number}"
            lines.append(f"%a{array.number} = getelementptr i8, ptr %scratch, i64 {offset}")
            offset += -(-array.size * width * 8 // 64) * 64
    lines.append(f"%spill = getelementptr i8, ptr %scratch, i64 {offset}")
    pieces: dict[str, str] = {}
    for step in program.steps:
        if isinstance(step, Call):
            lines += _call_lines(step, width, names, pieces)
        else:
            lines += _product_lines(step, width, names, pieces)
    return "\n".join([*lines, "ret void", "}", *pieces.values()]), offset


def _call_lines(step: Call, width: int, names: dict[int, str], pieces: dict[str, str]) -> list[str]:
    name = symbol_of(step, width)
    arrays = (*step.inputs, *step.outputs)
    pieces[name] = f"declare void @{name}({', '.join(['ptr'] * (len(arrays) + 1))})"
    arguments = [f"ptr {names[a.number]}" for a in arrays] + ["ptr %spill"]
    return [f"call void @{name}({', '.join(arguments)})"]


def _product_lines(step: MatrixProduct, width: int, names: dict[int, str], pieces: dict[str, str]) -> list[str]:
    name = matmul_name(step, width)
    pieces[name] = matmul_text(step, width)
    pieces["llvm.fma"] = declarations(width)
    arrays = (step.a, step.b, step.initial or step.result, step.result)
    call = f"call void @{name}({', '.join(f'ptr {names[a.number]}' for a in arrays)})"
    if not step.unless_zero:
        return [call]
    sizes = tuple(a.size for a in step.unless_zero)
    test = nonzero_name(sizes, width)
    pieces[test] = nonzero_text(sizes, width)
    arguments = ", ".join(f"ptr {names[a.number]}" for a in step.unless_zero)
    block = f"guarded{len(pieces)}.{step.a.number}.{step.b.number}.{step.result.number}"
    return [
        f"%{block} = call i1 @{test}({arguments})",
        f"br i1 %{block}, label %{block}.do, label %{block}.done",
        f"{block}.do:",
        call,
        f"br label %{block}.done",
        f"{block}.done:",
    ]
