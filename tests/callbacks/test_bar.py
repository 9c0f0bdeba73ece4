"""Bars of long work: what they say, and that only a terminal gets them."""

from __future__ import annotations

import pytest
from rich import console as rich_console

from trajopt.callbacks.bar import MOVES, counted, progress_bar, time_left
from trajopt.sweeps.progress import progress_words


def test_time_left_is_that_of_the_rest_at_the_same_rate() -> None:
    assert time_left(10, 40, 20.0) == "0:01:00 left"
    assert time_left(1, 3601, 2.0) == "2:00:00 left"
    assert time_left(5, 5, 9.0) == "0:00:00 left"


def test_rows_from_a_store_do_not_count_for_the_rate() -> None:
    words = progress_words(solved=100, stored=50, n=250, seconds=10.0)
    assert words == "150 of 250 rows, 50 from the store, 10 rows/s, 0:00:10 left"
    assert progress_words(0, 50, None, 1.0) == "50 rows, 50 from the store"


@pytest.mark.parametrize(("wanted", "terminal"), [(True, False), (False, True)])
def test_nothing_is_written_unless_wanted_and_to_a_terminal(
    wanted: bool, terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(rich_console.Console, "is_terminal", terminal)
    with progress_bar("working", 3, wanted=wanted) as show:
        show(3, "three")
    assert capsys.readouterr() == ("", "")


def test_a_terminal_sees_the_words_and_a_bar_that_moves_seldom(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(rich_console.Console, "is_terminal", True)
    total = 50 * MOVES
    with progress_bar("working", total, wanted=True) as show:
        for done in range(total + 1):
            show(done, f"done {done}")
    seen = capsys.readouterr().err
    assert "working" in seen
    assert f"done {total}" in seen
    assert "done 7\n" not in seen


def test_without_a_terminal_there_are_notices_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first one after a second, the next one after five more."""
    now, said = [100.0], list[str]()
    monkeypatch.setattr(rich_console.Console, "is_terminal", False)
    monkeypatch.setattr("trajopt.callbacks.bar.time.monotonic", lambda: now[0])
    monkeypatch.setattr("trajopt.callbacks.bar.notice.say", said.append)
    with progress_bar("filming", 60, wanted=True) as show:
        for done in range(61):
            show(done, "soon")
            now[0] += 0.25
    assert said == ["filming: 4 of 60, soon", "filming: 24 of 60, soon", "filming: 44 of 60, soon"]
    with progress_bar("filming", 60, wanted=False) as show:
        now[0] += 100.0
        show(30, "soon")
    assert len(said) == 3


def test_items_are_counted_as_they_pass() -> None:
    shown: list[tuple[int, str]] = []
    assert list(counted("abc", 3, lambda done, words: shown.append((done, words)))) == list("abc")
    assert [done for done, _ in shown] == [1, 2, 3]
    assert shown[-1][1] == "0:00:00 left"
