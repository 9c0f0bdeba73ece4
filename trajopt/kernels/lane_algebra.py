"""Matrix products in lanes: every element of a matrix is one vector of W lanes.

What is too long to unroll into an expression, such as the chain rule over the stages of a Runge-Kutta method, is done
here.
"""

from __future__ import annotations

from trajopt.kernels import products
from trajopt.kernels.operations import LaneType

BLOCK = (2, 2)  # a block of 2 x 2 vectors of 8 lanes fills half of sixteen registers of 4 doubles


def matmul_name(m: int, k: int, n: int, width: int, *, transpose_a: bool, accumulate: bool) -> str:
    """Symbol of the product of these sizes."""
    flags = ("t" if transpose_a else "n") + ("a" if accumulate else "s")
    return f"trajopt_matmul_{m}_{k}_{n}_{width}_{flags}"


def matmul_text(m: int, k: int, n: int, width: int, *, transpose_a: bool, accumulate: bool) -> str:
    """LLVM text of `void name(double *A, double *B, double *initial, double *C)`: C = AB, or initial + AB.

    A has shape (m, k), or (k, m) with `transpose_a`; B (k, n); C and initial (m, n); row-major, W lanes an element.
    """
    lanes = LaneType(width)
    row = (n * width, width)
    a = (width, m * width) if transpose_a else (k * width, width)
    layout = products.Layout(lanes.real, lanes.align, 0, a, row, row, row)
    name = matmul_name(m, k, n, width, transpose_a=transpose_a, accumulate=accumulate)
    return products.product_text(name, m, k, n, layout, initial=accumulate, subtract=False, block=BLOCK)


def declarations(width: int) -> str:
    """What the products call."""
    return products.declarations(LaneType(width).real)
