"""Forgetting kernels: code lives as long as a call or a background compilation holds it, then its memory is free."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from tests.kernels.test_tiers import points, tangle
from tests.support.kernel_runner import LEVELS, assert_same_bits, program_of, run_kernel
from trajopt.kernels import Kernel, KernelCall, blocks_of, compiler, forget, functions, kernel, machine, rows
from trajopt.kernels.codegen import OPTIMISED

MAPS = Path("/proc/self/maps")
needs_maps = pytest.mark.skipif(not MAPS.exists(), reason="tells by /proc what memory is mapped")


def is_code(address: int) -> bool:
    """Whether the process can execute what is there."""
    for line in MAPS.read_text().splitlines():
        span, access = line.split()[:2]
        first, end = (int(text, 16) for text in span.split("-"))
        if first <= address < end:
            return "x" in access
    return False


def addresses(of: Kernel) -> list[int]:
    """Where the entry and the functions of a kernel are."""
    address = of.address
    codes = functions.function_codes(of.functions_at(LEVELS[of.tier]))
    return [address, *(code.address for code in codes)]


def call_of(of: Kernel) -> tuple[KernelCall, list[np.ndarray]]:
    """A call, and the arrays that it writes."""
    (x,) = points()
    outputs = [np.full((len(x), n), np.nan) for n in of.lengths[1:]]
    indices = blocks_of(range(len(x)), of.width)
    return KernelCall([of], np.zeros(len(indices)), indices, [rows(a) for a in (x, *outputs)]), outputs


def forget_while_a_call_lives() -> None:
    """The body of a test; in a process of its own, where nothing else maps or frees memory meanwhile."""
    program = program_of(tangle(31))
    first = kernel(program, 8)
    call, outputs = call_of(first)
    call()
    before, where = [o.copy() for o in outputs], addresses(first)
    assert all(map(is_code, where))
    forget()
    second = kernel(program_of(tangle(31)), 8)
    assert second is not first
    assert not set(addresses(second)) & set(where)
    del first
    for output in outputs:
        output[:] = np.nan
    call()
    assert_same_bits(outputs, before)
    assert all(map(is_code, where))
    del call
    gc.collect()
    assert not any(map(is_code, where))
    assert_same_bits(run_kernel(second, points()), before)
    forget()
    where = addresses(second)
    del second
    gc.collect()
    assert not any(map(is_code, where))


def forget_while_the_background_compiles(alone: bool) -> None:
    """The same, while a kernel is optimised: `alone` if nobody but that thread holds it."""
    began, gate, build = threading.Event(), threading.Event(), Kernel._build

    def gated(self: Kernel, level: int, **options: bool) -> object:
        if level != OPTIMISED:
            return build(self, level, **options)
        began.set()
        assert gate.wait(60)
        return build(self, level, **options)

    Kernel._build = gated  # type: ignore[assignment, method-assign]
    compiled = kernel(program_of(tangle(32)), 8)
    call, outputs = call_of(compiled)
    while not began.wait(0.01):
        call()
    before, quick = [o.copy() for o in outputs], compiled.address
    assert compiled.tier == "quick"
    forget()
    del compiled
    if alone:
        del call
    gc.collect()
    assert is_code(quick)
    gate.set()
    machine._background.end()
    if not alone:
        assert is_code(quick)  # the call may be at work in it
        call()
        assert_same_bits(outputs, before)
        (kernel_of,) = call.kernels
        optimised = kernel_of.address
        assert is_code(optimised)
        assert kernel_of.tier == "optimised"
        del kernel_of, call
        gc.collect()
        assert not is_code(optimised)
    assert not is_code(quick)


@needs_maps
@pytest.mark.parametrize(
    "body",
    [
        "forget_while_a_call_lives()",
        "forget_while_the_background_compiles(alone=True)",
        "forget_while_the_background_compiles(alone=False)",
    ],
)
def test_forgetting_in_a_process_of_its_own(body: str) -> None:
    script = f"from tests.kernels.test_forget import *; {body}"
    environment = {**os.environ, "TRAJOPT_CACHE_DIR": "off"}
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, timeout=120)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


@needs_maps
def test_code_that_dies_while_llvm_is_busy_is_freed_later() -> None:
    """Nobody waits: an object may die anywhere, also where a lock is held that the other thread wants."""
    image = compiler.machine_code("define void @f() { ret void }")
    library = compiler.link([image], ["f"], {})
    address = library["f"]
    held, done = threading.Event(), threading.Event()

    def work() -> None:
        with compiler._lock:
            held.set()
            assert done.wait(60)

    with ThreadPoolExecutor(1) as pool:
        busy = pool.submit(work)
        assert held.wait(60)
        del library
        assert is_code(address)
        done.set()
        busy.result()
    other = compiler.link([image], ["f"], {})
    assert not is_code(address) or other["f"] == address


@pytest.mark.slow
def test_calls_in_other_threads_do_not_notice() -> None:
    """Two threads run calls of their own kernels, again and again, while the third one forgets what they have."""
    programs = [program_of(tangle(33, 60)), program_of(tangle(34, 60))]
    expected = [run_kernel(kernel(p, 8), points()) for p in programs]
    stop = threading.Event()

    def work(i: int) -> int:
        runs = 0
        while not stop.is_set():
            assert_same_bits(run_kernel(kernel(programs[i], 8), points()), expected[i])
            runs += 1
        return runs

    with ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(work, i) for i in range(2)]
        try:
            for _ in range(200):
                forget()
                kernel(programs[0], 8).compile()
        finally:
            stop.set()
        assert all(future.result() > 0 for future in waiting)
