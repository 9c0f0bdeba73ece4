"""Driver that runs kernels over knots: packs rows of arrays into lanes, calls the kernel, writes lanes back as rows.

One driver serves two uses. With knots in lanes, lane l of block b works on row `indices[b, l]` of each array. In a
rollout, blocks run in order with one row per block, and the output x of row t is the input x of row t + 1. Its lanes
are step lengths: arrays with a lane stride hold one trajectory per lane, and all others are shared.

The kernel of block b is `kernels[kinds[b]]`, with the signature `void (double **arrays, double *scratch)`.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from trajopt.errors import InvalidArgumentError
from trajopt.kernels import compiler, patterns
from trajopt.kernels.binding_checks import check_call
from trajopt.kernels.driver_text import CALL, argument_bytes, driver_text
from trajopt.kernels.machine import Kernel
from trajopt.kernels.products import Ranges
from trajopt.kernels.rows import Ints, Reals, Rows, lane_rows, rows

__all__ = ["KernelCall", "Rows", "aligned", "blocks_of", "lane_rows", "rows"]

AGAIN = 3  # a call is prepared before a solve, for its first run, and for its second one
ONE_LANE = 1 / 3  # time of an instruction with one lane, relative to several lanes

_FIRST, _END, _SCRATCH = (CALL.index(name) for name in ("first", "end", "scratch"))


@functools.cache
def _driver(width: int, packed: bool) -> tuple[Any, int, int, int]:
    """The function that runs a call, and the addresses of those that run a call, one block, and a range of blocks."""
    about = ("driver", str(width), *(("packed",) if packed else ()))
    image = compiler.object_code(lambda: driver_text(width, packed=packed), *about)
    names = [f"trajopt_{what}_{width}" for what in ("run", "whole", "block", "blocks")]
    addresses = compiler.load([image], names, {})
    run, whole, block, blocks = (addresses[name] for name in names)
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p)(run), whole, block, blocks


class KernelCall:
    """Kernels bound to arrays: created once and called often, by one thread at a time.

    Args:
        kernels: One per kind of knot, all of the same width, number of inputs and number of outputs.
        kinds: Index of the kernel of each block, shape (B,).
        indices: Row for each lane of each block, shape (B, W).
        arguments: The kernels' inputs, then their outputs. With one lane, kernels work on the arrays in place, so an
            output must not overlap another argument in the same row. With several lanes it may.
        packed: Whether a row of an array holds the numbers of W lanes already: element e of lane l at e W + l. Several
            lanes then work in place, as one lane does, and `indices` is (B, 1).

    Attributes:
        settled: True if the code in use is the kernels' final one.
        scratch_bytes: Scratch that running a block needs; valid once the call is prepared.

    Raises:
        InvalidArgumentError: The kernels do not fit together, or an argument lacks rows that they need.
    """

    def __init__(
        self,
        kernels: Sequence[Kernel],
        kinds: npt.ArrayLike,
        indices: npt.ArrayLike,
        arguments: Sequence[Rows],
        *,
        packed: bool = False,
    ) -> None:
        self._kernels, self._packed = list(kernels), packed
        self._arguments = list(arguments)  # keeps the arrays alive
        self._kinds = np.ascontiguousarray(kinds, dtype=np.int64)
        self._indices = np.ascontiguousarray(indices, dtype=np.int64)
        check_call(self._kernels, self._kinds, self._indices, self._arguments, packed=packed)
        for each in self._kernels:
            each.calls.add(self)
        width = self._kernels[0].width
        self._run, self._run_whole, self._run_block, self._run_blocks = _driver(width, packed)
        self._tables = self._make_tables()
        self._call = np.zeros(len(CALL), dtype=np.int64)  # argument of the driver
        self._address = int(self._call.ctypes.data)
        self._scratch: Reals | None = None
        self._prepared = 0
        self._range: tuple[int, int | None] | None = None  # range of blocks, as passed
        self.settled, self.scratch_bytes = False, 0

    def _make_tables(self) -> dict[str, Ints]:
        """Tables that the driver reads, in memory that does not move; `n_in` and `n` are numbers."""
        kernels, arguments = self._kernels, self._arguments
        runs = [_written(kernel, i, rows) for kernel in kernels for i, rows in enumerate(arguments)]
        columns = {
            "entries": [0] * len(kernels),
            "bases": [a.address for a in arguments],
            "row_strides": [a.row_stride for a in arguments],
            "lane_strides": [a.lane_stride for a in arguments],
            "lengths": [k.lengths for k in kernels],
            "run_bounds": np.cumsum([0, *map(len, runs)]),
            "runs": [bound for some in runs for bound in some],
        }
        tables = {name: np.array(values, dtype=np.int64) for name, values in columns.items()}
        return tables | {"kinds": self._kinds, "indices": self._indices}

    @property
    def kernels(self) -> list[Kernel]:
        """The kernels, one per kind of knot."""
        return list(self._kernels)

    def prepare(self) -> None:
        """Prepares code and scratch of the kernels. Repeat it while a kernel is not `settled`.

        A call that is prepared repeatedly is worth optimised code, see `Kernel.optimise`.
        """
        self._prepared += 1
        last = all(kernel.tier == "optimised" for kernel in self._kernels)
        codes = [kernel.code for kernel in self._kernels]
        self._tables["entries"][:] = [address for address, _ in codes]
        self.scratch_bytes = max(self.scratch_bytes, self._other_bytes + max(scratch for _, scratch in codes))
        if self._scratch is None or self._scratch.nbytes < self.scratch_bytes:
            self._scratch, scratch = aligned(self.scratch_bytes)
            numbers = {"n_in": self._kernels[0].n_in, "n": len(self._arguments), "scratch": scratch}
            addresses = {name: int(table.ctypes.data) for name, table in self._tables.items()}
            for name, value in (numbers | addresses).items():
                self._call[CALL.index(name)] = value
        if self._prepared >= AGAIN:
            for kernel in self._kernels:
                kernel.optimise()
        self.settled = last

    @functools.cached_property
    def _other_bytes(self) -> int:
        """Scratch that running a block needs besides that of the kernel."""
        width = self._kernels[0].width
        copied = width > 1 and not self._packed
        packed = 8 * width * max(sum(k.lengths) for k in self._kernels) if copied else 0
        return argument_bytes(len(self._arguments)) + packed

    @property
    def blocks(self) -> list[tuple[Ints, tuple[int, int, int]]]:
        """Rows of each block, with function, call and block number for the thread pool, see `thread_pool_text`."""
        return [(rows, (self._run_block, self._address, b)) for b, rows in enumerate(self._indices)]

    @property
    def unit(self) -> tuple[int, int, int, int, int]:
        """All blocks in order as a unit of `call_sequence_text`; valid once the call is prepared."""
        return self._run_blocks, self._address, 0, len(self._kinds), int(self._call[_SCRATCH])

    @property
    def work(self) -> float:
        """Number of instructions of all blocks [-]; one with a single lane counts as `ONE_LANE`, others as 1."""
        work = np.array([k.program.work for k in self._kernels])
        return float(work[self._kinds].sum()) * (1.0 if self._kernels[0].width > 1 else ONE_LANE)

    def __call__(self, first: int = 0, end: int | None = None) -> None:
        """Runs blocks first..end-1 in order."""
        if not self.settled or (first, end) != self._range:  # usually the range is the previous one
            self.aim(first, end)
        self._run(self._address)

    def aim(self, first: int = 0, end: int | None = None) -> tuple[int, int, int]:
        """Selects blocks first..end-1; returns function, call and 0, see `thread_pool_text`."""
        if not self.settled:
            self.prepare()
        if (first, end) != self._range:
            self._choose(first, end)
        return self._run_whole, self._address, 0

    def _choose(self, first: int, end: int | None) -> None:
        blocks = len(self._kinds)
        last = blocks if end is None else end
        if not 0 <= first <= last <= blocks:
            raise InvalidArgumentError(f"first, end: expected a range within 0..{blocks}, got {first}..{last}")
        self._range = None  # in case of an interrupt before the end
        self._call[_FIRST], self._call[_END] = first, last
        self._range = first, end


def _written(kernel: Kernel, i: int, rows: Rows) -> Ranges:
    """Ranges of elements of argument i that are written with several lanes."""
    if i < kernel.n_in:
        return ()
    ranges = ((0, kernel.lengths[i]),) if rows.runs is None else rows.runs
    if not rows.zeroed:
        return ranges
    wanted = np.zeros(kernel.lengths[i], dtype=np.bool_)
    for first, end in ranges:
        wanted[first:end] = True
    program = kernel.program
    return patterns.runs(wanted & program.pattern(program.outputs[i - kernel.n_in]).ravel())


def aligned(size: int) -> tuple[Reals, int]:
    """Returns a buffer of at least `size` bytes, and its first address that is a multiple of 64."""
    buffer = np.zeros(size // 8 + 16)
    return buffer, -(-int(buffer.ctypes.data) // 64) * 64


def blocks_of(knots: Sequence[int], width: int) -> Ints:
    """Rows of each block of `width` lanes, shape (B, width); the last row fills the remaining lanes."""
    filled = [*knots, *[knots[-1]] * (-len(knots) % width)] if len(knots) else []
    return np.array(filled, dtype=np.int64).reshape(-1, width)
