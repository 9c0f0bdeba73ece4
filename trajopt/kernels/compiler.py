"""Compiler from LLVM text to code in this process; it needs llvmlite but no C compiler.

Compiled code is stored on disk (`trajopt.cache`). Its key is a hash of whatever determines its text, of the processor
and of the versions.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from trajopt import cache
from trajopt.errors import TrajoptError
from trajopt.kernels import codegen, notice, workers
from trajopt.kernels.codegen import OPTIMISED, QUICK, host
from trajopt.kernels.interrupts import Held, Postponed
from trajopt.kernels.threads import get_num_threads

# LLVM calls these; an image must define or import all other symbols.
MATH_SYMBOLS = (
    *("exp", "log", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    *("erf", "log1p", "expm1", "pow", "fmod", "remainder", "atan2", "hypot", "copysign", "floor", "ceil", "fma"),
    *("memcpy", "memset", "memmove"),
)

LINKS_PER_ENGINE = 64
"""After a library's code is freed, LLVM keeps 9 KiB of it until its engine is freed; a new engine starts in 3 ms."""

_lock = threading.RLock()  # held during every call of LLVM
_library_numbers = itertools.count()
_engine: _Engine | None = None  # the engine that currently links
_released: deque[tuple[Any, _Engine]] = deque()  # unused libraries that LLVM has not freed yet
_permanent: list[Library] = []
_compiled: list[str] = []  # labels of modules that a caller waited for
_optimised: list[str] = []  # labels of modules that the background compiled
_closing = False

# Do not fork while another thread is inside LLVM, since its locks would stay closed in the child.
os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


class CompilationError(TrajoptError, RuntimeError):
    """LLVM rejects text written by trajopt, or a symbol is missing. This is a bug of trajopt; please report it."""


def compilations(*, background: bool = False) -> int:
    """Number of LLVM modules that this process has compiled; loads from the disk cache do not count.

    Args:
        background: Whether to count also the modules that are optimised in the background, while quick code runs.
    """
    return len(_compiled) + (len(_optimised) if background else 0)


def compiled() -> list[str]:
    """Labels of the modules that `compilations` counts, such as "costs of go2", in order of compilation."""
    return list(_compiled)


@functools.cache
def target_description() -> str:
    """Text with the processor and the LLVM version on which machine code depends, for keys of the cache."""
    from llvmlite import __version__, binding

    return "|".join([codegen.triple(), *host(), f"llvmlite {__version__}", f"llvm {binding.llvm_version_info}"])


@functools.cache
def has_fma() -> bool:
    """True if the processor has a fused multiply-add instruction."""
    return "+fma" in host()[1].split(",") or codegen.triple().startswith(("aarch64", "arm64"))


@functools.cache
def has_wide_registers() -> bool:
    """True if the processor has 32 registers of 8 doubles."""
    return "+avx512f" in host()[1].split(",")


def object_key(*about: str) -> str:
    """Key of a module's machine code in the disk cache, see `object_code`."""
    return cache.key("module", *about, target_description())


def object_code(write: Callable[[], str], *about: str, background: bool = False) -> bytes:
    """Machine code of a module, loaded from the cache or written and compiled now.

    Args:
        write: Function that writes the LLVM module.
        about: Everything on which its text depends, besides the source of this room and the processor.
        background: Whether no caller waits for it.
    """
    key = object_key(*about)
    image = cache.load(key)
    if image is None:
        label = about[0].removeprefix("trajopt_")
        with notice.Working("compiling", [label]):
            image = machine_code(write(), label=label, background=background)
        cache.store(key, image, cache_label(OPTIMISED, label))
    return image


def cache_label(level: int, what: str) -> str:
    """Returns the label of a piece of code in the disk cache: its level of optimisation, and what it computes."""
    return f"{cache.QUICK_CODE if level == QUICK else cache.OPTIMISED_CODE}: {what}"


def machine_code(text: str, level: int = OPTIMISED, *, label: str = "", background: bool = False) -> bytes:
    """Compiles a module to machine code; `label` describes what it computes, `background` says that nobody waits.

    Raises:
        CompilationError: LLVM rejects the text.
    """
    with _lock, Held():
        try:
            image = codegen.machine_code(text, level)
        except RuntimeError as error:
            raise CompilationError(f"LLVM rejects a module that trajopt wrote (please report it): {error}") from error
        _note(label, background=background)
    return image


def _note(label: str, *, background: bool) -> None:
    (_optimised if background else _compiled).append(label)


def machine_codes(
    texts: Sequence[str],
    level: int,
    *,
    labels: Sequence[str],
    begin: Callable[[int], None] = lambda _: None,
    background: bool = False,
) -> list[bytes]:
    """Compiles several modules to machine code, on several cores if that saves time.

    Args:
        texts: LLVM modules.
        level: OPTIMISED or QUICK.
        labels: Description of what each module computes.
        begin: Called with the index of each module when its compilation begins.
        background: Whether to give other threads priority.
    """
    images = []
    apart = workers.compile_apart(texts, level, get_num_threads(), begin=begin, background=background)
    for i, (label, text, image) in enumerate(zip(labels, texts, apart)):
        if image is None:
            if background:
                time.sleep(0.001)  # lets a waiting thread take the lock
            if _closing:
                raise CompilationError("the process is about to end")
            begin(i)
            image = machine_code(text, level, label=label, background=background)
        else:
            with _lock:
                _note(label, background=background)
        images.append(image)
    return images


def closing() -> bool:
    """True if the process is about to end."""
    return _closing


def close() -> None:
    """Tells background threads to end soon."""
    global _closing
    _closing = True
    workers.close()


class Library:
    """Machine code in this process. Its memory is freed when this object is garbage-collected.

    Keep the library as long as you use one of its addresses.

    Args:
        tracker: LLVM's resource tracker of the code.
        engine: The engine that linked it.
        exports: Symbols that it exports.
    """

    def __init__(self, tracker: Any, engine: _Engine, exports: Iterable[str]) -> None:
        self._addresses = {name: int(tracker[name]) for name in exports}
        weakref.finalize(self, _release, [(tracker, engine)]).atexit = False  # LLVM may be gone by then

    def __getitem__(self, symbol: str) -> int:
        """Address of an exported symbol."""
        return self._addresses[symbol]


def _release(library: list[tuple[Any, _Engine]]) -> None:
    """Unloads a library now or, if another thread is using LLVM, at the next call of LLVM.

    An object can be collected in any thread at any point, so this function must not wait for a lock. It empties the
    list, so that no object of LLVM's bindings is left to the caller, where signals are not postponed.
    """
    with Postponed():
        _released.append(library.pop())
        if _lock.acquire(blocking=False):
            try:
                _unload()
            finally:
                _lock.release()


def _unload() -> None:
    """Frees all unused libraries; the caller holds the lock."""
    while _released:
        tracker, engine = _released.popleft()
        tracker.close()
        engine.living -= 1
        engine.close_if_done()


class _Engine:
    """LLVM's linker for a number of libraries; callers of its methods hold the lock."""

    def __init__(self) -> None:
        from llvmlite import binding

        codegen.target_machine(QUICK)
        self._engine = binding.create_lljit_compiler(use_jit_link=True)  # the other linker aborts, see decisions
        self._left = LINKS_PER_ENGINE
        self.living = 0  # number of libraries in use

    @staticmethod
    def current() -> _Engine:
        """The engine that currently links."""
        global _engine
        if _engine is None or not _engine._left:
            _engine = _Engine()
        return _engine

    def link(self, builder: Any) -> Any:
        """Links the builder's content and returns LLVM's resource tracker."""
        self._left -= 1
        tracker = builder.link(self._engine, f"trajopt_{next(_library_numbers)}")
        self.living += 1
        return tracker

    def close_if_done(self) -> None:
        """Frees the engine once its last library is gone."""
        if not self._left and not self.living:
            self._engine.close()


@functools.cache
def _libm() -> ctypes.CDLL:
    return ctypes.CDLL(None)


def link(images: Iterable[bytes], exports: Iterable[str], imports: dict[str, int]) -> Library:
    """Links machine code into the process; it stays as long as the returned library is kept.

    Args:
        images: Object files.
        exports: Required symbols.
        imports: Addresses of symbols that the images use but do not define; those of the C library are not needed.

    Raises:
        CompilationError: A symbol is missing.
    """
    from llvmlite import binding

    exports = list(exports)
    with _lock, Held():
        _unload()
        builder = binding.JITLibraryBuilder()
        for image in images:
            builder.add_object_img(image)
        for name in MATH_SYMBOLS:
            builder.import_symbol(name, ctypes.cast(getattr(_libm(), name), ctypes.c_void_p).value)
        for name, address in imports.items():
            builder.import_symbol(name, address)
        for name in exports:
            builder.export_symbol(name)
        engine = _Engine.current()
        try:
            tracker = engine.link(builder.add_current_process())
        except RuntimeError as error:
            raise CompilationError(f"machine code does not link (please report it): {error}") from error
        return Library(tracker, engine, exports)


def load(images: Iterable[bytes], exports: Iterable[str], imports: dict[str, int]) -> dict[str, int]:
    """Links machine code into the process permanently, see `link`; returns the address of each exported symbol."""
    exports = list(exports)
    library = link(images, exports, imports)
    _permanent.append(library)
    return {name: library[name] for name in exports}
