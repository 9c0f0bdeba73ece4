"""Signals while code is prepared: what their handlers raise always comes out, and leaves nothing broken behind."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import FrameType
from typing import Any

import numpy as np
import pytest
from casadi import SX

from tests.kernels.test_tiers import points, tangle
from tests.support.kernel_runner import assert_same_bits, evaluate, program_of, run_kernel
from trajopt.actions.black_box_errors import errors_of_black_box
from trajopt.kernels import Kernel, compiler, functions, interrupts
from trajopt.kernels.interrupts import Heard, Held, Postponed
from trajopt.model.functions import call_user
from trajopt.mpc.references import FunctionReference

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
    command, environment = [sys.executable, "-c", textwrap.dedent(script)], {**os.environ, "TRAJOPT_CACHE_DIR": "off"}
    run = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert (run.returncode, run.stdout) == (0, "done\n"), run.stderr


def test_alarms_at_random_times() -> None:
    """A handler of SIGALRM raises at random times while a model is built and compiled, and then garbage dies."""
    script = f"""
        import gc, random, signal
        import numpy as np
        from trajopt import problems
        from trajopt.kernels import forget

        class Late(Exception):
            def __init__(self):
                super().__init__("too late")

        def ring(number, frame):
            raise Late

        def prepare():
            forget()
            problem = problems.load("pendulum").problem
            problem.rollout(np.zeros((problem.T, problem.nu)))

        def time_of(work):
            signal.setitimer(signal.ITIMER_REAL, 1e3)
            work()
            return 1e3 - signal.setitimer(signal.ITIMER_REAL, 0.0)[0]

        signal.signal(signal.SIGALRM, lambda *_: None)
        prepare()
        usual = time_of(prepare)
        signal.signal(signal.SIGALRM, ring)
        outcomes = set()
        for _ in range({ROUNDS}):
            try:
                signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-5, usual))
                prepare()
                signal.setitimer(signal.ITIMER_REAL, 0.0)
                outcomes.add("in time")
            except Late:
                outcomes.add("late")
            except Exception as error:
                outcomes.add(repr(error)[:200])
            gc.collect()
        assert "late" in outcomes, outcomes
        assert not outcomes - set(["late", "in time"]), outcomes
        prepare()
        print("done")
    """
    command, environment = [sys.executable, "-c", textwrap.dedent(script)], {**os.environ, "TRAJOPT_CACHE_DIR": "off"}
    run = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert (run.returncode, run.stdout) == (0, "done\n"), run.stderr


def test_alarms_at_moments_inside_llvm() -> None:
    """A handler of SIGALRM raises at 200 random lines of code that LLVM's objects live in, and then garbage dies."""
    script = """
        import gc, random, signal, sys, time
        import casadi as ca
        from tests.support.kernel_runner import program_of
        from trajopt.kernels import Kernel

        class Late(Exception):
            pass

        def ring(number, frame):
            raise Late

        def prepare():
            x = ca.SX.sym("x", 2)
            Kernel(program_of(ca.Function("f", [x], [ca.sin(x) * x])), 2).compile()

        def trace(frame, event, argument):
            global count
            name = frame.f_code.co_filename
            if not ("llvmlite" in name or name.endswith(("codegen.py", "compiler.py"))):
                return None
            count += event == "line"
            if event == "line" and count == moment:
                signal.raise_signal(signal.SIGALRM)
            return trace

        def traced(at):
            global count, moment
            count, moment = 0, at
            sys.settrace(trace)
            try:
                prepare()
            finally:
                sys.settrace(None)

        prepare()
        signal.signal(signal.SIGALRM, ring)
        traced(0)
        total = count
        outcomes = set()
        for _ in range(200):
            try:
                traced(random.randint(1, total))
                time.sleep(0.05)  # in a finalizer, it comes a moment later
                outcomes.add("lost")
            except Late:
                outcomes.add("late")
            gc.collect()
        assert outcomes == {"late"}, outcomes
        prepare()
        print("done")
    """
    command, environment = [sys.executable, "-c", textwrap.dedent(script)], {**os.environ, "TRAJOPT_CACHE_DIR": "off"}
    run = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert (run.returncode, run.stdout) == (0, "done\n"), run.stderr


def test_alarm_inside_a_function_of_the_user() -> None:
    """Its error passes as it is, and not as one of the function."""

    def ring(number: int, frame: object) -> None:
        raise TimeoutError("too late")

    def slow(t: float) -> list[float]:
        signal.raise_signal(signal.SIGALRM)
        return [t]

    before = signal.signal(signal.SIGALRM, ring)
    try:
        with pytest.raises(TimeoutError, match="^too late$"):
            FunctionReference("goal", slow, lambda value: value, None).at(np.zeros(1))
        with pytest.raises(TimeoutError, match="^too late$"), errors_of_black_box(object(), "calc"):
            signal.raise_signal(signal.SIGALRM)
        with pytest.raises(TimeoutError, match="^too late$"):
            call_user("running cost", lambda x: signal.raise_signal(signal.SIGALRM) or x, SX.sym("x"))
    finally:
        signal.signal(signal.SIGALRM, before)


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


def test_each_signal_is_passed_on_though_another_raises() -> None:
    """A timeout and the end of a service come together: both handlers are called at the end, each once."""
    calls: list[int] = []

    def ring(number: int, frame: FrameType | None) -> None:
        assert frame is not None
        calls.append(number)
        raise TimeoutError

    numbers = (signal.SIGALRM, signal.SIGTERM)
    before = [signal.signal(number, ring) for number in numbers]
    try:
        with pytest.raises(TimeoutError), Held():
            list(map(signal.raise_signal, (*numbers, *numbers)))
        assert sorted(calls) == sorted(numbers)
        assert [signal.getsignal(number) for number in numbers] == [ring, ring]
    finally:
        for number, handler in zip(numbers, before):
            signal.signal(number, handler)


def test_handler_that_raises_while_a_guard_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """All handlers are the user's again, also those of later signals."""
    ring = signal.default_int_handler
    before = signal.signal(signal.SIGTERM, ring)
    replace = interrupts._signal.signal

    def replace_and_press(number: int, handler: Any) -> Any:
        if number == signal.SIGTERM and handler is not ring:
            signal.raise_signal(signal.SIGTERM)
        return replace(number, handler)

    monkeypatch.setattr(interrupts._signal, "signal", replace_and_press)
    try:
        with pytest.raises(KeyboardInterrupt), Held():
            pass
        assert signal.getsignal(signal.SIGINT) is signal.getsignal(signal.SIGTERM) is ring
    finally:
        monkeypatch.undo()
        signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize("guard", [Held, Heard])
def test_handler_that_is_set_inside_stays(guard: type[Held | Heard]) -> None:
    before = signal.getsignal(signal.SIGINT)
    try:
        with guard():
            signal.signal(signal.SIGINT, signal.SIG_IGN)
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
