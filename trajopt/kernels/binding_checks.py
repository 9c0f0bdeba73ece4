"""Checks of arrays before machine code works on them, since it uses every address unchecked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trajopt.errors import InvalidArgumentError
from trajopt.kernels.machine import Kernel
from trajopt.kernels.rows import Ints, Rows


def check_call(
    kernels: Sequence[Kernel], kinds: Ints, indices: Ints, arguments: Sequence[Rows], *, packed: bool = False
) -> None:
    """Checks that kernels, blocks and arrays fit together; see `KernelCall`.

    Raises:
        InvalidArgumentError: They do not fit.
    """
    _check_kernels(kernels, len(arguments))
    lanes = 1 if packed else kernels[0].width
    size = kernels[0].width if packed else 1  # numbers of an element of a row
    if kinds.ndim != 1 or indices.shape != (len(kinds), lanes):
        raise InvalidArgumentError(
            f"kinds, indices: expected shapes (B,) and (B, {lanes}), got {kinds.shape} and {indices.shape}"
        )
    if len(kinds) and not 0 <= kinds.min() <= kinds.max() < len(kernels):
        raise InvalidArgumentError(f"kinds: expected indices of {len(kernels)} kernels, got {set(kinds.tolist())}")
    for i, rows in enumerate(arguments):
        _check_array(_name(kernels[0], i), rows, output=i >= kernels[0].n_in)
        for kind, kernel in enumerate(kernels):
            _check_rows(_name(kernel, i), rows, kernel.lengths[i] * size, indices[kinds == kind])
            _check_runs(_name(kernel, i), rows, kernel.lengths[i], output=i >= kernel.n_in)
    if lanes == 1:
        for kind, kernel in enumerate(kernels):
            _check_overlap(kernel, arguments, indices[kinds == kind, 0], size)


def _name(kernel: Kernel, i: int) -> str:
    kind, number = ("input", i) if i < kernel.n_in else ("output", i - kernel.n_in)
    return f"{kernel.program.name}: {kind} {number}"


def _check_kernels(kernels: Sequence[Kernel], arguments: int) -> None:
    if not kernels:
        raise InvalidArgumentError("kernels: expected at least one, got none")
    first = kernels[0]
    for kernel in kernels:
        if (kernel.width, kernel.n_in, len(kernel.lengths)) != (first.width, first.n_in, len(first.lengths)):
            raise InvalidArgumentError(
                f"kernels: expected the same width and numbers of arrays, got {first} with {first.n_in} inputs of "
                f"{len(first.lengths)} arrays and {kernel} with {kernel.n_in} of {len(kernel.lengths)}"
            )
    if arguments != len(first.lengths):
        raise InvalidArgumentError(
            f"arguments: expected {len(first.lengths)} arrays for {first}, inputs first, then outputs; got {arguments}"
        )


def _check_array(name: str, rows: Rows, *, output: bool) -> None:
    array = rows.array
    if array.dtype != np.float64 or not array.flags.aligned or not array.dtype.isnative:
        raise InvalidArgumentError(f"{name}: expected an array of float64, got {array.dtype}; convert it first")
    if output and not array.flags.writeable:
        raise InvalidArgumentError(f"{name}: expected a writable array, got a read-only one; pass a copy")


def _check_rows(name: str, rows: Rows, length: int, indices: Ints) -> None:
    """Checks that every row in use lies inside the array and is contiguous."""
    if not length or not indices.size:
        return
    strides = (rows.row_stride, rows.lane_stride)
    inner = [
        (size, stride)
        for size, stride in zip(rows.array.shape, rows.array.strides, strict=True)
        if size > 1 and stride not in strides
    ]
    expected = 8
    for size, stride in reversed(inner):
        if stride != expected:
            raise InvalidArgumentError(f"{name}: expected contiguous rows, got strides {rows.array.strides} [bytes]")
        expected *= size
    if expected < 8 * length:
        raise InvalidArgumentError(f"{name}: expected rows of {length} numbers, got shape {rows.array.shape}")
    low, high = np.lib.array_utils.byte_bounds(rows.array)
    starts = rows.address + indices * rows.row_stride + np.arange(indices.shape[1]) * rows.lane_stride
    if starts.min() < low or starts.max() + 8 * length > high:
        raise InvalidArgumentError(
            f"{name}: expected rows {rows.offset + indices.min()} to {rows.offset + indices.max()} of {length} "
            f"numbers, got an array of shape {rows.array.shape}; enlarge it, or reduce the offset {rows.offset}"
        )


def _check_runs(name: str, rows: Rows, length: int, *, output: bool) -> None:
    """Checks that the ranges to be written lie inside the row, in ascending order."""
    if not output and (rows.runs is not None or rows.zeroed):
        raise InvalidArgumentError(f"{name}: runs, zeroed: expected for outputs only; inputs are read as a whole")
    runs = rows.runs or ()
    bounds = [0, *(bound for run in runs for bound in run), length]
    whole = all(isinstance(bound, (int, np.integer)) for bound in bounds)
    if not whole or any(len(run) != 2 for run in runs) or bounds != sorted(bounds):
        raise InvalidArgumentError(
            f"{name}: runs: expected ascending ranges (first, end) of {length} elements, got {rows.runs}"
        )


def _check_overlap(kernel: Kernel, arguments: Sequence[Rows], indices: Ints, size: int) -> None:
    """Checks that work in place writes no output that shares memory with another argument in the same row."""
    starts = [rows.address + indices * rows.row_stride for rows in arguments]
    for i in range(kernel.n_in, len(arguments)):
        for j in range(i):
            if not (kernel.lengths[i] and kernel.lengths[j]):
                continue
            if not np.may_share_memory(arguments[i].array, arguments[j].array):
                continue
            gap = starts[i] - starts[j]
            if np.any((gap < 8 * size * kernel.lengths[j]) & (-gap < 8 * size * kernel.lengths[i])):
                raise InvalidArgumentError(
                    f"{_name(kernel, i)} shares memory with {_name(kernel, j)}; in place use separate arrays"
                )
