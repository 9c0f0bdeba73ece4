"""The loop that runs kernels over knots: packs rows of arrays into lanes, calls the kernel, writes lanes back as rows.

One driver serves every use. Knots of a trajectory in lanes: lane l of block b works on row `indices[b, l]` of each
array. A rollout: blocks in order, one row a block, where the output x of row t is the input x of row t + 1; with the
lanes being step lengths, arrays with a lane stride hold one trajectory a lane and the others are shared.

The kernel of block b is `entries[kinds[b]]`, with the signature `void (double **arrays, double *scratch)`.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import glob
import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trajopt.errors import InvalidArgumentError
from trajopt.kernels import compiler
from trajopt.kernels.kernel import Kernel

LANES = 8
ARGUMENT_BYTES = 512  # room for the pointers of one call: up to 64 arrays
_SMALL_WORK = 8000  # scalars in and out per lane, summed over blocks, that are worth a thread

Ints = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]

_RUN = """
define void @trajopt_run_{W}(i64 %blocks, ptr %kinds, ptr %indices, ptr %entries, i64 %n_in, i64 %n, ptr %bases,
    ptr %row_strides, ptr %lane_strides, ptr %lengths, ptr %scratch) nounwind {{
entry:
  %rows = alloca [{W} x ptr], align 64
  %none = icmp sle i64 %blocks, 0
  br i1 %none, label %end, label %block
block:
  %b = phi i64 [0, %entry], [%b.next, %block.done]
  %kp = getelementptr i64, ptr %kinds, i64 %b
  %kind = load i64, ptr %kp
  %ip = getelementptr [{W} x i64], ptr %indices, i64 %b
  %kn = mul i64 %kind, %n
  %lens = getelementptr i64, ptr %lengths, i64 %kn
  br label %arrange
arrange:
  %a = phi i64 [0, %block], [%a.next, %arrange.done]
  %off = phi i64 [{args}, %block], [%off.next, %arrange.done]
  %lp = getelementptr i64, ptr %lens, i64 %a
  %len = load i64, ptr %lp
  %slot = getelementptr ptr, ptr %scratch, i64 %a
{arrange}
  br label %arrange.done
arrange.done:
  %a.next = add i64 %a, 1
  %a.end = icmp eq i64 %a.next, %n
  br i1 %a.end, label %call, label %arrange
call:
  %ep = getelementptr ptr, ptr %entries, i64 %kind
  %entrypoint = load ptr, ptr %ep
  %own = getelementptr i8, ptr %scratch, i64 %off.next
  call void %entrypoint(ptr %scratch, ptr %own)
{finish}
block.done:
  %b.next = add i64 %b, 1
  %b.end = icmp eq i64 %b.next, %blocks
  br i1 %b.end, label %end, label %block
end:
  ret void
}}
"""

_ONE_LANE = """
  %bp = getelementptr ptr, ptr %bases, i64 %a
  %base = load ptr, ptr %bp
  %sp = getelementptr i64, ptr %row_strides, i64 %a
  %stride = load i64, ptr %sp
  %row = load i64, ptr %ip
  %o = mul i64 %row, %stride
  %at = getelementptr i8, ptr %base, i64 %o
  store ptr %at, ptr %slot
  %off.next = add i64 %off, 0
"""

_PACK = """
  %at = getelementptr i8, ptr %scratch, i64 %off
  store ptr %at, ptr %slot
  %bytes = mul i64 %len, {bytes}
  %off.next = add i64 %off, %bytes
  %is.input = icmp slt i64 %a, %n_in
  br i1 %is.input, label %pack, label %arrange.done
pack:
  call void @trajopt_rows_{W}(ptr %rows, i64 %a, ptr %bases, ptr %row_strides, ptr %lane_strides, ptr %ip)
  call void @trajopt_pack_{W}(ptr %rows, i64 %len, ptr %at)
"""

_UNPACK = """
  br label %unpack
unpack:
  %u = phi i64 [%n_in, %call], [%u.next, %unpack]
  %ulp = getelementptr i64, ptr %lens, i64 %u
  %ulen = load i64, ptr %ulp
  %uslot = getelementptr ptr, ptr %scratch, i64 %u
  %from = load ptr, ptr %uslot
  call void @trajopt_rows_{W}(ptr %rows, i64 %u, ptr %bases, ptr %row_strides, ptr %lane_strides, ptr %ip)
  call void @trajopt_unpack_{W}(ptr %from, i64 %ulen, ptr %rows)
  %u.next = add i64 %u, 1
  %u.end = icmp eq i64 %u.next, %n
  br i1 %u.end, label %block.done, label %unpack
"""


def _rows_text(width: int) -> str:
    """Addresses of the rows of array a, one a lane."""
    lines = [
        f"define internal void @trajopt_rows_{width}(ptr %rows, i64 %a, ptr %bases, ptr %row_strides, "
        "ptr %lane_strides, ptr %index) nounwind {",
        "%bp = getelementptr ptr, ptr %bases, i64 %a",
        "%base = load ptr, ptr %bp",
        "%sp = getelementptr i64, ptr %row_strides, i64 %a",
        "%stride = load i64, ptr %sp",
        "%gp = getelementptr i64, ptr %lane_strides, i64 %a",
        "%gap = load i64, ptr %gp",
    ]
    for lane in range(width):
        lines += [
            f"%i{lane} = getelementptr i64, ptr %index, i64 {lane}",
            f"%r{lane} = load i64, ptr %i{lane}",
            f"%o{lane} = mul i64 %r{lane}, %stride",
            f"%g{lane} = mul i64 %gap, {lane}",
            f"%s{lane} = add i64 %o{lane}, %g{lane}",
            f"%p{lane} = getelementptr i8, ptr %base, i64 %s{lane}",
            f"%q{lane} = getelementptr ptr, ptr %rows, i64 {lane}",
            f"store ptr %p{lane}, ptr %q{lane}",
        ]
    return "\n".join([*lines, "ret void", "}"])


def _load_rows(width: int) -> list[str]:
    lines = []
    for lane in range(width):
        lines += [f"%q{lane} = getelementptr ptr, ptr %rows, i64 {lane}", f"%p{lane} = load ptr, ptr %q{lane}"]
    return lines


def _pack_text(width: int) -> str:
    """Rows to lanes, element by element."""
    lines = [f"define internal void @trajopt_pack_{width}(ptr %rows, i64 %len, ptr %to) nounwind {{", "entry:"]
    lines += [*_load_rows(width), "%none = icmp sle i64 %len, 0", "br i1 %none, label %end, label %element", "element:"]
    lines.append("%e = phi i64 [0, %entry], [%e.next, %element]")
    previous = "poison"
    for lane in range(width):
        lines += [
            f"%a{lane} = getelementptr double, ptr %p{lane}, i64 %e",
            f"%x{lane} = load double, ptr %a{lane}",
            f"%v{lane} = insertelement <{width} x double> {previous}, double %x{lane}, i32 {lane}",
        ]
        previous = f"%v{lane}"
    lines += [
        f"%t = getelementptr <{width} x double>, ptr %to, i64 %e",
        f"store <{width} x double> {previous}, ptr %t, align 64",
        "%e.next = add i64 %e, 1",
        "%done = icmp eq i64 %e.next, %len",
        "br i1 %done, label %end, label %element",
        *("end:", "ret void", "}"),
    ]
    return "\n".join(lines)


def _unpack_text() -> str:
    """Eight lanes to rows: four elements at a time, transposed in registers; the last ones one by one."""
    lines = ["define internal void @trajopt_unpack_8(ptr %from, i64 %len, ptr %rows) nounwind {", "entry:"]
    lines += [*_load_rows(8), "%fours = and i64 %len, -4", "%some = icmp sgt i64 %fours, 0"]
    lines += ["br i1 %some, label %four, label %rest", "four:", "%e = phi i64 [0, %entry], [%e.next, %four]"]
    for k in range(4):
        lines += [
            f"%e{k} = add i64 %e, {k}",
            f"%f{k} = getelementptr <8 x double>, ptr %from, i64 %e{k}",
            f"%v{k} = load <8 x double>, ptr %f{k}, align 64",
        ]
    even, odd = "i32 0, i32 8, i32 2, i32 10, i32 4, i32 12, i32 6, i32 14", "i32 1, i32 9, i32 3, i32 11, i32 5, i32 13, i32 7, i32 15"
    for name, first, mask in (("a", 0, even), ("b", 0, odd), ("c", 2, even), ("d", 2, odd)):
        mask = ", ".join(mask.split(", "))
        lines.append(
            f"%{name} = shufflevector <8 x double> %v{first}, <8 x double> %v{first + 1}, <8 x i32> <{mask}>"
        )
    for lane in range(8):
        x, y, p = ("a", "c", lane) if lane % 2 == 0 else ("b", "d", lane - 1)
        lines += [
            f"%w{lane} = shufflevector <8 x double> %{x}, <8 x double> %{y}, "
            f"<4 x i32> <i32 {p}, i32 {p + 1}, i32 {p + 8}, i32 {p + 9}>",
            f"%t{lane} = getelementptr double, ptr %p{lane}, i64 %e",
            f"store <4 x double> %w{lane}, ptr %t{lane}, align 8",
        ]
    lines += ["%e.next = add i64 %e, 4", "%e.end = icmp eq i64 %e.next, %fours"]
    lines += ["br i1 %e.end, label %rest, label %four", "rest:", "%more = icmp slt i64 %fours, %len"]
    lines += ["br i1 %more, label %one, label %end", "one:", "%r = phi i64 [%fours, %rest], [%r.next, %one]"]
    lines += ["%g = getelementptr <8 x double>, ptr %from, i64 %r", "%z = load <8 x double>, ptr %g, align 64"]
    for lane in range(8):
        lines += [
            f"%z{lane} = extractelement <8 x double> %z, i32 {lane}",
            f"%y{lane} = getelementptr double, ptr %p{lane}, i64 %r",
            f"store double %z{lane}, ptr %y{lane}",
        ]
    lines += ["%r.next = add i64 %r, 1", "%r.end = icmp eq i64 %r.next, %len"]
    return "\n".join([*lines, "br i1 %r.end, label %end, label %one", "end:", "ret void", "}"])


def driver_text() -> str:
    """LLVM text of the drivers for one lane and for eight."""
    one = _RUN.format(W=1, args=ARGUMENT_BYTES, arrange=_ONE_LANE, finish="  br label %block.done")
    pack = _PACK.format(W=LANES, bytes=8 * LANES)
    many = _RUN.format(W=LANES, args=ARGUMENT_BYTES, arrange=pack, finish=_UNPACK.format(W=LANES))
    return "\n".join([one, many, _rows_text(LANES), _pack_text(LANES), _unpack_text()])


@functools.cache
def _drivers() -> dict[int, ctypes._CFuncPtr]:
    image = compiler.object_code(driver_text())
    names = {1: "trajopt_run_1", LANES: f"trajopt_run_{LANES}"}
    addresses = compiler.load([image], names.values(), {})
    prototype = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 2, *[ctypes.c_void_p] * 5)
    return {width: prototype(addresses[name]) for width, name in names.items()}


def set_num_threads(n: int) -> None:
    """Sets how many threads work on the knots of a problem; the default is the number of physical cores.

    Args:
        n: Number of threads, at least 1 [-].

    Raises:
        InvalidArgumentError: `n` is not a positive integer.
    """
    if not isinstance(n, (int, np.integer)) or isinstance(n, bool) or n < 1:
        raise InvalidArgumentError(f"n: expected an integer >= 1 (threads), got {n!r}")
    _Pool.set_size(int(n))


def get_num_threads() -> int:
    """How many threads work on the knots of a problem."""
    return _Pool.size()


class _Pool:
    """The process's worker threads, started when they are first needed."""

    _size: int | None = None
    _executor: ThreadPoolExecutor | None = None
    _guard = threading.Lock()

    @classmethod
    def size(cls) -> int:
        if cls._size is None:
            cls._size = physical_cores()
        return cls._size

    @classmethod
    def set_size(cls, n: int) -> None:
        with cls._guard:
            if cls._executor is not None:
                cls._executor.shutdown(wait=True)
            cls._size, cls._executor = n, None

    @classmethod
    def executor(cls) -> ThreadPoolExecutor:
        with cls._guard:
            if cls._executor is None:
                cls._executor = ThreadPoolExecutor(max(cls.size() - 1, 1), thread_name_prefix="trajopt")
            return cls._executor


def physical_cores() -> int:
    """Physical cores that this process may use."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    siblings = set()
    for path in glob.glob("/sys/devices/system/cpu/cpu[0-9]*/topology/thread_siblings_list"):
        with contextlib.suppress(OSError), open(path) as file:
            siblings.add(file.read().strip())
    return max(1, min(allowed, len(siblings) or allowed))


@dataclass(frozen=True)
class Rows:
    """An array seen by the driver: row t starts at `offset + t`, lane l at `l * lane_stride` bytes further.

    Attributes:
        array: C-contiguous array of doubles; it must not move while calls that use it live.
        row_stride: Bytes from one row to the next; 0 gives every row the same values.
        lane_stride: Bytes from the trajectory of one lane to that of the next; 0 if lanes share the array.
        offset: Rows to skip at the start.
    """

    array: Reals
    row_stride: int
    lane_stride: int = 0
    offset: int = 0

    @property
    def address(self) -> int:
        """Where row 0 of lane 0 is."""
        return int(self.array.ctypes.data) + self.offset * self.row_stride


def rows(array: Reals, *, offset: int = 0) -> Rows:
    """An array (T, ...) with one row a knot."""
    return Rows(array, array.strides[0], 0, offset)


def lane_rows(array: Reals, *, offset: int = 0) -> Rows:
    """An array (W, T, ...) with one trajectory a lane."""
    return Rows(array, array.strides[1], array.strides[0], offset)


class KernelCall:
    """Kernels bound to arrays: made once, called often.

    Args:
        kernels: One a kind of knot, all of the same width.
        kinds: Kind of each block, shape (B,).
        indices: Row of each lane of each block, shape (B, W).
        arguments: The kernels' inputs, then their outputs.
    """

    def __init__(self, kernels: Sequence[Kernel], kinds: Ints, indices: Ints, arguments: Sequence[Rows]) -> None:
        self._kernels = list(kernels)
        self._arguments = list(arguments)  # keeps the arrays alive
        width = self._kernels[0].width
        self._run = _drivers()[width]
        self._kinds = np.ascontiguousarray(kinds, dtype=np.int64)
        self._indices = np.ascontiguousarray(indices, dtype=np.int64).reshape(len(self._kinds), width)
        self._n_in = self._kernels[0].n_in
        self._n = len(arguments)
        for kernel in self._kernels:
            assert kernel.width == width and kernel.n_in == self._n_in and len(kernel.lengths) == self._n
        self._bases = np.array([a.address for a in arguments], dtype=np.int64)
        self._row_strides = np.array([a.row_stride for a in arguments], dtype=np.int64)
        self._lane_strides = np.array([a.lane_stride for a in arguments], dtype=np.int64)
        self._lengths = np.array([k.lengths for k in self._kernels], dtype=np.int64)
        packed = 8 * width * int(self._lengths.sum(axis=1).max()) if width > 1 else 0
        self._scratch_bytes = ARGUMENT_BYTES + packed + max(k.scratch_bytes for k in self._kernels)
        self._scratch: list[tuple[Reals, int]] = []
        self._entries = np.zeros(len(self._kernels), dtype=np.int64)
        self._pointers: tuple[int, ...] = ()

    def _prepare(self, threads: int) -> None:
        for i, kernel in enumerate(self._kernels):
            self._entries[i] = kernel.address
        while len(self._scratch) < threads:
            self._scratch.append(aligned(self._scratch_bytes))
        if not self._pointers:
            tables = (self._bases, self._row_strides, self._lane_strides, self._lengths)
            self._pointers = tuple(int(t.ctypes.data) for t in tables)
            self._tables = (int(self._kinds.ctypes.data), int(self._indices.ctypes.data), int(self._entries.ctypes.data))

    def __call__(self, first: int = 0, end: int | None = None) -> None:
        """Runs blocks first..end-1 in order."""
        self._prepare(1)
        self._range(first, len(self._kinds) if end is None else end, 0)

    def in_parallel(self) -> None:
        """Runs all blocks, which must not depend on each other, on the threads of `set_num_threads`."""
        blocks = len(self._kinds)
        threads = min(get_num_threads(), blocks * sum(self._lengths[0]) // _SMALL_WORK)
        if threads <= 1:
            self()
            return
        self._prepare(threads)
        cuts = [blocks * i // threads for i in range(threads + 1)]
        pool = _Pool.executor()
        waiting = [pool.submit(self._range, cuts[i], cuts[i + 1], i) for i in range(1, threads)]
        self._range(cuts[0], cuts[1], 0)
        for future in waiting:
            future.result()

    def _range(self, first: int, end: int, thread: int) -> None:
        kinds, indices, entries = self._tables
        width = self._indices.shape[1]
        self._run(
            end - first,
            kinds + 8 * first,
            indices + 8 * width * first,
            entries,
            self._n_in,
            self._n,
            *self._pointers,
            self._scratch[thread][1],
        )


def aligned(size: int) -> tuple[Reals, int]:
    """A buffer of at least `size` bytes and its first address that is a multiple of 64."""
    buffer = np.zeros(size // 8 + 16)
    return buffer, -(-int(buffer.ctypes.data) // 64) * 64


def blocks_of(knots: Sequence[int], width: int) -> Ints:
    """Rows of each block of `width` lanes; the last row fills the lanes that are left. Shape (B, width)."""
    filled = list(knots) + [knots[-1]] * (-len(knots) % width) if len(knots) else []
    return np.array(filled, dtype=np.int64).reshape(-1, width)
