"""Signals other than Ctrl-C while code is prepared: errors of their handlers come out, and break nothing."""

from __future__ import annotations

import signal
from types import FrameType
from typing import Any

import numpy as np
import pytest
from casadi import SX

from tests.support.scripts import run_to_the_end
from trajopt.actions.black_box_errors import errors_of_black_box
from trajopt.kernels import interrupts
from trajopt.kernels.interrupts import Heard, Held
from trajopt.model.functions import call_user
from trajopt.mpc.references import FunctionReference

ROUNDS = 50


@pytest.mark.slow
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
    run_to_the_end(script)


@pytest.mark.slow
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
            global count, unguarded
            name = frame.f_code.co_filename
            if not ("llvmlite" in name or name.endswith(("codegen.py", "compiler.py"))):
                return None
            if event == "call":  # Python swallows what is raised in a finalizer before its guard begins
                unguarded = frame.f_code.co_name == "_release"
            elif event == "line" and unguarded:
                unguarded = False
                return trace
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
    run_to_the_end(script)


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
