"""Machine code of expressions: already in this process, loaded from the disk cache, or compiled now."""

from __future__ import annotations

import functools
import itertools
import json
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from trajopt import cache
from trajopt.kernels import compiler, emission, notice, workers
from trajopt.kernels.expression import Code
from trajopt.kernels.interrupts import Held
from trajopt.kernels.tables import Table, addresses

AT_A_TIME = 2.0  # time for which the background compiles on each core before it stores its results [s]


@dataclass(frozen=True)
class FunctionCode:
    """Loaded machine code of a function. It stays in this process as long as this object exists.

    Attributes:
        address: Address of `void (double *in0, ..., double *out0, ..., double *scratch)`.
        scratch: Number of scalars (of W lanes each) of scratch that it needs.
        library: The library with the code.
        tables: Tables that the function reads, which stay in memory with it.
    """

    address: int
    scratch: int
    library: compiler.Library
    tables: tuple[Table, ...] = ()


@dataclass(frozen=True)
class Wanted:
    """Function to be compiled, with its number of lanes and its level of LLVM's optimisation."""

    expression: Code
    width: int
    level: int

    @property
    def label(self) -> str:
        """Description of what the function computes, such as "costs of go2"."""
        return self.expression.label

    @property
    def symbol(self) -> str:
        """Linker symbol of the function, the same at all levels."""
        return symbol_of(self.expression, self.width)

    @property
    def key(self) -> str:
        """Key of the function in the disk cache: a hash of its instructions, lanes, level and processor."""
        choices = f"{self.width} lanes, level {self.level}, cut {emission.CUT}"
        return cache.key("function", self.expression.digest, choices, compiler.target_description())

    @property
    def tables(self) -> dict[int, Table]:
        """Tables that the function reads, by number."""
        return self.expression.tables

    def texts(self) -> tuple[list[str], int]:
        """LLVM modules of the function, and the size of scratch that it needs, in scalars of W lanes each."""
        emitted = emission.EmittedFunction(self.symbol, self.expression.code, self.width)
        return emitted.parts, emitted.scratch


@dataclass(frozen=True)
class Routine:
    """Algebra of fixed sizes, such as a product. The symbol reflects everything on which its text depends."""

    symbol: str
    write: Callable[[], str]
    level: int = compiler.OPTIMISED

    @property
    def label(self) -> str:
        """Description of what the routine computes, such as "matmul"."""
        return self.symbol.rpartition("_")[0].removeprefix("trajopt_")

    @property
    def key(self) -> str:
        """Key of the routine's entry in the disk cache."""
        return cache.key("routine", self.symbol, compiler.target_description())

    @property
    def tables(self) -> dict[int, Table]:
        """None, since a routine reads no tables."""
        return {}

    def texts(self) -> tuple[list[str], int]:
        """LLVM module of the routine, and 0 for the size of scratch, since it needs none."""
        return [self.write()], 0


Piece = Wanted | Routine
"""Machine code that is compiled separately and shared by all programs that need it."""

_loaded: weakref.WeakValueDictionary[str, FunctionCode] = weakref.WeakValueDictionary()  # kernels own the code
_pending: dict[str, threading.Event] = {}  # keys that a thread is loading or compiling; set when it is done
_guard = threading.Lock()


def symbol_of(expression: Code, width: int) -> str:
    """Symbol of an expression's function, the same for both tiers."""
    return emission.symbol("trajopt_f", expression.digest, str(width))


def function_codes(wanted: Sequence[Piece], *, background: bool = False) -> list[FunctionCode]:
    """Loads the code of functions; missing code is compiled together, or awaited if another thread compiles it."""
    keys = [w.key for w in wanted]
    codes: dict[str, FunctionCode] = {}
    while missing := {key: w for key, w in zip(keys, wanted) if key not in codes}:
        for label, other in _taken(missing, codes, background):
            with notice.Working("waiting for", [label], silent=background):
                other.wait()
    return [codes[key] for key in keys]


def _taken(
    missing: dict[str, Piece], codes: dict[str, FunctionCode], background: bool
) -> list[tuple[str, threading.Event]]:
    """Adds code that is loaded or that no other thread compiles; returns labels and events of all other pieces.

    The caller waits for these events and tries again. It does not see an error of the other thread.
    """
    own: dict[str, threading.Event] = {}
    others = []
    try:
        with _guard:
            for key in missing:
                if code := _loaded.get(key):
                    codes[key] = code
                elif key in _pending:
                    others.append((missing[key].label, _pending[key]))
                else:
                    own[key] = _pending[key] = threading.Event()
        for some in _made({key: missing[key] for key in own}, background):
            codes.update(some)
            with _guard:
                _loaded.update(some)
            _finish({key: own[key] for key in some})
    finally:
        _finish(own)
    return others


def _finish(own: dict[str, threading.Event]) -> None:
    """Wakes threads that wait for functions which are now loaded or have failed."""
    with Held():
        for key, event in own.items():
            with _guard:
                if _pending.get(key) is event:
                    del _pending[key]
            event.set()


def forget() -> None:
    """Forgets loaded functions: the next request links new code; code of existing kernels stays loaded."""
    with _guard:
        _loaded.clear()


def forget_unfinished() -> None:
    """Clears pending work in a forked process, where other threads do not exist."""
    global _guard
    _guard = threading.Lock()
    _pending.clear()


def _made(wanted: dict[str, Piece], background: bool) -> Iterator[dict[str, FunctionCode]]:
    """Code by key, level by level: first the pieces in the disk cache, then those that are compiled."""
    for level in sorted({w.level for w in wanted.values()}):  # a symbol is the same at all levels
        some = {key: w for key, w in wanted.items() if w.level == level}
        stored = {key: _unpack(content) for key in some if (content := cache.load(key)) is not None}
        if stored:
            yield _linked(some, stored)
        if absent := {key: w for key, w in some.items() if key not in stored}:
            compiled = _compiled(absent, level, background)
            for key, (scratch, images) in compiled.items():
                cache.store(key, _pack(scratch, images), compiler.cache_label(level, absent[key].label))
            yield _linked(absent, compiled)


def _compiled(wanted: dict[str, Piece], level: int, background: bool) -> dict[str, tuple[int, list[bytes]]]:
    """Scratch sizes and object files of pieces, by key."""
    labels = [w.label for w in wanted.values()]
    with notice.Working("compiling", labels, silent=background) as work:
        emitted = {key: w.texts() for key, w in wanted.items()}
        pieces = [i for i, (parts, _) in enumerate(emitted.values()) for _ in parts]
        texts = [part for parts, _ in emitted.values() for part in parts]
        images = iter(_images(texts, [labels[i] for i in pieces], level, background, lambda k: work.begin(pieces[k])))
    return {key: (scratch, list(itertools.islice(images, len(parts)))) for key, (parts, scratch) in emitted.items()}


def _linked(wanted: dict[str, Piece], images: dict[str, tuple[int, list[bytes]]]) -> dict[str, FunctionCode]:
    """Code of pieces by key, linked as one library."""
    symbols = {key: wanted[key].symbol for key in images}
    tables = {key: wanted[key].tables for key in images}
    places = addresses({number: table for own in tables.values() for number, table in own.items()})
    library = compiler.link([image for _, parts in images.values() for image in parts], symbols.values(), places)
    return {
        key: FunctionCode(library[symbols[key]], scratch, library, tuple(tables[key].values()))
        for key, (scratch, _) in images.items()
    }


def _images(
    parts: list[str], labels: list[str], level: int, background: bool, begin: Callable[[int], None]
) -> list[bytes]:
    """Machine code of parts; background results are stored even if the process ends before all parts are done."""
    entries = [cache.key("part", part, str(level), compiler.target_description()) for part in parts]
    images = [cache.load(entry) if len(parts) > 1 else None for entry in entries]
    missing = [i for i, image in enumerate(images) if image is None]
    for turn in _turns(missing, parts, level) if background else [missing]:
        texts, names = [parts[i] for i in turn], [labels[i] for i in turn]
        started = functools.partial(_begin, begin, turn)
        codes = compiler.machine_codes(texts, level, labels=names, begin=started, background=background)
        for i, image in zip(turn, codes):
            images[i] = image
            if background and len(parts) > 1:
                cache.store(entries[i], image, compiler.cache_label(level, labels[i]))
    return [image for image in images if image is not None]


def _begin(begin: Callable[[int], None], turn: Sequence[int], number: int) -> None:
    begin(turn[number])


def _turns(missing: list[int], parts: list[str], level: int) -> list[list[int]]:
    """Indices of missing parts, in groups that take about `AT_A_TIME`."""
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
