"""Matrix products in lanes: loops over matrices whose every element is one vector of W lanes.

What is too long to unroll into an expression, such as the chain rule over the stages of a Runge-Kutta method, is done
here. C += AB for (m, k) and (k, n): 2 x 2 blocks of C stay in registers over the inner loop.
"""

from __future__ import annotations

from trajopt.kernels.compiler import has_fma
from trajopt.kernels.operations import LaneType


def matmul_name(m: int, k: int, n: int, width: int, *, transpose_a: bool, accumulate: bool) -> str:
    """Symbol of the product of these sizes."""
    flags = ("t" if transpose_a else "n") + ("a" if accumulate else "s")
    return f"trajopt_matmul_{m}_{k}_{n}_{width}_{flags}"


def matmul_text(m: int, k: int, n: int, width: int, *, transpose_a: bool, accumulate: bool) -> str:
    """LLVM text of `void name(double *A, double *B, double *C)`: C = AB, or C += AB with `accumulate`.

    A has shape (m, k), or (k, m) with `transpose_a`; B (k, n); C (m, n); row-major, W lanes an element.
    """
    lanes = LaneType(width)
    name = matmul_name(m, k, n, width, transpose_a=transpose_a, accumulate=accumulate)
    lines = [f"define internal void @{name}(ptr noalias %A, ptr noalias %B, ptr noalias %C) nounwind {{", "entry:"]
    nests = [
        (i0, i1, rows, j0, j1, columns)
        for i0, i1, rows in _ranges(m)
        for j0, j1, columns in _ranges(n)
    ]
    lines.append("br label %i0_head")
    strides = (1, m) if transpose_a else (k, 1)  # of A, along its m and its k
    for number, nest in enumerate(nests):
        following = f"i{number + 1}_head" if number + 1 < len(nests) else "done"
        lines += _nest_text(lanes, number, nest, k, n, strides, accumulate, following)
    lines += ["done:", "ret void", "}"]
    return "\n".join(lines) + "\n"


def _ranges(size: int) -> list[tuple[int, int, int]]:
    """Ranges (first, end, step) that cover `size` in twos and a last one."""
    even = size - size % 2
    return [r for r in ((0, even, 2), (even, size, 1)) if r[0] < r[1]]


def _nest_text(
    lanes: LaneType,
    number: int,
    nest: tuple[int, int, int, int, int, int],
    k: int,
    n: int,
    strides: tuple[int, int],
    accumulate: bool,
    following: str,
) -> list[str]:
    i0, i1, rows, j0, j1, columns = nest
    real, align, p = lanes.real, lanes.align, f"n{number}"
    cells = [(r, c) for r in range(rows) for c in range(columns)]
    out = [f"i{number}_head:", f"br label %{p}_i", f"{p}_i:"]
    out.append(f"%{p}_iv = phi i64 [{i0}, %i{number}_head], [%{p}_inext, %{p}_jdone]")
    out += [f"br label %{p}_j", f"{p}_j:", f"%{p}_jv = phi i64 [{j0}, %{p}_i], [%{p}_jnext, %{p}_kdone]"]
    for r, c in cells:
        out += _address(f"%{p}_C{r}{c}", "%C", f"%{p}_iv", r, n, f"%{p}_jv", c, lanes)
        if accumulate:
            out.append(f"%{p}_s{r}{c} = load {real}, ptr %{p}_C{r}{c}, align {align}")
    out += [f"br label %{p}_k", f"{p}_k:", f"%{p}_kv = phi i64 [0, %{p}_j], [%{p}_knext, %{p}_k]"]
    for r, c in cells:
        first = f"%{p}_s{r}{c}" if accumulate else lanes.constant(0.0)
        out.append(f"%{p}_a{r}{c} = phi {real} [{first}, %{p}_j], [%{p}_b{r}{c}, %{p}_k]")
    for r in range(rows):
        out += _element(f"%{p}_A{r}", "%A", f"%{p}_iv", r, strides[0], f"%{p}_kv", 0, strides[1], lanes)
    for c in range(columns):
        out += _element(f"%{p}_B{c}", "%B", f"%{p}_kv", 0, n, f"%{p}_jv", c, 1, lanes)
    for r, c in cells:
        out += _multiply_add(lanes, f"%{p}_b{r}{c}", f"%{p}_A{r}", f"%{p}_B{c}", f"%{p}_a{r}{c}")
    out += [f"%{p}_knext = add i64 %{p}_kv, 1", f"%{p}_kend = icmp eq i64 %{p}_knext, {k}"]
    out += [f"br i1 %{p}_kend, label %{p}_kdone, label %{p}_k", f"{p}_kdone:"]
    out += [f"store {real} %{p}_b{r}{c}, ptr %{p}_C{r}{c}, align {align}" for r, c in cells]
    out += [f"%{p}_jnext = add i64 %{p}_jv, {columns}", f"%{p}_jend = icmp sge i64 %{p}_jnext, {j1}"]
    out += [f"br i1 %{p}_jend, label %{p}_jdone, label %{p}_j", f"{p}_jdone:"]
    out += [f"%{p}_inext = add i64 %{p}_iv, {rows}", f"%{p}_iend = icmp sge i64 %{p}_inext, {i1}"]
    return [*out, f"br i1 %{p}_iend, label %{following}, label %{p}_i"]


def _address(
    name: str, base: str, row: str, row_plus: int, stride: int, column: str, column_plus: int, lanes: LaneType
) -> list[str]:
    """Address of element (row + row_plus, column + column_plus) of a matrix with rows of `stride` elements."""
    return [
        f"{name}.r = add i64 {row}, {row_plus}",
        f"{name}.o = mul i64 {name}.r, {stride}",
        f"{name}.c = add i64 {column}, {column_plus}",
        f"{name}.e = add i64 {name}.o, {name}.c",
        f"{name} = getelementptr {lanes.real}, ptr {base}, i64 {name}.e",
    ]


def _element(
    name: str, base: str, i: str, i_plus: int, i_stride: int, j: str, j_plus: int, j_stride: int, lanes: LaneType
) -> list[str]:
    """Loads the element at (i + i_plus) · i_stride + (j + j_plus) · j_stride."""
    return [
        f"{name}.i = add i64 {i}, {i_plus}",
        f"{name}.u = mul i64 {name}.i, {i_stride}",
        f"{name}.j = add i64 {j}, {j_plus}",
        f"{name}.w = mul i64 {name}.j, {j_stride}",
        f"{name}.e = add i64 {name}.u, {name}.w",
        f"{name}.p = getelementptr {lanes.real}, ptr {base}, i64 {name}.e",
        f"{name} = load {lanes.real}, ptr {name}.p, align {lanes.align}",
    ]


def declarations(width: int) -> str:
    """What the products call."""
    lanes = LaneType(width)
    return f"declare {lanes.real} @llvm.fma.{lanes.suffix}({lanes.real}, {lanes.real}, {lanes.real})\n"


def _multiply_add(lanes: LaneType, result: str, a: str, b: str, c: str) -> list[str]:
    """result = a · b + c."""
    if has_fma():
        r = lanes.real
        return [f"{result} = call {r} @llvm.fma.{lanes.suffix}({r} {a}, {r} {b}, {r} {c})"]
    return [f"{result}.x = fmul {lanes.real} {a}, {b}", f"{result} = fadd {lanes.real} {result}.x, {c}"]
