"""Matrix products in lanes: every element of a matrix is one vector of W lanes.

What is too long to unroll into an expression, such as the chain rule over the stages of a Runge-Kutta method, is done
here.
"""

from __future__ import annotations

import hashlib

from trajopt.kernels import products
from trajopt.kernels.builder import Builder
from trajopt.kernels.operations import LaneType
from trajopt.kernels.program import MatrixProduct

BLOCK = (
    2,
    3,
)  # sums of 8 lanes that, with an operand, fill sixteen registers of 4 doubles; 2 x 2, 3 x 2, 1 x 6 are slower


def matmul_name(product: MatrixProduct, width: int) -> str:
    """Symbol of a product; products of the same kind share it."""
    shapes = (product.a.shape, product.b.shape, product.blocks, width)
    flags = product.flags[:4]
    return f"trajopt_matmul_{hashlib.sha256(repr((shapes, flags)).encode()).hexdigest()[:16]}"


def matmul_text(product: MatrixProduct, width: int) -> str:
    """LLVM text of `void name(double *A, double *B, double *initial, double *C)`: C = initial ± AB.

    Matrices are row-major, W lanes an element.
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
    )


def nonzero_name(sizes: tuple[int, ...], width: int) -> str:
    """Symbol of the test of arrays with these numbers of elements."""
    return f"trajopt_nonzero_{'_'.join(map(str, sizes))}_{width}"


def nonzero_text(sizes: tuple[int, ...], width: int) -> str:
    """LLVM text of `i1 name(double *a0, ...)`: whether an element of an array is not 0 in a lane (NaN is not)."""
    lanes = LaneType(width)
    arguments = ", ".join(f"ptr %a{i}" for i in range(len(sizes)))
    b = Builder(f"define internal i1 @{nonzero_name(sizes, width)}({arguments})")
    zero = lanes.constant(0.0)
    mask = "false" if width == 1 else "zeroinitializer"
    for i, size in enumerate(sizes):
        with b.loop(0, size, carried=[(lanes.mask, mask)]) as loop:
            value = b.load(b.at(f"%a{i}", (loop.index, width)), lanes.real, lanes.align)
            differs = b.op(f"fcmp une {lanes.real} {value}, {zero}")
            loop.carry(b.op(f"or {lanes.mask} {loop.values[0]}, {differs}"))
        mask = loop.results[0]
    if width == 1:
        return b.text(f"ret i1 {mask}")
    bits = b.op(f"bitcast {lanes.mask} {mask} to i{width}")
    return b.text(f"ret i1 {b.op(f'icmp ne i{width} {bits}, 0')}")


def declarations(width: int) -> str:
    """What the products call."""
    return products.declarations(LaneType(width).real)
