"""A kernel: a program as machine code for W lanes.

All but small programs come in two tiers. The quick one is compiled first, the optimised one in the background once the
code is run again and again; it takes the quick one's place when it is ready. Both give the same bits, so the exchange
never changes a solve. Optimised code joins calls that follow one another, see `trajopt.kernels.joined`.

Environment:
    TRAJOPT_OPTIMISE: "off" compiles the quick tier only, for runs that are over before optimised code would pay.
    TRAJOPT_LANES: lanes of code for many knots, 2, 4 or 8, where other ones than the processor's are wanted. Results do
        not depend on it, but for rounding: with 2 or 4, code does without AVX-512, also that of the Riccati recursion.
"""

from __future__ import annotations

import atexit
import functools
import logging
import os
import threading
import weakref
from collections import deque
from collections.abc import Iterable
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

QUICK_ENOUGH = 300  # instructions up to which optimised code takes no longer than a blink: 0.02 s
# measured: 190 KiB of a pendulum's, and 60 to 110 bytes for each instruction of an arm's and a quadruped's
KERNEL_BYTES, INSTRUCTION_BYTES = 190 * 2**10, 100
KEPT_BYTES = 64 * 2**20  # a hundred small models, or three humanoids

_logger = logging.getLogger(__name__)
_living: weakref.WeakSet[Kernel] = weakref.WeakSet()


@functools.cache
def lane_count() -> int:
    """Number of lanes of code for many knots [-]: the doubles of a register, or TRAJOPT_LANES."""
    return codegen.lanes()


def kernel(program: Program, width: int) -> Kernel:
    """The kernel of a program; programs with the same content share one in this process.

    The process keeps the kernels that were asked for last, 64 MiB of them. The others go with the last problem, solver
    or `KernelCall` that holds them.

    Raises:
        InvalidArgumentError: `width` is not 1, 2, 4 or 8, or the program has no outputs.
    """
    _check(program, width)
    return _kept.get(content(program, width), lambda: Kernel(program, width))


def forget() -> None:
    """Lets go of all kernels that this process keeps, and of code for the sizes of problems.

    Who asks for one next gets it from the disk cache, or compiled anew. Code stays as long as somebody holds its
    kernel, such as a `KernelCall` or the thread that optimises it; then its memory is freed.
    """
    with Heard():
        clear_all()
        functions.forget()


def compile_together(kernels: Iterable[Kernel], *, optimised: bool = False) -> None:
    """Makes the code of kernels ready as `Kernel.compile` does, with all cores at work on what is missing.

    Args:
        kernels: The kernels.
        optimised: Whether to wait for optimised code.
    """
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
        del held  # kernels hold the code from here on


def wait_until_optimised() -> None:
    """Returns when all kernels that have code and calls have optimised code: before a loop in real time.

    Kernels of problems that are gone, which the process keeps, stay as they are. Nothing is compiled in the background
    then. With TRAJOPT_OPTIMISE=off it returns at once.
    """
    if _optimises():
        compile_together([each for each in list(_living) if each.tier == "quick" and each.calls], optimised=True)
        _background.end()


def _check(program: Program, width: int) -> None:
    if width not in (1, *codegen.WIDTHS):
        raise InvalidArgumentError(f"width: expected 1, 2, 4 or 8 lanes, got {width!r}")
    if not program.outputs:
        raise InvalidArgumentError(f"program {program.name!r} has no outputs; name them with Program.output")


def _optimises() -> bool:
    return os.environ.get("TRAJOPT_OPTIMISE", "on") != "off"


@dataclass(frozen=True)
class _Code:
    """One tier's code: it is exchanged as a whole, and stays in memory as long as this object."""

    tier: str
    address: int
    scratch_bytes: int
    libraries: tuple[object, ...]


class Kernel:
    """Machine code `void (double **arrays, double *scratch)` of a program; compiled when its address is first asked.

    Attributes:
        width: Lanes W.
        n_in: Number of inputs.
        lengths: Elements of each input, then of each output.
        calls: The calls of it that somebody holds.
    """

    def __init__(self, program: Program, width: int) -> None:
        _check(program, width)
        program.close()
        self.program = program
        self.width = width
        self.n_in = len(program.inputs)
        self.lengths = [a.size for a in (*program.inputs, *program.outputs)]
        self._code: _Code | None = None
        self._replaced: _Code | None = None  # a call may still be at work in it
        self._compiling = threading.RLock()
        self._queued = False
        self.calls: weakref.WeakSet[object] = weakref.WeakSet()
        _living.add(self)

    def __repr__(self) -> str:
        return f"Kernel({self.program.name!r}, width={self.width}, tier={self.tier})"

    @property
    def tier(self) -> str:
        """`none` before the first use, then `quick` or `optimised`."""
        return "none" if self._code is None else self._code.tier

    @property
    def address(self) -> int:
        """Address of the code; compiles it first if needed."""
        return self.code[0]

    def compile(self) -> _Code:
        """Makes the code ready: from the cache, or compiled now (the quick tier unless the program is small).

        Raises:
            UnsupportedOperationError: An expression holds an operation that cannot be compiled.
        """
        with self._compiling, Heard():
            if self._code is None:
                self._code = self._build(self.first_level())
            return self._code

    @property
    def code(self) -> tuple[int, int]:
        """Address and bytes of scratch of the same tier; compiles it first if needed."""
        code = self._code or self.compile()
        return code.address, code.scratch_bytes

    @property
    def scratch_bytes(self) -> int:
        """Bytes of scratch that one call of the code in use needs; compiles it first if needed."""
        return self.code[1]

    def first_level(self) -> int:
        """At which level the code is compiled that runs first."""
        return QUICK if self.program.instructions > QUICK_ENOUGH and not self._is_cached() else OPTIMISED

    @functools.cached_property
    def _joined(self) -> Program:
        """The program that optimised code runs."""
        return joined(self.program)

    def _program_at(self, level: int) -> Program:
        return self._joined if level == OPTIMISED else self.program

    def functions_at(self, level: int) -> list[Wanted]:
        """The functions that it calls."""
        return [Wanted(code, self.width, level) for code in self._program_at(level).functions]

    def pieces_at(self, level: int) -> list[Piece]:
        """All that is compiled apart: functions and routines."""
        return [*self.functions_at(level), *routines(self._program_at(level), self.width)]

    def optimise(self) -> None:
        """Has the optimised tier compiled in the background, unless it is there or about to be."""
        if self.tier == "quick" and not self._queued and _optimises():
            self._queued = True
            _background.add(self)

    def wait_until_optimised(self) -> None:
        """Returns when the optimised tier is in place: compiled now, or by the background that is at it."""
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
                _logger.exception("%s: the optimised tier could not be compiled; the quick one stays", self)

    def _is_cached(self) -> bool:
        keys = [wanted.key for wanted in self.functions_at(OPTIMISED)]
        return all(map(cache.contains, [*keys, compiler.object_key(*self._entry_at(OPTIMISED))]))

    def _entry_at(self, level: int) -> tuple[str, ...]:
        """All that the text of its entry depends on."""
        return ("entry", *content(self._program_at(level), self.width))

    def _build(self, level: int, *, background: bool = False) -> _Code:
        program = self._program_at(level)
        wanted = self.pieces_at(level)
        codes = functions.function_codes(wanted, background=background)
        imports = {w.symbol: code.address for w, code in zip(wanted, codes)}
        spilled = max((code.scratch for code in codes), default=0)
        image = compiler.object_code(lambda: entry_text(program, self.width), *self._entry_at(level))
        entry = compiler.link([image], ["trajopt_entry"], imports)
        scratch = (layout(program).end + spilled) * self.width * 8 + 64
        tier = "optimised" if level == OPTIMISED else "quick"
        return _Code(tier, entry["trajopt_entry"], scratch, (entry, *codes))


class _Background:
    """One thread that optimises kernels in the order in which they come; one that nobody holds any more is left out."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._waiting: deque[weakref.ref[Kernel]] = deque()
        self._thread: threading.Thread | None = None

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
    """Memory that a kernel and its program take, about [bytes]."""
    return KERNEL_BYTES + INSTRUCTION_BYTES * kernel.program.instructions


_kept: Recent[tuple[str, ...], Kernel] = Recent(KEPT_BYTES, _size)
"""The kernels that the process keeps: nothing else keeps code that nobody uses."""


def _end_background() -> None:
    """LLVM must not be at work while the process tears itself down."""
    compiler.close()
    _background.end()


def _forget_background() -> None:
    """A forked process has neither the threads nor what they held."""
    global _background
    functions.forget_unfinished()
    workers.forget()
    _background = _Background()
    for each in _living:
        each._compiling, each._queued = threading.RLock(), False


atexit.register(_end_background)
os.register_at_fork(after_in_child=_forget_background)
