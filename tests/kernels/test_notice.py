"""The notice that models are being compiled: once, whoever asks for them, and only where it takes long."""

from __future__ import annotations

import io
import logging
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.kernels.test_tiers import CODE_GENERATOR
from trajopt import problems
from trajopt.kernels import compiler, forget, notice
from trajopt.kernels.notice import CACHED, COMPILING, Compiling


@pytest.fixture(autouse=True)
def log(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """A fresh start, and no patience; the log."""
    monkeypatch.setattr(notice, "_work", notice._Work())
    monkeypatch.setattr(notice, "PATIENCE", 0.01)
    with caplog.at_level(logging.INFO, logger="trajopt"):
        yield caplog


def wait_for(log: pytest.LogCaptureFixture) -> None:
    end = time.monotonic() + 60
    while COMPILING not in log.text and time.monotonic() < end:
        time.sleep(0.001)


class Terminal(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


def test_said_once_to_the_log(log: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    with Compiling(), Compiling():
        wait_for(log)
    monkeypatch.setattr(notice, "PATIENCE", 60.0)  # what follows at once belongs to it
    with Compiling():
        assert notice._work._timer is None
    assert [(r.name, r.levelname, r.message) for r in log.records] == [
        ("trajopt.kernels.notice", "INFO", COMPILING + CACHED)
    ]


def test_short_pieces_count_together(log: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notice, "PATIENCE", 60.0)
    notice._work._spent, notice._work._ended = 59.99, time.monotonic()
    with Compiling():
        wait_for(log)
    assert log.text.count(COMPILING) == 1


def test_what_comes_later_is_said_again(log: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        log.clear()
        notice._work._ended = -1e9
        with Compiling():
            wait_for(log)
        assert log.text.count(COMPILING) == 1


def test_said_to_a_terminal(log: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TRAJOPT_CACHE_DIR", "off")
    with Compiling():
        while not terminal.getvalue().endswith("\n"):
            time.sleep(0.001)
    assert terminal.getvalue() == f"{COMPILING}\n"  # no later start takes it from a cache that is off
    assert not log.records


def test_not_said_if_it_is_quick(log: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notice, "PATIENCE", 60.0)
    with Compiling():
        timer = notice._work._timer
        assert timer is not None
    assert timer.finished.is_set()
    assert not log.records


@pytest.mark.parametrize("asked", ["a solver", "the problem"])
def test_said_whoever_asks(
    log: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, tmp_path: Any, asked: str
) -> None:
    """Without any callback; and a second start, which takes all from the cache, says nothing."""

    def slowly(text: str, level: int) -> bytes:
        wait_for(log)
        return CODE_GENERATOR(text, level)

    def ask() -> None:
        forget()
        case = problems.load("lqr")
        if asked == "a solver":
            case.solve()
        else:
            case.problem.calc(
                *[[0.0 * case.problem.x0] * (case.problem.T + 1), [[0.0] * case.problem.nu] * case.problem.T]
            )

    monkeypatch.setenv("TRAJOPT_CACHE_DIR", str(tmp_path / "cache"))
    with monkeypatch.context() as patch:
        patch.setattr(compiler.codegen, "machine_code", slowly)
        ask()
    assert log.text.count(COMPILING) == 1
    monkeypatch.setattr(notice._Work, "begin", lambda work: pytest.fail("it compiles"))
    ask()


def test_threads_share_it(log: pytest.LogCaptureFixture) -> None:
    """One that is at work when another one ends goes on waiting."""
    inside, leave = threading.Event(), threading.Event()

    def work() -> None:
        with Compiling():
            inside.set()
            assert leave.wait(60)

    thread = threading.Thread(target=work)
    with Compiling():
        thread.start()
        assert inside.wait(60)
    wait_for(log)
    leave.set()
    thread.join()
    assert log.text.count(COMPILING) == 1
