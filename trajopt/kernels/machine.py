"""A kernel: a program as machine code for W lanes.

Large programs come in two tiers. The quick one is ready within seconds; the optimised one is compiled in the background
and takes its place when it is ready. Both give the same bits, so the exchange never changes a solve.

Environment:
    TRAJOPT_OPTIMISE: "off" compiles the quick tier only, for runs that are over before optimised code would pay.
    TRAJOPT_LANES: lanes of code for many knots, 2, 4 or 8, where other ones than the processor's are wanted. Results do
        not depend on it. With 2 or 4, code does without AVX-512.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import weakref
from collections.abc import Iterable
from dataclasses import dataclass

from trajopt import cache
from trajopt.errors import InvalidArgumentError
from trajopt.kernels import codegen, compiler, functions, workers
from trajopt.kernels.compiler import OPTIMISED, QUICK
from trajopt.kernels.entry import content, entry_text
from trajopt.kernels.functions import Wanted
from trajopt.kernels.interrupts import Heard, Held
from trajopt.kernels.layout import layout
from trajopt.kernels.program import Program
from trajopt.kernels.recent import Recent, clear_all

TWO_TIERS = 30_000  # instructions from which a quick tier comes first
QUICK_ENOUGH = 2_000  # instructions up to which nothing is gained by compiling quickly
LANES = codegen.lanes()  # of code for many knots
# measured: 190 KiB of a pendulum's, and 60 to 110 bytes for each instruction of an arm's and a quadruped's
KERNEL_BYTES, INSTRUCTION_BYTES = 190 * 2**10, 100
KEPT_BYTES = 64 * 2**20  # a hundred small models, or three humanoids

_logger = logging.getLogger(__name__)
_living: weakref.WeakSet[Kernel] = weakref.WeakSet()


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


def compile_together(kernels: Iterable[Kernel]) -> None:
    """Makes the code of kernels ready as `Kernel.compile` does, with all cores at work on what is missing."""
    with Heard():
        waiting = [each for each in kernels if each.tier == "none"]
        held = functions.function_codes([w for each in waiting for w in each.functions_at(each.first_level())])
        for each in waiting:
            each.compile()
        del held  # kernels hold the code from here on


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
        self._background: threading.Thread | None = None
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
        return (self._code or self.compile()).address

    @property
    def scratch_bytes(self) -> int:
        """Bytes of scratch that one call needs, the same for both tiers."""
        return (self._code or self.compile()).scratch_bytes

    def compile(self) -> _Code:
        """Makes the code ready: from the cache, or compiled now (the quick tier first if the program is large).

        Raises:
            UnsupportedOperationError: An expression holds an operation that cannot be compiled.
        """
        with self._compiling, Heard():
            if self._code is None:
                level = self.first_level()
                code, two_tiers = self._build(level), level == QUICK and _optimises()
                if two_tiers:
                    self.program.unpack()  # in this thread: CasADi may be at work here while the other one runs
                with Held():  # no quick tier without its successor
                    self._code = code
                    if two_tiers:
                        self._background = threading.Thread(target=self._optimise, name="trajopt-optimise", daemon=True)
                        self._background.start()
            return self._code

    def first_level(self) -> int:
        """At which level the code is compiled that runs first."""
        quick_first = self.program.instructions > (TWO_TIERS if _optimises() else QUICK_ENOUGH)
        return QUICK if quick_first and not self._is_cached() else OPTIMISED

    def functions_at(self, level: int) -> list[Wanted]:
        """The functions that it calls."""
        return [Wanted(expression, self.width, level) for expression in self.program.functions]

    def wait_until_optimised(self) -> None:
        """Returns when the optimised tier is in place."""
        self.compile()
        if self._background is not None:
            self._background.join()
        if self.tier != "optimised":  # it failed in the background: tell why
            self._replaced, self._code = self._code, self._build(OPTIMISED)

    def _optimise(self) -> None:
        try:
            self._replaced, self._code = self._code, self._build(OPTIMISED, background=True)
        except Exception:
            if not compiler.closing():
                _logger.exception("%s: the optimised tier could not be compiled; the quick one stays", self)

    def _is_cached(self) -> bool:
        return all(cache.contains(functions.cache_key(e, self.width, OPTIMISED)) for e in self.program.functions)

    def _build(self, level: int, *, background: bool = False) -> _Code:
        wanted = self.functions_at(level)
        codes = functions.function_codes(wanted, background=background)
        imports = {w.symbol: code.address for w, code in zip(wanted, codes)}
        spilled = max((code.scratch for code in codes), default=0)
        about = ("entry", *content(self.program, self.width))
        image = compiler.object_code(lambda: entry_text(self.program, self.width), *about)
        entry = compiler.link([image], ["trajopt_entry"], imports)
        scratch = (layout(self.program).end + spilled) * self.width * 8 + 64
        tier = "optimised" if level == OPTIMISED else "quick"
        return _Code(tier, entry["trajopt_entry"], scratch, (entry, *codes))


def _size(kernel: Kernel) -> float:
    """Memory that a kernel and its program take, about [bytes]."""
    return KERNEL_BYTES + INSTRUCTION_BYTES * kernel.program.instructions


_kept: Recent[tuple[str, ...], Kernel] = Recent(KEPT_BYTES, _size)
"""The kernels that the process keeps: nothing else keeps code that nobody uses."""


def _end_background() -> None:
    """LLVM must not be at work while the process tears itself down."""
    compiler.close()
    for each in list(_living):
        if each._background is not None:
            each._background.join()


def _forget_background() -> None:
    """A forked process has neither the threads nor what they held."""
    functions.forget_unfinished()
    workers.forget()
    for each in _living:
        each._compiling, each._background = threading.RLock(), None


atexit.register(_end_background)
os.register_at_fork(after_in_child=_forget_background)
