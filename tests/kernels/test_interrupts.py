"""Ctrl-C while code is prepared: it always comes out as KeyboardInterrupt, and leaves nothing broken behind."""

from __future__ import annotations

import contextlib
import gc
import signal
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.kernels.test_tiers import points, tangle
from tests.support.kernel_runner import assert_same_bits, evaluate, program_of, run_kernel
from tests.support.scripts import run_to_the_end
from trajopt.kernels import Kernel, compiler, functions
from trajopt.kernels.interrupts import Heard, Held, Postponed

ROUNDS = 50


def press() -> None:
    """Ctrl-C."""
    signal.raise_signal(signal.SIGINT)


def swallow() -> None:
    """As CasADi does, or a finalizer."""
    with contextlib.suppress(KeyboardInterrupt):
        press()


def disguise() -> None:
    """As CasADi does where it tries an overload."""
    swallow()
    raise NotImplementedError("Wrong number or type of arguments for overloaded function 'new_DM'")


@pytest.mark.slow
def test_interrupted_at_random_times() -> None:
    """A model is built and compiled again and again, each time with one Ctrl-C somewhere, and then garbage collected.

    LLVM's objects must not die in the wrong order, no interrupt may be lost or become another error, and the attempt
    that follows must work.
    """
    script = f"""
        import gc, os, random, signal, threading, time
        import numpy as np
        from trajopt import problems
        from trajopt.kernels import forget
        from trajopt.solution import SolverStatus

        def prepare():
            forget()
            case = problems.load("unicycle")
            case.problem.rollout(np.zeros((case.problem.T, case.problem.nu)))
            if case.solve().status is SolverStatus.INTERRUPTED:
                raise KeyboardInterrupt

        def press(delay):
            time.sleep(delay)
            os.kill(os.getpid(), signal.SIGINT)

        prepare()
        start = time.perf_counter()
        prepare()
        usual = time.perf_counter() - start
        outcomes = []
        for _ in range({ROUNDS}):
            presser = threading.Thread(target=press, args=(random.uniform(0, usual),))
            try:
                presser.start()
                prepare()
                presser.join()
                time.sleep(0.05)
                outcomes.append("lost")
            except KeyboardInterrupt:
                outcomes.append("interrupted")
            except Exception as error:
                outcomes.append(repr(error)[:200])
            gc.collect()
        assert outcomes == ["interrupted"] * {ROUNDS}, outcomes
        prepare()
        print("done")
    """
    run_to_the_end(script)


@pytest.mark.parametrize("work", [press, swallow, disguise])
def test_heard_is_never_lost(work: Callable[[], None]) -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), Heard(), Heard():
        work()
    assert signal.getsignal(signal.SIGINT) is before
    with pytest.raises(ZeroDivisionError), Heard():
        raise ZeroDivisionError


def test_held_until_the_end() -> None:
    steps = []

    def work() -> None:
        with Held(), Held():
            press()
            steps.append("work that is not interrupted")
        steps.append("never")

    with pytest.raises(KeyboardInterrupt), Heard():
        work()
    assert steps == ["work that is not interrupted"]


def test_postponed_in_a_finalizer() -> None:
    """There Python swallows what is raised."""

    class Finalized:
        def __del__(self) -> None:
            with Postponed():
                press()
                steps.append("finalized")

    def work() -> None:
        finalized = Finalized()
        del finalized
        steps.append("goes on")
        end = time.monotonic() + 60
        while time.monotonic() < end:
            time.sleep(1e-3)

    steps: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        work()
    assert steps == ["finalized", "goes on"]


@pytest.mark.parametrize("guard", [Held, Heard])
def test_signal_handlers_of_the_user_are_respected(guard: type[Held | Heard]) -> None:
    """One that ends the process with a status does so; one that only counts is called once; none stays none."""
    calls: list[int] = []

    def leave(number: int, frame: object) -> None:
        raise SystemExit(130)

    before = signal.getsignal(signal.SIGINT)
    try:
        signal.signal(signal.SIGINT, lambda number, frame: calls.append(number))
        with guard():
            press()
        assert calls == [signal.SIGINT]
        signal.signal(signal.SIGINT, leave)
        with pytest.raises(SystemExit, match="130"), guard():
            press()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with guard():
            press()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("guard", [Held, Heard])
def test_other_threads_do_not_touch_the_handler(guard: type[Held | Heard]) -> None:
    def work() -> object:
        with guard():
            return signal.getsignal(signal.SIGINT)

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(work).result() is signal.getsignal(signal.SIGINT)


class Stop(KeyboardInterrupt):
    """An interrupt that can be watched."""

    def __init__(self, seen: list[weakref.ref[Stop]]) -> None:
        super().__init__()
        seen.append(weakref.ref(self))


def test_interrupt_leaves_no_cycle(monkeypatch: pytest.MonkeyPatch) -> None:
    """What stands in the frames of an error dies with it, and not when a collector comes along, in any order."""
    monkeypatch.setenv("TRAJOPT_CACHE_DIR", "off")
    seen: list[weakref.ref[Stop]] = []

    def stop(text: str, level: int) -> bytes:
        raise Stop(seen)

    monkeypatch.setattr(compiler.codegen, "machine_code", stop)
    compiled = Kernel(program_of(tangle(41, 20)), 8)
    gc.disable()
    try:
        with contextlib.suppress(Stop):
            compiled.compile()
        assert len(seen) == 1
        assert seen[0]() is None
    finally:
        gc.enable()


def test_interrupt_of_one_thread_is_not_that_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who waits for a function that another thread was interrupted in compiles it."""
    monkeypatch.setenv("TRAJOPT_CACHE_DIR", "off")
    begun, waits = threading.Event(), threading.Event()
    function, machine_codes = tangle(42, 20), compiler.machine_codes

    def stop_the_first(texts: list[str], level: int, **options: bool) -> list[bytes]:
        if begun.is_set():
            return machine_codes(texts, level, **options)
        begun.set()
        assert waits.wait(60)
        raise Stop([])

    monkeypatch.setattr(compiler, "machine_codes", stop_the_first)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(Kernel(program_of(function), 8).compile)
        assert begun.wait(60)
        (event,) = functions._pending.values()
        wait = event.wait
        event.wait = lambda: waits.set() or wait()  # type: ignore[assignment, func-returns-value]
        second = pool.submit(run_kernel, Kernel(program_of(function), 8), points())
        with pytest.raises(Stop):
            first.result()
        assert_same_bits(second.result(), evaluate(function, points()))
    assert not functions._pending
