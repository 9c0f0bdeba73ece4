"""Machine code of the Riccati recursion, generated for the sizes of a problem.

| file | what it writes |
|---|---|
| `cells`, `dense` | vectors of neighbouring doubles; products of matrices, blocks of which stay in registers |
| `quadratic`, `second_order` | the quadratic model of a knot, of any system or of one with q⁺ = q ⊕ dt v⁺ |
| `elimination` | rows of controls and constraints: factors, gains |
| `value` | the value function |
| `backward`, `vectors` | the passes over all knots |
| `frame`, `sizes` | arrays, scratch, addresses |
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trajopt import source
from trajopt.kernels import compiler
from trajopt.solvers.recursion.backward import FACTOR, INDEFINITE, RANK_DEFICIENT, backward_text
from trajopt.solvers.recursion.frame import ARRAYS
from trajopt.solvers.recursion.sizes import Sizes
from trajopt.solvers.recursion.value import NOT_FINITE
from trajopt.solvers.recursion.vectors import FORWARD, SOLVE, forward_text, solve_text

__all__ = ["ARRAYS", "INDEFINITE", "NOT_FINITE", "RANK_DEFICIENT", "Sizes", "factor", "forward", "registers", "solve"]


@functools.cache
def registers() -> tuple[int, int]:
    """Doubles of a vector register, and how many of them the processor has."""
    return (8, 32) if "+avx512f" in compiler.host()[1].split(",") else (4, 16)


@functools.cache
def factor(sizes: Sizes) -> Any:
    """The backward pass: (table, reg, reg_value, with gaps) → 0, or 4 (knot + 1) + what failed."""
    arguments = (ctypes.c_void_p, ctypes.c_double, ctypes.c_double, ctypes.c_int64)
    return _compiled(sizes, FACTOR, backward_text, *arguments)


@functools.cache
def solve(sizes: Sizes) -> Any:
    """The backward pass over vectors: (table, with gaps) → as `factor`."""
    return _compiled(sizes, SOLVE, solve_text, ctypes.c_void_p, ctypes.c_int64)


@functools.cache
def forward(sizes: Sizes) -> Any:
    """The forward pass: (table, with gaps) → 0."""
    return _compiled(sizes, FORWARD, forward_text, ctypes.c_void_p, ctypes.c_int64)


def _compiled(sizes: Sizes, name: str, write: Callable[[Sizes], str], *arguments: Any) -> Any:
    """A function for these sizes, from the cache or compiled now."""
    about = (name, source.digest(Path(__file__).parent).hex(), repr(sizes))
    image = compiler.object_code(lambda: write(sizes), *about)
    address = compiler.load([image], [name], {})[name]
    return ctypes.CFUNCTYPE(ctypes.c_int64, *arguments)(address)
