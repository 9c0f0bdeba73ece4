"""Random command lines: each gives an exit code and a message, and none a traceback."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import CliRunner, built
from trajopt import cli

LINES = 100
JUNK = (
    *("", "nan", "-1", "0", "1e400", "junk", "💥", "/", "/dev/null", "a=b", "T=-3", "T=2", "x0=1,2", "=", "x" * 300),
    *("1,2,3", "(1,(2,", "[]", "None", "true", "a.png", "a.gif", "a.npz", "b.csv", "lqr", "ur5", "planar-2r", "tool"),
)
LONG = {("serve",), ("warm",), ("show",)}  # commands that wait, or compile for minutes


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if not hasattr(command, "commands"):
        yield path, command
    else:
        for name, inner in command.commands.items():
            yield from commands(inner, (*path, name))


def line(rng: random.Random) -> list[str]:
    """A command with arguments and about two of its options, of values that may fit."""
    known = [each for each in commands(built(cli.app)) if each[0] not in LONG]
    path, command = rng.choice(known)
    words = list(path)
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            words += [rng.choice([*JUNK, *["lqr", "planar-2r"] * len(JUNK)])] if rng.random() < 0.95 else []
        elif rng.random() < 2.0 / len(command.params) and "--show" not in parameter.opts:
            words.append(rng.choice([*parameter.opts, *parameter.secondary_opts]))
            words += [] if getattr(parameter, "is_flag", False) else [rng.choice(JUNK)]
    return words


@pytest.mark.slow
def test_random_command_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng, codes = random.Random(0), set()
    for _ in range(LINES):
        words = line(rng)
        result = CliRunner().invoke(cli.app, words)
        assert result.exception is None or isinstance(result.exception, SystemExit), words
        codes.add(result.exit_code)
    assert codes <= {0, 1, 2}
    assert {0, 1} <= codes


@pytest.mark.parametrize("words", [("inverse-dynamics", "go2"), ("ik", "ur5", "tool0", "--path"), ("simulate",)])
def test_names_of_files_that_are_too_long(words: tuple[str, ...], tmp_path: Path) -> None:
    result = CliRunner().invoke(cli.app, [*words, f"{tmp_path}/{'x' * 300}.urdf"])
    assert isinstance(result.exception, SystemExit)
    assert "error: " in result.output or "Error" in result.output
