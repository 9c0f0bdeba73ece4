"""Machine code of expressions: from this process, the disk cache, or compiled now."""

from __future__ import annotations

import contextlib
import itertools
import json
import threading
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from trajopt import cache
from trajopt.kernels import compiler, emission, notice, workers
from trajopt.kernels.expression import Expression
from trajopt.kernels.instructions import read_instructions
from trajopt.kernels.interrupts import Held

AT_A_TIME = 2.0  # how long the background compiles on each core before it keeps what it has [s]


@dataclass(frozen=True)
class FunctionCode:
    """A function's code, which stays in this process as long as this object.

    Attributes:
        address: Of `void (double *in0, ..., double *out0, ..., double *scratch)`.
        scratch: Scalars (of W lanes each) of scratch that it needs.
        library: What holds the code.
    """

    address: int
    scratch: int
    library: compiler.Library


@dataclass(frozen=True)
class Wanted:
    """A function that is to be compiled: which, for how many lanes, at which level of LLVM's code generation."""

    expression: Expression
    width: int
    level: int

    @property
    def symbol(self) -> str:
        """Symbol of its code."""
        return symbol_of(self.expression, self.width)


_loaded: weakref.WeakValueDictionary[str, FunctionCode] = weakref.WeakValueDictionary()  # kernels hold the code
_pending: dict[str, threading.Event] = {}  # what a thread is about to load or compile; set when it is done with it
_guard = threading.Lock()


def symbol_of(expression: Expression, width: int) -> str:
    """Symbol of an expression's function; the same for both tiers."""
    return emission.symbol("trajopt_f", expression.digest, str(width))


def cache_key(expression: Expression, width: int, level: int) -> str:
    """Key of the function's entry in the disk cache."""
    choices = f"{width} lanes, level {level}, cut {emission.CUT}"
    return cache.key("function", expression.digest, choices, compiler.target_description())


def function_codes(wanted: Sequence[Wanted], *, background: bool = False) -> list[FunctionCode]:
    """Code of functions, all that is missing compiled at once; what another thread compiles already is waited for."""
    keys = [cache_key(w.expression, w.width, w.level) for w in wanted]
    codes: dict[str, FunctionCode] = {}
    while missing := {key: w for key, w in zip(keys, wanted) if key not in codes}:
        for other in _taken(missing, codes, background):
            other.wait()
    return [codes[key] for key in keys]


def _taken(missing: dict[str, Wanted], codes: dict[str, FunctionCode], background: bool) -> list[threading.Event]:
    """Adds what is loaded, and what nobody else makes; gives what to wait for before one looks again.

    Whoever waits does not see the error of the other thread: it tries itself.
    """
    own: dict[str, threading.Event] = {}
    others = []
    try:
        with _guard:
            for key in missing:
                if code := _loaded.get(key):
                    codes[key] = code
                elif key in _pending:
                    others.append(_pending[key])
                else:
                    own[key] = _pending[key] = threading.Event()
        for key, code in _made({key: missing[key] for key in own}, background):
            codes[key] = code
            with _guard:
                _loaded[key] = code
            _finish({key: own[key]})
    finally:
        _finish(own)
    return others


def _finish(own: dict[str, threading.Event]) -> None:
    """Wakes whoever waits for functions that are loaded now, or that failed."""
    with Held():
        for key, event in own.items():
            with _guard:
                if _pending.get(key) is event:
                    del _pending[key]
            event.set()


def forget() -> None:
    """Forgets loaded functions: the next request gets code of its own; that of earlier kernels stays loaded."""
    with _guard:
        _loaded.clear()


def forget_unfinished() -> None:
    """In a forked process, nobody will finish what other threads had begun."""
    global _guard
    _guard = threading.Lock()
    _pending.clear()


def _made(wanted: dict[str, Wanted], background: bool) -> Iterator[tuple[str, FunctionCode]]:
    """Keys and code of functions: first those of the disk cache, then those that are compiled."""
    absent: dict[str, Wanted] = {}
    for key, w in wanted.items():
        stored = cache.load(key)
        if stored is not None:
            yield key, _linked(w, *_unpack(stored))
        else:
            absent[key] = w
    for level in sorted({w.level for w in absent.values()}):
        some = {key: w for key, w in absent.items() if w.level == level}
        for key, (scratch, images) in _compiled(some, level, background).items():
            cache.store(key, _pack(scratch, images))
            yield key, _linked(some[key], scratch, images)


def _compiled(wanted: dict[str, Wanted], level: int, background: bool) -> dict[str, tuple[int, list[bytes]]]:
    """Scratch and object files of functions, by key."""
    with contextlib.nullcontext() if background else notice.Compiling():
        emitted = {
            key: emission.EmittedFunction(w.symbol, read_instructions(w.expression.function), w.width)
            for key, w in wanted.items()
        }
        images = iter(_images([part for each in emitted.values() for part in each.parts], level, background))
    return {key: (each.scratch, list(itertools.islice(images, len(each.parts)))) for key, each in emitted.items()}


def _linked(w: Wanted, scratch: int, images: list[bytes]) -> FunctionCode:
    library = compiler.link(images, [w.symbol], {})
    return FunctionCode(library[w.symbol], scratch, library)


def _images(parts: list[str], level: int, background: bool) -> list[bytes]:
    """Machine code of parts; what the background has done is kept if the process ends before all is done."""
    entries = [cache.key("part", part, str(level), compiler.target_description()) for part in parts]
    images = [cache.load(entry) if len(parts) > 1 else None for entry in entries]
    missing = [i for i, image in enumerate(images) if image is None]
    turns = _turns(missing, parts, level) if background else [missing]
    for turn in turns:
        for i, image in zip(turn, compiler.machine_codes([parts[i] for i in turn], level, background=background)):
            images[i] = image
            if background and len(parts) > 1:
                cache.store(entries[i], image)
    return [image for image in images if image is not None]


def _turns(missing: list[int], parts: list[str], level: int) -> list[list[int]]:
    """Numbers of missing parts in groups that take about `AT_A_TIME`."""
    turns: list[list[int]] = []
    left = 0.0
    for i in missing:
        if left <= 0:
            turns.append([])
            left = AT_A_TIME * compiler.get_num_threads()
        turns[-1].append(i)
        left -= workers.SECONDS_PER_BYTE[level] * len(parts[i])
    return turns


def _pack(scratch: int, images: list[bytes]) -> bytes:
    head = json.dumps({"scratch": scratch, "sizes": [len(i) for i in images]}).encode()
    return len(head).to_bytes(8, "little") + head + b"".join(images)


def _unpack(stored: bytes) -> tuple[int, list[bytes]]:
    end = 8 + int.from_bytes(stored[:8], "little")
    head = json.loads(stored[8:end])
    images = []
    for size in head["sizes"]:
        images.append(stored[end : end + size])
        end += size
    return int(head["scratch"]), images
