"""Machine code of loops over the rows of a program, for this process."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trajopt import source
from trajopt.kernels import compiler
from trajopt.solvers.qp.admm_kernel import REPEAT, START, WEIGH, admm_text
from trajopt.solvers.qp.interior_point_kernel import BEGIN, ITERATE, MEASURE, interior_point_text
from trajopt.solvers.recursion import flat


@functools.cache
def interior_point(soft: bool) -> tuple[Any, Any, Any]:
    """`begin`: (block, size, numbers) → 0; `measure` and `iterate`, with `passes` as a fourth argument."""
    names = (BEGIN, MEASURE, ITERATE)
    library = _library(lambda: interior_point_text(soft), names, f"soft {soft}")
    arguments = (ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)
    measure, iterate = (_function(library, name, *arguments, ctypes.c_void_p) for name in (MEASURE, ITERATE))
    return _function(library, BEGIN, *arguments), measure, iterate


@functools.cache
def admm() -> tuple[Any, Any, Any]:
    """`start` and `weigh`: (block, size, numbers) → 0.

    Then iterations of ADMM: (block, size, numbers, table, solve, forward, count) → what `Riccati.solve` says.
    """
    pointers = (ctypes.c_void_p,) * 4
    library = _library(admm_text, (START, WEIGH, REPEAT), "")
    arguments = (ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)
    start, weigh = (_function(library, name, *arguments) for name in (START, WEIGH))
    return start, weigh, _function(library, REPEAT, ctypes.c_void_p, ctypes.c_int64, *pointers, ctypes.c_int64)


def _library(write: Callable[[], str], names: tuple[str, ...], variant: str) -> compiler.Library:
    folders = (Path(__file__).parent, Path(flat.__file__).parent)
    about = (*names, variant, *(source.digest(folder).hex() for folder in folders))
    return compiler.link([compiler.object_code(write, *about)], names, {})


def _function(library: compiler.Library, name: str, *arguments: Any) -> Any:
    function = ctypes.CFUNCTYPE(ctypes.c_int64, *arguments)(library[name])
    function.library = library  # type: ignore[attr-defined]
    return function
