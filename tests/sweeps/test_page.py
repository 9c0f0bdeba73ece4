"""The page on sweeps: its Python blocks run one after the other, its commands and its arithmetic hold."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import CliRunner
from tests.sweeps.executors import Here
from trajopt import cli, sweeps
from trajopt.sweeps import Sweep

pytest.importorskip("pyarrow", reason="needs pip install pyarrow")
PAGE = (Path(__file__).parents[2] / "docs" / "sweeps.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.mark.slow
def test_python_blocks_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("trajopt.sweeps.run.Processes", lambda count: Here())  # which other tests start
    names: dict[str, Any] = {"__name__": "page"}
    for i, block in enumerate(blocks("python")):
        exec(compile(block, f"sweeps.md, block {i}", "exec"), names)
    assert len(names["sweep"]) == 100
    assert names["solution"].converged
    assert (tmp_path / "reach.png").exists()
    assert (tmp_path / "runs" / "reach" / "table.parquet").exists()


class _Asked(Exception):
    """The command came to the point where it would solve."""


def test_commands_are_understood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of this machine; their clusters are not."""
    monkeypatch.chdir(tmp_path)

    def refuse(*arguments: Any, **options: Any) -> Sweep:
        raise _Asked

    monkeypatch.setattr(sweeps, "sweep", refuse)
    joined = "\n".join(blocks("bash")).replace("\\\n", " ")
    commands = [shlex.split(line)[1:] for line in joined.splitlines() if line.startswith("trajopt ")]
    assert len(commands) == 3
    for command in commands:
        here = command[: command.index("--dask")] if "--dask" in command else command
        assert isinstance(CliRunner().invoke(cli.app, here).exception, _Asked), here


def test_the_cluster_file_is_yaml() -> None:
    yaml = pytest.importorskip("yaml", reason="needs pip install pyyaml")
    (text,) = blocks("yaml")
    spec = yaml.safe_load(text)["spec"]
    assert spec["worker"]["spec"]["containers"][0]["args"][-1] == "1"
    assert spec["scheduler"]["service"]["ports"][0]["port"] == 8786


def test_the_arithmetic_holds() -> None:
    """What the page computes follows from what it says was measured."""
    solve, row, bare = 0.93e-3, 14.6e3, 101.0  # [s], [bytes], [bytes]
    assert "0.93 ms: 1,080 solves a second" in PAGE
    assert round(1 / solve, -1) == 1080
    assert "930 s: 16 core minutes" in PAGE
    assert round(1e6 * solve / 60) == 16
    assert "260 core hours" in PAGE
    assert round(1e9 * solve / 3600, -1) == 260
    assert "8 min / 9 s / 1 s" in PAGE
    assert [round(1e6 * solve / 2 / 60), round(1e6 * solve / 100), round(1e6 * solve / 1000)] == [8, 9, 1]
    assert "5.4 days / 2.6 h / 15.5 min" in PAGE
    assert [round(1e9 * solve / cores / unit, 1) for cores, unit in ((2, 86400), (100, 3600), (1000, 60))] == [
        5.4,
        2.6,
        15.5,
    ]
    assert "| 14.6 GB | 14.6 TB |" in PAGE
    assert 1e6 * row == 14.6e9
    assert f"{1e9 * bare / 1e9:.0f} GB (chunk 600), 56 GB" in PAGE
    assert "15,600 / 980 | 15.6·10⁶ / 980,000" in PAGE
    assert [round(1e6 / 64, -2), round(1e6 / 1024, -1)] == [15_600, 980]
    main = 1.33e-3 / 1024 + 0.0174e-3  # a row of the main process [s]
    assert "| 19 s | 5.2 h |" in PAGE
    assert [round(1e6 * main), round(1e9 * main / 3600, 1)] == [19, 5.2]
