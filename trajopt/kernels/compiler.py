"""LLVM text to machine code, in this process: no C compiler, nothing to install beside llvmlite.

Compiling is cached on disk (`trajopt.kernels.cache`) by a hash of the text, the processor and the versions.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import threading
from collections.abc import Iterable

from trajopt.kernels import cache

OPTIMISED, QUICK = 2, 0  # LLVM code generation levels; both give the same bits

_lock = threading.RLock()
_library_numbers = itertools.count()
_alive: list[object] = []  # engine and libraries stay loaded until the process ends
_compilations = 0


def compilations() -> int:
    """How many pieces of LLVM text this process has compiled (loads from the disk cache do not count)."""
    return _compilations


@functools.cache
def target_description() -> str:
    """Processor and versions that compiled code depends on."""
    from llvmlite import __version__, binding

    cpu, features = host()
    return f"{cpu}|{features}|llvmlite {__version__}|llvm {binding.llvm_version_info}"


@functools.cache
def host() -> tuple[str, str]:
    """Name and features of this processor."""
    from llvmlite import binding

    return binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()


@functools.cache
def has_fma() -> bool:
    """Whether the processor multiplies and adds in one instruction."""
    return "+fma" in host()[1].split(",") or "aarch64" in _triple() or "arm64" in _triple()


@functools.cache
def _triple() -> str:
    from llvmlite import binding

    return binding.get_process_triple()


@functools.cache
def _target_machine(level: int) -> object:
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    cpu, features = host()
    target = binding.Target.from_triple(_triple())
    return target.create_target_machine(cpu=cpu, features=features, opt=level, codemodel="default", jit=True)


def object_code(text: str, level: int = OPTIMISED) -> bytes:
    """Machine code of a module, from the cache or compiled now.

    Args:
        text: LLVM module.
        level: OPTIMISED, or QUICK (compiles about ten times faster, runs about two times slower).
    """
    key = cache.key("module", text, str(level), target_description())
    image = cache.load(key)
    if image is None:
        image = machine_code(text, level)
        cache.store(key, image)
    return image


def machine_code(text: str, level: int = OPTIMISED) -> bytes:
    """Machine code of a module, compiled now."""
    global _compilations
    from llvmlite import binding

    with _lock:
        machine = _target_machine(level)
        module = binding.parse_assembly(text, binding.create_context())
        image = machine.emit_object(module)  # type: ignore[attr-defined]
        _compilations += 1
    return image


@functools.cache
def _engine() -> object:
    from llvmlite import binding

    _target_machine(QUICK)
    engine = binding.create_lljit_compiler()
    _alive.append(engine)
    return engine


@functools.cache
def _libm() -> ctypes.CDLL:
    return ctypes.CDLL(None)


def load(images: Iterable[bytes], exports: Iterable[str], imports: dict[str, int]) -> dict[str, int]:
    """Links machine code into the process.

    Args:
        images: Object files.
        exports: Symbols wanted.
        imports: Addresses of symbols that the images use and do not define; the C library is known.

    Returns:
        Address of each exported symbol.
    """
    from llvmlite import binding

    with _lock:
        library = binding.JITLibraryBuilder()
        for image in images:
            library.add_object_img(image)
        for name in MATH_SYMBOLS:
            library.import_symbol(name, ctypes.cast(getattr(_libm(), name), ctypes.c_void_p).value)
        for name, address in imports.items():
            library.import_symbol(name, address)
        exports = list(exports)
        for name in exports:
            library.export_symbol(name)
        tracker = library.add_current_process().link(_engine(), f"trajopt_{next(_library_numbers)}")
        _alive.append(tracker)
        return {name: tracker[name] for name in exports}


MATH_SYMBOLS = (
    *("exp", "log", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    *("erf", "log1p", "expm1", "pow", "fmod", "remainder", "atan2", "hypot", "copysign", "floor", "ceil", "fma"),
    *("memcpy", "memset", "memmove"),
)
