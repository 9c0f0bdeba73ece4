"""Machine code of loops over the rows of a program, for this process."""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path
from typing import Any

from trajopt import source
from trajopt.kernels import compiler
from trajopt.solvers.qp.interior_point_kernel import BEGIN, ENTER, ITERATE, MEASURE, RELEASE
from trajopt.solvers.qp.interior_point_passes import interior_point_text
from trajopt.solvers.riccati.recursion import flat


@functools.cache
def interior_point(soft: bool) -> tuple[Any, ...]:
    """`begin`, `enter`: (block, size, numbers) → 0; `release`, `measure`, `iterate`: also with `passes`."""
    rows, iterates = (BEGIN, ENTER), (RELEASE, MEASURE, ITERATE)
    names = rows + iterates
    folders = (Path(__file__).parent, Path(flat.__file__).parent)
    about = (*names, f"soft {soft}", *(source.digest(folder).hex() for folder in folders))
    library = compiler.link([compiler.object_code(lambda: interior_point_text(soft), *about)], names, {})
    arguments = (ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)
    of_iterates = (_function(library, name, *arguments, ctypes.c_void_p) for name in iterates)
    return *(_function(library, name, *arguments) for name in rows), *of_iterates


def _function(library: compiler.Library, name: str, *arguments: Any) -> Any:
    function = ctypes.CFUNCTYPE(ctypes.c_int64, *arguments)(library[name])
    function.library = library  # type: ignore[attr-defined]
    return function
