"""Compiling ahead: which problems of a robot, and that nothing is left to compile."""

from __future__ import annotations

import weakref
from pathlib import Path

import pytest
from typer.testing import CliRunner

from trajopt import cache, kernels, problems
from trajopt.cli import app
from trajopt.errors import InvalidArgumentError, UnknownNameError
from trajopt.kernels import machine
from trajopt.problems.ahead import of_robot


def test_which_problems() -> None:
    assert of_robot("go2") == [f"quadruped-{gait}" for gait in ("bound", "jump", "pace", "trot", "walk")]
    assert of_robot("talos") == ["biped-walk"]
    assert of_robot("ur5") == of_robot("z1") == ["arm-reach"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRAJOPT_CACHE_DIR", str(tmp_path / "cache"))
    kernels.forget()
    monkeypatch.setattr(machine, "_living", weakref.WeakSet())  # kernels of other tests are not waited for
    return tmp_path / "cache"


def test_nothing_is_left_to_compile(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor to build: the next start takes optimised code at once."""
    monkeypatch.setenv("TRAJOPT_OPTIMISE", "on")
    begun: list[str] = []
    assert problems.warm("ur5", begin=begun.append) == begun == ["arm-reach"]
    kernels.forget()
    before, entries = kernels.compilations(), cache.info().entries
    problems.load("arm-reach", "ur5").solve()
    kernels.wait_until_optimised()
    assert (kernels.compilations(), cache.info().entries) == (before, entries)
    assert ("ur5", cache.OPTIMISED_CODE) in {(each.robot, each.form) for each in cache.contents()}


def test_command(folder: Path) -> None:
    result = CliRunner().invoke(app, ["warm", "planar-2r"])
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[0] == "compiling   arm-reach of planar-2r ..."
    assert cache.info().entries > 20


def test_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnknownNameError, match=r"robot 'go3' not found; did you mean 'go2'.*Known: .*anymal"):
        problems.warm("go3")
    with pytest.raises(InvalidArgumentError, match="robot: expected an arm with a fixed base, got 'icub'"):
        problems.warm("icub")
    with pytest.raises(InvalidArgumentError, match="robot: expected"):
        problems.warm(3)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="begin: expected a function of the name of a problem, got 3"):
        problems.warm("ur5", begin=3)  # type: ignore[arg-type]
    monkeypatch.setenv("TRAJOPT_CACHE_DIR", "off")
    result = CliRunner().invoke(app, ["warm", "ur5"])
    assert result.exit_code == 1
    assert "the cache is off" in result.stderr
