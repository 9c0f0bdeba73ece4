"""What is said of building and compiling: which piece is at work, whoever waits for it, and only where it is slow."""

from __future__ import annotations

import io
import logging
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.kernels.test_tiers import CODE_GENERATOR, tangle
from tests.support.kernel_runner import program_of
from trajopt import problems
from trajopt.kernels import compile_together, compiler, emission, forget, notice, workers
from trajopt.kernels.machine import Kernel
from trajopt.kernels.notice import CACHED, Working


@pytest.fixture(autouse=True)
def log(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """A fresh start, and no patience; the log."""
    monkeypatch.setattr(notice, "_work", notice._Work())
    monkeypatch.setattr(notice, "PATIENCE", 0.01)
    monkeypatch.setattr(notice, "EVERY", 0.01)
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)  # which another test may have imported
    with caplog.at_level(logging.INFO, logger="trajopt"):
        yield caplog


def wait_for(words: str, log: pytest.LogCaptureFixture) -> None:
    end = time.monotonic() + 60
    while words not in log.text and time.monotonic() < end:
        time.sleep(0.001)


class Terminal(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


def test_each_piece_is_announced_once(log: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text of a piece may come in parts, which count once."""
    with Working("compiling", ["costs", "rows", "costs"]) as work:
        wait_for("costs: 1 of 3", log)
        for _ in range(2):
            work.begin(2)
            wait_for("costs: 2 of 3", log)
        time.sleep(5 * notice.EVERY)
        work.begin(1)
        wait_for("rows: 3 of 3", log)
    assert [(r.name, r.levelname, r.message) for r in log.records] == [
        ("trajopt.kernels.notice", "INFO", "compiling costs: 1 of 3" + CACHED),
        ("trajopt.kernels.notice", "INFO", "compiling costs: 2 of 3"),
        ("trajopt.kernels.notice", "INFO", "compiling rows: 3 of 3"),
    ]


def test_the_innermost_work_is_said(log: pytest.LogCaptureFixture) -> None:
    with Working("building", ["expansion of go2"]), Working("building", ["dynamics of go2"]):
        wait_for("dynamics", log)
    assert [r.message for r in log.records] == ["building dynamics of go2" + CACHED]


def test_nothing_is_said_more_often_than_every_second(
    log: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Working("compiling", ["costs"]):
        wait_for("costs", log)
    monkeypatch.setattr(notice, "EVERY", 60.0)
    with Working("compiling", ["rows"]):
        timer = notice._work._timer
        assert timer is not None
        assert timer.interval > 50.0
    assert len(log.records) == 1


def test_short_pieces_count_together(log: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notice, "PATIENCE", 60.0)
    notice._work._spent, notice._work._ended = 59.99, time.monotonic()
    with Working("compiling", ["costs"]):
        wait_for("costs", log)
    assert log.text.count("compiling costs") == 1


def test_later_work_is_announced_again(log: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        log.clear()
        notice._work._ended = -1e9
        with Working("compiling", ["costs"]):
            wait_for("costs", log)
        assert log.text.count("compiling costs" + CACHED) == 1


def test_said_to_a_terminal(log: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TRAJOPT_CACHE_DIR", "off")
    with Working("compiling", ["costs of go2"]):
        while not terminal.getvalue().endswith("\n"):
            time.sleep(0.001)
    assert terminal.getvalue() == "compiling costs of go2\n"  # no later start takes it from a cache that is off
    assert not log.records


def test_quick_work_is_not_announced(log: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notice, "PATIENCE", 60.0)
    with Working("compiling", ["costs"]):
        timer = notice._work._timer
        assert timer is not None
    assert timer.finished.is_set()
    assert not log.records


def test_silent_work_is_not_announced(log: pytest.LogCaptureFixture) -> None:
    with Working("compiling", ["costs"], silent=True):
        assert notice._work._timer is None


@pytest.mark.parametrize("asked", ["a solver", "the problem"])
def test_said_whoever_asks(
    log: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, tmp_path: Any, asked: str
) -> None:
    """Without any callback; and a second start, which takes all from the cache, says nothing."""

    def slowly(text: str, level: int) -> bytes:
        wait_for("compiling", log)
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
    monkeypatch.setenv("TRAJOPT_OPTIMISE", "off")
    with monkeypatch.context() as patch:
        patch.setattr(compiler.codegen, "machine_code", slowly)
        ask()
    assert log.text.count(CACHED) == 1
    monkeypatch.setattr(notice._Work, "begin", lambda work, what: pytest.fail("it compiles"))
    ask()


@pytest.mark.parametrize("place", ["here", "apart"])
def test_pieces_are_said_wherever_they_are_compiled(monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    """Two functions, of which each has several texts, in this process or in others."""
    begin, said = Working.begin, []

    def heard(work: Working, piece: int) -> None:
        begin(work, piece)
        said.append(work.words)

    monkeypatch.setenv("TRAJOPT_CACHE_DIR", "off")
    monkeypatch.setattr(Working, "begin", heard)
    monkeypatch.setattr(emission, "CUT", 60)
    monkeypatch.setattr(workers, "WORTH_A_WORKER", 1e-6 if place == "apart" else 1e6)
    monkeypatch.setattr(compiler, "get_num_threads", lambda: 2)
    forget()
    kernels = [Kernel(program_of(tangle(seed)), 8) for seed in (31, 32)]
    compile_together(kernels)
    assert len(said) > 4
    assert {words.rpartition(": ")[2] for words in said} == {"1 of 2", "2 of 2"}


def test_threads_share_the_announcement(log: pytest.LogCaptureFixture) -> None:
    """One that is at work when another one ends goes on waiting."""
    inside, leave = threading.Event(), threading.Event()

    def work() -> None:
        with Working("compiling", ["costs"]):
            inside.set()
            assert leave.wait(60)

    thread = threading.Thread(target=work)
    with Working("compiling", ["costs"]):
        thread.start()
        assert inside.wait(60)
    wait_for("costs", log)
    leave.set()
    thread.join()
    assert log.text.count("compiling costs") == 1
