"""Matrix products in lanes: every element of a matrix is one vector of W lanes.

What is too long to unroll into an expression, such as the chain rule over the stages of a Runge-Kutta method, is done
here.
"""

from __future__ import annotations

import hashlib

from trajopt.kernels import products
from trajopt.kernels.builder import Builder
from trajopt.kernels.operations import LaneType
from trajopt.kernels.steps import MatrixProduct, Sum

# Sums of 8 lanes that, with an operand, fill sixteen registers of 4 doubles; 2 x 2, 3 x 2 and 1 x 6 are slower.
BLOCK = (2, 3)


def matmul_name(product: MatrixProduct, width: int) -> str:
    """Symbol of a product; products of the same kind share it."""
    shapes = (product.a.shape, product.b.shape, product.blocks, width)
    return f"trajopt_matmul_{hashlib.sha256(repr((shapes, product.flags)).encode()).hexdigest()[:16]}"


def matmul_text(product: MatrixProduct, width: int) -> str:
    """LLVM text of `void name(double *A, double *B, double *initial, double *C, ...)`: C = initial ± AB.

    Matrices are row-major, W lanes an element. A mask of the groups of rows, and one of inner
    indices, follows.
    """
    lanes = LaneType(width)
    row = (product.b.shape[1] * width, width)
    along = product.a.shape[1] * width
    a = (width, along) if product.transpose_a else (along, width)
    layout = products.Layout(lanes.real, lanes.align, 0, a, row, row, row)
    accumulate = product.initial is not None
    name = matmul_name(product, width)
    mirrored = product.result.shape[0] if product.symmetric else 0
    return products.product_text(
        name,
        product.blocks,
        layout,
        initial=accumulate,
        subtract=product.subtract,
        size=BLOCK,
        mirrored=mirrored,
        rows=product.rows.ranges if product.rows else (),
        inner=product.inner.ranges if product.inner else (),
    )


def sum_name(step: Sum, width: int) -> str:
    """Symbol of a sum; sums over the same elements share it."""
    about = (step.runs, step.rows and (step.rows.ranges, step.target.shape), width)
    return f"trajopt_sum_{hashlib.sha256(repr(about).encode()).hexdigest()[:16]}"


def sum_text(step: Sum, width: int) -> str:
    """LLVM text of `void name(double *target, double *a, ...)`: target += a. A mask of the groups of rows follows."""
    lanes, columns = LaneType(width), step.target.shape[1]
    ranges = step.rows.ranges if step.rows else ((0, step.target.shape[0]),)
    arguments = ["ptr %target", "ptr %a", *(["i64 %rows"] if step.rows else [])]
    b = Builder(f"define internal void @{sum_name(step, width)}({', '.join(arguments)})")
    for number, (low, high) in enumerate(ranges):
        switch = products.bit(b, "%rows", number) if step.rows else None
        for first, end in [(max(r[0], low * columns), min(r[1], high * columns)) for r in step.runs]:
            if first < end:
                with b.loop(first, end, only_if=switch) as loop:
                    place, other = b.at("%target", (loop.index, width)), b.at("%a", (loop.index, width))
                    x, y = b.load(place, lanes.real, lanes.align), b.load(other, lanes.real, lanes.align)
                    b.store(b.op(f"fadd {lanes.real} {x}, {y}"), place, lanes.real, lanes.align)
    return b.text()


def nonzero_name(size: int, width: int) -> str:
    """Symbol of the test of this many elements."""
    return f"trajopt_nonzero_{size}_{width}"


def nonzero_text(size: int, width: int) -> str:
    """LLVM text of `i1 name(double *a)`: whether one of its elements is not 0 in a lane (NaN is not)."""
    lanes = LaneType(width)
    b = Builder(f"define internal i1 @{nonzero_name(size, width)}(ptr %a)")
    if not size:
        return b.text("ret i1 false")
    zero = lanes.constant(0.0)
    with b.loop(0, size, carried=[(lanes.mask, "false" if width == 1 else "zeroinitializer")]) as loop:
        value = b.load(b.at("%a", (loop.index, width)), lanes.real, lanes.align)
        loop.carry(b.op(f"or {lanes.mask} {loop.values[0]}, {b.op(f'fcmp une {lanes.real} {value}, {zero}')}"))
    if width == 1:
        return b.text(f"ret i1 {loop.results[0]}")
    bits = b.op(f"bitcast {lanes.mask} {loop.results[0]} to i{width}")
    return b.text(f"ret i1 {b.op(f'icmp ne i{width} {bits}, 0')}")


def declarations(width: int) -> str:
    """What the products call."""
    return products.declarations(LaneType(width).real)
