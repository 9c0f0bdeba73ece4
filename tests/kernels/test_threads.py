"""Threads: who shares a job with whom, that nobody waits in vain, and that processes fork and end with them."""

from __future__ import annotations

import ctypes
import itertools
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator

import casadi as ca
import numpy as np
import pytest
from casadi import SX

from tests.kernels.test_driver import linear
from tests.support.kernel_runner import assert_same_bits, program_of, run_kernel
from trajopt.errors import InvalidArgumentError
from trajopt.kernels import (
    KernelCall,
    ParallelCalls,
    blocks_of,
    get_num_threads,
    kernel,
    parallel,
    rows,
    set_num_threads,
    thread_pool,
)
from trajopt.kernels.thread_pool_text import JOB

RNG = np.random.default_rng(5)
PATIENT = 60.0  # [s]

pytestmark = pytest.mark.filterwarnings("error")  # what is raised in a unit, or in a thread, is a warning


@pytest.fixture(autouse=True)
def _threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Their number is as before, afterwards; here no helper is left alone for being late, on a machine that is busy."""
    before = get_num_threads()
    monkeypatch.setattr(thread_pool, "LATE", 10**15)
    yield
    set_num_threads(before)


class Job:
    """Units that are Python functions of their number; each computes the row of that number.

    Args:
        unit: What a unit does.
        units: How many.
        threads: Threads that have scratch.
    """

    def __init__(self, unit: Callable[[int], None], units: int, threads: int) -> None:
        self._run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)(self._note)
        run = ctypes.cast(self._run, ctypes.c_void_p).value
        self._unit, self.seen = unit, list[tuple[int, int, int]]()
        self._table = np.array([[run, 0, i, 0] for i in range(units)], dtype=np.int64).reshape(-1, 4)
        self._scratches, self._rows = np.arange(1, threads + 1), np.arange(units)
        tables = {"table": self._table, "scratches": self._scratches, "rows": self._rows}
        fields = {"units": units, "row_count": units} | {name: t.ctypes.data for name, t in tables.items()}
        self._job = np.array([fields.get(name, 0) for name in JOB], dtype=np.int64)
        self.address, self._helpers = int(self._job.ctypes.data), threads - 1

    def _note(self, call: int | None, number: int, scratch: int) -> None:
        self.seen.append((number, scratch, threading.get_ident()))
        self._unit(number)

    def share(self, read: int | None = None) -> None:
        self.seen.clear()
        thread_pool.share(self.address, self._helpers, read)

    def check(self) -> None:
        """Each unit ran once, and each thread with scratch of its own."""
        assert sorted(number for number, _, _ in self.seen) == list(range(len(self._table)))
        pairs = {(scratch, thread) for _, scratch, thread in self.seen}
        assert len(pairs) == len({scratch for scratch, _ in pairs}) == len({thread for _, thread in pairs})


def meeting(n: int) -> Job:
    """A job that ends only if n threads are at work on it at a time."""
    barrier = threading.Barrier(n, timeout=PATIENT)

    def wait(_: int) -> None:
        barrier.wait()

    return Job(wait, n, n)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_all_threads_take_part_and_each_unit_runs_once(n: int) -> None:
    set_num_threads(n)
    for _ in range(3):
        job = meeting(n)
        job.share()
        job.check()
        assert len({thread for _, _, thread in job.seen}) == n
    for units in (0, 1, 1000):
        job = Job(lambda _: None, units, n)
        job.share()
        job.check()


def test_a_helper_that_sleeps_is_woken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_pool, "PATIENCE", 0)
    set_num_threads(3)
    meeting(3).share()
    helpers = thread_pool._started().helpers
    for _ in range(20):
        until(lambda: all(helper.asleep for helper in helpers))
        meeting(3).share()


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENT
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


def test_nobody_waits_for_a_helper_that_is_busy() -> None:
    """Another caller's job occupies it; one's own is done all the same."""
    set_num_threads(2)
    barrier, leave = threading.Barrier(3, timeout=PATIENT), threading.Event()

    def occupied(_: int) -> None:
        barrier.wait()
        assert leave.wait(PATIENT)

    first = Job(occupied, 2, 2)
    other = threading.Thread(target=first.share)
    other.start()
    barrier.wait()  # both threads are at it
    job = Job(lambda _: None, 10, 2)
    job.share()
    job.check()
    assert {thread for _, _, thread in job.seen} == {threading.get_ident()}
    leave.set()
    other.join()
    first.check()
    meeting(2).share()


def test_a_helper_that_keeps_its_caller_waiting_is_left_alone_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_pool, "LATE", 300_000)
    set_num_threads(2)
    barrier, caller = threading.Barrier(2, timeout=PATIENT), threading.get_ident()

    def slow(_: int) -> None:
        barrier.wait()
        if threading.get_ident() != caller:
            time.sleep(0.3)

    Job(slow, 2, 2).share()
    assert thread_pool._started().resting - time.monotonic_ns() > 4e9
    job = Job(lambda _: time.sleep(0.001), 20, 2)
    job.share()
    assert {thread for _, _, thread in job.seen} == {caller}
    thread_pool._started().resting = 0
    meeting(2).share()


def test_several_callers_at_a_time() -> None:
    set_num_threads(3)

    def caller() -> None:
        for _ in range(50):
            job = Job(lambda _: None, 20, 3)
            job.share()
            job.check()
            done.append(job)

    done: list[Job] = []
    callers = [threading.Thread(target=caller) for _ in range(4)]
    for each in callers:
        each.start()
    for each in callers:
        each.join()
    assert len(done) == 200


def test_threads_end_when_their_number_changes() -> None:
    set_num_threads(3)
    meeting(3).share()
    helpers = thread_pool._started().helpers
    set_num_threads(2)
    for helper in helpers:
        helper.thread.join(PATIENT)
        assert not helper.thread.is_alive()
    meeting(2).share()
    assert len(thread_pool._started().helpers) == 1


def test_no_more_threads_to_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    set_num_threads(4)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refused)
        job = Job(lambda _: None, 10, 4)
        job.share()
    job.check()
    assert not thread_pool._started().helpers


@pytest.mark.parametrize("width", [1, 8])
def test_threads_give_the_same_bits(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    compiled = kernel(program_of(linear()), width)
    inputs = [RNG.normal(size=(333, 3)), RNG.normal(size=(333, 9))]
    expected = run_kernel(compiled, inputs)
    monkeypatch.setattr(parallel, "SMALL_WORK", 1)
    for n in (1, 2, 5):
        set_num_threads(n)
        for _ in range(20):
            assert_same_bits(run_kernel(compiled, inputs, parallel=True), expected)


def test_calls_of_different_widths_share_the_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with scratch of different sizes, and several times."""
    monkeypatch.setattr(parallel, "SMALL_WORK", 1)
    set_num_threads(3)
    x, y = SX.sym("x", 30), SX.sym("y", 30)
    functions = [linear(), ca.Function("long", [x, y], [x * y, ca.sin(x)]), linear()]
    calls, pairs = [], []
    for f, width in zip(functions, (8, 8, 1)):
        compiled = kernel(program_of(f), width)
        inputs = [RNG.normal(size=(70, n)) for n in compiled.lengths[:2]]
        outputs = [np.zeros((70, n)) for n in compiled.lengths[2:]]
        indices = blocks_of(range(70), width)
        calls.append(KernelCall([compiled], np.zeros(len(indices)), indices, [rows(a) for a in (*inputs, *outputs)]))
        pairs.append((outputs, run_kernel(compiled, inputs)))
    together = ParallelCalls(calls)
    for _ in range(5):
        for output in itertools.chain(*(outputs for outputs, _ in pairs)):
            output[:] = np.nan
        together()
        for outputs, expected in pairs:
            assert_same_bits(outputs, expected)


def test_little_work_stays_in_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    set_num_threads(4)
    monkeypatch.setattr(thread_pool, "share", lambda *_: pytest.fail("a thread for nothing"))
    run_kernel(kernel(program_of(linear()), 8), [np.ones((64, 3)), np.ones((64, 9))], parallel=True)
    monkeypatch.setattr(parallel, "SMALL_WORK", 1)
    set_num_threads(1)
    run_kernel(kernel(program_of(linear()), 8), [np.ones((64, 3)), np.ones((64, 9))], parallel=True)


@pytest.mark.parametrize(("most", "helpers"), [(None, [2]), (4, [2]), (2, [1]), (1, [])])
def test_a_call_may_ask_for_fewer_threads(
    monkeypatch: pytest.MonkeyPatch, most: int | None, helpers: list[int]
) -> None:
    monkeypatch.setattr(parallel, "SMALL_WORK", 1)
    set_num_threads(3)
    compiled, arrays = kernel(program_of(linear()), 8), [np.ones((64, 3)), np.ones((64, 9))]
    outputs = [np.zeros_like(e) for e in run_kernel(compiled, arrays)]
    indices = blocks_of(range(64), 8)
    call = KernelCall([compiled], np.zeros(len(indices)), indices, [rows(a) for a in (*arrays, *outputs)])
    asked: list[int] = []
    share = thread_pool.share
    monkeypatch.setattr(thread_pool, "share", lambda job, n, *rest: (asked.append(n), share(job, n, *rest)))
    ParallelCalls([call])(most)
    assert asked == helpers
    assert_same_bits(outputs, run_kernel(compiled, arrays))


@pytest.mark.parametrize("n", [0, -1, 1.5, True, "2"])
def test_number_of_threads_is_checked(n: object) -> None:
    with pytest.raises(InvalidArgumentError, match="n: expected an integer >= 1"):
        set_num_threads(n)  # type: ignore[arg-type]


def test_an_interruption_leaves_everything_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while jobs are shared: the next ones are as before."""
    monkeypatch.setattr(parallel, "SMALL_WORK", 1)
    set_num_threads(2)
    compiled, inputs = kernel(program_of(linear()), 8), [np.ones((640, 3)), np.ones((640, 9))]
    expected = run_kernel(compiled, inputs)
    outputs = [np.zeros_like(e) for e in expected]
    indices = blocks_of(range(640), 8)
    call = KernelCall([compiled], np.zeros(len(indices)), indices, [rows(a) for a in (*inputs, *outputs)])
    together = ParallelCalls([call])
    for _ in range(5):
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            for_ever(together)
        for output in outputs:
            output[:] = np.nan
        together()
        assert_same_bits(outputs, expected)
        meeting(2).share()


def for_ever(what: Callable[[], None]) -> None:
    while True:
        what()


@pytest.mark.skipif(not hasattr(os, "fork") or sys.platform == "darwin", reason="processes are not forked here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_process_runs_and_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """As multiprocessing does: the child has neither the threads nor their locks."""
    monkeypatch.setattr(parallel, "SMALL_WORK", 1)
    set_num_threads(2)
    compiled, inputs = kernel(program_of(linear()), 8), [np.ones((64, 3)), np.ones((64, 9))]
    expected = run_kernel(compiled, inputs, parallel=True)
    meeting(2).share()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            assert_same_bits(run_kernel(compiled, inputs, parallel=True), expected)
            meeting(2).share()
            x = SX.sym("x")
            (cubed,) = run_kernel(
                kernel(program_of(ca.Function("new", [x], [x**3 + 0.123])), 8), [np.full((3, 1), 2.0)]
            )
            status = 0 if cubed[2, 0] == 8.123 else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    meeting(2).share()


@pytest.mark.parametrize("patience", [0, 10**12])
def test_a_process_ends_with_helpers_that_sleep_or_look_for_work(patience: int) -> None:
    """At once, without a word; also while another thread goes on sharing."""
    script = f"""
        import atexit, threading, time
        atexit.register(lambda: Job(lambda _: None, 10, 3).share())  # after the helpers have ended
        from tests.kernels.test_threads import *
        thread_pool.PATIENCE, parallel.SMALL_WORK = {patience}, 1
        set_num_threads(3)
        compiled, inputs = kernel(program_of(linear()), 8), [np.ones((640, 3)), np.ones((640, 9))]
        def on():
            while True:
                run_kernel(compiled, inputs, parallel=True)
        meeting(3).share()
        if {patience} == 0:
            until(lambda: all(helper.asleep for helper in thread_pool._started().helpers))
        else:
            threading.Thread(target=on, daemon=True).start()
            time.sleep(0.05)
        print("ends")
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=PATIENT
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "ends\n", "")
