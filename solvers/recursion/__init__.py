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
from trajopt.kernels.recent import Recent
from trajopt.solvers.recursion.backward import FACTOR, FACTOR_AFTER, INDEFINITE, RANK_DEFICIENT, backward_text
from trajopt.solvers.recursion.frame import ARRAYS, WAIT
from trajopt.solvers.recursion.sizes import Sizes
from trajopt.solvers.recursion.value import NOT_FINITE
from trajopt.solvers.recursion.vectors import FORWARD, SOLVE, forward_text, solve_text

__all__ = [
    "ARRAYS",
    "INDEFINITE",
    "NOT_FINITE",
    "RANK_DEFICIENT",
    "WAIT",
    "Sizes",
    "factor",
    "forward",
    "registers",
    "solve",
]


@functools.cache
def registers() -> tuple[int, int]:
    """Doubles of a vector register, and how many of them the processor has."""
    return (8, 32) if "+avx512f" in compiler.host()[1].split(",") else (4, 16)


_loaded: Recent[tuple[Sizes, str], compiler.Library] = Recent(60, lambda library: 1.0)
"""Code for the sizes of the last problems, three libraries each; that of others goes with their last `Riccati`."""


def factor(sizes: Sizes) -> tuple[Any, int]:
    """The backward pass: (table, reg, reg_value, with gaps) → 0, or 4 (knot + 1) + what failed.

    Beside it the address of the same function of one argument, see `backward_text`. All functions hold their code.
    """
    library = _library(sizes, backward_text, FACTOR, FACTOR_AFTER)
    arguments = (ctypes.c_void_p, ctypes.c_double, ctypes.c_double, ctypes.c_int64)
    return _function(library, FACTOR, *arguments), library[FACTOR_AFTER]


def solve(sizes: Sizes) -> Any:
    """The backward pass over vectors: (table, with gaps) → as `factor`."""
    return _over_vectors(sizes, solve_text, SOLVE)


def forward(sizes: Sizes) -> Any:
    """The forward pass: (table, with gaps) → 0."""
    return _over_vectors(sizes, forward_text, FORWARD)


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
