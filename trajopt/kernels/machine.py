"""A kernel: a program as machine code for W lanes.

All but small programs have two tiers of code. Quick code is compiled first. If it runs again and again, optimised code
is compiled in the background and replaces it when ready. Both give the same bits, so that the exchange never changes a
solve. Optimised code joins consecutive calls, see `trajopt.kernels.joined`.

Environment:
    TRAJOPT_OPTIMISE: "off" compiles quick code only, for runs that end before optimised code would pay off.
    TRAJOPT_LANES: Number of lanes of code for many knots, 2, 4 or 8, instead of the one that suits the processor. It
        affects results by rounding only; with 2 or 4, no code uses AVX-512, including the Riccati recursion.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import logging
import os
import threading
import weakref
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from trajopt import cache
from trajopt.errors import InvalidArgumentError
from trajopt.kernels import codegen, compiler, functions, workers
from trajopt.kernels.compiler import OPTIMISED, QUICK
from trajopt.kernels.entry import content, entry_text, routines
from trajopt.kernels.functions import Piece, Wanted
from trajopt.kernels.interrupts import Heard, Held
from trajopt.kernels.joined import joined
from trajopt.kernels.layout import layout
from trajopt.kernels.program import Program
from trajopt.kernels.recent import Recent, clear_all

QUICK_ENOUGH = 300  # programs up to this many instructions get optimised code at once: it compiles in 0.02 s
# Measured: 190 KiB for a pendulum's kernels, and 60 to 110 bytes per instruction for an arm's and a quadruped's.
KERNEL_BYTES, INSTRUCTION_BYTES = 190 * 2**10, 100
KEPT_BYTES = 64 * 2**20  # a hundred small models, or three humanoids

_logger = logging.getLogger(__name__)
_living: weakref.WeakSet[Kernel] = weakref.WeakSet()


@functools.cache
def lane_count() -> int:
    """Number of lanes of code for many knots [-]: the doubles in a register, or TRAJOPT_LANES."""
    return codegen.lanes()


def kernel(program: Program, width: int) -> Kernel:
    """Kernel of a program; programs with the same content share one in this process.

    The process keeps the kernels that were requested last, up to 64 MiB. Others are freed with the last problem, solver
    or `KernelCall` that uses them.

    Raises:
        InvalidArgumentError: `width` is not 1, 2, 4 or 8, or the program has no outputs.
    """
    _check(program, width)
    return _kept.get(content(program, width), lambda: Kernel(program, width))


def forget() -> None:
    """Drops all kernels that this process keeps, and code for the sizes of problems.

    The next request loads from the disk cache or compiles again. Code stays in memory as long as its kernel is in use,
    for example by a `KernelCall` or the thread that optimises it.
    """
    with Heard():
        clear_all()
        functions.forget()


def compile_together(kernels: Iterable[Kernel], *, optimised: bool = False) -> None:
    """Prepares the code of kernels as `Kernel.compile` does, and compiles missing code on all cores.

    Args:
        kernels: The kernels.
        optimised: Whether to wait for optimised code, unless TRAJOPT_OPTIMISE=off.
    """
    optimised &= _optimises()
    with Heard():
        waiting = [each for each in kernels if each.tier == "none" or (optimised and each.tier == "quick")]
        levels = [OPTIMISED if optimised else each.first_level() for each in waiting]
        pieces = [piece for each, level in zip(waiting, levels) for piece in each.pieces_at(level)]
        held = functions.function_codes(pieces)
        for each in waiting:
            if optimised:
                each.wait_until_optimised()
            else:
                each.compile()
        del held  # from here on the kernels keep the code alive


def wait_until_optimised() -> None:
    """Waits until all kernels in use have optimised code; call it before a real-time loop.

    Cached kernels of problems that no longer exist are not optimised. After the call nothing is compiled in the
    background. With TRAJOPT_OPTIMISE=off it returns at once.
    """
    if _optimises():
        compile_together([each for each in list(_living) if each.tier == "quick" and each.calls], optimised=True)
        _background.end()


@contextlib.contextmanager
def without_background() -> Iterator[None]:
    """No kernel begins to be optimised in the background meanwhile: for a solve whose own code is not used again."""
    background = _background
    background.hold(1)
    try:
        yield
    finally:
        background.hold(-1)


def _check(program: Program, width: int) -> None:
    if width not in (1, *codegen.WIDTHS):
        raise InvalidArgumentError(f"width: expected 1, 2, 4 or 8 lanes, got {width!r}")
    if not program.outputs:
        raise InvalidArgumentError(f"program {program.name!r} has no outputs; declare them with Program.output")


def _optimises() -> bool:
    return os.environ.get("TRAJOPT_OPTIMISE", "on") != "off"


@dataclass(frozen=True)
class _Code:
    """Code of one tier; it is exchanged as a whole and stays in memory as long as this object."""

    tier: str
    address: int
    scratch_bytes: int
    libraries: tuple[object, ...]


class Kernel:
    """Machine code `void (double **arrays, double *scratch)` of a program; compiled when it is first needed.

    Attributes:
        width: Number of lanes W.
        n_in: Number of inputs.
        lengths: Number of elements of each input, then of each output.
        calls: Existing calls of the kernel.
    """

    def __init__(self, program: Program, width: int) -> None:
        _check(program, width)
        program.close()
        self.program = program
        self.width = width
        self.n_in = len(program.inputs)
        self.lengths = [a.size for a in (*program.inputs, *program.outputs)]
        self._code: _Code | None = None
        self._replaced: _Code | None = None  # a call may still be running it
        self._compiling = threading.RLock()
        self._queued = False
        self.calls: weakref.WeakSet[object] = weakref.WeakSet()
        _living.add(self)

    def __repr__(self) -> str:
        return f"Kernel({self.program.name!r}, width={self.width}, tier={self.tier})"

    @property
    def tier(self) -> str:
        """Tier of the code in use: `none` before the first use, then `quick` or `optimised`."""
        return "none" if self._code is None else self._code.tier

    @property
    def address(self) -> int:
        """Address of the code, which is compiled first if needed."""
        return self.code[0]

    def compile(self) -> _Code:
        """Prepares the code: loaded from the cache, or compiled now (as quick code unless the program is small).

        Raises:
            UnsupportedOperationError: An expression contains an operation that cannot be compiled.
        """
        with self._compiling, Heard():
            if self._code is None:
                self._code = self._build(self.first_level())
            return self._code

    @property
    def code(self) -> tuple[int, int]:
        """Address of the code in use, and its size of scratch [bytes]. The code is compiled first if needed."""
        code = self._code or self.compile()
        return code.address, code.scratch_bytes

    @property
    def scratch_bytes(self) -> int:
        """Size of the scratch that one call of the code in use needs [bytes]; compiles it first if needed."""
        return self.code[1]

    def first_level(self) -> int:
        """Level of LLVM's optimisation at which the kernel is compiled first."""
        return QUICK if self.program.instructions > QUICK_ENOUGH and not self._is_cached() else OPTIMISED

    @functools.cached_property
    def _joined(self) -> Program:
        """The program that optimised code runs."""
        return joined(self.program)

    def _program_at(self, level: int) -> Program:
        return self._joined if level == OPTIMISED else self.program

    def functions_at(self, level: int) -> list[Wanted]:
        """Functions that the kernel calls if it is compiled at this level."""
        return [Wanted(code, self.width, level) for code in self._program_at(level).functions]

    def pieces_at(self, level: int) -> list[Piece]:
        """Functions and routines of the kernel that are compiled separately at this level."""
        return [*self.functions_at(level), *routines(self._program_at(level), self.width)]

    def optimise(self) -> None:
        """Starts compiling the optimised tier in the background, unless it exists or is already queued."""
        if self.tier == "quick" and not self._queued and _optimises() and not _background.held:
            self._queued = True
            _background.add(self)

    def wait_until_optimised(self) -> None:
        """Waits until the optimised tier is in use; compiles it now unless the background is doing so."""
        if self.tier != "optimised":
            with Heard():
                self._exchange()

    def _exchange(self, *, background: bool = False) -> None:
        code = self._build(OPTIMISED, background=background)
        if self.tier != "optimised":
            self._replaced, self._code = self._code, code

    def _optimise(self) -> None:
        try:
            if self.tier != "optimised":
                self._exchange(background=True)
        except Exception:
            if not compiler.closing():
                _logger.exception("%s: the optimised tier could not be compiled; the quick one stays in use", self)

    def _is_cached(self) -> bool:
        keys = [wanted.key for wanted in self.functions_at(OPTIMISED)]
        return all(map(cache.contains, [*keys, compiler.object_key(*self._entry_at(OPTIMISED))]))

    def _entry_at(self, level: int) -> tuple[str, ...]:
        """Everything on which the text of its entry depends."""
        return ("entry", *content(self._program_at(level), self.width))

    def _build(self, level: int, *, background: bool = False) -> _Code:
        program = self._program_at(level)
        wanted = self.pieces_at(level)
        codes = functions.function_codes(wanted, background=background)
        imports = {w.symbol: code.address for w, code in zip(wanted, codes)}
        spilled = max((code.scratch for code in codes), default=0)
        about = self._entry_at(level)
        image = compiler.object_code(lambda: entry_text(program, self.width), *about, background=background)
        entry = compiler.link([image], ["trajopt_entry"], imports)
        scratch = (layout(program).end + spilled) * self.width * 8 + 64
        tier = "optimised" if level == OPTIMISED else "quick"
        return _Code(tier, entry["trajopt_entry"], scratch, (entry, *codes))


class _Background:
    """Thread that optimises kernels in order of arrival; kernels that are no longer in use are skipped.

    Attributes:
        held: Number of `without_background` that have not ended.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._waiting: deque[weakref.ref[Kernel]] = deque()
        self._thread: threading.Thread | None = None
        self.held = 0

    def hold(self, change: int) -> None:
        """Changes the number of those who hold it."""
        with self._guard:
            self.held += change

    def add(self, kernel: Kernel) -> None:
        """Adds a kernel."""
        with self._guard, Held():
            self._waiting.append(weakref.ref(kernel))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="trajopt-optimise", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while True:
            with self._guard:
                if not self._waiting or compiler.closing():
                    self._thread = None
                    return
                kernel = self._waiting.popleft()()
            if kernel is not None:
                kernel._optimise()
            del kernel

    def end(self) -> None:
        """Waits until the thread has ended."""
        thread = self._thread
        if thread is not None:
            thread.join()


_background = _Background()


def _size(kernel: Kernel) -> float:
    """Approximate memory of a kernel and its program [bytes]."""
    return KERNEL_BYTES + INSTRUCTION_BYTES * kernel.program.instructions


_kept: Recent[tuple[str, ...], Kernel] = Recent(KEPT_BYTES, _size)
"""Kernels that the process keeps; no other object keeps unused code."""


def _end_background() -> None:
    """Ends background compilation before the interpreter shuts down."""
    compiler.close()
    _background.end()


def _forget_background() -> None:
    """Clears the background in a forked process, which has none of the threads."""
    global _background
    functions.forget_unfinished()
    workers.forget()
    _background = _Background()
    for each in _living:
        each._compiling, each._queued = threading.RLock(), False


atexit.register(_end_background)
os.register_at_fork(after_in_child=_forget_background)
