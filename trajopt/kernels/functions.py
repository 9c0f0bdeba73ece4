"""Machine code of one expression: from this process, the disk cache, or compiled now."""

from __future__ import annotations

import json
import threading
from concurrent.futures import Future
from dataclasses import dataclass

from trajopt.kernels import cache, compiler, emission
from trajopt.kernels.instructions import read_instructions
from trajopt.kernels.steps import Call


@dataclass(frozen=True)
class FunctionCode:
    """Where a function's code is.

    Attributes:
        address: Of `void (double *in0, ..., double *out0, ..., double *scratch)`.
        scratch: Scalars (of W lanes each) of scratch that it needs.
    """

    address: int
    scratch: int


_known: dict[str, Future[FunctionCode]] = {}
_guard = threading.Lock()


def symbol_of(call: Call, width: int) -> str:
    """Symbol of the function that is called; the same for both tiers."""
    return emission.symbol("trajopt_f", call.digest, str(width))


def cache_key(call: Call, width: int, level: int) -> str:
    """Key of the function's entry in the disk cache."""
    choices = f"{width} lanes, level {level}, cut {emission.CUT}"
    return cache.key("function", call.digest, choices, compiler.target_description())


def function_code(call: Call, width: int, level: int, *, background: bool = False) -> FunctionCode:
    """Code of the function that is called; one thread compiles it, others that want it wait."""
    key = cache_key(call, width, level)
    with _guard:
        future = _known.get(key)
        mine = future is None
        if future is None:
            future = _known[key] = Future()
    if mine:
        try:
            future.set_result(_make(call, width, level, key, background))
        except BaseException as error:
            with _guard:
                del _known[key]  # whoever asks next tries again
            future.set_exception(error)
            raise
    return future.result()


def forget_unfinished() -> None:
    """In a forked process, nobody will finish what other threads had begun."""
    global _guard
    _guard = threading.Lock()
    for key in [key for key, future in _known.items() if not future.done()]:
        del _known[key]


def _make(call: Call, width: int, level: int, key: str, background: bool) -> FunctionCode:
    name = symbol_of(call, width)
    stored = cache.load(key)
    if stored is None:
        emitted = emission.EmittedFunction(name, read_instructions(call.function), width)
        scratch, images = emitted.scratch, compiler.machine_codes(emitted.parts, level, background=background)
        cache.store(key, _pack(scratch, images))
    else:
        scratch, images = _unpack(stored)
    return FunctionCode(compiler.load(images, [name], {})[name], scratch)


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
