"""Rows that are read while other threads still compute the rest."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

from tests.kernels.test_driver import linear
from tests.kernels.test_threads import PATIENT, Job, _threads, meeting  # noqa: F401  # a fixture for all tests
from tests.support.kernel_runner import assert_same_bits, program_of, run_kernel
from trajopt.errors import InvalidArgumentError
from trajopt.kernels import KernelCall, ParallelCalls, blocks_of, kernel, parallel, rows, set_num_threads, thread_pool
from trajopt.types import Reals

pytestmark = pytest.mark.filterwarnings("error")  # what is raised in a reader is a warning

T = 333
Ready = Callable[[int], None]


@pytest.fixture(autouse=True)
def _any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "SMALL_WORK", 1)


class Reader:
    """A Python function in the shape that machine code calls.

    Args:
        function: The function; it is given what makes sure that a row is done.
        job: Address of the job.
    """

    def __init__(self, function: Callable[[Ready], int], job: int) -> None:
        ready = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(thread_pool.ready())
        prototype = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)
        self._function = prototype(lambda _: function(lambda row: ready(job, row)))
        self.address = int(ctypes.cast(self._function, ctypes.c_void_p).value or 0)


def read(calls: ParallelCalls, function: Callable[[Ready], int]) -> int:
    """What the function returns, that reads what the calls compute."""
    reader = Reader(function, calls.ready[1])  # its machine code lives as long as it does
    return calls.read_by(reader.address, 0)


def bound(knots: list[int], width: int) -> tuple[KernelCall, list[Reals], list[Reals]]:
    """A call on some knots of T, its outputs (T, ...), NaN so far, and what comes of these knots."""
    compiled, rng = kernel(program_of(linear()), width), np.random.default_rng(1)
    inputs = [rng.normal(size=(T, 3)), rng.normal(size=(T, 9))]
    outputs = [np.full((T, 3), np.nan) for _ in range(2)]
    indices = blocks_of(knots, width)
    arguments = [rows(array) for array in (*inputs, *outputs)]
    return KernelCall([compiled], np.zeros(len(indices)), indices, arguments), outputs, run_kernel(compiled, inputs)


@pytest.mark.parametrize("order", ["backward", "forward", "any"])
@pytest.mark.parametrize("n", [2, 5])
def test_a_row_is_done_when_it_is_read(order: str, n: int) -> None:
    """Whoever has computed it; twice, so that nothing is left of the first time."""
    set_num_threads(n)
    knots = {"backward": range(T)[::-1], "forward": range(T), "any": np.random.default_rng(2).permutation(T)}[order]
    call, outputs, expected = bound(list(range(T)), 8)
    calls = ParallelCalls([call])
    for _ in range(20):
        seen = [np.zeros((T, 3)) for _ in outputs]
        for output in outputs:
            output[:] = np.nan

        def look(ready: Ready, seen: list[Reals] = seen) -> int:
            for t in knots:
                ready(int(t))
                for copy, output in zip(seen, outputs):
                    copy[t] = output[t]
            return 17

        assert read(calls, look) == 17
        assert_same_bits(seen, expected)
        assert_same_bits(outputs, expected)


def test_calls_of_several_widths_and_rows_of_nobody() -> None:
    """Rows that no call computes are nothing to wait for; the last one is read first, and there are none behind it."""
    set_num_threads(3)
    (eight, first, expected), (one, second, _) = bound([*range(10, 90), 300], 8), bound([95, 5, 200], 1)

    def look(ready: Ready) -> int:
        for t in (-1, T, 10**15, 0, 94, 299):
            ready(t)
        for outputs, t in ((first, 300), (second, 200), (second, 95), (first, 89), (first, 10), (second, 5)):
            ready(t)
            assert_same_bits([output[t] for output in outputs], [e[t] for e in expected])
        return -3

    assert read(ParallelCalls([eight, one]), look) == -3


@pytest.mark.parametrize("resting", [False, True])
def test_a_reader_may_end_early(resting: bool) -> None:
    """All rows are computed nevertheless, also if no helper takes part."""
    set_num_threads(2)
    call, outputs, expected = bound(list(range(T)), 8)
    if resting:
        thread_pool._started().resting = time.monotonic_ns() + 10**15
    assert read(ParallelCalls([call]), lambda ready: 5) == 5
    assert_same_bits(outputs, expected)


def test_a_row_in_several_blocks_cannot_be_read() -> None:
    set_num_threads(2)
    calls = ParallelCalls([bound([1, 2], 1)[0], bound([2, 3], 8)[0]])
    calls()
    with pytest.raises(InvalidArgumentError, match="calls: expected one block per row that is read"):
        calls.read_by(0, 0)


def test_a_reader_waits_for_a_row_that_a_helper_is_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """And does without helpers for a while after that."""
    monkeypatch.setattr(thread_pool, "LATE", 300_000)
    set_num_threads(2)
    begun, done, reader = threading.Event(), threading.Event(), threading.get_ident()

    def unit(_: int) -> None:
        assert threading.get_ident() != reader
        begun.set()
        time.sleep(0.1)
        done.set()

    def look(ready: Ready) -> int:
        assert begun.wait(PATIENT)
        ready(0)
        assert done.is_set()
        return 0

    job = Job(unit, 1, 2)
    reading = Reader(look, job.address)
    job.share(reading.address)
    job.check()
    assert thread_pool._started().resting > time.monotonic_ns()
    thread_pool._started().resting = 0
    meeting(2).share()
