"""Machine code of the Riccati recursion, generated for the sizes of a problem.

| file | what it writes |
|---|---|
| `cells`, `dense` | vectors of neighbouring doubles; products of matrices, blocks of which stay in registers |
| `knot`, `quadratic`, `second_order` | the quadratic model of a knot, of any system or of one with q⁺ = q ⊕ dt v⁺ |
| `constant` | what states that never change, such as unknown parameters, add to it |
| `box` | the quadratic program of a knot whose controls have limits |
| `elimination` | rows of controls and constraints: factors, gains |
| `value` | the value function |
| `backward`, `vectors` | the passes over all knots |
| `dynamics` | products with F and its transpose |
| `rows`, `residual` | weighted rows of a knot; first-order conditions at an iterate |
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
from trajopt.kernels.recent import Recent
from trajopt.solvers.riccati.recursion.backward import FACTOR, FACTOR_AFTER, INDEFINITE, RANK_DEFICIENT, backward_text
from trajopt.solvers.riccati.recursion.box import OPTIONS as BOX_OPTIONS
from trajopt.solvers.riccati.recursion.frame import ARRAYS, SHORT, WAIT, WITH_GAPS
from trajopt.solvers.riccati.recursion.residual import RESIDUAL, residual_text
from trajopt.solvers.riccati.recursion.rows import FIND, find_text
from trajopt.solvers.riccati.recursion.sizes import Sizes
from trajopt.solvers.riccati.recursion.value import NOT_FINITE
from trajopt.solvers.riccati.recursion.vectors import ADJOINT, FORWARD, SOLVE, adjoint_text, forward_text, solve_text

__all__ = [
    "ARRAYS",
    "BOX_OPTIONS",
    "INDEFINITE",
    "NOT_FINITE",
    "RANK_DEFICIENT",
    "SHORT",
    "WAIT",
    "WITH_GAPS",
    "Sizes",
    "adjoint",
    "factor",
    "find_rows",
    "forward",
    "registers",
    "residual",
    "solve",
]


@functools.cache
def registers() -> tuple[int, int]:
    """Returns the number of doubles in a vector register, and the number of registers of this processor."""
    return (8, 32) if "+avx512f" in compiler.host()[1].split(",") else (4, 16)


_loaded: Recent[tuple[Sizes, str], compiler.Library] = Recent(100, lambda library: 1.0)
"""Code for the sizes of the last problems, up to six libraries each; that of others goes with their last `Riccati`."""


def factor(sizes: Sizes) -> tuple[Any, int]:
    """Machine code of the backward pass: (table, reg, reg_value, flags) → 0, or 4 (knot + 1) + failure.

    Beside it the address of the same function of one argument, see `backward_text`. All functions hold their code.
    """
    library = _library(sizes, backward_text, FACTOR, FACTOR_AFTER)
    arguments = (ctypes.c_void_p, ctypes.c_double, ctypes.c_double, ctypes.c_int64)
    return _function(library, FACTOR, *arguments), library[FACTOR_AFTER]


def solve(sizes: Sizes) -> Any:
    """Machine code of the backward pass over vectors: (table, flags) → code as `factor`."""
    return _over_vectors(sizes, solve_text, SOLVE)


def adjoint(sizes: Sizes) -> Any:
    """Machine code of the adjoint pass, as `solve` with Qu in place of k: it returns gradients along the controls."""
    return _over_vectors(sizes, adjoint_text, ADJOINT)


def forward(sizes: Sizes) -> Any:
    """Machine code of the forward pass, a function (table, flags) → 0."""
    return _over_vectors(sizes, forward_text, FORWARD)


def find_rows(sizes: Sizes) -> Any:
    """Machine code that lists the active weighted rows, and those with one variable: (table, flags) → 0."""
    return _over_vectors(sizes, find_text, FIND)


def residual(sizes: Sizes) -> Any:
    """Machine code of the residuals of the first-order conditions, a function (table, flags) → 0."""
    return _over_vectors(sizes, residual_text, RESIDUAL)


def _over_vectors(sizes: Sizes, write: Callable[[Sizes], str], name: str) -> Any:
    return _function(_library(sizes, write, name), name, ctypes.c_void_p, ctypes.c_int64)


def _function(library: compiler.Library, name: str, *arguments: Any) -> Any:
    function = ctypes.CFUNCTYPE(ctypes.c_int64, *arguments)(library[name])
    function.library = library  # type: ignore[attr-defined]
    return function


def _library(sizes: Sizes, write: Callable[[Sizes], str], *names: str) -> compiler.Library:
    """Functions for these sizes: those of this process, from the cache, or compiled now."""

    def load() -> compiler.Library:
        about = (names[0], source.digest(Path(__file__).parent).hex(), repr(sizes))
        return compiler.link([compiler.object_code(lambda: write(sizes), *about)], names, {})

    return _loaded.get((sizes, names[0]), load)
