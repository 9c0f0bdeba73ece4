"""Machine code of one expression: from this process, the disk cache, or compiled now."""

from __future__ import annotations

import json
import threading
from concurrent.futures import Future
from dataclasses import dataclass

from trajopt.kernels import cache, compiler, emission, workers
from trajopt.kernels.instructions import read_instructions
from trajopt.kernels.steps import Call

AT_A_TIME = 2.0  # how long the background compiles on each core before it keeps what it has [s]


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
        scratch, images = emitted.scratch, _compiled(emitted.parts, level, background)
        cache.store(key, _pack(scratch, images))
    else:
        scratch, images = _unpack(stored)
    return FunctionCode(compiler.load(images, [name], {})[name], scratch)


def _compiled(parts: list[str], level: int, background: bool) -> list[bytes]:
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
