"""Matrix products in lanes: every element of a matrix is one vector of W lanes.

What is too long to unroll into an expression, such as the chain rule over the stages of a Runge-Kutta method, is done
here.
"""

from __future__ import annotations

import hashlib

from trajopt.kernels import products
from trajopt.kernels.operations import LaneType
from trajopt.kernels.program import MatrixProduct

BLOCK = (2, 2)  # a block of 2 x 2 vectors of 8 lanes fills half of sixteen registers of 4 doubles


def matmul_name(product: MatrixProduct, width: int) -> str:
    """Symbol of a product; products of the same kind share it."""
    shapes = (product.a.shape, product.b.shape, product.blocks, width)
    flags = (product.transpose_a, product.initial is not None, product.subtract)
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
    return products.product_text(
        name, product.blocks, layout, initial=accumulate, subtract=product.subtract, size=BLOCK
    )


def declarations(width: int) -> str:
    """What the products call."""
    return products.declarations(LaneType(width).real)
