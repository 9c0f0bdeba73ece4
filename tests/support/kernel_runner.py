"""Helpers of the kernel tests: run a function in lanes, run it by CasADi, compare bits."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import casadi as ca
import numpy as np
import numpy.typing as npt

from trajopt.kernels import KernelCall, ParallelCalls, Program, blocks_of, rows
from trajopt.kernels.codegen import OPTIMISED, QUICK, WIDTHS
from trajopt.kernels.machine import Kernel

Reals = npt.NDArray[np.float64]
LEVELS = {"quick": QUICK, "optimised": OPTIMISED}
ALL_WIDTHS = (1, *WIDTHS)


def program_of(function: ca.Function) -> Program:
    """The program that calls one function."""
    return Program.of(function.name(), function)


def kernel_at(program: Program, width: int, level: int) -> Kernel:
    """A kernel of its own with the code of one tier."""
    kernel = Kernel(program, width)
    kernel._code = kernel._build(level)
    return kernel


def run_kernel(kernel: Kernel, inputs: Sequence[Reals], *, parallel: bool = False) -> list[Reals]:
    """Outputs (T, size) of a kernel on inputs (T, size)."""
    T = len(inputs[0])
    n_in = kernel.n_in
    outputs = [np.full((T, length), np.nan) for length in kernel.lengths[n_in:]]
    indices = blocks_of(range(T), kernel.width)
    call = KernelCall([kernel], np.zeros(len(indices)), indices, [rows(a) for a in (*inputs, *outputs)])
    call.prepare()
    assert call._scratch is not None
    call._scratch[:] = np.nan  # nothing may be read there that was not written before
    ParallelCalls([call])() if parallel else call()
    return outputs


def run_function(
    function: ca.Function, inputs: Sequence[Reals], *, width: int = 8, level: int = OPTIMISED
) -> list[Reals]:
    """Outputs (T, size) of a compiled function, row-major, on inputs (T, size)."""
    return run_kernel(kernel_at(program_of(function), width, level), inputs)


def evaluate(function: ca.Function, inputs: Sequence[Reals]) -> list[Reals]:
    """The same by CasADi's own evaluator."""
    T = len(inputs[0])
    mapped = function.map(T)  # columns of all points side by side
    beside = [
        a.reshape(T, *function.size_in(i)).transpose(1, 0, 2).reshape(mapped.size_in(i)) for i, a in enumerate(inputs)
    ]
    results = mapped.call([ca.project(ca.DM(a), mapped.sparsity_in(i)) for i, a in enumerate(beside)])
    shaped = [r.full().reshape(function.size1_out(i), T, function.size2_out(i)) for i, r in enumerate(results)]
    return [r.transpose(1, 0, 2).reshape(T, function.numel_out(i)) for i, r in enumerate(shaped)]


def same_bits(a: Reals, b: Reals) -> npt.NDArray[np.bool_]:
    """Where two arrays have the same bits; a NaN equals a NaN."""
    return np.asarray((a.view(np.int64) == b.view(np.int64)) | (np.isnan(a) & np.isnan(b)))


def assert_same_bits(got: Sequence[Reals], expected: Sequence[Reals]) -> None:
    """Fails, and names the first difference, unless all arrays have the same bits."""
    assert len(got) == len(expected)
    for i, (a, b) in enumerate(zip(got, expected)):
        assert a.shape == b.shape
        wrong = np.argwhere(~same_bits(a, b))
        assert not len(wrong), (
            f"output {i} differs in {len(wrong)} places, first {wrong[0]}: {a[*wrong[0]]!r} {b[*wrong[0]]!r}"
        )


GUARD = 7.25


def run_guarded(kernel: Kernel) -> Reals:
    """Runs a kernel once, on arrays and a scratch full of `GUARD`; fails if it writes behind one of them.

    Returns:
        The scratch.
    """

    def room(doubles: int) -> Reals:
        raw = np.full(doubles + 16, GUARD)
        first = -raw.ctypes.data // 8 % 8
        return raw[first : first + doubles + 8]

    arrays = [room(length * kernel.width) for length in kernel.lengths]
    scratch = room((kernel.scratch_bytes - 64) // 8)  # 64 bytes are for its alignment
    addresses = (ctypes.c_void_p * len(arrays))(*[a.ctypes.data for a in arrays])
    entry = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(kernel.address)
    entry(ctypes.addressof(addresses), scratch.ctypes.data)
    for array in (*arrays, scratch):
        assert np.all(array[-8:] == GUARD)
    return scratch
